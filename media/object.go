package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ovation/api/rate"
	"ovation/storage"
)

// object is a blob that is served. It supports seeking until it is read; then, it is read
// in one piece. The bytes are charged to the payer.
type object struct {
	call   *storeCall
	meter  rate.Meter
	blobs  *Blobs
	key    string
	size   int64
	change time.Time

	offset int64
	opened bool
	reader io.ReadCloser // at offset; nil if not open
}

// errReadTwice is returned if an object is read again after a seek, or after close.
var errReadTwice = errors.New("a file is read in one piece")

// open opens a blob, which costs one call to the blob store; reading it costs another.
// The method close of the object must be called. Errors: storage.ErrNotFound;
// storage.ErrUnavailable; the context's error.
func (b *Blobs) open(ctx context.Context, key string) (*object, error) {
	o := &object{call: newStoreCall(ctx, b.reading), meter: rate.NewMeter(rate.FromContext(ctx), rate.DownloadBytesPerUnit), blobs: b, key: key}
	var is blobInfo
	_, err := o.call.do(func() (_ int, err error) {
		is, err = b.bucket.stat(o.call.ctx, key)
		return 0, err
	})
	if err != nil {
		o.call.close()
		return nil, b.failed("look up "+key, err)
	}
	o.size, o.change = is.size, is.change
	return o, nil
}

func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.offset
	case io.SeekEnd:
		offset += o.size
	}
	switch {
	case offset < 0:
		return 0, errors.New("seek before the beginning")
	case offset != o.offset && o.opened:
		return 0, errReadTwice
	}
	o.offset = offset
	return offset, nil
}

func (o *object) Read(p []byte) (int, error) {
	if o.offset >= o.size {
		return 0, io.EOF
	}
	n, err := o.call.do(func() (int, error) {
		if err := o.openReader(); err != nil {
			return 0, err
		}
		return o.reader.Read(p)
	})
	o.offset += int64(n)
	o.meter.Add(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = o.blobs.failed("read "+o.key, err)
	}
	return n, err
}

func (o *object) openReader() (err error) {
	if o.reader != nil {
		return nil
	}
	if o.opened {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, errReadTwice)
	}
	o.opened = true
	o.reader, err = o.blobs.bucket.open(o.call.ctx, o.key, o.offset)
	return err
}

// close releases the object. Later reads return an error.
func (o *object) close() {
	o.call.close()
	o.opened = true
	if o.reader != nil {
		_ = o.reader.Close() // everything that is needed has been read
		o.reader = nil
	}
}
