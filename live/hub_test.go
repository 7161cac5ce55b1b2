package live

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
)

func TestFirstChangeIsDeliveredAtOnceAndLaterOnesThrottled(t *testing.T) {
	inBubble(t, Options{}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		w := h.Watch(videos(1))
		if n := len(w.now(t)); n != 1 {
			t.Fatalf("the snapshot has %d subjects, want 1", n)
		}
		time.Sleep(time.Second)
		began := time.Now()
		var told []time.Duration
		for i := range int64(3000) { // one change a millisecond
			c.add(video(0))
			h.Changed(videos(1))
			for _, event := range w.now(t) {
				if event.ReadCount != i+1 && event.ReadCount != i { // read just before the latest change
					t.Fatalf("after %d changes the event has %d reads, want %d or %d", i+1, event.ReadCount, i, i+1)
				}
				told = append(told, time.Since(began))
			}
			time.Sleep(time.Millisecond)
		}
		if told[0] != 0 {
			t.Errorf("the first change is delivered after %v, want no delay", told[0])
		}
		for i := 20; i < len(told); i++ {
			if told[i]-told[i-20] < time.Second {
				t.Fatalf("21 events within %v, want at most 20 a second", told[i]-told[i-20])
			}
		}
		if len(told) < 50 {
			t.Errorf("only %d events in 3 s, want at least 50", len(told))
		}
		time.Sleep(time.Second / 18)
		if last := w.now(t); len(last) != 1 || last[0].ReadCount != 3000 {
			t.Errorf("the final events are %+v, want one with 3000 reads", last)
		}
	})
}

func TestSimultaneousChangesAreReadOnce(t *testing.T) {
	inBubble(t, Options{Sweep: time.Hour}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		watchers := make([]*Watcher, 1000)
		for i := range watchers {
			watchers[i] = h.Watch(videos(50))
		}
		synctest.Wait()
		c.takeCalls()
		time.Sleep(time.Minute)
		c.add(videos(50)...)
		for i := range 50 {
			h.Changed([]storage.Subject{video(i), video(i)})
		}
		h.Changed(append(videos(100)[90:], storage.Subject{Tenant: "other", Biz: "video", BizID: "1"})) // not watched
		for i, w := range watchers {
			if n := len(w.now(t)); n != 50 {
				t.Fatalf("watcher %d received %d events, want 50", i, n)
			}
		}
		n := 0
		calls := c.takeCalls()
		for _, subjects := range calls {
			n += len(subjects)
		}
		if n != 50 || len(calls) > 2 { // the loop may have begun after only some of the signals
			t.Errorf("%d subjects were read by %d calls, want 50 by one or two", n, len(calls))
		}
	})
}

func TestChangeDuringAReadIsReadAgain(t *testing.T) {
	inBubble(t, Options{Sweep: time.Hour}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		w := h.Watch(videos(1))
		w.now(t)
		time.Sleep(time.Minute)
		c.duringNextRead(func() {
			c.add(video(0))
			h.Changed(videos(1))
		})
		c.add(video(0))
		h.Changed(videos(1))
		synctest.Wait()
		time.Sleep(time.Second / 18)
		if got := w.now(t); len(got) != 1 || got[0].ReadCount != 2 {
			t.Errorf("got %+v, want one event with 2 reads", got)
		}
	})
}

func TestSnapshotIsReadAfterWatch(t *testing.T) {
	inBubble(t, Options{Sweep: time.Hour}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		early := h.Watch(videos(1))
		early.now(t)
		time.Sleep(time.Minute)
		var late *Watcher
		c.duringNextRead(func() { // the result of the read is determined already, without this change
			c.add(video(0))
			late = h.Watch(videos(1))
		})
		c.add(video(0))
		h.Changed(videos(1))
		synctest.Wait()
		if got := late.now(t); len(got) != 1 || got[0].ReadCount != 2 {
			t.Errorf("got the snapshot %+v, want one event with 2 reads", got)
		}
		if got := early.now(t); len(got) != 1 || got[0].ReadCount != 1 {
			t.Errorf("the earlier watcher received %+v, want one event with 1 read", got)
		}
		time.Sleep(time.Second / 18)
		if got := early.now(t); len(got) != 1 || got[0].ReadCount != 2 {
			t.Errorf("the earlier watcher then received %+v, want one event with 2 reads", got)
		}
		if got := late.now(t); len(got) != 0 {
			t.Errorf("the late watcher then received %+v, want nothing after its snapshot", got)
		}
	})
}

func TestReadsAreBounded(t *testing.T) {
	inBubble(t, Options{Sweep: time.Hour}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		c.during = func() { time.Sleep(time.Millisecond) }
		var subjects []storage.Subject
		for i := range 2500 {
			subjects = append(subjects, video(i))
		}
		for i := range 100 {
			subjects = append(subjects, storage.Subject{Tenant: "tenant-" + strconv.Itoa(i), Biz: "video", BizID: "1"})
		}
		w := h.Watch(subjects)
		time.Sleep(time.Second)
		told := 0
		for n := -1; n != 0; told += n {
			n = len(w.now(t))
		}
		if told != 2600 {
			t.Errorf("got events of %d subjects, want all 2600", told)
		}
		for _, call := range c.takeCalls() {
			if len(call) > maxReadSubjects {
				t.Errorf("a read of %d subjects, want at most %d", len(call), maxReadSubjects)
			}
		}
		if c.most > maxConcurrentReads {
			t.Errorf("got %d concurrent reads, want at most %d", c.most, maxConcurrentReads)
		}
	})
}

func TestSweepDeliversChangesWithoutASignal(t *testing.T) {
	inBubble(t, Options{MaxSweep: 10}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		w := h.Watch(videos(25))
		w.now(t)
		c.takeCalls()
		c.add(videos(25)...)
		told := 0
		for range 3 {
			time.Sleep(time.Second)
			told += len(w.now(t))
			for _, call := range c.takeCalls() {
				if len(call) > 10 {
					t.Errorf("a sweep reads %d subjects, want at most 10", len(call))
				}
			}
		}
		if told != 25 {
			t.Errorf("got %d events, want 25", told)
		}
		w.Close()
		time.Sleep(time.Minute)
		if calls := c.takeCalls(); len(calls) > 0 {
			t.Errorf("got %d reads without a watcher, want none", len(calls))
		}
	})
}

func TestTooManyChangesAreAll(t *testing.T) {
	inBubble(t, Options{Sweep: time.Hour}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		w := h.Watch(videos(3))
		w.now(t)
		time.Sleep(time.Minute)
		c.add(videos(3)...)
		var many []storage.Subject
		for i := range maxChanges + 1 {
			many = append(many, storage.Subject{Tenant: "other", Biz: "video", BizID: strconv.Itoa(i)})
		}
		h.Changed(many)
		if got := w.now(t); len(got) != 3 {
			t.Errorf("after Changed with too many subjects: got %d events, want 3", len(got))
		}
		c.add(videos(3)...)
		time.Sleep(time.Minute)
		h.ChangedAll()
		if got := w.now(t); len(got) != 3 {
			t.Errorf("after ChangedAll: got %d events, want 3", len(got))
		}
	})
}

func TestFailedReadsAreReportedAndRetried(t *testing.T) {
	var log strings.Builder
	inBubble(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		known := h.Watch(videos(1))
		known.now(t)
		c.setError(storage.ErrUnavailable)
		unknown := h.Watch([]storage.Subject{video(1)})
		if got := unknown.now(t); len(got) != 1 || got[0].Freshness != storage.Unavailable {
			t.Errorf("the unknown subject is delivered as %+v, want UNAVAILABLE", got)
		}
		c.add(videos(2)...)
		time.Sleep(3 * time.Second)
		if got := known.now(t); len(got) != 1 || got[0].Freshness != storage.Stale || got[0].ReadCount != 0 {
			t.Errorf("the known subject is delivered as %+v, want 0 reads, STALE", got)
		}
		c.setError(nil)
		time.Sleep(6 * time.Second)
		for _, w := range []*Watcher{known, unknown} {
			if got := w.now(t); len(got) != 1 || got[0].Freshness != storage.Live || got[0].ReadCount != 1 {
				t.Errorf("after the outage the watcher receives %+v, want 1 read, LIVE", got)
			}
		}
	})
	if lines := strings.Count(log.String(), "\n"); lines != 2 {
		t.Errorf("an outage is logged in %d lines, want 2:\n%s", lines, log.String())
	}
}

func TestNextEventIsNewerOrFresher(t *testing.T) {
	is := func(version int64, freshness storage.Freshness) *storage.Interactive {
		return &storage.Interactive{Counts: storage.Counts{ReadCount: version, Version: version}, Freshness: freshness}
	}
	const lives, stale, unknown = storage.Live, storage.Stale, storage.Unavailable
	for _, test := range []struct {
		before, got, want *storage.Interactive
		rewound           bool
	}{
		{nil, is(0, lives), is(0, lives), false},
		{nil, is(0, unknown), is(0, unknown), false},
		{is(5, lives), is(5, lives), nil, false},
		{is(5, lives), is(6, lives), is(6, lives), false},
		{is(5, lives), is(4, lives), nil, false},
		{is(5, lives), is(4, stale), nil, false},
		{is(5, lives), is(6, stale), is(6, stale), false},
		{is(5, lives), is(5, stale), is(5, stale), false},
		{is(5, stale), is(5, lives), is(5, lives), false},
		{is(5, stale), is(4, lives), nil, false},
		{is(5, lives), is(0, unknown), is(5, stale), false},
		{is(5, stale), is(0, unknown), nil, false},
		{is(0, lives), is(0, unknown), is(0, stale), false},
		{is(0, unknown), is(0, unknown), nil, false},
		{is(0, unknown), is(0, stale), is(0, stale), false},
		{is(0, unknown), is(0, lives), is(0, lives), false},
		{is(0, unknown), is(3, lives), is(3, lives), false},
		{nil, is(0, lives), is(0, lives), true},
		{is(5, lives), is(4, lives), is(4, lives), true},
		{is(5, stale), is(4, stale), is(4, stale), true},
		{is(5, lives), is(5, lives), is(5, lives), true},
		{is(5, lives), is(6, lives), is(6, lives), true},
		{is(5, lives), is(0, unknown), is(5, stale), true},
		{is(5, stale), is(0, unknown), nil, true},
		{is(0, unknown), is(0, unknown), nil, true},
	} {
		var before *Event
		if test.before != nil {
			before = &Event{Interactive: *test.before}
		}
		rewinds := 0
		if test.rewound {
			rewinds = 1
		}
		switch next := before.after(test.got, time.Time{}, rewinds); {
		case (next == nil) != (test.want == nil), next != nil && next.Interactive != *test.want:
			t.Errorf("after %+v, reading %+v gives %+v, want %+v", test.before, *test.got, next, test.want)
		case next != nil && next.Rewinds != rewinds && test.got.Freshness != unknown:
			t.Errorf("%+v has %d rewinds, want %d", next, next.Rewinds, rewinds)
		}
	}
}

// TestWatchersReceiveLowerVersionsAfterARewind simulates a failover that loses commits.
// Versions are lower afterwards, and the counts that were read before the failover must
// not keep watchers from receiving those that survived it.
func TestWatchersReceiveLowerVersionsAfterARewind(t *testing.T) {
	inBubble(t, Options{}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		one := videos(1)
		c.set(5)
		early := h.Watch(one)
		early.now(t)
		c.setError(storage.ErrUnavailable)
		time.Sleep(2 * time.Second)
		if got := early.now(t); len(got) != 1 || got[0].Freshness != storage.Stale {
			t.Fatalf("during the outage the watcher receives %+v, want it STALE", got)
		}
		c.setError(nil)
		c.set(3)
		h.Rewound()
		if got := early.now(t); len(got) != 1 || got[0].Version != 3 || got[0].Freshness != storage.Live {
			t.Errorf("the earlier watcher receives %+v, want version 3, LIVE", got)
		}
		late := h.Watch(one)
		defer late.Close()
		if got := late.now(t); len(got) != 1 || got[0].Version != 3 {
			t.Errorf("the new watcher receives %+v, want version 3", got)
		}
		time.Sleep(time.Minute)
		if got := append(early.now(t), late.now(t)...); len(got) != 0 {
			t.Errorf("got %+v after the rewind was delivered, want no more events", got)
		}
		c.add(video(0))
		h.Changed(one)
		if got := early.now(t); len(got) != 1 || got[0].Version != 4 {
			t.Errorf("the next change is delivered as %+v, want version 4", got)
		}
	})
}

// TestReadDuringARewindIsRepeated checks that a read that began before a rewind is
// repeated: it may have read commits that were lost.
func TestReadDuringARewindIsRepeated(t *testing.T) {
	inBubble(t, Options{Sweep: time.Hour}, func(b *bubble) {
		t, c, h := b.t, b.table, b.hub
		c.set(5)
		c.duringNextRead(func() {
			c.set(3)
			h.Rewound()
		})
		w := h.Watch(videos(1))
		defer w.Close()
		if got := w.now(t); len(got) != 1 || got[0].Version != 3 {
			t.Errorf("got the snapshot %+v, want one event of version 3", got)
		}
	})
}

func TestPayloadIsEncodedOnceForEachKey(t *testing.T) {
	event, n := &Event{}, 0
	encode := func() []byte {
		n++
		return []byte(strconv.Itoa(n))
	}
	for range 3 {
		for _, key := range []string{"a", "b"} {
			event.Payload(key, encode)
		}
	}
	if got := event.Payload("a", encode); string(got) != "1" || n != 2 {
		t.Errorf("got %q, encoded %d times, want \"1\", encoded twice", got, n)
	}
	if event.Payload("none", func() []byte { return nil }) != nil || string(event.Payload("none", encode)) != "3" {
		t.Error("got a cached nil payload, want it encoded anew")
	}
	for i := range 100 {
		event.Payload(i, encode)
	}
	if len(event.payloads) > maxPayloads {
		t.Errorf("got %d cached payloads, want at most %d", len(event.payloads), maxPayloads)
	}
}

func TestLargePayloadsAreNotKept(t *testing.T) {
	event, n := &Event{}, 0
	for range 2 {
		for key, size := range []int{maxPayloadBytes - 10, 11, 10, maxPayloadBytes + 1} {
			got := event.Payload(key, func() []byte {
				n++
				return make([]byte, size)
			})
			if len(got) != size {
				t.Errorf("got %d bytes, want %d", len(got), size)
			}
		}
	}
	if n != 6 || event.payloadBytes != maxPayloadBytes {
		t.Errorf("4 payloads were encoded %d times, want 6, and %d bytes are cached", n, event.payloadBytes)
	}
}

// BenchmarkFanOut measures the time from a change to a subject until all its watchers
// have taken the event. There are up to 10,000 watchers, each with a goroutine of its
// own.
func BenchmarkFanOut(b *testing.B) {
	for _, watchers := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(watchers), func(b *testing.B) {
			c := &table{}
			h := New(c, Options{Gap: time.Nanosecond})
			var running, taken sync.WaitGroup
			taken.Add(watchers)
			for range watchers {
				w := h.Watch(videos(1))
				running.Go(func() {
					events := make([]*Event, 1)
					for {
						if _, err := w.Next(context.Background(), events); err != nil {
							return
						}
						taken.Done()
					}
				})
			}
			taken.Wait()
			b.ResetTimer()
			for b.Loop() {
				taken.Add(watchers)
				c.add(video(0))
				h.Changed(videos(1))
				taken.Wait()
			}
			h.Close()
			running.Wait()
		})
	}
}
