package postgres

import (
	"context"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

var logEvents = storage.EventOptions{Log: storagetest.LogEvents}

// TestLateCommitsAreNotMissed reads the log between the commits of two transactions, of
// which the one that began first commits last.
func TestLateCommitsAreNotMissed(t *testing.T) {
	t.Parallel()
	s := openAt(t, Options{URL: postgrestest.Schema(t), Events: logEvents})
	persist := func(id string, mark storage.Mark) error {
		subject, liker := movie, alice
		subject.BizID, liker.UserID = id, id
		_, err := s.Persist(t.Context(), []storage.Message{{ID: id, Actions: []storage.Action{
			{User: liker, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1},
		}}}, mark)
		return err
	}
	wantNext := func(after int64, id string) {
		t.Helper()
		page, err := s.Events(t.Context(), storage.EventsQuery{After: after})
		must.Succeed(t, err)
		if len(page.Events) != 1 || page.Events[0].Subject.BizID != id || page.Next != after+1 {
			t.Fatalf("got %+v after %d, want the like of %s", page, after, id)
		}
	}
	written, released, committed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	go func() {
		committed <- persist("early", func(context.Context, storage.Outcome) error {
			close(written)
			<-released
			return nil
		})
	}()
	<-written
	must.Succeed(t, persist("late", nil))
	wantNext(0, "late")
	release()
	must.Succeed(t, <-committed)
	wantNext(1, "early")
}

// TestEventsLeaveTheOutbox checks that Prune empties the outbox, even if nothing reads the
// log and events are switched off again.
func TestEventsLeaveTheOutbox(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	s := openAt(t, Options{URL: at, Events: logEvents})
	for i := range sealRows + 10 {
		must.Succeed(t, s.change(t.Context(), "add events", func(tx *tx) error {
			tx.events.Add(&storage.Event{Type: storage.EventLiked, Subject: movie, User: alice, At: int64(i)})
			return nil
		}))
	}
	_, err := openAt(t, Options{URL: at}).Prune(t.Context(), time.Hour)
	must.Succeed(t, err)
	if left := ask[int](t, at, `SELECT count(*) FROM event_outbox`); left != 0 {
		t.Errorf("got %d rows in the outbox, want 0", left)
	}
	stream, err := s.EventStream(t.Context())
	must.Succeed(t, err)
	if want := int64(sealRows + 10); stream.First != 1 || stream.Last != want {
		t.Errorf("got %+v, want events from 1 to %d", stream, want)
	}
}

// TestEventsAreOff checks that a store logs nothing unless events are switched on.
func TestEventsAreOff(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, err := s.Persist(t.Context(), []storage.Message{{ID: "1", Actions: []storage.Action{
		{User: alice, Subject: movie, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1},
	}}}, nil)
	must.Succeed(t, err)
	stream, err := s.EventStream(t.Context())
	must.Succeed(t, err)
	if stream.First != 1 || stream.Last != 0 {
		t.Errorf("got %+v, want no events", stream)
	}
}
