package accounts

import (
	"context"
	"errors"
	"sync/atomic"

	"ovation/storage"
)

// ErrBusy is returned if too many passwords are being hashed.
var ErrBusy = errors.New("too many passwords are being checked")

// waitingPerHash is the maximum number of waiting callers per running hash.
const waitingPerHash = 50

// hashPool limits how many callers wait and how many hashes are computed at the same
// time, since each hash takes memory and a processor.
type hashPool struct {
	slots   chan struct{}
	waiting atomic.Int64
}

func newHashPool(most int) *hashPool { return &hashPool{slots: make(chan struct{}, most)} }

// run calls f, which computes one hash. Errors: ErrBusy if too many callers are waiting,
// and the error that storage.Ended returns if ctx ends first.
func (p *hashPool) run(ctx context.Context, f func()) error {
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > int64(cap(p.slots)*(1+waitingPerHash)) {
		return ErrBusy
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return storage.Ended(ctx, "wait to hash a password")
	}
	defer func() { <-p.slots }()
	f()
	return nil
}
