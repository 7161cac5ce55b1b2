package media

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// get requests a path. In headers, each name is followed by its value.
func get(t *testing.T, h http.Handler, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	r.URL.Path = path
	for i := 0; i < len(headers); i += 2 {
		if headers[i] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) []byte {
	t.Helper()
	out, err := io.ReadAll(r.Body)
	must.Succeed(t, err)
	must.Succeed(t, r.Body.Close())
	return out
}

func TestFilesAreServedWithTheirTypes(t *testing.T) {
	s := newSite(t, nil)
	h := Files(s.blobs, quietly)
	for _, c := range []struct {
		file        []byte
		contentType string
	}{
		{append(mp4(1000), "<script>alert(1)</script>"...), "video/mp4"},
		{webm("webm"), "video/webm"},
		{boxed("qt  ", 1000), "video/quicktime"},
	} {
		v := s.publish(t, "film", c.file)
		whole := get(t, h, http.MethodGet, v.PlayURL())
		if got := body(t, whole); whole.StatusCode != http.StatusOK || !bytes.Equal(got, c.file) {
			t.Errorf("%s: got status %d, %d bytes, want 200, %d bytes unchanged", c.contentType, whole.StatusCode, len(got), len(c.file))
		}
		for name, want := range map[string]string{
			"Content-Type": c.contentType, "X-Content-Type-Options": "nosniff", "Content-Security-Policy": policy,
			"Cache-Control": "public, max-age=31536000, immutable", "Accept-Ranges": "bytes", "Cross-Origin-Resource-Policy": "cross-origin",
		} {
			if got := whole.Header.Get(name); got != want {
				t.Errorf("%s: %s: got %q, want %q", c.contentType, name, got, want)
			}
		}
		tag := whole.Header.Get("ETag")
		part := get(t, h, http.MethodGet, v.PlayURL(), "Range", "bytes=5-14", "If-Range", tag)
		if got := body(t, part); part.StatusCode != http.StatusPartialContent || !bytes.Equal(got, c.file[5:15]) {
			t.Errorf("a range: got status %d, %q, want 206, %q", part.StatusCode, got, c.file[5:15])
		}
		for _, r := range []struct {
			method, name, value string
			status              int
		}{
			{http.MethodHead, "", "", http.StatusOK},
			{http.MethodGet, "If-None-Match", tag, http.StatusNotModified},
			{http.MethodGet, "Range", "bytes=-3", http.StatusPartialContent},
			{http.MethodGet, "Range", "bytes=99999999-", http.StatusRequestedRangeNotSatisfiable},
			{http.MethodGet, "Range", "bytes=0-1,3-4", http.StatusOK},
		} {
			got := get(t, h, r.method, v.PlayURL(), r.name, r.value)
			if _ = body(t, got); got.StatusCode != r.status {
				t.Errorf("%s with %s: %s: got status %d, want %d", r.method, r.name, r.value, got.StatusCode, r.status)
			}
		}
	}
}

func TestOnlyFilesAreServed(t *testing.T) {
	s := newSite(t, nil)
	v := s.publish(t, "film", mp4(100))
	must.Succeed(t, s.blobs.write(t.Context(), "videos/"+v.File+".html", "text/html", strings.NewReader("x")))
	must.Succeed(t, s.blobs.write(t.Context(), v.FileKey()+".18af.tmp", "text/html", strings.NewReader("x")))
	h := Files(s.blobs, quietly)
	for _, path := range []string{
		"", "/", "/media/", "/media/videos", "/media/videos/", "/media/videos/..", "/media/" + markerKey, "/media/../" + markerKey,
		"/media/videos/../" + markerKey, "/media/videos/" + v.File, "/media/videos/" + v.File + ".html", v.PlayURL() + ".18af.tmp", v.PlayURL() + "/",
		"/media/covers/" + v.File + ".mp4", "/media/covers/" + v.File + ".jpg", "/media/videos/" + strings.ToUpper(v.File) + ".mp4",
		"/media/videos/" + v.File + "\x00.mp4", "/media/videos/" + v.File + ".mp4\x00", "/media//videos/" + v.File + ".mp4",
		"/media/videos/%2e%2e%2f" + markerKey, "/media/videos/" + strings.Repeat("a", 5000) + ".mp4", "/media/videos/aaaaaaaaaaaaaaaaaaaaaaaaaa.mp4",
		"/media/placeholders/", "/media/placeholders/-1.png", "/media/placeholders/48.png", "/media/placeholders/01.png", "/media/placeholders/1",
	} {
		got := get(t, h, http.MethodGet, path)
		text := string(body(t, got))
		if got.StatusCode != http.StatusNotFound || strings.Contains(text, v.File) || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: got status %d, %s, want 404, not cached, without the file's name", path, got.StatusCode, text)
		}
		if got.Header.Get("X-Content-Type-Options") != "nosniff" || got.Header.Get("Content-Security-Policy") != policy {
			t.Errorf("%q: got %v, want nosniff and the policy %q", path, got.Header, policy)
		}
	}
}

func TestVideosWithoutACoverShowAGeneratedPicture(t *testing.T) {
	s := newSite(t, nil)
	h, seen := Files(s.blobs, quietly), map[string]bool{}
	for range 20 {
		v := s.publish(t, "film", mp4(100))
		if !strings.HasPrefix(v.CoverURL(), "/media/placeholders/") {
			t.Fatalf("the cover is at %s, want it below /media/placeholders/", v.CoverURL())
		}
		seen[v.CoverURL()] = true
		got := get(t, h, http.MethodGet, v.CoverURL())
		picture, err := png.Decode(bytes.NewReader(body(t, got)))
		must.Succeed(t, err)
		if got.Header.Get("Content-Type") != "image/png" || picture.Bounds().Empty() {
			t.Errorf("%s: got %v, bounds %v, want a PNG that is not empty", v.CoverURL(), got.Header, picture.Bounds())
		}
	}
	if len(seen) < 5 {
		t.Errorf("20 videos have %d different pictures, want at least 5", len(seen))
	}
	v := storage.Video{File: "abcdefghijklmnop", Covered: true}
	if v.CoverURL() != "/media/covers/abcdefghijklmnop.jpg" {
		t.Errorf("the cover is at %s, want /media/covers/abcdefghijklmnop.jpg", v.CoverURL())
	}
}
