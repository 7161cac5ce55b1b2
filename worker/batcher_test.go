package worker_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/worker"
)

// A lone action is sent without delay.
func TestLoneActionIsPublishedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, queue, mirror := startLocal(t)
		r := newRecorder(t, queue, mirror, worker.RecorderOptions{Linger: time.Second})
		start := time.Now()
		for i := range 10 {
			record(t, r, react(user(i), movie, storage.Like))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("ten actions in turn waited %v, want no wait", took)
		}
	})
}

// Actions that arrive while a message is unconfirmed share the next messages, each of at
// most MaxBatch actions.
func TestActionsInFlightShareAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue, mirror := startLocal(t)
		held := &tap{Publisher: queue, gate: make(chan struct{})}
		r := newRecorder(t, held, mirror, worker.RecorderOptions{MaxBatch: 100})

		const actions = 500
		answers := make([]<-chan recordResult, actions)
		for i := range answers {
			answers[i] = background(r, t.Context(), react(user(i), movie, storage.Like))
			if i == 0 {
				synctest.Wait() // the first action is being published
			}
		}
		synctest.Wait()
		close(held.gate)
		wantRecorded(t, answers...)
		messages := held.seen()
		sizes := make([]int, 0, len(messages))
		ids := map[string]bool{}
		for _, m := range messages {
			sizes = append(sizes, len(m.Actions))
			ids[m.ID] = true
		}
		if len(sizes) != 6 || sizes[0] != 1 || sizes[1] != 100 || sizes[5] != 99 || len(ids) != 6 {
			t.Errorf("got %d actions in messages of %v actions with %d different ids, want 6 messages, of 1, 100, …, 99 actions", actions, sizes, len(ids))
		}
		wantLikes(t, store, movie, actions)
	})
}

func TestMessageHoldsOnePartition(t *testing.T) {
	const partitions = 4
	synctest.Test(t, func(t *testing.T) {
		_, queue, mirror := startLocal(t)
		held := &tap{Publisher: queue, partitions: partitions, gate: make(chan struct{})}
		r := newRecorder(t, held, mirror, worker.RecorderOptions{MaxInFlight: 2})
		answers := make([]<-chan recordResult, 100)
		for i := range answers {
			answers[i] = background(r, t.Context(), react(alice, video(strconv.Itoa(i)), storage.Like))
		}
		synctest.Wait()
		if n := len(held.seen()); n != 2*partitions {
			t.Errorf("%d messages of %d partitions are in flight, want 2 of each", n, partitions)
		}
		close(held.gate)
		wantRecorded(t, answers...)
		for i, m := range held.seen() {
			for _, a := range m.Actions {
				if p := worker.PartitionOf(a.Subject, partitions); p != held.put[i] {
					t.Errorf("got an action of partition %d in a message for partition %d, want the same", p, held.put[i])
				}
			}
		}
	})
}

// While messages are confirmed within Linger, partitions take turns: one message is
// unconfirmed at a time, and the actions that wait share the next message of their
// partition.
func TestPartitionsTakeTurns(t *testing.T) {
	const partitions, actions, confirm = 8, 400, time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		_, queue, mirror := startLocal(t)
		slow := &tap{Publisher: queue, partitions: partitions, takes: confirm}
		r := newRecorder(t, slow, mirror, worker.RecorderOptions{Linger: time.Second})
		answers := make([]<-chan recordResult, actions)
		for i := range answers {
			answers[i] = background(r, t.Context(), react(user(i), video(strconv.Itoa(i)), storage.Like))
		}
		wantRecorded(t, answers...)
		// First a small message, then one message of each partition.
		if n := len(slow.seen()); n != 1+partitions {
			t.Errorf("got %d actions in %d messages, want %d: one at once, then one of each partition", actions, n, 1+partitions)
		}
		turns := slow.put[1:]
		for i := range turns {
			if slices.Contains(turns[:i], turns[i]) {
				t.Errorf("messages were published to the partitions %v, want none twice after the first message", slow.put)
			}
		}
		if slow.most != 1 {
			t.Errorf("got %d messages in flight at the same time, want 1", slow.most)
		}
	})
}

// If a confirm takes long or never comes, no other partition that has something to send
// waits longer than Linger.
func TestPartitionsLinger(t *testing.T) {
	const partitions, apart = 4, 3 * time.Millisecond
	ms := func(all ...int) (out []time.Duration) {
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	for _, c := range []struct {
		name            string
		confirm, linger time.Duration
		answered        []time.Duration
	}{
		{"SlowConfirms", time.Second, 5 * time.Millisecond, ms(1000, 1008, 1011, 1014)},
		{"QuickConfirms", 100 * time.Millisecond, time.Second, ms(100, 200, 300, 400)},
		{"NoLinger", 100 * time.Millisecond, 0, ms(100, 103, 106, 109)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, queue, mirror := startLocal(t)
				slow := &tap{Publisher: queue, partitions: partitions, takes: c.confirm}
				r := newRecorder(t, slow, mirror, worker.RecorderOptions{Linger: c.linger})
				start := time.Now()
				answered := make([]time.Duration, partitions)
				var all sync.WaitGroup
				for partition := range partitions {
					all.Go(func() {
						time.Sleep(time.Duration(partition) * apart)
						record(t, r, react(alice, videoOf(partition, partitions), storage.Like))
						answered[partition] = time.Since(start)
					})
				}
				all.Wait()
				if !slices.Equal(answered, c.answered) {
					t.Errorf("answered after %v, want %v", answered, c.answered)
				}
			})
		})
	}
}

// videoOf returns a video that belongs to the partition.
func videoOf(partition, partitions int) storage.Subject {
	for i := 0; ; i++ {
		if v := video(strconv.Itoa(i)); worker.PartitionOf(v, partitions) == partition {
			return v
		}
	}
}

// The expected partitions were computed by another program. They must not change, because
// queued messages rely on them.
func TestPartitionsNeverChange(t *testing.T) {
	for _, c := range []struct {
		subject    storage.Subject
		partitions int
		want       int
	}{
		{storage.Subject{Tenant: "default", Biz: "video", BizID: "42"}, 1, 0},
		{storage.Subject{Tenant: "default", Biz: "video", BizID: "42"}, 16, 15},
		{storage.Subject{Tenant: "default", Biz: "video", BizID: "43"}, 16, 6},
		{storage.Subject{Tenant: "acme", Biz: "video", BizID: "42"}, 1000, 650},
		{storage.Subject{Tenant: "acme", Biz: "vide", BizID: "o42"}, 1000, 456},
	} {
		if got := worker.PartitionOf(c.subject, c.partitions); got != c.want {
			t.Errorf("%+v lies in partition %d of %d, want %d", c.subject, got, c.partitions, c.want)
		}
	}
}

func TestFullBacklogHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue, mirror := startLocal(t)
		held := &tap{Publisher: queue, gate: make(chan struct{})}
		r := newRecorder(t, held, mirror, worker.RecorderOptions{MaxBacklog: 2})

		first := background(r, t.Context(), react(user(1), movie, storage.Like))
		second := background(r, t.Context(), react(user(2), movie, storage.Like))
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Record(impatient, react(user(3), movie, storage.Like), nil); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("the third, with a deadline: got %v, want %v", err, storage.ErrUnavailable)
		}
		hungUp, hangUp := context.WithCancel(t.Context())
		fourth := background(r, hungUp, react(user(4), movie, storage.Like))
		synctest.Wait()
		hangUp()
		if got := <-fourth; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the fourth, cancelled: got %v, want %v", got.err, context.Canceled)
		}
		fifth := background(r, t.Context(), react(user(5), movie, storage.Like))
		synctest.Wait()
		close(held.gate)
		wantRecorded(t, first, second, fifth)
		wantLikes(t, store, movie, 3)
	})
}

func TestCloseSendsTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue, mirror := startLocal(t)
		held := &tap{Publisher: queue, gate: make(chan struct{})}
		r := newRecorder(t, held, mirror, worker.RecorderOptions{MaxBatch: 10, MaxBacklog: 50})
		answers := make([]<-chan recordResult, 50)
		for i := range answers {
			answers[i] = background(r, t.Context(), react(user(i), movie, storage.Like))
		}
		synctest.Wait()
		late := background(r, t.Context(), react(user(99), movie, storage.Like))
		synctest.Wait() // the action waits for room

		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close(1 s) before the backlog was sent: got %v, want %v", err, context.DeadlineExceeded)
		}
		if got := <-late; !errors.Is(got.err, worker.ErrClosed) {
			t.Errorf("an action that waited for room: got %v, want %v", got.err, worker.ErrClosed)
		}
		if _, err := r.Record(t.Context(), react(user(98), movie, storage.Like), nil); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Record after Close: got %v, want %v", err, worker.ErrClosed)
		}
		close(held.gate)
		if err := r.Close(t.Context()); err != nil {
			t.Errorf("the second Close: got %v, want no error", err)
		}
		wantLikes(t, store, movie, 50)
		wantRecorded(t, answers...)
	})
}
