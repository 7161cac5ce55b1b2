package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// likesBatch is a batch of a like and a read of the movie by alice.
func likesBatch(requestID string) storage.ActionBatch {
	like, read := react(alice, movie, storage.Like), storage.Action{User: alice, Subject: movie, Kind: storage.KindRead, Times: 1, First: 7, Version: 7}
	like.Version = 7
	return storage.ActionBatch{By: user(0), RequestID: requestID, Actions: []storage.Action{like, read}}
}

func newBatches(t *testing.T, p storage.Persister, m worker.Mirror, queue worker.Publisher) *worker.ActionBatches {
	t.Helper()
	b := worker.NewActionBatches(p, m, worker.ActionBatchesOptions{Queue: queue, Logger: quiet})
	t.Cleanup(func() { must.Succeed(t, b.Close(context.Background())) })
	return b
}

func TestBatchOfActionsIsRecordedOnce(t *testing.T) {
	store := openStore(t)
	b := newBatches(t, store, local.Mirror{Reader: store}, downQueue)
	for range 2 {
		got, err := b.Record(t.Context(), likesBatch("1"))
		if err != nil || got != (worker.RecordedBatch{Changed: 2, Durability: storage.Persisted}) {
			t.Errorf("got %+v, %v, want 2 changes, %s", got, err, storage.Persisted)
		}
	}
	if got := countsOf(t, store, movie); got.LikeCount != 1 || got.ReadCount != 1 {
		t.Errorf("got %+v, want one like and one read", got)
	}
	other := likesBatch("1")
	other.Actions[0].Version++
	if _, err := b.Record(t.Context(), other); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("another batch with the same request id: got %v, want %v", err, storage.ErrInvalid)
	}
	must.Succeed(t, b.Close(t.Context()))
	if _, err := b.Record(t.Context(), likesBatch("2")); !errors.Is(err, worker.ErrClosed) {
		t.Errorf("after Close: got %v, want %v", err, worker.ErrClosed)
	}
}

// A batch that the database cannot take is queued under the same message id, so that it
// counts once, whether the database has taken it or not.
func TestBatchOfActionsIsQueuedWhileTheDatabaseIsUnavailable(t *testing.T) {
	store := openStore(t)
	for name, outage := range map[string]*hooks{
		"before the commit": {Persister: store, before: func(context.Context, []storage.Message) error { return storage.ErrUnavailable }},
		"after the commit":  {Persister: store, after: func() error { return storage.ErrUnavailable }},
	} {
		subject := video(name)
		batch := likesBatch(name)
		for i := range batch.Actions {
			batch.Actions[i].Subject = subject
		}
		var queued []storage.Message
		queue := publishFunc(func(_ context.Context, m storage.Message) (storage.Durability, error) {
			queued = append(queued, m)
			return storage.Queued, nil
		})
		var applied []storage.Action
		mirror := &spy{Mirror: local.Mirror{Reader: store}, apply: func(actions []storage.Action) error { applied = actions; return nil }}
		got, err := newBatches(t, outage, mirror, queue).Record(t.Context(), batch)
		if err != nil || got != (worker.RecordedBatch{Changed: storage.UnknownChanges, Durability: storage.Queued}) {
			t.Errorf("%s: got %+v, %v, want it %s", name, got, err, storage.Queued)
		}
		if len(queued) != 1 || queued[0].Request != (storage.ActionRequest{}) || !slices.Equal(queued[0].Actions, batch.Actions) || !slices.Equal(applied, batch.Actions) {
			t.Fatalf("%s: queued %+v and applied %+v, want one message with the actions for both, without a request", name, queued, applied)
		}
		if _, err := store.Persist(t.Context(), queued, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := newBatches(t, store, mirror, queue).Record(t.Context(), batch); err != nil || len(queued) != 1 {
			t.Errorf("%s: got %v and %d messages, want the batch recorded without the queue", name, err, len(queued))
		}
		if got := countsOf(t, store, subject); got.LikeCount != 1 || got.ReadCount != 1 {
			t.Errorf("%s: got %+v, want one like and one read", name, got)
		}
	}
}

func TestBatchOfActionsIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		release := sync.OnceFunc(func() { close(hold) })
		defer release()
		stuck := &hooks{before: func(context.Context, []storage.Message) error {
			<-hold // like a commit that hangs: no context ends it
			return errBroken
		}}
		for name, queue := range map[string]worker.Publisher{"no queue": nil, "a queue that is down": downQueue, "a queue that hangs": stuckQueue} {
			b := worker.NewActionBatches(stuck, &spy{}, worker.ActionBatchesOptions{Queue: queue, Logger: quiet})
			began := time.Now()
			if _, err := b.Record(t.Context(), likesBatch("1")); !errors.Is(err, storage.ErrUnavailable) || time.Since(began) > 6*time.Second {
				t.Errorf("%s: got %v after %v, want %v within 6 s", name, err, time.Since(began), storage.ErrUnavailable)
			}
		}
		release()
	})
}

// Few batches are persisted at the same time; those that wait too long are queued.
func TestBatchesOfActionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		slow := &hooks{Persister: openStore(t), before: func(context.Context, []storage.Message) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(2 * time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		}}
		queue := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) { return storage.Queued, nil })
		b := newBatches(t, slow, &spy{}, queue)
		var group sync.WaitGroup
		where := map[storage.Durability]int{}
		for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
			group.Go(func() {
				got, err := b.Record(t.Context(), likesBatch(id))
				mu.Lock()
				defer mu.Unlock()
				if where[got.Durability]++; err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if most != 2 || where[storage.Persisted] != 4 || where[storage.Queued] != 2 {
			t.Errorf("got %d at the same time, %v, want 2, with 4 of them persisted and 2 queued", most, where)
		}
	})
}

func TestBatchOfActionsWithAnInvalidActionRecordsNothing(t *testing.T) {
	store := openStore(t)
	batch := likesBatch("1")
	batch.Actions[1].Subject.Biz = "Not a biz"
	_, err := newBatches(t, store, local.Mirror{Reader: store}, downQueue).Record(t.Context(), batch)
	if invalid, ok := errors.AsType[*storage.InvalidError](err); !ok || invalid.Field != "actions[1].biz" {
		t.Errorf("got %v, want an error about actions[1].biz", err)
	}
	wantLikes(t, store, movie, 0)
}
