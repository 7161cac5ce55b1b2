package worker

import (
	"context"
	"fmt"
	"time"

	"ovation/storage"
)

// reject removes a message's actions from the mirror and dead-letters the message. If
// the mirror cannot be updated, the message is requeued instead.
func (l *batchLoop) reject(ctx, working context.Context, t task, why error) {
	message := t.Message()
	drop := func() error { return l.mirror.Revert(working, message.Actions) }
	if l.retryMirror(ctx, "revert rejected actions", drop) != nil {
		l.requeue([]task{t})
		return
	}
	l.opts.Metrics.rejections.Inc()
	l.opts.Logger.Error("message rejected", "message", message.ID, "actions", len(message.Actions), "error", why)
	l.logSettled("reject", t.Reject(why))
}

// rejectExpired rejects the expired messages of a batch and returns all others.
func (l *batchLoop) rejectExpired(ctx, working context.Context, batch []task, expired []string) []task {
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
			l.reject(ctx, working, t, fmt.Errorf("the message was published at %s, more than %v ago; ids of persisted messages are "+
				"kept for %v, so its reads may have been counted already; run ovation dead replay --force to count them",
				storage.Time(message.Published).Format(time.RFC3339), storage.MaxMessageAge, storage.InboxAge))
		} else {
			rest = append(rest, t)
		}
	}
	return rest
}
