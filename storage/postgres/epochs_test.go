package postgres

import (
	"context"
	"errors"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/storagetest"
)

// TestEpochChangeTimesOutBehindAHangingTransaction checks that a change to the epoch
// gives up soon if it waits for a transaction that hangs. All writers wait behind the
// change, and continue when it has given up.
func TestEpochChangeTimesOutBehindAHangingTransaction(t *testing.T) {
	t.Parallel()
	s := open(t)
	g := storagetest.NewTraffic()
	inside, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := s.Persist(context.Background(), []storage.Message{g.Message("hangs", 1)}, func(context.Context, storage.Outcome) error {
			close(inside)
			<-release
			return nil
		})
		done <- err
	}()
	<-inside
	changed := make(chan error)
	go func() {
		_, err := s.NextEpoch(context.Background(), 1, mirror.NewEpoch{Number: 2})
		changed <- err
	}()
	_, err := s.Persist(t.Context(), []storage.Message{g.Message("waits", 1)}, nil)
	must.Succeed(t, err)
	if err := <-changed; !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("NextEpoch while a transaction hangs: got %v, want %v", err, storage.ErrUnavailable)
	}
	// The second Persist and NextEpoch have returned, and the transaction still hangs.
	close(release)
	must.Succeed(t, <-done)
	e, err := s.NextEpoch(t.Context(), 1, mirror.NewEpoch{Number: 2})
	if err != nil || !e.Open || e.Number != 2 {
		t.Errorf("NextEpoch afterwards = %+v, %v, want epoch 2, open", e, err)
	}
}
