//go:build long

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/media"
	"ovation/storage/postgres"
)

// blobStore describes where a test's nodes keep video files.
type blobStore struct {
	url      string
	received func() bool     // reports whether a part of an upload has arrived
	files    func() []string // returns the complete files
}

// folderStore returns a blob store in a folder that all nodes share.
func folderStore(t *testing.T, _ *site) blobStore {
	t.Helper()
	folder := t.TempDir()
	must.Succeed(t, os.Chmod(folder, 0o777))
	list := func(ending string) []string {
		found, err := filepath.Glob(filepath.Join(folder, "videos", "*"+ending))
		must.Succeed(t, err)
		return found
	}
	return blobStore{
		"file://" + folder, func() bool { return len(list(".tmp")) == 1 }, func() []string { return list(".mp4") },
	}
}

// s3Store returns a blob store in a bucket of an S3 server that runs in this process.
func s3Store(t *testing.T, s *site) blobStore {
	t.Helper()
	backend := s3mem.New()
	must.Succeed(t, backend.CreateBucket("films"))
	serve := gofakes3.New(backend).Server()
	var parts atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve.ServeHTTP(w, r)
		if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
			parts.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		s.variables[name] = "test"
		t.Setenv(name, "test")
	}
	query := url.Values{"endpoint": {server.URL}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	return blobStore{"s3://films?" + query.Encode(), func() bool { return parts.Load() > 0 }, func() []string {
		all, err := backend.ListBucket("films", nil, gofakes3.ListBucketPage{})
		must.Succeed(t, err)
		var found []string
		for _, one := range all.Contents {
			if strings.HasPrefix(one.Key, "videos/") {
				found = append(found, one.Key)
			}
		}
		return found
	}}
}

// If a node is killed during an upload, neither the video nor its file exists. A client
// can repeat the upload on another node. After a sweep, only the files of existing videos
// remain.
func TestLongUploadOfAKilledNodeLeavesNoVideo(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *site) blobStore{"folder": folderStore, "S3": s3Store} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			blobs := open(t, s)
			s.variables["OVATION_BLOB_URL"], s.variables["OVATION_VIDEOS"], s.variables["PATH"] = blobs.url, "true", fakeFFmpeg(t)
			s.start(t, "work")
			a, b := s.start(t, "serve"), s.start(t, "serve")
			first, err := a.uploads("First", clip(1000))
			must.Succeed(t, err)

			const size = 20 << 20 // two S3 parts and a bit of the third
			upload := a.beginUpload(t, size)
			await.That(t, "a part is received", blobs.received)
			a.kill()
			upload.cutOff(t)
			if films := b.feed(t); len(films) != 1 || films[0].VideoID != first.VideoID {
				t.Errorf("the feed is %+v, want video %s alone", films, first.VideoID)
			}
			if files := blobs.files(); len(files) != 1 {
				t.Errorf("there are the files %v, want one", files)
			}

			file := clip(size)
			again, err := b.uploads("A film", file)
			must.Succeed(t, err)
			if status, text := b.download(t, again.PlayURL); status != http.StatusOK || !bytes.Equal(text, file) {
				t.Errorf("GET %s = %d, %d bytes, want 200, the %d bytes uploaded", again.PlayURL, status, len(text), size)
			}
			await.That(t, "the covers are made", func() bool {
				return !slices.ContainsFunc(b.feed(t), func(f film) bool { return !strings.HasPrefix(f.CoverURL, "/media/covers/") })
			})
			s.sweep(t, blobs.url)
			if files := blobs.files(); len(files) != 2 || len(b.feed(t)) != 2 || blobs.left(t) {
				t.Errorf("after the sweep: files %v, feed %+v, parts left: %t, want 2 files, 2 videos, no parts", files, b.feed(t), blobs.left(t))
			}
			if status, _ := b.download(t, first.PlayURL); status != http.StatusOK {
				t.Errorf("after the sweep: GET %s = %d, want 200", first.PlayURL, status)
			}
			s.consistent(t)
		})
	}
}

// left reports whether a folder still holds a part of an upload. For S3, left returns
// false.
func (b blobStore) left(t *testing.T) bool {
	t.Helper()
	return strings.HasPrefix(b.url, "file:") && b.received()
}

// sweep removes files without a video, as a worker does, but regardless of their age.
func (s *site) sweep(t *testing.T, blobURL string) {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Options{URL: s.variables["OVATION_POSTGRES_URL"]})
	must.Succeed(t, err)
	defer store.Close()
	blobs, err := media.OpenBlobs(t.Context(), blobURL, store)
	must.Succeed(t, err)
	defer blobs.Close()
	_, err = media.NewJanitor(media.JanitorOptions{Store: store, Blobs: blobs, Age: time.Nanosecond}).Sweep(t.Context())
	must.Succeed(t, err)
}
