package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ovation/storage"
)

const (
	// storeTime bounds a call to the blob store that transfers no file, and how long a
	// read may stay below storeBytesPerSecond. writeGrace is the latter for a write,
	// which may have to wait until a whole part is sent.
	storeTime, writeGrace = 15 * time.Second, storeTime + partBytes/storeBytesPerSecond*time.Second
	// storeBytesPerSecond is the minimum rate of the blob store, in bytes a second. A
	// file of 512 MiB takes at most 34 minutes to copy.
	storeBytesPerSecond = 256 << 10
)

func storeMinimum() int64 { return storeBytesPerSecond }

// errSlowStore means that the blob store was slower than its minimum rate.
var errSlowStore = fmt.Errorf("it is too slow: %w", storage.ErrUnavailable)

// storeCall is a transfer from or to the blob store. It is cancelled if the blob store is
// too slow. Time between the calls of do does not count.
type storeCall struct {
	ctx     context.Context //nolint:containedctx // of one transfer
	end     context.CancelCauseFunc
	allowed allowance
}

// newStoreCall returns a storeCall. Its method close must be called.
func newStoreCall(ctx context.Context, store speed) *storeCall {
	c := &storeCall{allowed: store.begin()}
	c.ctx, c.end = context.WithCancelCause(ctx)
	return c
}

// close cancels the transfer if it has not ended.
func (c *storeCall) close() { c.end(nil) }

// do calls a function that waits for the blob store and returns the number of bytes that
// it has transferred. If the blob store is too slow, do cancels the context of the
// transfer and returns errSlowStore.
func (c *storeCall) do(transfer func() (int, error)) (int, error) {
	begin, timer := time.Now(), time.AfterFunc(c.allowed.left, func() { c.end(errSlowStore) })
	n, err := transfer()
	timer.Stop()
	c.allowed.spend(time.Since(begin), n)
	if err != nil && errors.Is(context.Cause(c.ctx), errSlowStore) {
		err = errSlowStore
	}
	return n, err
}

// readers and writers returned by these methods transfer through do.

func (c *storeCall) reader(from io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) { return c.do(func() (int, error) { return from.Read(p) }) })
}

func (c *storeCall) writer(to io.Writer) io.Writer {
	return writeFunc(func(p []byte) (int, error) { return c.do(func() (int, error) { return to.Write(p) }) })
}

type (
	readFunc  func([]byte) (int, error)
	writeFunc func([]byte) (int, error)
)

func (f readFunc) Read(p []byte) (int, error)   { return f(p) }
func (f writeFunc) Write(p []byte) (int, error) { return f(p) }
