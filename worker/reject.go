package worker

import (
	"context"
	"fmt"
	"time"

	"ovation/storage"
)

// reject has the queue keep a message that is not persisted, unless the mirror
// cannot be told.
func (h *hand) reject(ctx, working context.Context, t task, why error) {
	message := t.Message()
	if h.drop(ctx, working, message) != nil {
		h.giveBack([]task{t})
		return
	}
	h.opts.Metrics.rejections.Inc()
	h.opts.Logger.Error("message rejected", "message", message.ID, "actions", len(message.Actions), "error", why)
	h.settled("reject", t.Reject(why))
}

// rejectExpired rejects those of a batch that have expired and returns the
// others.
func (h *hand) rejectExpired(ctx, working context.Context, batch []task, expired []string) []task {
	if len(expired) == 0 {
		return batch
	}
	is := make(map[string]bool, len(expired))
	for _, id := range expired {
		is[id] = true
	}
	rest := make([]task, 0, len(batch))
	for _, t := range batch {
		if message := t.Message(); is[message.ID] {
			h.reject(ctx, working, t, fmt.Errorf("it was published at %s, more than %v ago: the id of a persisted message is "+
				"remembered for %v, so its reads may have been counted already; ovation dead replay --force counts them",
				storage.Time(message.Published).Format(time.RFC3339), storage.MaxMessageAge, storage.InboxAge))
		} else {
			rest = append(rest, t)
		}
	}
	return rest
}
