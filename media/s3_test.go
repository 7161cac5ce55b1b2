package media

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

// newS3Site returns a site whose blob store is an S3 server in this process, and the query
// of the URL of that blob store. The function around wraps the handler of the server.
func newS3Site(t *testing.T, around func(http.Handler) http.Handler) (*site, url.Values) {
	t.Helper()
	backend := s3mem.New()
	must.Succeed(t, backend.CreateBucket("films"))
	server := httptest.NewServer(around(gofakes3.New(backend).Server()))
	t.Cleanup(server.Close)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "test")
	}
	query := url.Values{"endpoint": {server.URL}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	store := sqlitetest.Open(t)
	blobs, err := OpenBlobs(t.Context(), "s3://films?"+query.Encode(), store)
	must.Succeed(t, err)
	t.Cleanup(blobs.Close)
	s := &site{store: store, blobs: blobs, service: New(Config{Store: store, Accounts: store, Blobs: blobs, Logger: quietly})}
	t.Cleanup(s.service.Close)
	return s, query
}

// TestVideosInS3 publishes, serves, sweeps and deletes videos with an S3 server that runs
// in this process.
func TestVideosInS3(t *testing.T) {
	s, query := newS3Site(t, func(h http.Handler) http.Handler { return h })
	store, blobs := s.store, s.blobs
	file := mp4(partBytes + 1000) // of two parts
	v := s.publish(t, "film", file)
	h := Files(blobs, quietly)
	whole := get(t, h, http.MethodGet, v.PlayURL())
	if got := body(t, whole); whole.StatusCode != http.StatusOK || !bytes.Equal(got, file) || whole.Header.Get("Content-Type") != "video/mp4" {
		t.Errorf("GET %s = %d, %d bytes, %v, want 200, the %d bytes uploaded, video/mp4", v.PlayURL(), whole.StatusCode, len(got), whole.Header, len(file))
	}
	part := get(t, h, http.MethodGet, v.PlayURL(), "Range", "bytes=8388606-8388617")
	if got := body(t, part); part.StatusCode != http.StatusPartialContent || !bytes.Equal(got, file[8388606:8388618]) {
		t.Errorf("a range: got status %d, %q, want 206, %q", part.StatusCode, got, file[8388606:8388618])
	}
	missing := get(t, h, http.MethodGet, "/media/videos/aaaaaaaaaaaaaaaaaaaaaaaaaa.mp4")
	if body(t, missing); missing.StatusCode != http.StatusNotFound {
		t.Errorf("a missing file: got status %d, want 404", missing.StatusCode)
	}
	if _, err := s.service.StoreFile(t.Context(), bytes.NewReader(mp4(100)[:20])); err == nil {
		t.Error("StoreFile of 20 bytes of an MP4 file returned no error")
	}

	tool, _ := fixedCoverProgram(t)
	m := NewCoverMaker(CoverOptions{Store: store, Blobs: blobs, Tool: tool, Logger: quietly})
	must.Succeed(t, m.make(t.Context(), v))
	gone := s.publish(t, "gone", mp4(100))
	_, _, err := store.DeleteVideo(t.Context(), deletionOf(gone), nil)
	must.Succeed(t, err)
	n, err := newJanitor(s, time.Nanosecond).Sweep(t.Context())
	want := []string{v.CoverKey(), markerKey, v.FileKey()}
	if left := list(t, blobs); err != nil || n != 1 || !slices.Equal(left, want) {
		t.Errorf("Sweep = %d, %v and left %v, want 1, nil and %v", n, err, left, want)
	}
	_, err = s.service.Delete(t.Context(), deletionOf(v))
	must.Succeed(t, err)
	if left := list(t, blobs); !slices.Equal(left, []string{markerKey}) {
		t.Errorf("the deletion left %v, want %s alone", left, markerKey)
	}
	query.Set("prefix", "ovation/")
	shared, err := OpenBlobs(t.Context(), "s3://films?"+query.Encode(), store)
	must.Succeed(t, err)
	shared.Close()
	_, err = OpenBlobs(t.Context(), "s3://films?"+query.Encode(), sqlitetest.Open(t))
	if !errors.Is(err, ErrForeignBlobs) || !strings.Contains(err.Error(), "s3://films/ovation:") {
		t.Errorf("OpenBlobs with another database = %v, want %v and the part of the bucket, s3://films/ovation", err, ErrForeignBlobs)
	}
	query.Del("prefix")
	if _, err := OpenBlobs(t.Context(), "s3://missing?"+query.Encode(), store); err == nil {
		t.Error("OpenBlobs of a bucket that does not exist returned no error")
	}
}

// TestAvatarsInS3 uploads, replaces, serves, sweeps and erases pictures with an S3 server.
func TestAvatarsInS3(t *testing.T) {
	s, _ := newS3Site(t, func(h http.Handler) http.Handler { return h })
	ann := s.register(t, "ann")
	s.setAvatar(t, ann)
	path := s.setAvatar(t, ann)
	want := []string{strings.TrimPrefix(path, storage.MediaPath), markerKey}
	if left := list(t, s.blobs); !slices.Equal(left, want) || s.avatar(t, ann) != path {
		t.Errorf("the blobs are %v and the avatar is %q, want %v and %q", left, s.avatar(t, ann), want, path)
	}
	served := get(t, Files(s.blobs, quietly), http.MethodGet, path)
	if letters := cornersOf(t, body(t, served)); letters != "rgby" || served.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("the corners are %s and the headers %v, want rgby and a JPEG picture", letters, served.Header)
	}
	must.Succeed(t, s.blobs.write(t.Context(), storage.AvatarKey(strings.Repeat("a", 26)), "image/jpeg", strings.NewReader("x")))
	n, err := newJanitor(s, time.Nanosecond).Sweep(t.Context())
	if left := list(t, s.blobs); err != nil || n != 1 || !slices.Equal(left, want) {
		t.Errorf("Sweep = %d, %v and left %v, want 1, nil and %v", n, err, left, want)
	}
	must.Succeed(t, s.service.EraseAvatar(t.Context(), ann))
	if left := list(t, s.blobs); !slices.Equal(left, []string{markerKey}) || s.avatar(t, ann) != "" {
		t.Errorf("the erasure left %v and the avatar %q, want %s alone", left, s.avatar(t, ann), markerKey)
	}
}

// TestAbortedUploadLeavesNoParts checks that nothing of an upload that ends early is kept in
// S3, and that its error is the reader's.
func TestAbortedUploadLeavesNoParts(t *testing.T) {
	s, _ := newS3Site(t, func(h http.Handler) http.Handler { return h })
	gone := errors.New("the client has gone")
	_, err := s.service.StoreFile(t.Context(), io.MultiReader(bytes.NewReader(mp4(2*partBytes+1)), iotest.ErrReader(gone)))
	if !errors.Is(err, gone) {
		t.Errorf("StoreFile = %v, want %v", err, gone)
	}
	bucket := s.blobs.bucket.(*s3Bucket)
	left, err := bucket.client.ListMultipartUploads(t.Context(), bucket.name, "", "", "", "", 10)
	must.Succeed(t, err)
	if files := list(t, s.blobs); len(left.Uploads) > 0 || !slices.Equal(files, []string{markerKey}) {
		t.Errorf("the upload left the parts %v and the files %v, want %s alone", left.Uploads, files, markerKey)
	}
}

// TestSizesOfUploadsInS3 writes blobs around the size of a part.
func TestSizesOfUploadsInS3(t *testing.T) {
	s, _ := newS3Site(t, func(h http.Handler) http.Handler { return h })
	for _, size := range []int{0, 1, partBytes - 1, partBytes, partBytes + 1, 2 * partBytes} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * 7)
		}
		must.Succeed(t, s.blobs.write(t.Context(), "videos/x.mp4", "video/mp4", iotest.HalfReader(bytes.NewReader(content))))
		var got bytes.Buffer
		must.Succeed(t, s.blobs.copy(t.Context(), &got, "videos/x.mp4"))
		if !bytes.Equal(got.Bytes(), content) {
			t.Errorf("a blob of %d bytes has %d bytes, or others", size, got.Len())
		}
	}
}

func TestWrongURLsOfS3AreRefused(t *testing.T) {
	for bad, want := range map[string]string{
		"s3://films?regoin=x":                     `"regoin"`,
		"s3://films?endpoint=minio:9000":          `"minio:9000"`,
		"s3://films?endpoint=https://x/path":      `"https://x/path"`,
		"s3://films?endpoint=ftp://x":             `"ftp://x"`,
		"s3://films?region=x&use_path_style=sure": `"sure"`,
		"s3://films?region=%zz":                   "query",
	} {
		_, err := OpenBlobs(t.Context(), bad, nil)
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenBlobs(%s) = %v, want %v and %s", bad, err, storage.ErrInvalid, want)
		}
	}
}
