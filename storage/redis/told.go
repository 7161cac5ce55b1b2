package redis

import (
	"context"
	"slices"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/window"
)

const (
	toldTime   = 300 * time.Millisecond // that it is waited for a worker
	toldPause  = 5 * time.Millisecond   // between the first two looks; twice as long each time
	toldPauses = 40 * time.Millisecond  // at most
	untoldTime = time.Second            // after waiting in vain
)

// awaitWorker waits until a worker has persisted actions that this process
// could not show. While the epoch is open, other nodes believe Redis, and lack
// what they are not told: the worker's marks tell them. It gives up after a
// moment, at once where it has lately waited in vain, and where the database
// cannot tell.
func (s *Store) awaitWorker(ctx context.Context, actions []storage.Action) {
	actions = slices.DeleteFunc(slices.Clone(actions), func(a storage.Action) bool { return a.Kind == storage.KindRead })
	began := time.Since(s.opened)
	wait := time.NewTimer(toldPause)
	defer wait.Stop()
	for pause := toldPause; ; pause = min(2*pause, toldPauses) {
		if len(actions) == 0 || !s.epochs.Current().Open || began < time.Duration(s.untold.Load()) {
			return
		}
		wait.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		_, left, err := s.persisted(ctx, actions)
		if err != nil {
			return
		}
		if actions = left; time.Since(s.opened)-began > toldTime {
			s.untold.Store(int64(time.Since(s.opened) + untoldTime))
			return
		}
	}
}

// persisted splits actions into those that the database has, or something newer,
// and the others.
func (s *Store) persisted(ctx context.Context, actions []storage.Action) (done, left []storage.Action, err error) {
	if len(actions) == 0 {
		return nil, nil, nil
	}
	var kinds storage.Kinds
	keys := make([]storage.StateKey, len(actions))
	for i := range actions {
		keys[i] = storage.StateKey{User: actions[i].User, Subject: actions[i].Subject}
		kinds |= storage.KindsOf(actions[i].Kind)
	}
	found, err := s.source.States(ctx, keys, kinds)
	for i := range found {
		if window.Included(&found[i], &actions[i]) {
			done = append(done, actions[i])
		} else {
			left = append(left, actions[i])
		}
	}
	return done, left, err
}
