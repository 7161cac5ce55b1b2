package amqp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
)

func changeTo(t *testing.T, opts Options, to int, drain Drain) Changed {
	t.Helper()
	opts.Partitions = to
	changed, err := ChangePartitions(t.Context(), opts, drain)
	must.Succeed(t, err)
	return changed
}

func refuses(t *testing.T, opts Options, partitions int, says string) {
	t.Helper()
	opts.Partitions = partitions
	q, err := Open(t.Context(), opts)
	if err == nil {
		_ = q.Close()
	}
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("Open with %d partitions: got %v, want an error with %q", partitions, err, says)
	}
}

// TestChangeOfPartitionsLosesNothingThatWasConfirmed changes the number while publishers
// continue to publish and a worker holds messages that it never settles.
func TestChangeOfPartitionsLosesNothingThatWasConfirmed(t *testing.T) {
	t.Parallel()
	opts := options(t)
	var got collector
	var confirmed sync.Map
	var round atomic.Int64
	for _, step := range []struct{ from, to int }{{3, 8}, {8, 5}, {5, 6}} {
		opts.Partitions = step.from
		publisher, holder := open(t, opts), open(t, opts)
		receive(t, publishUntilError(t, publisher, holder, &confirmed, &round)) // it is never settled
		changed := changeTo(t, opts, step.to, got.drain)
		if changed.From != step.from {
			t.Errorf("ChangePartitions: got a change from %d partitions, want from %d", changed.From, step.from)
		}
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
		if _, err := publisher.Publish(ctx, 0, message("late")); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Publish with the old number of partitions: got %v, want %v", err, storage.ErrUnavailable)
		}
		cancel()
		refuses(t, opts, step.from, fmt.Sprintf("use %d, or change the number", step.to))
		n := 0
		confirmed.Range(func(id, _ any) bool {
			n++
			if !got.has(id.(string)) {
				t.Errorf("message %s was confirmed but not persisted", id)
			}
			return true
		})
		t.Logf("%d → %d partitions with %d messages confirmed so far", step.from, step.to, n)
	}
	if got.has("late") {
		t.Error("message late was persisted although Publish returned an error")
	}
}

// publishUntilError publishes in the background until publishing fails, and returns the
// deliveries of holder.
func publishUntilError(t *testing.T, publisher, holder *Queue, confirmed *sync.Map, round *atomic.Int64) <-chan worker.Delivery {
	t.Helper()
	deliveries := consume(t, holder)
	var feeding sync.WaitGroup
	t.Cleanup(feeding.Wait)
	prefix := round.Add(1)
	for caller := range 4 {
		feeding.Go(func() {
			for i := 0; t.Context().Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d-%d", prefix, caller, i)
				ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
				_, err := publisher.Publish(ctx, i%publisher.Partitions(), message(id))
				cancel()
				if err != nil {
					return
				}
				confirmed.Store(id, true)
			}
		})
	}
	return deliveries
}

func TestChangeOfPartitionsKeepsDeadLetters(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	rejectAll(t, q, "a", "b")
	var got collector
	changeTo(t, opts, 7, got.drain)
	dead := openDead(t, opts) // with the old number
	if found := ids(list(t, dead, 10)); len(found) != 2 {
		t.Fatalf("got the dead letters %v, want 2", found)
	}
	all := func(DeadLetter) bool { return true }
	if n, err := dead.Replay(t.Context(), false, all); n != (Replayed{}) || err == nil || !strings.Contains(err.Error(), "use 7") {
		t.Errorf("Replay with the old number of partitions: got %+v, %v, want nothing replayed and an error with \"use 7\"", n, err)
	}
	opts.Partitions = 7
	if n, err := openDead(t, opts).Replay(t.Context(), false, all); n != (Replayed{Queued: 2}) || err != nil {
		t.Errorf("Replay with the new number of partitions: got %+v, %v, want 2 queued", n, err)
	}
	deliveries := consume(t, open(t, opts))
	for range 2 {
		d := receive(t, deliveries)
		if want := worker.PartitionOf(d.Message().Actions[0].Subject, 7); d.Partition() != want {
			t.Errorf("message %s is in partition %d, not %d", d.Message().ID, d.Partition(), want)
		}
	}
}

// strayConsumer consumes from the queue in which publishers register, and does not react
// when the gate closes.
func strayConsumer(t *testing.T, opts Options) (leave func()) {
	t.Helper()
	ch := channel(t, opts)
	_, err := ch.Consume(opts.withDefaults().publishers(), "", false, false, false, false, nil)
	must.Succeed(t, err)
	return func() { must.Succeed(t, ch.Close()) }
}

func TestChangeOfPartitionsIsRefusedWhileAPublisherStays(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.leaveTimeout = 6 * time.Second
	q := open(t, opts)
	publish(t, q, 0, "queued")
	leave := strayConsumer(t, opts)
	var got collector
	to := opts
	to.Partitions = 5
	_, err := ChangePartitions(t.Context(), to, got.drain)
	for begun := time.Now(); err != nil && strings.Contains(err.Error(), "2 publishers") && time.Since(begun) < waitTimeout; {
		_, err = ChangePartitions(t.Context(), to, got.drain) // on a busy machine, the other publisher may be late
	}
	for _, says := range []string{"1 publishers or workers have not disconnected", "the number of partitions is still 3"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ChangePartitions with a publisher connected: got %v, want an error with %q", err, says)
		}
	}
	if got.has("queued") {
		t.Error("the queues were drained while a publisher was connected")
	}
	await.That(t, "the publisher with the old number is connected again", q.Up)
	publish(t, q, 1, "next")
	leave()
	changeTo(t, opts, 5, got.drain)
	if !got.has("queued") || !got.has("next") {
		t.Errorf("got the drained messages %v, want queued and next", got.ids)
	}
}

func TestChangeOfPartitionsThatWasKilledIsCompleted(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	publish(t, q, 0, "queued")
	_, err := channel(t, opts).QueueDelete(q.opts.gate(), false, false, false)
	must.Succeed(t, err)
	refuses(t, opts, 3, "run it again")
	await.That(t, "the publisher with the old number is disconnected", func() bool { return !q.Up() })
	var got collector
	if changed := changeTo(t, opts, 2, got.drain); changed != (Changed{From: 3, Kept: 1}) {
		t.Errorf("ChangePartitions once more: got %+v, want %+v", changed, Changed{From: 3, Kept: 1})
	}
	if !got.has("queued") {
		t.Error("message queued was not persisted")
	}
	refuses(t, opts, 3, "use 2")
}

// TestChangeOfPartitionsThatFailsLeavesTheOldNumber makes the drain of one change fail,
// and cancels another change during its drain.
func TestChangeOfPartitionsThatFailsLeavesTheOldNumber(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	publish(t, q, 0, "queued")
	to := opts
	to.Partitions = 4
	broken := errors.New("the disk burns")
	_, err := ChangePartitions(t.Context(), to, func(context.Context, worker.Consumer) error { return broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "the number of partitions is still 3") {
		t.Errorf("ChangePartitions whose drain fails: got %v, want %v, and the number still 3", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = ChangePartitions(ctx, to, func(ctx context.Context, _ worker.Consumer) error {
		cancel()
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the number of partitions is still 3") {
		t.Errorf("ChangePartitions that is cancelled: got %v, want %v, and the number still 3", err, context.Canceled)
	}
	refuses(t, opts, 4, "use 3")
	if d := receive(t, consume(t, q)); d.Message().ID != "queued" {
		t.Errorf("got message %s, want queued", d.Message().ID)
	}
}

// TestChangeOfPartitionsEmptiesUnusedQueues puts a message into an unused queue. A
// publisher of an earlier release, which did not have the gate, may have published the
// message with an old number.
func TestChangeOfPartitionsEmptiesUnusedQueues(t *testing.T) {
	t.Parallel()
	opts := options(t)
	open(t, opts)
	var got collector
	changeTo(t, opts, 1, got.drain)
	opts.Partitions = 1
	q := open(t, opts)
	sealed, err := newPublishing(message("lost"), time.Now())
	if err == nil {
		err = q.send(t.Context(), q.opts.queue(2), sealed)
	}
	must.Succeed(t, err)
	changeTo(t, opts, 1, got.drain)
	if !got.has("lost") {
		t.Error("message lost of the unused queue was not persisted")
	}
	await.That(t, "the publisher is connected again", q.Up)
	changed := changeTo(t, opts, 1, func(context.Context, worker.Consumer) error { return errors.New("nothing is to be drained") })
	if changed != (Changed{From: 1, Kept: 2}) {
		t.Errorf("ChangePartitions with nothing to drain: got %+v, want %+v", changed, Changed{From: 1, Kept: 2})
	}
}

func TestTwoChangesOfPartitionsExcludeEachOther(t *testing.T) {
	opts := options(t)
	open(t, opts)
	to := opts
	to.Partitions = 4
	changeTo(t, opts, 2, func(ctx context.Context, from worker.Consumer) error {
		_, err := ChangePartitions(ctx, to, func(context.Context, worker.Consumer) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "another process is creating the queues or changing") {
			t.Errorf("ChangePartitions within another: got %v, want an error about another process", err)
		}
		return new(collector).drain(ctx, from)
	})
	refuses(t, opts, 4, "use 2")
}

func TestChangeOfPartitionsNeedsQueues(t *testing.T) {
	_, err := ChangePartitions(t.Context(), options(t), nil)
	if err == nil || !strings.Contains(err.Error(), "check the URL and the prefix") {
		t.Errorf("ChangePartitions without queues: got %v, want an error with \"check the URL and the prefix\"", err)
	}
}

func TestProcessesThatBeginAtOnceAgreeOnTheQueues(t *testing.T) {
	opts := options(t)
	var all sync.WaitGroup
	var opened [2]atomic.Int64 // with 3 and 4 partitions
	for i := range 8 {
		all.Go(func() {
			mine := opts
			mine.Partitions = 3 + i%2
			q, err := Open(t.Context(), mine)
			switch {
			case err == nil:
				opened[i%2].Add(1)
				if err := q.Close(); err != nil {
					t.Error(err)
				}
			case !strings.Contains(err.Error(), fmt.Sprintf("use %d, or change the number", 4-i%2)):
				t.Errorf("Open with %d partitions: got %v, want no error or \"use %d, or change the number\"", mine.Partitions, err, 4-i%2)
			}
		})
	}
	all.Wait()
	if a, b := opened[0].Load(), opened[1].Load(); a+b != 4 || a*b != 0 {
		t.Errorf("got %d queues opened with 3 partitions and %d with 4, want 4 of one and none of the other", a, b)
	}
}
