package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// publishFunc is a queue with one partition whose method Publish calls the function.
type publishFunc func(ctx context.Context, message storage.Message) (storage.Durability, error)

func (publishFunc) Partitions() int { return 1 }

func (f publishFunc) Publish(ctx context.Context, _ int, message storage.Message) (storage.Durability, error) {
	return f(ctx, message)
}

// downQueue fails immediately, and stuckQueue fails when the context ends.
var (
	downQueue publishFunc = func(context.Context, storage.Message) (storage.Durability, error) {
		return "", storage.ErrUnavailable
	}
	stuckQueue publishFunc = func(ctx context.Context, _ storage.Message) (storage.Durability, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
)

func newFallback(queue worker.Publisher, store storage.Persister, opts worker.FallbackOptions) *worker.Fallback {
	opts.Logger = quiet
	return worker.NewFallback(queue, store, opts)
}

func TestUnavailableQueueIsBypassed(t *testing.T) {
	store := openStore(t)
	halfway := func(ctx context.Context, m storage.Message) (storage.Durability, error) {
		_, err := store.Persist(ctx, []storage.Message{m}, nil) // by a worker, while the confirm is lost
		return "", errors.Join(storage.ErrUnavailable, err)
	}
	for i, queue := range []publishFunc{downQueue, stuckQueue, halfway} {
		f := newFallback(queue, store, worker.FallbackOptions{PublishTimeout: 10 * time.Millisecond})
		r := newRecorder(t, f, local.Mirror{Reader: store}, worker.RecorderOptions{})
		got := record(t, r, react(user(i), movie, storage.Like))
		if got != (worker.Recorded{Known: true, Changed: true, Durability: storage.Persisted}) {
			t.Errorf("queue %d: got %+v, want it known, changed and %s", i, got, storage.Persisted)
		}
		wantLikes(t, store, movie, i+1)
	}
}

// A queue counts as unavailable once calls have failed for a second, and is then not
// called until a trial is due. Concurrent calls that time out together are not enough.
func TestUnavailableQueueIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		stall := publishFunc(func(ctx context.Context, m storage.Message) (storage.Durability, error) {
			asked.Add(1)
			return stuckQueue(ctx, m)
		})
		f := newFallback(stall, openStore(t), worker.FallbackOptions{PublishTimeout: 300 * time.Millisecond})
		n := 0
		publish := func() {
			n++
			if got, err := f.Publish(context.Background(), 0, message(n)); err != nil || got != storage.Persisted {
				t.Errorf("message %d: got %q, %v, want %q", n, got, err, storage.Persisted)
			}
		}
		var together sync.WaitGroup
		for range 20 {
			n++
			m := message(n)
			together.Go(func() { _, _ = f.Publish(context.Background(), 0, m) })
		}
		together.Wait()
		for range 3 { // for more than a second
			publish()
		}
		if got := asked.Load(); got != 23 {
			t.Errorf("the queue was called %d times before its breaker opened, want 23", got)
		}
		start := time.Now()
		for range 100 {
			publish()
		}
		if got, took := asked.Load(), time.Since(start); got != 23 || took != 0 {
			t.Errorf("100 messages while the breaker is open: got %d more calls of the queue in %v, want none in no time", got-23, took)
		}
		time.Sleep(time.Second) // takes no real time in a bubble
		publish()
		publish()
		if got := asked.Load(); got != 24 {
			t.Errorf("after the pause the queue was asked %d times, want once", got-23)
		}
	})
}

func TestTrialsAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		stall := publishFunc(func(ctx context.Context, m storage.Message) (storage.Durability, error) {
			start := time.Now()
			defer func() { waits = append(waits, time.Since(start)) }()
			return stuckQueue(ctx, m)
		})
		f := newFallback(stall, openStore(t), worker.FallbackOptions{})
		for i := range 6 {
			if _, err := f.Publish(t.Context(), 0, message(i)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // takes no real time in a bubble
		}
		const whole, trial = time.Second, 400 * time.Millisecond
		if want := []time.Duration{whole, trial, trial, trial, trial, trial}; !slices.Equal(waits, want) {
			t.Errorf("the waits were %v, want %v", waits, want)
		}
	})
}

// When a hanging queue is found to be unavailable, callers that wait for it continue
// immediately.
func TestCallsDoNotWaitForAnUnavailableQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFallback(stuckQueue, openStore(t), worker.FallbackOptions{})
		start := time.Now()
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond) // takes no real time in a bubble
				if got, err := f.Publish(t.Context(), 0, message(i)); err != nil || got != storage.Persisted {
					t.Errorf("message %d: got %q, %v, want %q", i, got, err, storage.Persisted)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); took > 1100*time.Millisecond {
			t.Errorf("50 messages within 1 s took %v, want at most 1.1 s", took)
		}
	})
}

// A slow database persists what the queue does not accept, even after a call to the
// database has failed. A single stall of the persister does not fail a call.
func TestSlowPersistingIsNotCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		slow := &hooks{Persister: openStore(t), before: func(ctx context.Context, _ []storage.Message) error {
			if n++; n <= 3 { // both tries of the first message, and the first try of the next message
				return storage.ErrUnavailable
			}
			select {
			case <-time.After(600 * time.Millisecond): // takes no real time in a bubble
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		f := newFallback(downQueue, slow, worker.FallbackOptions{})
		if _, err := f.Publish(t.Context(), 0, message(0)); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("the first message: got %v, want %v", err, storage.ErrUnavailable)
		}
		for i := range 5 {
			if got, err := f.Publish(t.Context(), 0, message(i+1)); got != storage.Persisted || err != nil {
				t.Errorf("message %d: got %q, %v, want %q", i+1, got, err, storage.Persisted)
			}
		}
	})
}

// A commit that hangs does not delay its caller beyond the timeout. Close waits for the
// commit, but not forever.
func TestHangingCommitTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t)
		hangs := &hooks{Persister: store, after: func() error {
			time.Sleep(time.Minute) // takes no real time in a bubble; no context ends it
			return nil
		}}
		f := newFallback(downQueue, hangs, worker.FallbackOptions{})
		start := time.Now()
		_, err := f.Publish(t.Context(), 0, message(1))
		if took := time.Since(start); !errors.Is(err, storage.ErrUnavailable) || took != 5*time.Second {
			t.Errorf("Publish while the commit hangs: got %v after %v, want %v after 5 s", err, took, storage.ErrUnavailable)
		}
		f.Close()
		if _, err := f.Publish(t.Context(), 0, message(2)); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Publish after Close: got %v, want %v", err, storage.ErrUnavailable)
		}
		if took := time.Since(start); took != 15*time.Second {
			t.Errorf("Close and the next Publish returned %v after the first began, want 15 s", took)
		}
		time.Sleep(time.Minute) // until the commit has ended
	})
}

func TestRecoveredQueueIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := false
		queue := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) {
			if back {
				return storage.Queued, nil
			}
			return "", storage.ErrUnavailable
		})
		f := newFallback(queue, openStore(t), worker.FallbackOptions{})
		for i, want := range []storage.Durability{
			storage.Persisted, storage.Persisted, storage.Persisted, storage.Persisted, storage.Persisted, // the queue is unavailable
			storage.Persisted, // not called, although it is available again
			storage.Queued,    // after the pause
			storage.Queued,    // without a pause
		} {
			back = i >= 5
			if i == 4 || i == 6 {
				time.Sleep(time.Second) // takes no real time in a bubble
			}
			if got, err := f.Publish(t.Context(), 0, message(i)); got != want || err != nil {
				t.Errorf("message %d is %q, %v; want %q", i, got, err, want)
			}
		}
	})
}

func TestWithoutQueueAndStoreIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hooks{Persister: openStore(t), before: func(ctx context.Context, _ []storage.Message) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		f := newFallback(stuckQueue, store, worker.FallbackOptions{PublishTimeout: time.Second, PersistTimeout: time.Second})
		for i := range 10 {
			start := time.Now()
			_, err := f.Publish(t.Context(), 0, message(i))
			if !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("message %d without queue and store: got %v, want %v", i, err, storage.ErrUnavailable)
			}
			if took := time.Since(start); i >= 5 && took != 0 {
				t.Errorf("message %d with both breakers open took %v, want no time", i, took)
			}
		}
	})
}

func TestOnlyAnUnavailableQueueIsBypassed(t *testing.T) {
	store := &hooks{Persister: openStore(t), before: func(context.Context, []storage.Message) error {
		t.Error("the message was persisted")
		return nil
	}}
	for _, want := range []error{worker.ErrClosed, storage.ErrInvalid, context.Canceled} {
		queue := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) { return "", want })
		if _, err := newFallback(queue, store, worker.FallbackOptions{}).Publish(t.Context(), 0, message(1)); !errors.Is(err, want) {
			t.Errorf("Publish: got %v, want %v", err, want)
		}
	}
}

func TestUnpersistableMessagesAreRejectedWithoutTheQueue(t *testing.T) {
	store := &hooks{Persister: openStore(t), before: func(context.Context, []storage.Message) error { return errBroken }}
	_, err := newFallback(downQueue, store, worker.FallbackOptions{}).Publish(t.Context(), 0, message(1))
	if !errors.Is(err, worker.ErrRejected) || !errors.Is(err, errBroken) {
		t.Errorf("Publish: got %v, want %v because of %v", err, worker.ErrRejected, errBroken)
	}
}
