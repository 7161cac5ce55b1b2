package worker

import (
	"context"
	"time"

	"ovation/storage"
)

// hungCommit is the duration after which a commit counts as hanging, and the interval at
// which its marks are then invalidated. For a time well above hungCommit after a Mark or
// an Invalidate, the mirror does not fill windows (its copies of users' states) from the
// database, and reports marked states as not persisted.
const hungCommit = 4 * time.Second

// invalidateWhileHung repeatedly invalidates the marks of messages while their commit
// hangs. A commit hangs, for example, if a synchronous standby is missing. If the marks
// stayed valid, the mirror would report an uncommitted action as persisted, and take the
// database's old counts for new counts. The first call to the mirror comes after
// hungCommit. The returned function stops the calls and waits until the last call has
// ended.
func (l *batchLoop) invalidateWhileHung(ctx context.Context, messages []storage.Message) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	timer := time.AfterFunc(hungCommit, func() {
		defer close(ended)
		var actions []storage.Action
		for i := range messages {
			actions = append(actions, messages[i].Actions...)
		}
		for ctx.Err() == nil {
			wait := hungCommit
			if l.mirror.Invalidate(ctx, actions) != nil {
				l.opts.Metrics.mirrorFailures.Inc()
				wait = l.opts.MaxBackoff
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
