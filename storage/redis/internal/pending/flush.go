package pending

import (
	"context"
	"sync"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/window"
)

const (
	minRetry = 100 * time.Millisecond // pause before pending writes are applied again
	maxRetry = 2 * time.Second
)

// Run applies pending writes to Redis until the context ends. It also polls the database
// for the actions that callers of AwaitWorker are waiting for.
func (u *Writes) Run(ctx context.Context) {
	var looking sync.WaitGroup
	looking.Go(func() { u.watchPersisted(ctx) })
	defer looking.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wake:
		}
		wait := time.NewTimer(minRetry)
		for pause := minRetry; ; pause = min(2*pause, maxRetry) {
			wait.Reset(pause)
			select {
			case <-ctx.Done():
				return
			case <-wait.C:
			}
			if u.flush(ctx) {
				pause = minRetry / 2
			}
			if u.Count() == 0 {
				break
			}
		}
	}
}

// flush applies some pending writes, and removes those that are applied or persisted. It
// reports whether it removed any.
func (u *Writes) flush(ctx context.Context) bool {
	at := u.Epochs.Active()
	removed := at != nil && u.removeApplied(at)
	done, left, err := u.split(ctx, u.batch())
	if err != nil {
		return removed
	}
	u.Remove(done)
	removed = removed || len(done) > 0
	if at == nil {
		return removed
	}
	left = u.notApplied(left, at)
	if len(left) == 0 || u.Apply(ctx, at, left) != nil || !u.Epochs.LeaseValid(at) {
		return removed
	}
	u.Remove(left)
	return true
}

// split returns the actions that the database includes (done), and the rest (left).
func (u *Writes) split(ctx context.Context, actions []storage.Action) (done, left []storage.Action, err error) {
	included, err := u.included(ctx, actions)
	for i, is := range included {
		if is {
			done = append(done, actions[i])
		} else {
			left = append(left, actions[i])
		}
	}
	return done, left, err
}

// included reports for each action whether the database includes the action, or one that
// supersedes it.
func (u *Writes) included(ctx context.Context, actions []storage.Action) ([]bool, error) {
	if len(actions) == 0 {
		return nil, nil
	}
	var kinds storage.Kinds
	keys := make([]storage.StateKey, len(actions))
	for i := range actions {
		keys[i] = storage.StateKey{User: actions[i].User, Subject: actions[i].Subject}
		kinds |= storage.KindsOf(actions[i].Kind)
	}
	found, err := u.Database.States(ctx, keys, kinds)
	out := make([]bool, len(found))
	for i := range found {
		out[i] = window.Included(&found[i], &actions[i])
	}
	return out, err
}
