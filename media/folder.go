package media

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// folderBucket keeps each blob in a file whose path below the folder is the blob's key.
// The folder may be shared by several processes and machines.
type folderBucket struct {
	folder string
}

// openFolder returns a bucket in a folder, which is created if it is missing.
func openFolder(folder string) (*folderBucket, error) {
	return &folderBucket{folder}, os.MkdirAll(folder, 0o700) //nolint:gosec // the operator names the folder
}

func (b *folderBucket) path(key string) string {
	return filepath.Join(b.folder, filepath.FromSlash(key))
}

// create writes to a temporary file beside the blob's file.
func (b *folderBucket) create(ctx context.Context, key, _ string) (io.WriteCloser, error) {
	path := b.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { //nolint:gosec // keys are made by this package
		return nil, err
	}
	f, err := os.OpenFile(path+"."+rand.Text()+".tmp", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // as above
	if err != nil {
		return nil, err
	}
	return &folderWriter{File: f, ctx: ctx, path: path}, nil
}

type folderWriter struct {
	*os.File

	ctx    context.Context //nolint:containedctx // of one blob
	path   string          // of the blob
	failed error
}

func (w *folderWriter) Write(p []byte) (n int, err error) {
	if err = w.ctx.Err(); err == nil {
		n, err = w.File.Write(p)
	}
	w.failed = errors.Join(w.failed, err)
	return n, err
}

// Close flushes the file to disk before it gets its name, and then the folder's entry.
func (w *folderWriter) Close() error {
	err := errors.Join(w.failed, w.ctx.Err())
	if err == nil {
		err = w.Sync()
	}
	err = errors.Join(err, w.File.Close())
	if err == nil {
		err = os.Rename(w.Name(), w.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(w.Name()))
	}
	folder, err := os.Open(filepath.Dir(w.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (b *folderBucket) open(_ context.Context, key string, offset int64) (io.ReadCloser, error) {
	f, err := os.Open(b.path(key))
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (b *folderBucket) stat(_ context.Context, key string) (blobInfo, error) {
	is, err := os.Stat(b.path(key))
	if err != nil {
		return blobInfo{}, err
	}
	return blobInfo{key, is.Size(), is.ModTime()}, nil
}

func (b *folderBucket) remove(_ context.Context, key string) error { return os.Remove(b.path(key)) }

// list follows the folder itself if it is a symbolic link, as it may be to another disk. No
// symbolic link is listed.
func (b *folderBucket) list(ctx context.Context, folder string) iter.Seq2[blobInfo, error] {
	return func(yield func(blobInfo, error) bool) {
		err := filepath.WalkDir(b.path(folder)+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil || !entry.Type().IsRegular() {
				return unlessMissing(err) // a file that is removed meanwhile is not listed
			}
			name, err := filepath.Rel(b.folder, path)
			if err != nil {
				return err
			}
			is, err := entry.Info()
			if err != nil {
				return unlessMissing(err)
			}
			if !yield(blobInfo{filepath.ToSlash(name), is.Size(), is.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(blobInfo{}, err)
		}
	}
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b *folderBucket) close() {}
