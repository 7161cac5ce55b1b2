package media

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/internal/testing/openapitest"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/worker"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderOfUpload); folder != "" {
		uploadUntilKilled(folder)
	}
	goleak.VerifyTestMain(m)
}

var (
	alice   = storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	quietly = slog.New(slog.DiscardHandler)
)

// site is a store, a blob store in a folder, and a service that uses both.
type site struct {
	store   *sqlite.Store
	folder  string
	blobs   *Blobs
	service *Service
}

func newSite(t *testing.T, covers worker.Publisher) *site {
	t.Helper()
	s := &site{store: sqlitetest.Open(t), folder: filepath.Join(t.TempDir(), "media")}
	s.blobs = openSite(t, s.folder, s.store)
	s.service = New(Config{Store: s.store, Blobs: s.blobs, Accounts: s.store, Covers: covers, MaxBytes: 1 << 20, Logger: quietly})
	t.Cleanup(s.service.Close)
	return s
}

func openSite(t *testing.T, folder string, store storage.Store) *Blobs {
	t.Helper()
	at, err := FolderURL(folder)
	must.Succeed(t, err)
	blobs, err := OpenBlobs(t.Context(), at, store)
	must.Succeed(t, err)
	t.Cleanup(blobs.Close)
	return blobs
}

// files returns the keys in the blob store, except its marker.
func (s *site) files(t *testing.T) (names []string) {
	t.Helper()
	must.Succeed(t, filepath.WalkDir(s.folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != markerKey {
			name, err := filepath.Rel(s.folder, path)
			must.Succeed(t, err)
			names = append(names, name)
		}
		return err
	}))
	return names
}

func (s *site) videos(t *testing.T) []storage.Video {
	t.Helper()
	got, err := s.store.Feed(t.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: storage.Page{First: 100}}})
	must.Succeed(t, err)
	return got[0].Entries
}

// wantNoLeftovers fails the test if an upload has left something behind.
func (s *site) wantNoLeftovers(t *testing.T, after string) {
	t.Helper()
	if files, videos := s.files(t), s.videos(t); len(files)+len(videos) > 0 {
		t.Errorf("%s left the files %v and the videos %v, want none", after, files, videos)
	}
}

// mp4 returns a file of the given size that begins like an MP4 file.
func mp4(size int) []byte { return boxed("isom", size) }

// boxed returns a file of the given size that begins with a box of the given brand.
func boxed(brand string, size int) []byte {
	out := make([]byte, max(size, 24))
	binary.BigEndian.PutUint32(out, 24)
	copy(out[4:], "ftyp"+brand+"\x00\x00\x02\x00"+brand+"iso2")
	for i := 24; i < len(out); i++ {
		out[i] = byte(i * 7)
	}
	return out[:size]
}

// webm returns a file that begins like a WebM file with the given document type.
func webm(docType string) []byte {
	body := append([]byte{0x42, 0x86, 0x81, 1, 0x42, 0x82, 0x80 | byte(len(docType))}, docType...)
	return append([]byte{0x1a, 0x45, 0xdf, 0xa3, 0x80 | byte(len(body))}, append(body, "the rest"...)...)
}

// form returns a multipart body with the fields, followed by the file. In fields, each
// name is followed by its value.
func form(t *testing.T, file []byte, fields ...string) (body []byte, contentType string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for i := 0; i < len(fields); i += 2 {
		must.Succeed(t, w.WriteField(fields[i], fields[i+1]))
	}
	if file != nil {
		part, err := w.CreateFormFile("file", "film.mp4")
		must.Succeed(t, err)
		_, err = part.Write(file)
		must.Succeed(t, err)
	}
	must.Succeed(t, w.Close())
	return out.Bytes(), w.FormDataContentType()
}

// as returns a handler that passes each request to the handler next, with the given user
// as the viewer.
func as(user storage.User, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(viewer.Identity{User: user}.NewContext(r.Context())))
	})
}

// upload sends a body as alice and returns the status and the response.
func (s *site) upload(t *testing.T, body []byte, contentType string) (int, uploaded) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/media/videos", bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	as(alice, s.service.Uploads()).ServeHTTP(w, r)
	var out uploaded
	document, err := openapitest.Load()
	must.Succeed(t, err)
	if err := document.CheckReply(http.MethodPost, "/media/videos", w.Code, w.Body.Bytes()); err != nil {
		t.Errorf("the OpenAPI document does not describe status %d, %s: %v", w.Code, w.Body, err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("got status %d, %s, want JSON: %v", w.Code, w.Body, err)
	}
	return w.Code, out
}

type uploaded struct {
	Video struct{ ID, VideoID, Title, PlayURL, CoverURL string }

	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

func (s *site) publish(t *testing.T, title string, file []byte) *storage.Video {
	t.Helper()
	f, err := s.service.StoreFile(t.Context(), bytes.NewReader(file))
	must.Succeed(t, err)
	v, err := s.service.Publish(t.Context(), alice, title, "", f)
	must.Succeed(t, err)
	return v
}

func TestDeletionRemovesFileAndCover(t *testing.T) {
	s := newSite(t, nil)
	v := s.publish(t, "film", mp4(100))
	must.Succeed(t, s.blobs.write(t.Context(), v.CoverKey(), "image/jpeg", strings.NewReader("picture")))
	_, err := s.service.Delete(t.Context(), storage.VideoDeletion{Key: v.Key(), By: storage.User{Tenant: "default", UserID: "bob"}})
	if !errors.Is(err, storage.ErrNotFound) || len(s.files(t)) != 2 {
		t.Errorf("a video of another user: got %v, files %v, want %v, 2 files", err, s.files(t), storage.ErrNotFound)
	}
	_, err = s.service.Delete(t.Context(), storage.VideoDeletion{Key: v.Key(), By: alice})
	must.Succeed(t, err)
	s.wantNoLeftovers(t, "the deletion")
}

func TestBlobsOfAnotherSiteAreRefused(t *testing.T) {
	s := newSite(t, nil)
	at, err := FolderURL(s.folder)
	must.Succeed(t, err)
	if _, err := OpenBlobs(t.Context(), at, sqlitetest.Open(t)); !errors.Is(err, ErrForeignBlobs) || !strings.Contains(err.Error(), s.folder) {
		t.Errorf("OpenBlobs with another database = %v, want %v and the folder %s", err, ErrForeignBlobs, s.folder)
	}
	openSite(t, s.folder, s.store) // again
	for _, bad := range []string{"", "x", "http://x", "file://host/x", "file://./x", "s3://", "mem://", "file:///x?base_url=y", "s3://\x00"} {
		if _, err := OpenBlobs(t.Context(), bad, s.store); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%q: got %v, want %v", bad, err, storage.ErrInvalid)
		}
	}
}

// list returns the keys in a blob store.
func list(t *testing.T, b *Blobs) (keys []string) {
	t.Helper()
	for of, err := range b.bucket.list(t.Context(), "") {
		must.Succeed(t, err)
		keys = append(keys, of.key)
	}
	return keys
}
