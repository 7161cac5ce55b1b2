package worker

import (
	"context"
	"fmt"
	"time"

	"ovation/storage"
)

const (
	historyChunk = 500             // subjects removed from a history in one transaction
	historyTime  = 5 * time.Second // after which Clear begins no further transaction
)

// Histories removes subjects from users' read histories, and is safe for concurrent use.
// As a history may be long, it is cleared in chunks.
type Histories struct {
	store storage.Histories
	now   func() time.Time
}

// NewHistories returns a Histories that uses the given store and clock, which must be that
// of the recorders. If there is a mirror, the store must update it.
func NewHistories(store storage.Histories, now func() time.Time) *Histories {
	return &Histories{store: store, now: now}
}

// Clear removes every subject of a user's read history, those of one kind (biz) or one
// subject (biz and bizID). No read that was recorded before brings a subject back. It
// returns how many subjects it has removed and whether it ended early, because that took
// more than five seconds; the call may then be repeated.
//
// Errors: storage.ErrInvalid; storage.ErrUnavailable, in which case some subjects may have
// been removed; the context's error.
func (h *Histories) Clear(ctx context.Context, user storage.User, biz, bizID string) (removed int64, more bool, err error) {
	began := h.now()
	clearing := storage.ReadsClear{User: user, Biz: biz, BizID: bizID, Until: storage.Micros(began)}
	if err := h.store.BeginClear(ctx, clearing); err != nil {
		return 0, false, fmt.Errorf("begin to clear reads: %w", err)
	}
	for {
		n, _, err := h.store.ClearReads(ctx, clearing, historyChunk, nil)
		removed += int64(n)
		switch {
		case err != nil:
			return removed, false, fmt.Errorf("clear reads: %w", err)
		case n < historyChunk:
			return removed, false, nil
		case h.now().Sub(began) >= historyTime:
			return removed, true, nil
		}
	}
}
