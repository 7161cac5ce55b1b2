package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/worker"
	"ovation/worker/local"
)

func TestPoisonIsIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		poison := map[string]int{"message-5": 0, "message-17": 0}
		var dropped []storage.Action
		failures := 0
		errs := publishAll(t, queue, 20)
		stop := startWorker(t, queue, &hooks{Persister: store, before: func(_ context.Context, messages []storage.Message) error {
			for _, m := range messages {
				if _, bad := poison[m.ID]; bad {
					if len(messages) == 1 {
						poison[m.ID]++
					}
					return errBroken
				}
			}
			return nil
		}}, &spy{Mirror: local.Mirror{Reader: store}, revert: func(a []storage.Action) error {
			if failures++; failures <= 3 {
				return errBroken
			}
			dropped = append(dropped, a...)
			return nil
		}}, worker.Options{})
		answers := make([]error, len(errs))
		for i, done := range errs {
			answers[i] = <-done
		}
		must.Succeed(t, stop())
		for i, err := range answers {
			tries, bad := poison[message(i).ID]
			likes := countsOf(t, store, video(strconv.Itoa(i))).LikeCount
			switch {
			case bad && (!errors.Is(err, worker.ErrRejected) || !errors.Is(err, errBroken) || likes != 0 || tries != 3):
				t.Errorf("poison %d: got %d tries, %v, %d likes, want 3, %v because of %v, none", i, tries, err, likes, worker.ErrRejected, errBroken)
			case !bad && (err != nil || likes != 1):
				t.Errorf("message %d: got %v, %d likes, want no error, 1", i, err, likes)
			}
		}
		if want := slices.Concat(message(5).Actions, message(17).Actions); !slices.Equal(dropped, want) {
			t.Errorf("taken back were %+v, want %+v", dropped, want)
		}
	})
}

func TestUnavailableIsRetried(t *testing.T) {
	const failures = 20
	var left int
	fail := func() error {
		if left--; left >= 0 {
			return storage.ErrUnavailable
		}
		return nil
	}
	failsToo := func() error { // every error from the mirror counts as unavailability
		if fail() != nil {
			return errBroken
		}
		return nil
	}
	for name, set := range map[string]func(h *hooks, m *spy){
		"store":               func(h *hooks, _ *spy) { h.before = func(context.Context, []storage.Message) error { return fail() } },
		"commit not known of": func(h *hooks, _ *spy) { h.after = fail },
		"mark":                func(_ *hooks, m *spy) { m.mark = func(storage.Outcome) error { return failsToo() } },
		"publish":             func(_ *hooks, m *spy) { m.publish = func(storage.Outcome) error { return failsToo() } },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left = failures
				store, queue := openStore(t), newQueue(t)
				forgot := 0
				mirror := &spy{Mirror: local.Mirror{Reader: store}, invalidate: func(a []storage.Action) error {
					forgot++
					return nil
				}}
				hooked := &hooks{Persister: store}
				set(hooked, mirror)
				start := time.Now()
				startWorker(t, queue, hooked, mirror, worker.Options{MaxBackoff: time.Second})
				wantAcked(t, publishAll(t, queue, 1))
				if took := time.Since(start); took < 5*time.Second || took > failures*1500*time.Millisecond {
					t.Errorf("the tries took %v, want %v to %v", took, 5*time.Second, failures*1500*time.Millisecond)
				}
				wantLikes(t, store, video("0"), 1)
				if want := map[string]int{"mark": failures, "commit not known of": failures}[name]; forgot != want {
					t.Errorf("the marks of failed tries were forgotten %d times, want %d", forgot, want)
				}
			})
		})
	}
}

func TestPanicOfTheStoreIsNotSwallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 1)
		w := worker.New(queue, &hooks{Persister: store, before: func(context.Context, []storage.Message) error {
			panic(errBroken)
		}}, local.Mirror{Reader: store}, worker.Options{Logger: quiet})
		panicked := make(chan any, 1)
		go func() {
			defer func() { panicked <- recover() }()
			_ = w.Run(t.Context())
		}()
		if got := <-panicked; got != errBroken { //nolint:errorlint // the very value
			t.Errorf("Run panicked with %v, want %v", got, errBroken)
		}
		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs) // the message is redelivered
	})
}

// If a worker persists an action and stops before it publishes the counts, the next
// worker publishes them, although it has nothing to persist.
func TestUnpublishedCountsArePublishedByTheNextWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		failing := &spy{Mirror: local.Mirror{Reader: store}, publish: func(storage.Outcome) error { return errBroken }}
		stop := startWorker(t, queue, store, failing, worker.Options{})
		r := newRecorder(t, queue, failing, worker.RecorderOptions{})
		answer := background(r, t.Context(), react(alice, movie, storage.Like))
		synctest.Wait()
		must.Succeed(t, stop())
		var told []storage.SubjectCounts
		next := &spy{Mirror: local.Mirror{Reader: store}, publish: func(o storage.Outcome) error { told = append(told, o.Counts...); return nil }}
		startWorker(t, queue, store, next, worker.Options{})
		if got := <-answer; got.err != nil {
			t.Fatal(got.err)
		}
		if len(told) != 1 || told[0].LikeCount != 1 || told[0].Version != 1 {
			t.Errorf("got the published counts %+v, want one like of version 1", told)
		}
	})
}

func TestWorkerReportsThatItIsFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		var down atomic.Bool
		down.Store(true)
		w := worker.New(queue, &hooks{Persister: store, before: func(context.Context, []storage.Message) error {
			if down.Load() {
				return storage.ErrUnavailable
			}
			return nil
		}}, local.Mirror{Reader: store}, worker.Options{Logger: quiet})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- w.Run(ctx) }()
		r := newRecorder(t, queue, local.Mirror{Reader: store}, worker.RecorderOptions{})
		answer := background(r, t.Context(), react(alice, movie, storage.Like))
		synctest.Wait()
		if err := w.Failing(); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Failing while the store is down: got %v, want %v", err, storage.ErrUnavailable)
		}
		down.Store(false)
		wantRecorded(t, answer)
		synctest.Wait()
		if err := w.Failing(); err != nil {
			t.Errorf("Failing after the store has recovered: got %v, want no error", err)
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// The marks of all messages that a worker held when it died are invalidated before the
// first of these messages is persisted, no matter what is delivered in between.
func TestAllThatIsRedeliveredIsInvalidatedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 5)
		ctx, die := context.WithCancel(t.Context())
		deliveries, err := queue.Consume(ctx)
		must.Succeed(t, err)
		for range errs {
			<-deliveries
		}
		die()
		synctest.Wait()

		var steps []string
		startWorker(t, steadyConsumer{queue}, &hooks{Persister: store, before: func(_ context.Context, messages []storage.Message) error {
			steps = append(steps, "persist "+strconv.Itoa(len(messages)))
			return nil
		}}, &spy{
			Mirror: local.Mirror{Reader: store},
			invalidate: func(a []storage.Action) error {
				steps = append(steps, "forget "+strconv.Itoa(len(a)))
				return nil
			},
		}, worker.Options{MaxActions: 2})
		wantAcked(t, errs)
		if want := []string{"forget 5", "persist 2", "persist 2", "persist 1"}; !slices.Equal(steps, want) {
			t.Errorf("the steps were %v, want %v", steps, want)
		}
	})
}

// steadyConsumer is a consumer that delivers one message every 50 ms.
type steadyConsumer struct{ worker.Consumer }

func (s steadyConsumer) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	deliveries, err := s.Consumer.Consume(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan worker.Delivery)
	go func() {
		defer close(out)
		for d := range deliveries {
			time.Sleep(50 * time.Millisecond) // takes no real time in a bubble
			select {
			case out <- d:
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}

// The marks of a failed try are invalidated before any of its messages is tried again,
// in a whole batch or in halves.
func TestMarksOfAFailedTryAreInvalidatedBeforeTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 2)
		var steps []string
		unavailable := 3 // calls to Invalidate that will still fail
		mirror := &spy{
			Mirror: local.Mirror{Reader: store},
			mark: func(o storage.Outcome) error {
				steps = append(steps, "mark "+strconv.Itoa(len(o.Applied)))
				return nil
			},
			invalidate: func(a []storage.Action) error {
				if unavailable--; unavailable >= 0 {
					return errBroken
				}
				steps = append(steps, "forget "+strconv.Itoa(len(a)))
				return nil
			},
		}
		startWorker(t, queue, &poisoned{store}, mirror, worker.Options{MaxTries: 1})
		for i, want := range []error{nil, errBroken} {
			if err := <-errs[i]; !errors.Is(err, want) {
				t.Errorf("message %d: %v, want %v", i, err, want)
			}
		}
		if want := []string{"mark 2", "forget 2", "mark 1", "mark 1", "forget 1"}; !slices.Equal(steps, want) {
			t.Errorf("the steps were %v, want %v", steps, want)
		}
	})
}

// poisoned is a store that refuses to commit message 1 after marking it.
type poisoned struct{ storage.Persister }

func (p poisoned) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	return p.Persister.Persist(ctx, messages, func(ctx context.Context, o storage.Outcome) error {
		if err := mark(ctx, o); err != nil {
			return err
		}
		if slices.ContainsFunc(messages, func(m storage.Message) bool { return m.ID == "message-1" }) {
			return errBroken
		}
		return nil
	})
}

func TestLastingOutageIsLoggedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 1)
		var log bytes.Buffer
		left := 30
		stop := startWorker(t, queue, store, &spy{Mirror: local.Mirror{Reader: store}, mark: func(storage.Outcome) error {
			if left--; left >= 0 {
				return errBroken
			}
			return nil
		}}, worker.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		wantAcked(t, errs)
		must.Succeed(t, stop())
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], errBroken.Error()) || !strings.Contains(lines[1], "worker recovered") {
			t.Errorf("got the log %q, want two lines: the failure with %v and worker recovered", lines, errBroken)
		}
	})
}

// The time that a commit waits for a standby does not depend on the size of the batch, so
// the batch is not split.
func TestBatchWhoseCommitHangsIsNotHalved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 8)
		var got batchSizes
		hung := false
		startWorker(t, queue, &hooks{Persister: store, before: got.record, after: func() error {
			if hung {
				return nil
			}
			hung = true
			time.Sleep(40 * time.Second) // takes no real time in a bubble
			return storage.ErrUnavailable
		}}, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs)
		if want := []int{8, 8}; !slices.Equal(got.calls, want) {
			t.Errorf("the tries had %v messages, want %v", got.calls, want)
		}
	})
}

// While a commit hangs, its marks are invalidated repeatedly, but not once it has
// returned.
func TestMarksOfACommitThatHangsAreInvalidated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		var begun time.Time
		var forgotten []time.Duration
		var of []int
		startWorker(t, queue, &hooks{Persister: store, after: func() error {
			time.Sleep(15 * time.Second) // takes no real time in a bubble
			return nil
		}}, &spy{
			Mirror: local.Mirror{Reader: store},
			mark:   func(storage.Outcome) error { begun = time.Now(); return nil },
			invalidate: func(actions []storage.Action) error {
				forgotten, of = append(forgotten, time.Since(begun)), append(of, len(actions))
				if len(forgotten) == 2 {
					return storage.ErrUnavailable
				}
				return nil
			},
		}, worker.Options{})
		wantAcked(t, publishAll(t, queue, 1))
		time.Sleep(time.Minute)
		const every = mirror.MarkTime
		if want := []time.Duration{every, 2 * every, 2*every + 2*time.Second, 3*every + 2*time.Second}; !slices.Equal(forgotten, want) {
			t.Errorf("marks were forgotten %v after they were made, want %v", forgotten, want)
		}
		if want := []int{1, 1, 1, 1}; !slices.Equal(of, want) {
			t.Errorf("they were those of %v actions, want %v", of, want)
		}
	})
}

func TestBatchThatTakesTooLongIsHalved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := sqlitetest.OpenDatabase(t), newQueue(t)
		errs := publishAll(t, queue, 8)
		var got batchSizes
		slow := &spy{Mirror: local.Mirror{Reader: store}, mark: func(o storage.Outcome) error {
			time.Sleep(time.Duration(len(o.Applied)) * mirror.MarkTime / 4) // takes no real time in a bubble
			return nil
		}}
		startWorker(t, queue, &hooks{Persister: store, before: got.record}, slow, worker.Options{})
		wantAcked(t, errs)
		if want := []int{8, 4, 4}; !slices.Equal(got.calls, want) {
			t.Errorf("the tries had %v messages, want %v", got.calls, want)
		}
	})
}
