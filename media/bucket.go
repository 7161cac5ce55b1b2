package media

import (
	"context"
	"io"
	"iter"
	"time"
)

// bucket keeps blobs by their keys: slash-separated paths without "." and "..". A blob
// appears as a whole or not at all, and never changes. If a blob is missing, the error
// wraps fs.ErrNotExist. Buckets are safe for concurrent use.
type bucket interface {
	// create begins to write a blob, which exists once Close returns nil. If ctx ends
	// before, or a method returns an error, there is no blob. Close must be called.
	create(ctx context.Context, key, contentType string) (io.WriteCloser, error)
	// open returns a reader of a blob from a position on.
	open(ctx context.Context, key string, offset int64) (io.ReadCloser, error)
	// stat describes a blob.
	stat(ctx context.Context, key string) (blobInfo, error)
	// remove deletes a blob.
	remove(ctx context.Context, key string) error
	// list returns the blobs whose keys begin with folder and a slash, or all blobs if
	// folder is empty, in any order. In a folder on disk, the list includes the unfinished
	// files of killed processes. The sequence ends after an error.
	list(ctx context.Context, folder string) iter.Seq2[blobInfo, error]
	// close releases the bucket.
	close()
}

// blobInfo describes a blob.
type blobInfo struct {
	key    string
	size   int64 // in bytes
	change time.Time
}
