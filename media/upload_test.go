package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/internal/testing/must"
	"ovation/storage"
)

func TestUploadIsStoredWholeOrNotAtAll(t *testing.T) {
	s := newSite(t, nil)
	for _, size := range []int{24, 5000, 1 << 20} {
		for _, last := range []bool{false, true} { // true: the title follows the file
			fields := []string{"title", fmt.Sprint("film ", size)}
			file := mp4(size)
			body, contentType := form(t, file, fields...)
			if last {
				var out bytes.Buffer
				w := multipart.NewWriter(&out)
				part, err := w.CreateFormFile("file", "x")
				must.Succeed(t, err)
				_, err = part.Write(file)
				must.Succeed(t, err)
				must.Succeed(t, w.WriteField(fields[0], fields[1]))
				must.Succeed(t, w.Close())
				body, contentType = out.Bytes(), w.FormDataContentType()
			}
			status, got := s.upload(t, body, contentType)
			if status != http.StatusCreated || got.Video.Title != fields[1] || got.Video.PlayURL == "" || got.Video.CoverURL == "" {
				t.Fatalf("%d bytes: got status %d, %+v, want 201, titled %q", size, status, got, fields[1])
			}
			stored, err := os.ReadFile(filepath.Join(s.folder, strings.TrimPrefix(got.Video.PlayURL, storage.MediaPath)))
			must.Succeed(t, err)
			if !bytes.Equal(stored, file) {
				t.Errorf("%d bytes: the stored file is not the one uploaded", size)
			}
		}
	}
	if files, videos := len(s.files(t)), len(s.videos(t)); files != 6 || videos != 6 {
		t.Errorf("there are %d files and %d videos, want 6 each", files, videos)
	}
}

// TestUploadThatEndsEarlyLeavesNothing checks that an upload leaves nothing behind if its
// body is truncated or its client disconnects.
func TestUploadThatEndsEarlyLeavesNothing(t *testing.T) {
	s := newSite(t, nil)
	body, contentType := form(t, mp4(100_000), "title", "film")
	for _, n := range []int{0, 10, 150, 300, 5000, 50_000, len(body) - 10, len(body) - 3} {
		if status, _ := s.upload(t, body[:n], contentType); status != http.StatusBadRequest {
			t.Errorf("%d bytes: got status %d, want 400", n, status)
		}
	}
	s.wantNoLeftovers(t, "a body that ends early")

	ctx, hangUp := context.WithCancel(t.Context())
	read := 0
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/media/videos", readerFunc(func(p []byte) (int, error) {
		if read >= 20_000 {
			hangUp()
			return 0, io.ErrUnexpectedEOF
		}
		n := copy(p[:min(len(p), 1000)], body[read:])
		read += n
		return n, nil
	}))
	r.Header.Set("Content-Type", contentType)
	as(alice, s.service.Uploads()).ServeHTTP(httptest.NewRecorder(), r)
	s.wantNoLeftovers(t, "a client that hung up")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestHostileUploadsAreRefused(t *testing.T) {
	s := newSite(t, nil)
	html := []byte("<!doctype html><script>alert(1)</script>")
	for name, c := range map[string]struct {
		file   []byte
		fields []string
		status int
		code   string
	}{
		"0 bytes":              {[]byte{}, []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"no file":              {nil, []string{"title", "x"}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"no title":             {mp4(100), nil, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a title of spaces":    {mp4(100), []string{"title", " \t\u200b"}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a long title":         {mp4(100), []string{"title", strings.Repeat("x", 151)}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a huge field":         {mp4(100), []string{"title", strings.Repeat("x", 5000)}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a title with NUL":     {mp4(100), []string{"title", "a\x00b"}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a request too long":   {mp4(100), []string{"title", "x", "requestId", strings.Repeat("x", 65)}, http.StatusBadRequest, "BAD_USER_INPUT"},
		"a page":               {html, []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"a page before MP4":    {append(slices.Clone(html), mp4(100)...), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"a playlist":           {[]byte("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"SVG":                  {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"GIF":                  {append([]byte("GIF89a"), mp4(100)...), []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"HEIC":                 {boxed("heic", 100)[:16], []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"half a head":          {mp4(100)[:20], []string{"title", "x"}, http.StatusUnsupportedMediaType, "BAD_USER_INPUT"},
		"too large by a byte":  {mp4(1<<20 + 1), []string{"title", "x"}, http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
		"too large with parts": {mp4(2 << 20), []string{"title", "x"}, http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
		"many fields":          {mp4(100), strings.Split(strings.Repeat("title,x,", 12)+"a,b", ","), http.StatusBadRequest, "BAD_USER_INPUT"},
	} {
		body, contentType := form(t, c.file, c.fields...)
		status, got := s.upload(t, body, contentType)
		if status != c.status || len(got.Errors) != 1 || got.Errors[0].Extensions.Code != c.code {
			t.Errorf("%s: got status %d, %+v, want %d, one error %s", name, status, got, c.status, c.code)
		}
		s.wantNoLeftovers(t, name)
	}
	if status, got := s.upload(t, []byte(`{"title":"x"}`), "application/json"); status != http.StatusBadRequest {
		t.Errorf("JSON: got status %d, %+v, want 400", status, got)
	}

	// A body that is too large according to its Content-Length is refused before a byte
	// is read.
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/videos", readerFunc(func([]byte) (int, error) {
		t.Error("the body of 10 GiB is read, want it refused by its Content-Length")
		return 0, io.EOF
	}))
	r.ContentLength = 10 << 30
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	w := httptest.NewRecorder()
	as(alice, s.service.Uploads()).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("10 GiB claimed: got status %d, want 413", w.Code)
	}

	w = httptest.NewRecorder()
	s.service.Uploads().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/videos", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("an anonymous upload: got status %d, want 401", w.Code)
	}
	s.wantNoLeftovers(t, "all of these")
}

// TestNamesOfFilesAreNotUsed checks that file names, which clients choose, are never
// used. It also checks that a file that is both a video and a valid file of another type
// is stored as a video.
func TestNamesOfFilesAreNotUsed(t *testing.T) {
	s := newSite(t, nil)
	polyglot := append(mp4(1000), "<script>alert(1)</script>%PDF-1.7 PK\x03\x04"...)
	for _, name := range []string{`../../../etc/cron.d/x`, `..\..\x`, "a\x00b.mp4", "/etc/passwd", strings.Repeat("x", 5000), "x.html", `"><script>`} {
		var out bytes.Buffer
		w := multipart.NewWriter(&out)
		must.Succeed(t, w.WriteField("title", "film"))
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", `form-data; name="file"; filename="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)+`"`)
		header.Set("Content-Type", "text/html")
		part, err := w.CreatePart(header)
		must.Succeed(t, err)
		_, err = part.Write(polyglot)
		must.Succeed(t, err)
		must.Succeed(t, w.Close())
		status, got := s.upload(t, out.Bytes(), w.FormDataContentType())
		if status == http.StatusCreated {
			if !strings.HasPrefix(got.Video.PlayURL, "/media/videos/") || !strings.HasSuffix(got.Video.PlayURL, ".mp4") {
				t.Errorf("%q is at %s, want /media/videos/*.mp4", name, got.Video.PlayURL)
			}
		} else if status != http.StatusBadRequest {
			t.Errorf("%q: got status %d, want 201 or 400: %+v", name, status, got)
		}
	}
	for _, name := range s.files(t) {
		if stem, is := strings.CutSuffix(strings.TrimPrefix(name, "videos"+string(filepath.Separator)), ".mp4"); !is || storage.ValidateFile(stem) != nil {
			t.Errorf("there is a file %q, want generated names that end in .mp4", name)
		}
	}
}

func TestRepeatedUploadPublishesOnce(t *testing.T) {
	s := newSite(t, nil)
	body, contentType := form(t, mp4(1000), "title", "film", "requestId", "1")
	_, first := s.upload(t, body, contentType)
	status, second := s.upload(t, body, contentType)
	if status != http.StatusCreated || second.Video != first.Video {
		t.Errorf("the same upload again: got status %d, %+v, want 201, %+v", status, second, first)
	}
	if files := s.files(t); len(files) != 1 {
		t.Errorf("there are the files %v, want one", files)
	}
	other, contentType := form(t, mp4(1001), "title", "film", "requestId", "1")
	if status, got := s.upload(t, other, contentType); status != http.StatusBadRequest {
		t.Errorf("another file: got status %d, %+v, want 400", status, got)
	}
	if files := s.files(t); len(files) != 1 {
		t.Errorf("after the refused upload there are the files %v, want one", files)
	}
}

// TestUploadsAreBounded checks the shares of a user and of an address, and the total.
func TestUploadsAreBounded(t *testing.T) {
	s := newSite(t, nil)
	from := func(i int) quota.Owner {
		return quota.Owner{User: storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint(i)}, Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}
	}
	var ends []func()
	reserve := func(by quota.Owner) {
		t.Helper()
		end, err := s.service.Reserve(by)
		must.Succeed(t, err)
		ends = append(ends, end)
	}
	refused := func(by quota.Owner, beyond string) {
		t.Helper()
		if _, err := s.service.Reserve(by); !errors.Is(err, ErrBusy) {
			t.Errorf("Reserve beyond the limit of %s = %v, want %v", beyond, err, ErrBusy)
		}
	}
	for range maxUploadsOfUser {
		reserve(quota.Owner{User: alice})
	}
	refused(quota.Owner{User: alice, Address: from(1).Address}, "a user")
	body, contentType := form(t, mp4(100), "title", "film")
	if status, _ := s.upload(t, body, contentType); status != http.StatusTooManyRequests {
		t.Errorf("an upload beyond the limit of a user: got status %d, want 429", status)
	}
	for i := range maxUploadsOfAddress {
		reserve(quota.Owner{User: from(i).User, Address: from(200).Address})
	}
	refused(quota.Owner{User: from(99).User, Address: from(200).Address}, "an address")
	for i := len(ends); i < maxUploads; i++ {
		reserve(from(100 + i))
	}
	refused(from(201), "all users")
	for _, end := range ends {
		end()
	}
	if status, _ := s.upload(t, body, contentType); status != http.StatusCreated {
		t.Errorf("after all of them: got status %d, want 201", status)
	}
	s.wantNoPlacesTaken(t)
}

func (s *site) wantNoPlacesTaken(t *testing.T) {
	t.Helper()
	if n := s.service.uploadPlaces.Used(); n != 0 {
		t.Errorf("got %d places taken, want none", n)
	}
}

// TestUploadsOfUnknownUsersAreBounded checks that uploads whose user is not known yet are
// counted by address, and that they leave places for other uploads.
func TestUploadsOfUnknownUsersAreBounded(t *testing.T) {
	s := newSite(t, nil)
	from := func(i int) quota.Owner { return quota.Owner{Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})} }
	var ends []func()
	for i := range maxAnonymousUploads {
		end, err := s.service.Reserve(from(i / maxAnonymousUploadsOfAddress))
		must.Succeed(t, err)
		ends = append(ends, end)
		if i < maxAnonymousUploadsOfAddress-1 {
			continue
		}
		if _, err := s.service.Reserve(from(0)); !errors.Is(err, ErrBusy) {
			t.Errorf("Reserve beyond the limit of an address = %v, want %v", err, ErrBusy)
		}
	}
	if _, err := s.service.Reserve(from(9)); !errors.Is(err, ErrBusy) {
		t.Errorf("Reserve beyond the limit of all addresses = %v, want %v", err, ErrBusy)
	}
	end, err := s.service.Reserve(quota.Owner{User: alice, Address: from(9).Address})
	must.Succeed(t, err)
	for _, end := range append(ends, end, end) {
		end()
	}
	s.wantNoPlacesTaken(t)
}

// TestPublishesOfAUserAreLimited checks that only published videos count, and that the
// file of a video that may not be published is removed.
func TestPublishesOfAUserAreLimited(t *testing.T) {
	s := newSite(t, nil)
	s.service.publishes = rate.NewAttempts(2, time.Hour)
	send := func(want int, file []byte, fields ...string) {
		t.Helper()
		body, contentType := form(t, file, fields...)
		if status, got := s.upload(t, body, contentType); status != want {
			t.Errorf("uploading %q: got status %d, %+v, want %d", fields, status, got, want)
		}
	}
	send(http.StatusCreated, mp4(100), "title", "one", "requestId", "1")
	send(http.StatusCreated, mp4(100), "title", "one", "requestId", "1")
	send(http.StatusBadRequest, mp4(100), "title", "")
	send(http.StatusUnsupportedMediaType, []byte("no video"), "title", "x")
	send(http.StatusCreated, mp4(100), "title", "two")
	send(http.StatusTooManyRequests, mp4(100), "title", "three")
	file, err := s.service.StoreFile(t.Context(), bytes.NewReader(mp4(100)))
	must.Succeed(t, err)
	_, err = s.service.Publish(t.Context(), alice, "three", "", file)
	if limited, is := errors.AsType[*LimitedError](err); !is || limited.Wait <= 0 || limited.Wait > time.Hour {
		t.Errorf("Publish beyond the limit = %v, want a *LimitedError with a wait of up to an hour", err)
	}
	if files := s.files(t); len(files) != 2 {
		t.Errorf("there are the files %v, want 2", files)
	}
	bob := storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}
	if end, err := s.service.Reserve(quota.Owner{User: bob}); err != nil {
		t.Errorf("Reserve for another user = %v, want no error", err)
	} else {
		end()
	}
}

// TestSlowUploadIsCutOff checks that a slow upload is cut off, and that a steady upload
// may exceed the server's timeouts. The pauses of the steady upload add up to more than
// the server's timeouts and the grace, so it ends in time only if the bytes that arrive
// move its deadline. Its grace also covers the time until the first bytes are read, which
// may be long on a busy machine.
func TestSlowUploadIsCutOff(t *testing.T) {
	s := newSite(t, nil)
	for _, c := range []struct {
		name    string
		pause   time.Duration
		grace   time.Duration
		slowest int64
		status  int
	}{
		{"slow", time.Second, 200 * time.Millisecond, 1 << 20, http.StatusRequestTimeout},
		{"steady", 40 * time.Millisecond, 2 * time.Second, 1, http.StatusCreated},
	} {
		server := httptest.NewUnstartedServer(as(alice, withMinRate(http.HandlerFunc(s.service.upload), speed{c.grace, func() int64 { return c.slowest }}, speed{receiveGrace, minimum})))
		server.Config.ReadHeaderTimeout = time.Minute // the others are for the body and the response
		server.Config.ReadTimeout, server.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
		server.Start()
		body, contentType := form(t, mp4(3000), "title", "film")
		sent := 0
		slow := readerFunc(func(p []byte) (int, error) {
			if sent == len(body) {
				return 0, io.EOF
			}
			if sent > 0 {
				pause(t.Context(), c.pause)
			}
			n := copy(p[:min(len(p), 50)], body[sent:])
			sent += n
			return n, nil
		})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, slow)
		must.Succeed(t, err)
		r.Header.Set("Content-Type", contentType)
		response, err := server.Client().Do(r)
		switch {
		case err == nil:
			if response.StatusCode != c.status {
				t.Errorf("%s: got status %d, want %d", c.name, response.StatusCode, c.status)
			}
			must.Succeed(t, response.Body.Close())
		case c.status == http.StatusCreated: // a client that is still sending may miss the response
			t.Errorf("%s: got %v, want status %d", c.name, err, c.status)
		}
		server.Close()
		if c.status != http.StatusCreated {
			s.wantNoLeftovers(t, c.name)
		}
	}
	if n := len(s.videos(t)); n != 1 {
		t.Errorf("there are %d videos, want 1", n)
	}
}
