package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// publishAll publishes messages 0 to n-1 in order and returns what becomes of
// each. It runs in a synctest bubble.
func publishAll(t *testing.T, q *local.Queue, n int) []<-chan error {
	t.Helper()
	errs := make([]<-chan error, n)
	for i := range errs {
		done := make(chan error, 1)
		errs[i] = done
		go func() {
			_, err := q.Publish(context.Background(), 0, message(i))
			done <- err
		}()
		synctest.Wait()
	}
	return errs
}

func wantAcked(t *testing.T, errs []<-chan error) {
	t.Helper()
	for i, done := range errs {
		if err := <-done; err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
}

// sizes notes how many messages each Persist was given.
type sizes struct {
	mu    sync.Mutex
	calls []int
}

func (s *sizes) note(_ context.Context, messages []storage.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, len(messages))
	return nil
}

func TestMarksComeBeforeTheCommitAndTheAckAfterIt(t *testing.T) {
	store, queue := openStore(t), newQueue(t)
	var steps []string
	mirror := &spy{
		Mirror: local.Mirror{Reader: store},
		mark: func(o storage.Outcome) error {
			steps = append(steps, "mark "+strconv.Itoa(len(o.Applied)))
			return nil
		},
		publish: func(o storage.Outcome) error {
			c := o.Counts
			steps = append(steps, "publish "+strconv.Itoa(len(c)))
			return nil
		},
	}
	hooked := &hooks{Persister: store, after: func() error { steps = append(steps, "committed"); return nil }}
	startWorker(t, queue, hooked, mirror, worker.Options{})
	if _, err := queue.Publish(t.Context(), 0, message(1)); err != nil {
		t.Fatal(err)
	}
	steps = append(steps, "acknowledged")
	if want := []string{"mark 1", "committed", "publish 1", "acknowledged"}; !slices.Equal(steps, want) {
		t.Errorf("the steps were %v, want %v", steps, want)
	}
}

func TestBatchTakesWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		name string
		opts worker.Options
		want []int
	}{
		{"all of it", worker.Options{}, []int{10}},
		{"up to the bound", worker.Options{MaxActions: 4}, []int{4, 4, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, queue := openStore(t), newQueue(t)
				errs := publishAll(t, queue, 10)
				var got sizes
				startWorker(t, queue, &hooks{Persister: store, before: got.note}, local.Mirror{Reader: store}, c.opts)
				wantAcked(t, errs)
				if !slices.Equal(got.calls, c.want) {
					t.Errorf("the batches had %v messages, want %v", got.calls, c.want)
				}
			})
		})
	}
}

func TestBatchWaitsToFillUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		var got sizes
		startWorker(t, queue, &hooks{Persister: store, before: got.note}, local.Mirror{Reader: store},
			worker.Options{MaxWait: time.Second, MaxActions: 3})
		start := time.Now()
		wantAcked(t, publishAll(t, queue, 3))
		if took := time.Since(start); took != 0 {
			t.Errorf("a full batch waited %v", took)
		}
		wantAcked(t, publishAll(t, queue, 2))
		if took := time.Since(start); took != time.Second {
			t.Errorf("a batch that did not fill up waited %v", took)
		}
		if !slices.Equal(got.calls, []int{3, 2}) {
			t.Errorf("the batches had %v messages, want [3 2]", got.calls)
		}
	})
}

// A worker that dies between the commit and the acknowledgement leaves a
// message that is persisted already.
func TestRedeliveredMessageCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		read := storage.Action{User: alice, Subject: movie, Kind: storage.KindRead, Times: 3, First: 1, Version: 2}
		answer := make(chan error, 1)
		go func() {
			_, err := queue.Publish(context.Background(), 0, storage.Message{ID: "reads", Actions: []storage.Action{read}})
			answer <- err
		}()
		ctx, die := context.WithCancel(t.Context())
		deliveries, err := queue.Consume(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Persist(ctx, []storage.Message{(<-deliveries).Message()}, nil); err != nil {
			t.Fatal(err)
		}
		die()
		synctest.Wait()

		var forgotten []storage.Action
		startWorker(t, queue, store, &spy{
			Mirror: local.Mirror{Reader: store},
			forget: func(a []storage.Action) error { forgotten = append(forgotten, a...); return nil },
		}, worker.Options{})
		if err := <-answer; err != nil {
			t.Error(err)
		}
		if c := countsOf(t, store, movie); c.ReadCount != 3 {
			t.Errorf("%d reads are counted, want 3", c.ReadCount)
		}
		if !slices.Equal(forgotten, []storage.Action{read}) {
			t.Errorf("forgotten were the marks of %+v", forgotten)
		}
	})
}

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
		}}, &spy{Mirror: local.Mirror{Reader: store}, drop: func(a []storage.Action) error {
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
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for i, err := range answers {
			tries, bad := poison[message(i).ID]
			likes := countsOf(t, store, video(strconv.Itoa(i))).LikeCount
			switch {
			case bad && (!errors.Is(err, worker.ErrRejected) || !errors.Is(err, errBroken) || likes != 0 || tries != 3):
				t.Errorf("poison %d was tried %d times and answered %v; its likes are %d", i, tries, err, likes)
			case !bad && (err != nil || likes != 1):
				t.Errorf("message %d was answered %v; its likes are %d", i, err, likes)
			}
		}
		if want := slices.Concat(message(5).Actions, message(17).Actions); !slices.Equal(dropped, want) {
			t.Errorf("taken back were %+v, want %+v", dropped, want)
		}
	})
}

func TestUnavailableIsTriedAgain(t *testing.T) {
	const failures = 20
	var left int
	fail := func() error {
		if left--; left >= 0 {
			return storage.ErrUnavailable
		}
		return nil
	}
	failsToo := func() error { // a mirror's errors are all alike
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
				mirror := &spy{Mirror: local.Mirror{Reader: store}, forget: func(a []storage.Action) error {
					forgot++
					return nil
				}}
				hooked := &hooks{Persister: store}
				set(hooked, mirror)
				start := time.Now()
				startWorker(t, queue, hooked, mirror, worker.Options{MaxBackoff: time.Second})
				wantAcked(t, publishAll(t, queue, 1))
				if took := time.Since(start); took < 5*time.Second || took > failures*1500*time.Millisecond {
					t.Errorf("the tries took %v", took)
				}
				if c := countsOf(t, store, video("0")); c.LikeCount != 1 {
					t.Errorf("%d likes are counted, want 1", c.LikeCount)
				}
				if want := map[string]int{"mark": failures, "commit not known of": failures}[name]; forgot != want {
					t.Errorf("the marks of failed tries were forgotten %d times, want %d", forgot, want)
				}
			})
		})
	}
}

func TestStopFinishesTheBatchInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		gate := make(chan struct{})
		errs := publishAll(t, queue, 2)
		stop := startWorker(t, queue, &hooks{Persister: store, before: func(context.Context, []storage.Message) error {
			<-gate
			return nil
		}}, local.Mirror{Reader: store}, worker.Options{MaxActions: 1})
		synctest.Wait() // the first message is being persisted
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		close(gate)
		if err := <-stopped; err != nil {
			t.Errorf("Run returned %v", err)
		}
		wantAcked(t, errs[:1])

		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs[1:])
	})
}

func TestStopGivesUpABatchThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 3)
		stop := startWorker(t, queue, &hooks{Persister: store, before: func(ctx context.Context, _ []storage.Message) error {
			<-ctx.Done()
			return ctx.Err()
		}}, local.Mirror{Reader: store}, worker.Options{})
		synctest.Wait()
		start := time.Now()
		if err := stop(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("the worker took %v to stop", took)
		}
		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs)
	})
}

func TestStopEndsTheTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 3)
		stop := startWorker(t, queue, &hooks{Persister: store, before: func(context.Context, []storage.Message) error {
			return storage.ErrUnavailable
		}}, local.Mirror{Reader: store}, worker.Options{})
		time.Sleep(time.Minute) // no time at all in a bubble
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) != 0 {
			t.Errorf("Run returned %v after %v", err, time.Since(start))
		}
		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs)
	})
}

func TestRunEndsWithItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		w := worker.New(queue, store, local.Mirror{Reader: store}, worker.Options{Logger: quiet})
		ran := make(chan error, 1)
		go func() { ran <- w.Run(t.Context()) }()
		synctest.Wait()
		if err := queue.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ran; !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Run returned %v", err)
		}
		if err := w.Run(t.Context()); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Run on a closed queue returned %v", err)
		}
	})
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
			t.Errorf("Run panicked with %v", got)
		}
		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs) // the message came again
	})
}

func TestInboxIsPrunedAtTheStartAndEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		start := time.Now()
		var pruned []time.Duration
		stop := startWorker(t, queue, &hooks{Persister: store, prune: func(before time.Time) {
			pruned = append(pruned, before.Sub(start))
		}}, local.Mirror{Reader: store}, worker.Options{InboxAge: 48 * time.Hour})
		time.Sleep(150 * time.Minute) // no time at all in a bubble
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{-48 * time.Hour, -47 * time.Hour, -46 * time.Hour}; !slices.Equal(pruned, want) {
			t.Errorf("pruned was what is older than %v, want %v", pruned, want)
		}
	})
}

// A worker persists an action and stops before it could tell: the next one is
// told the counts, though it has nothing to persist.
func TestCountsThatWereNotToldAreToldByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		failing := &spy{Mirror: local.Mirror{Reader: store}, publish: func(storage.Outcome) error { return errBroken }}
		stop := startWorker(t, queue, store, failing, worker.Options{})
		r := newRecorder(t, queue, failing, worker.RecorderOptions{})
		answer := background(r, t.Context(), react(alice, movie, storage.Like))
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		var told []storage.SubjectCounts
		next := &spy{Mirror: local.Mirror{Reader: store}, publish: func(o storage.Outcome) error { told = append(told, o.Counts...); return nil }}
		startWorker(t, queue, store, next, worker.Options{})
		if got := <-answer; got.err != nil {
			t.Fatal(got.err)
		}
		if len(told) != 1 || told[0].LikeCount != 1 || told[0].Version != 1 {
			t.Errorf("told was %+v", told)
		}
	})
}

func TestWorkerTellsThatItIsFailing(t *testing.T) {
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
			t.Errorf("while the store is down the worker tells %v", err)
		}
		down.Store(false)
		if got := <-answer; got.err != nil {
			t.Error(got.err)
		}
		synctest.Wait()
		if err := w.Failing(); err != nil {
			t.Errorf("with the store back the worker tells %v", err)
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// The messages that a worker had in hand when it died are all forgotten before
// the first of them is persisted, whatever comes in between.
func TestAllThatIsRedeliveredIsForgottenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 5)
		ctx, die := context.WithCancel(t.Context())
		deliveries, err := queue.Consume(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range errs {
			<-deliveries
		}
		die()
		synctest.Wait()

		var steps []string
		startWorker(t, slow{queue}, &hooks{Persister: store, before: func(_ context.Context, messages []storage.Message) error {
			steps = append(steps, "persist "+strconv.Itoa(len(messages)))
			return nil
		}}, &spy{
			Mirror: local.Mirror{Reader: store},
			forget: func(a []storage.Action) error {
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

// slow is a consumer that is given a message every 50 ms.
type slow struct{ worker.Consumer }

func (s slow) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	deliveries, err := s.Consumer.Consume(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan worker.Delivery)
	go func() {
		defer close(out)
		for d := range deliveries {
			time.Sleep(50 * time.Millisecond) // no time at all in a bubble
			select {
			case out <- d:
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}

// What a failed try has marked is forgotten before anything of it is tried
// again, whole or in halves.
func TestMarksOfAFailedTryAreForgottenBeforeTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 2)
		var steps []string
		away := 3 // tries to forget that fail
		mirror := &spy{
			Mirror: local.Mirror{Reader: store},
			mark: func(o storage.Outcome) error {
				steps = append(steps, "mark "+strconv.Itoa(len(o.Applied)))
				return nil
			},
			forget: func(a []storage.Action) error {
				if away--; away >= 0 {
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

// poisoned is a store that refuses to commit message 1, once it is marked.
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

func TestLongOutageIsLoggedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		errs := publishAll(t, queue, 1)
		var log bytes.Buffer
		left := 30
		w := worker.New(queue, store, &spy{Mirror: local.Mirror{Reader: store}, mark: func(storage.Outcome) error {
			if left--; left >= 0 {
				return errBroken
			}
			return nil
		}}, worker.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- w.Run(ctx) }()
		wantAcked(t, errs)
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], errBroken.Error()) || !strings.Contains(lines[1], "goes on") {
			t.Errorf("the log is %q", lines)
		}
	})
}
