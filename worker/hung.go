package worker

import (
	"context"
	"time"

	"ovation/storage"
)

// hung is how long a commit may take until its marks are forgotten, and then how
// often. It is well below the time for which the mirror keeps windows from being
// filled after a mark or a Forget, and calls a marked state not persisted.
const hung = 4 * time.Second

// forgetWhileHung forgets the marks of messages again and again while their
// commit hangs, as it does without a synchronous standby: the mirror would
// otherwise call persisted what is not, and take what the database held before for
// what the new counts include. It begins after a while and ends with stop, which
// waits for it.
func (h *hand) forgetWhileHung(ctx context.Context, messages []storage.Message) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	timer := time.AfterFunc(hung, func() {
		defer close(ended)
		var actions []storage.Action
		for i := range messages {
			actions = append(actions, messages[i].Actions...)
		}
		for ctx.Err() == nil {
			wait := hung
			if h.mirror.Forget(ctx, actions) != nil {
				h.opts.Metrics.mirrorFailures.Inc()
				wait = h.opts.MaxBackoff
			}
			sleep(ctx, wait)
		}
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-ended
		}
	}
}
