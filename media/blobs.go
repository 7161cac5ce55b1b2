package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"ovation/storage"
)

// Blobs is the blob store. It is safe for concurrent use.
type Blobs struct {
	bucket bucket
	at     string // a folder, or s3://bucket/prefix; used in error messages

	reading, writing speed // minimum speeds of the store
}

// ErrForeignBlobs is returned if the blob store belongs to another database. A sweep
// would delete that database's videos.
var ErrForeignBlobs = errors.New("the blob store belongs to another database")

// Secrets returns the secrets of a database. storage.Store implements it.
type Secrets interface {
	Secret(ctx context.Context, name string) ([]byte, error)
}

// markerKey is the key of the blob that identifies the store's database.
const markerKey = "ovation-site"

// FolderURL returns the URL of a blob store in a folder.
func FolderURL(folder string) (string, error) {
	at, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("find the folder of videos: %w", err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(at)}).String(), nil
}

// OpenBlobs opens the blob store at a URL, file:///folder or s3://bucket, and marks it as
// belonging to the database with these secrets. A folder is created if it is missing.
// Errors: storage.ErrInvalid for other URLs; storage.ErrUnavailable; ErrForeignBlobs.
func OpenBlobs(ctx context.Context, at string, secrets Secrets) (*Blobs, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, &storage.InvalidError{Field: "blob URL", Reason: "cannot be parsed: " + err.Error()}
	}
	b := &Blobs{reading: speed{storeTime, storeMinimum}, writing: speed{writeGrace, storeMinimum}}
	switch {
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/") && u.RawQuery == "":
		b.at = filepath.FromSlash(u.Path)
		b.bucket, err = openFolder(b.at)
	case u.Scheme == "s3" && u.Host != "":
		b.at = s3At(u)
		b.bucket, err = openS3(u)
	default:
		return nil, &storage.InvalidError{Field: "blob URL", Reason: "must be file:///folder or s3://bucket?region=…"}
	}
	if err != nil {
		return nil, fmt.Errorf("open the blob store: %w", err)
	}
	if err := b.claim(ctx, secrets); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// DatabaseID returns the id of the database with these secrets: 32 hexadecimal digits.
// The database's blob store is marked with the id.
func DatabaseID(ctx context.Context, secrets Secrets) (string, error) {
	key, err := secrets.Secret(ctx, "blobs")
	if err != nil {
		return "", fmt.Errorf("identify the database of the blob store: %w", err)
	}
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16]), nil
}

// claim writes the marker or, if there is one, compares it with the id of the database.
func (b *Blobs) claim(ctx context.Context, secrets Secrets) error {
	ours, err := DatabaseID(ctx, secrets)
	if err != nil {
		return err
	}
	var found strings.Builder
	err = b.copy(ctx, &found, markerKey)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b.write(ctx, markerKey, "text/plain", strings.NewReader(ours))
	case err != nil:
		return b.failed("read "+markerKey, err)
	case found.String() != ours:
		return fmt.Errorf("%s: %w, named by the blob %s; use that database or another blob store; if that database is gone, delete the blobs", b.at, ErrForeignBlobs, markerKey)
	}
	return nil
}

// Close releases the store.
func (b *Blobs) Close() { b.bucket.close() }

// failed wraps an error from the blob store. If a blob is missing, it returns an error
// that wraps storage.ErrNotFound instead.
func (b *Blobs) failed(doing string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", doing, storage.ErrNotFound)
	}
	return b.unavailable(doing, err)
}

// unavailable wraps an error from the blob store that is not about a missing blob.
func (b *Blobs) unavailable(doing string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: the blob store: %w: %w", doing, storage.ErrUnavailable, err)
}

// write writes a whole blob or nothing. If the reader fails, its error is returned
// unchanged.
func (b *Blobs) write(ctx context.Context, key, contentType string, from io.Reader) error {
	call := newStoreCall(ctx, b.writing)
	defer call.close()
	w, err := b.bucket.create(call.ctx, key, contentType) //nolint:contextcheck // it is derived from ctx
	if err != nil {
		return b.unavailable("write "+key, err)
	}
	source := &sourceReader{Reader: from}
	if _, err := io.Copy(call.writer(w), source); err != nil {
		call.close()  // now Close writes nothing
		_ = w.Close() // it returns the cancellation
		if source.err != nil {
			return source.err
		}
		return b.unavailable("write "+key, err)
	}
	if _, err := call.do(func() (int, error) { return 0, w.Close() }); err != nil {
		return b.unavailable("write "+key, err)
	}
	return nil
}

// sourceReader records the error that a reader returns, unless the error is io.EOF.
type sourceReader struct {
	io.Reader

	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// remove deletes blobs. Missing blobs are ignored.
func (b *Blobs) remove(ctx context.Context, keys ...string) error {
	var errs []error
	for _, key := range keys {
		if err := b.removeOne(ctx, key); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, b.failed("remove "+key, err))
		}
	}
	return errors.Join(errs...)
}

func (b *Blobs) removeOne(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return b.bucket.remove(ctx, key)
}

// local returns the path of a file with the contents of a blob: the blob's own file or a
// copy. The returned function deletes the copy.
func (b *Blobs) local(ctx context.Context, key string) (path string, done func(), err error) {
	if folder, is := b.bucket.(*folderBucket); is {
		path = folder.path(key)
		if _, err := os.Stat(path); err != nil {
			return "", nil, b.failed("open "+key, err)
		}
		return path, func() {}, nil
	}
	f, err := os.CreateTemp("", "ovation-cover-")
	if err != nil {
		return "", nil, fmt.Errorf("copy %s: %w: %w", key, storage.ErrUnavailable, err)
	}
	done = func() { _ = os.Remove(f.Name()) }
	err = b.copy(ctx, f, key)
	if err = errors.Join(err, f.Close()); err != nil {
		done()
		return "", nil, b.failed("copy "+key, err)
	}
	return f.Name(), done, nil
}

// copy writes the contents of a blob to a writer, at the minimum speed of the store.
func (b *Blobs) copy(ctx context.Context, to io.Writer, key string) (err error) {
	call := newStoreCall(ctx, b.reading)
	defer call.close()
	var r io.ReadCloser
	_, err = call.do(func() (_ int, err error) {
		r, err = b.bucket.open(call.ctx, key, 0)
		return 0, err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	_, err = io.Copy(to, call.reader(r))
	return err
}
