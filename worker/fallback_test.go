package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// publishFunc is a queue of one partition that does what it is told.
type publishFunc func(ctx context.Context, message storage.Message) (storage.Durability, error)

func (publishFunc) Partitions() int { return 1 }

func (f publishFunc) Publish(ctx context.Context, _ int, message storage.Message) (storage.Durability, error) {
	return f(ctx, message)
}

func newFallback(queue worker.Publisher, store storage.Persister, opts worker.FallbackOptions) *worker.Fallback {
	opts.Logger = quiet
	return worker.NewFallback(queue, store, opts)
}

func TestQueueThatIsAwayIsBypassed(t *testing.T) {
	store := openStore(t)
	away := func(context.Context, storage.Message) (storage.Durability, error) { return "", storage.ErrUnavailable }
	stuck := func(ctx context.Context, _ storage.Message) (storage.Durability, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	halfway := func(ctx context.Context, m storage.Message) (storage.Durability, error) {
		_, err := store.Persist(ctx, []storage.Message{m}, nil) // by a worker, while the confirm is lost
		return "", errors.Join(storage.ErrUnavailable, err)
	}
	for i, queue := range []publishFunc{away, stuck, halfway} {
		f := newFallback(queue, store, worker.FallbackOptions{PublishTimeout: 10 * time.Millisecond})
		r := newRecorder(t, f, local.Mirror{Reader: store}, worker.RecorderOptions{})
		got := record(t, r, react(user(i), movie, storage.Like))
		if got != (worker.Recorded{Changed: true, Durability: storage.Persisted}) {
			t.Errorf("recorded is %+v", got)
		}
		if counts := countsOf(t, store, movie); counts.LikeCount != int64(i+1) {
			t.Errorf("%d like it, want %d", counts.LikeCount, i+1)
		}
	}
}

func TestQueueThatIsAwayIsLeftAlone(t *testing.T) {
	var asked atomic.Int64
	queue := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) {
		asked.Add(1)
		return "", storage.ErrUnavailable
	})
	f := newFallback(queue, openStore(t), worker.FallbackOptions{BreakerPause: time.Hour})
	for i := range 10 {
		if _, err := f.Publish(t.Context(), 0, message(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := asked.Load(); got != 3 {
		t.Errorf("the queue was asked %d times, want 3", got)
	}
}

func TestQueueThatComesBackIsUsed(t *testing.T) {
	var back atomic.Bool
	queue := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) {
		if back.Load() {
			return storage.Queued, nil
		}
		return "", storage.ErrUnavailable
	})
	f := newFallback(queue, openStore(t), worker.FallbackOptions{BreakerPause: time.Millisecond})
	deadline := time.Now().Add(20 * time.Second)
	for i := 0; ; i++ {
		durability, err := f.Publish(t.Context(), 0, message(i))
		if err != nil {
			t.Fatal(err)
		}
		if durability == storage.Queued {
			if i < 5 {
				t.Fatal("it was away")
			}
			return
		}
		back.Store(i >= 5)
		if time.Now().After(deadline) {
			t.Fatal("it is never used again")
		}
	}
}

func TestWithoutQueueAndStoreIsUnavailable(t *testing.T) {
	stuck := publishFunc(func(ctx context.Context, _ storage.Message) (storage.Durability, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	var asked atomic.Int64
	store := &hooks{Persister: openStore(t), before: func(ctx context.Context, _ []storage.Message) error {
		asked.Add(1)
		<-ctx.Done()
		return ctx.Err()
	}}
	f := newFallback(stuck, store, worker.FallbackOptions{
		PublishTimeout: time.Millisecond, PersistTimeout: time.Millisecond, BreakerPause: time.Hour,
	})
	for i := range 10 {
		if _, err := f.Publish(t.Context(), 0, message(i)); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("the error is %v", err)
		}
	}
	if got := asked.Load(); got != 3 {
		t.Errorf("the store was asked %d times, want 3", got)
	}
}

func TestOnlyAQueueThatIsAwayIsBypassed(t *testing.T) {
	store := &hooks{Persister: openStore(t), before: func(context.Context, []storage.Message) error {
		t.Error("it was persisted")
		return nil
	}}
	for _, want := range []error{worker.ErrClosed, storage.ErrInvalid, context.Canceled} {
		queue := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) { return "", want })
		if _, err := newFallback(queue, store, worker.FallbackOptions{}).Publish(t.Context(), 0, message(1)); !errors.Is(err, want) {
			t.Errorf("the error is %v, want %v", err, want)
		}
	}
}

func TestWhatCanNeverBePersistedIsRejectedWithoutTheQueue(t *testing.T) {
	away := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) { return "", storage.ErrUnavailable })
	store := &hooks{Persister: openStore(t), before: func(context.Context, []storage.Message) error { return errBroken }}
	_, err := newFallback(away, store, worker.FallbackOptions{}).Publish(t.Context(), 0, message(1))
	if !errors.Is(err, worker.ErrRejected) || !errors.Is(err, errBroken) {
		t.Errorf("the error is %v", err)
	}
}
