package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// publishAll publishes messages 0 to n-1 in order and returns a channel for each result.
// It must be called in a synctest bubble.
func publishAll(t *testing.T, q *local.Queue, n int) []<-chan error {
	t.Helper()
	errs := make([]<-chan error, n)
	for i := range errs {
		errs[i] = publish(q, 0, message(i))
	}
	return errs
}

func wantAcked(t *testing.T, errs []<-chan error) {
	t.Helper()
	for i, done := range errs {
		if err := <-done; err != nil {
			t.Errorf("message %d: got %v, want it acknowledged", i, err)
		}
	}
}

// batchSizes records how many messages each call to Persist receives.
type batchSizes struct {
	mu    sync.Mutex
	calls []int
}

func (s *batchSizes) record(_ context.Context, messages []storage.Message) error {
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

// A message that arrives after an idle period is processed immediately; messages that
// arrive before the pace allows another batch share the next one.
func TestBatchesKeepThePace(t *testing.T) {
	const pace = 20 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		var got batchSizes
		startWorker(t, queue, &hooks{Persister: store, before: got.record}, local.Mirror{Reader: store}, worker.Options{Pace: pace})
		for _, c := range []struct {
			rest     time.Duration // before the messages arrive
			messages int
			took     time.Duration
		}{
			{0, 1, 0},
			{pace / 4, 2, pace - pace/4},
			{pace, 1, 0},
			{0, 3, pace},
		} {
			time.Sleep(c.rest)
			start := time.Now()
			wantAcked(t, publishAll(t, queue, c.messages))
			if took := time.Since(start); took != c.took {
				t.Errorf("%d messages after a rest of %v were acknowledged after %v, want %v", c.messages, c.rest, took, c.took)
			}
		}
		if want := []int{1, 2, 1, 3}; !slices.Equal(got.calls, want) {
			t.Errorf("the batches had %v messages, want %v", got.calls, want)
		}
	})
}

func TestFullBatchesIgnoreThePace(t *testing.T) {
	const plenty = 100
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		var got batchSizes
		gate := make(chan struct{})
		startWorker(t, queue, &hooks{Persister: store, before: func(ctx context.Context, all []storage.Message) error {
			<-gate
			return got.record(ctx, all)
		}}, local.Mirror{Reader: store}, worker.Options{Pace: time.Hour})
		start := time.Now()
		errs := append(publishAll(t, queue, 1), publishAll(t, queue, plenty)...)
		close(gate)
		wantAcked(t, errs)
		if took := time.Since(start); took != 0 || !slices.Equal(got.calls, []int{1, plenty}) {
			t.Errorf("batches of %v messages took %v, want 1 and %d at once", got.calls, took, plenty)
		}
	})
}

// While one partition waits for the database, the partitions of other loops continue. The
// batches of one partition are processed in order.
func TestPartitionsAreWorkedOnSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t)
		queue := local.NewQueue(local.Options{Partitions: 4})
		t.Cleanup(func() { _ = queue.Close() })
		publishTo := func(partition, number int) <-chan error {
			m := message(number)
			m.ID = fmt.Sprintf("%d-of-%d", number, partition)
			return publish(queue, partition, m)
		}
		gate := make(chan struct{})
		startWorker(t, queue, &hooks{Persister: store, before: func(_ context.Context, all []storage.Message) error {
			if strings.HasSuffix(all[0].ID, "-of-1") {
				<-gate
			}
			return nil
		}}, local.Mirror{Reader: store}, worker.Options{Concurrency: 2, MaxActions: 1})
		held, behind, same := publishTo(1, 1), publishTo(1, 2), publishTo(3, 3)
		for i, answer := range []<-chan error{publishTo(0, 4), publishTo(2, 5)} {
			select {
			case err := <-answer:
				if err != nil {
					t.Error(err)
				}
			default:
				t.Errorf("got no answer from the other partition %d, want one", i)
			}
		}
		for i, answer := range []<-chan error{held, behind, same} {
			if len(answer) > 0 {
				t.Errorf("message %d is answered while the first of them is being persisted, want it to wait", i)
			}
		}
		close(gate)
		wantAcked(t, []<-chan error{held, behind, same})
	})
}

// A worker that dies between the commit and the acknowledgement leaves in the queue a
// message that is already persisted.
func TestRedeliveredMessageCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		read := storage.Action{User: alice, Subject: movie, Kind: storage.KindRead, Times: 3, First: 1, Version: 2}
		answer := publish(queue, 0, storage.Message{ID: "reads", Actions: []storage.Action{read}})
		ctx, die := context.WithCancel(t.Context())
		deliveries, err := queue.Consume(ctx)
		must.Succeed(t, err)
		if _, err := store.Persist(ctx, []storage.Message{(<-deliveries).Message()}, nil); err != nil {
			t.Fatal(err)
		}
		die()
		synctest.Wait()

		var forgotten []storage.Action
		startWorker(t, queue, store, &spy{
			Mirror:     local.Mirror{Reader: store},
			invalidate: func(a []storage.Action) error { forgotten = append(forgotten, a...); return nil },
		}, worker.Options{})
		if err := <-answer; err != nil {
			t.Error(err)
		}
		if c := countsOf(t, store, movie); c.ReadCount != 3 {
			t.Errorf("%d reads are counted, want 3", c.ReadCount)
		}
		if !slices.Equal(forgotten, []storage.Action{read}) {
			t.Errorf("got the invalidated marks %+v, want those of %+v", forgotten, []storage.Action{read})
		}
	})
}

// A message that is redelivered after its id was pruned is rejected if its reads could
// count twice. The other messages of its batch are persisted.
func TestRedeliveryAfterPruningCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		published := storage.Micros(time.Now())
		read := storage.Action{User: alice, Subject: movie, Kind: storage.KindRead, Times: 3, First: 1, Version: 2}
		like := react(alice, movie, storage.Like)
		like.Version = 3
		messages := []storage.Message{
			{ID: "reads", Actions: []storage.Action{read}, Published: published},
			{ID: "likes", Actions: []storage.Action{like}, Published: published},
			{ID: "import", Actions: []storage.Action{read}, Published: published, Forever: true},
			{ID: "forced", Actions: []storage.Action{read}},
		}
		if _, err := store.Persist(t.Context(), messages[:1], nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(storage.InboxAge + time.Minute) // takes no real time in a bubble
		if n, err := store.Prune(t.Context(), storage.InboxAge); n != 1 || err != nil {
			t.Fatalf("Prune: got %d ids, %v, want 1", n, err)
		}
		answers := make([]<-chan error, len(messages))
		for i, m := range messages {
			answers[i] = publish(queue, 0, m)
		}
		var dropped []storage.Action
		startWorker(t, queue, store, &spy{
			Mirror: local.Mirror{Reader: store},
			revert: func(a []storage.Action) error { dropped = append(dropped, a...); return nil },
		}, worker.Options{})
		if err := <-answers[0]; !errors.Is(err, worker.ErrRejected) || !strings.Contains(err.Error(), "ovation dead replay --force") {
			t.Errorf("the message that may have been persisted: got %v, want %v, naming ovation dead replay --force", err, worker.ErrRejected)
		}
		for i, answer := range answers[1:] {
			if err := <-answer; err != nil {
				t.Errorf("message %q: got %v, want it acknowledged", messages[i+1].ID, err)
			}
		}
		if c := countsOf(t, store, movie); c.ReadCount != 9 || c.LikeCount != 1 {
			t.Errorf("%d reads and %d likes are counted, want 9 and 1", c.ReadCount, c.LikeCount)
		}
		if !slices.Equal(dropped, []storage.Action{read}) {
			t.Errorf("got the reverted actions %+v, want %+v", dropped, []storage.Action{read})
		}
	})
}

func TestStopFinishesTheRunningBatch(t *testing.T) {
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
			t.Errorf("Run: got %v, want no error", err)
		}
		wantAcked(t, errs[:1])

		startWorker(t, queue, store, local.Mirror{Reader: store}, worker.Options{})
		wantAcked(t, errs[1:])
	})
}

func TestStopAbandonsASlowBatch(t *testing.T) {
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
			t.Errorf("Run: got %v, want no error", err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("stopping the worker took %v, want 10 s", took)
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
		time.Sleep(time.Minute) // takes no real time in a bubble
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) != 0 {
			t.Errorf("Run: got %v after %v, want no error at once", err, time.Since(start))
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
		must.Succeed(t, queue.Close())
		if err := <-ran; !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Run: got %v, want %v", err, worker.ErrClosed)
		}
		if err := w.Run(t.Context()); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Run on a closed queue: got %v, want %v", err, worker.ErrClosed)
		}
	})
}

func TestInboxIsPrunedAtTheStartAndEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		start := time.Now()
		var pruned []time.Duration
		stop := startWorker(t, queue, &hooks{Persister: store, prune: func(age time.Duration) {
			if age != storage.InboxAge {
				t.Errorf("Prune(%v), want Prune(%v)", age, storage.InboxAge)
			}
			pruned = append(pruned, time.Since(start))
		}}, local.Mirror{Reader: store}, worker.Options{})
		time.Sleep(150 * time.Minute) // takes no real time in a bubble
		must.Succeed(t, stop())
		if want := []time.Duration{0, time.Hour, 2 * time.Hour}; !slices.Equal(pruned, want) {
			t.Errorf("the inbox was pruned after %v, want %v", pruned, want)
		}
	})
}
