package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"ovation/storage"
)

// Whoever closes an epoch waits for a transaction that hangs, and everybody who
// writes waits behind him: so he soon gives up, and they go on.
func TestEpochChangeGivesUpBehindATransactionThatHangs(t *testing.T) {
	s := open(t)
	g := newTraffic()
	inside, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := s.Persist(context.Background(), []storage.Message{g.message("hangs", 1)}, func(context.Context, storage.Outcome) error {
			close(inside)
			<-release
			return nil
		})
		done <- err
	}()
	<-inside
	began := time.Now()
	changed := make(chan error)
	go func() {
		_, err := s.NextEpoch(context.Background(), 1)
		changed <- err
	}()
	_, err := s.Persist(t.Context(), []storage.Message{g.message("waits", 1)}, nil)
	fatal(t, err)
	if err := <-changed; !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("an epoch began while a transaction hangs: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("others waited for %v", took)
	}
	close(release)
	fatal(t, <-done)
	e, err := s.NextEpoch(t.Context(), 1)
	if err != nil || !e.Open || e.Number != 2 {
		t.Errorf("afterwards: %+v, %v", e, err)
	}
}
