// Package livetest is the conformance suite of live counts: it tests a live.Hub in a
// deployment. The test of each deployment calls
//
//	livetest.Run(t, func(t *testing.T) livetest.Site { … })
//
// Each case gets an empty site. The documentation of package live names the cases that
// prove its invariants.
//
// This package imports packages live and storage and nothing else of this
// module.
package livetest

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/live"
	"ovation/storage"
)

// Site is an empty deployment, made for one case.
type Site struct {
	// Hub receives a signal from the deployment under test for every change.
	Hub *live.Hub
	// Reader is the store as the hub's process reads it.
	Reader storage.Reader
	// Persist persists the actions in a message, as a worker does, in this process or in
	// another. It returns when every process can read the result.
	Persist func(message storage.Message) error
}

// Run runs every case.
func Run(t *testing.T, newSite func(t *testing.T) Site) {
	t.Helper()
	for name, run := range map[string]func(w *world){
		"SnapshotIsEverySubjectOnce":             snapshotIsEverySubjectOnce,
		"SnapshotIsNotOlderThanAQuery":           snapshotIsNotOlderThanAQuery,
		"NoChangeIsLostAndVersionsNeverDecrease": noChangeIsLostAndVersionsNeverDecrease,
		"LatestWins":                             latestWins,
		"AtMostTwentyASecond":                    atMostTwentyASecond,
		"HundredSubjects":                        hundredSubjects,
		"TenantsAreWalledOff":                    tenantsAreWalledOff,
		"SlowWatcherDelaysNoOther":               slowWatcherDelaysNoOther,
		"ClosedWatchersLeaveNothing":             closedWatchersLeaveNothing,
		"CloseEndsNextAndSoDoesTheContext":       closeEndsNext,
	} {
		t.Run(name, func(t *testing.T) { run(&world{T: t, Site: newSite(t)}) })
	}
}

func snapshotIsEverySubjectOnce(w *world) {
	a, b, untouched := video("a"), video("b"), video("c")
	w.read(a, b)
	w.read(b)
	got := map[storage.Subject]int64{}
	first := w.watch(a, b, untouched)
	for _, event := range first.want(10) {
		got[event.Subject] = event.ReadCount
		if event.Freshness != storage.Live {
			w.Errorf("%v is %v, want LIVE", event.Subject, event.Freshness)
		}
	}
	if len(got) != 3 || got[a] != 1 || got[b] != 2 || got[untouched] != 0 {
		w.Errorf("the snapshot is %v, want 1, 2 and 0 reads", got)
	}
	first.nothing()
	second := w.watch(b)
	if got := second.want(10); len(got) != 1 || got[0].ReadCount != 2 {
		w.Errorf("the snapshot of a second watcher is %+v, want 2 reads", got)
	}
}

// snapshotIsNotOlderThanAQuery watches a subject that has changed and already has a
// watcher: the snapshot must not be older than the reply to an earlier query.
func snapshotIsNotOlderThanAQuery(w *world) {
	a := video("a")
	w.watch(a)
	for range 100 {
		w.read(a)
		seen, err := w.Reader.Interactives(w.Context(), storage.User{Tenant: a.Tenant}, []storage.Subject{a}, 0)
		w.must(err)
		one := w.watch(a)
		if got := one.want(1)[0]; got.Version < seen[0].Version {
			w.Fatalf("the snapshot has version %d, want at least the %d of an earlier query", got.Version, seen[0].Version)
		}
		one.Close()
	}
}

// noChangeIsLostAndVersionsNeverDecrease starts watchers at various times while counts
// change. Every watcher must receive the last change.
func noChangeIsLostAndVersionsNeverDecrease(w *world) {
	const changes, watchers = 300, 60
	subjects := []storage.Subject{video("a"), video("b"), video("c")}
	var all sync.WaitGroup
	errs := make(chan error, watchers)
	for i := range changes {
		w.read(subjects[i%len(subjects)])
		if i%(changes/watchers) == 0 {
			one := w.watch(subjects...)
			all.Go(func() {
				for _, subject := range subjects {
					if err := one.until(subject, int64(changes/len(subjects))); err != nil {
						errs <- err
						return
					}
				}
			})
		}
	}
	all.Wait()
	close(errs)
	for err := range errs {
		w.Error(err)
	}
}

func latestWins(w *world) {
	a, b := video("a"), video("b")
	slow, quick := w.watch(a, b), w.watch(a, b)
	slow.want(2)
	for range 50 {
		w.read(a)
	}
	w.read(b)
	w.must(quick.until(a, 50)) // by now the slow watcher has been sent this event, too
	w.must(quick.until(b, 1))
	for len(slow.want(1)) == 1 && slow.last[b].ReadCount == 0 {
	}
	if slow.last[a].ReadCount != 50 {
		w.Errorf("the latest event has %d reads, want 50", slow.last[a].ReadCount)
	}
	slow.nothing()
}

func atMostTwentyASecond(w *world) {
	a := video("a")
	one := w.watch(a)
	one.want(1)
	var reads atomic.Int64
	stop := make(chan struct{})
	writing := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				writing <- nil
				return
			default:
			}
			if err := w.tryRead(a); err != nil {
				writing <- err
				return
			}
			reads.Add(1)
		}
	}()
	var at []time.Time
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		one.want(1)
		at = append(at, time.Now())
	}
	close(stop)
	if err := <-writing; err != nil {
		w.Fatal(err)
	}
	took := at[len(at)-1].Sub(at[0])
	w.Logf("%d changes, %d events in %v", reads.Load(), len(at), took)
	if len(at) > int(20*(took+time.Second).Seconds()) { // the first event may be taken late
		w.Errorf("%d events in %v, want at most 20 a second", len(at), took)
	}
	w.must(one.until(a, reads.Load()))
}

func hundredSubjects(w *world) {
	subjects := make([]storage.Subject, 100)
	for i := range subjects {
		subjects[i] = video(strconv.Itoa(i))
	}
	w.read(subjects...)
	one := w.watch(subjects...)
	if n := len(one.want(100)); n != 100 {
		w.Fatalf("the snapshot has %d subjects, want 100", n)
	}
	w.read(subjects...)
	told := map[storage.Subject]bool{}
	for len(told) < 100 {
		for _, event := range one.want(7) { // fewer than are available: each subject has its turn
			if told[event.Subject] || event.ReadCount != 2 {
				w.Fatalf("got the event %+v, want one of each subject, with 2 reads", event.Interactive)
			}
			told[event.Subject] = true
		}
	}
	one.nothing()
}

func tenantsAreWalledOff(w *world) {
	ours := video("a")
	theirs := ours
	theirs.Tenant = "other"
	one, other := w.watch(ours), w.watch(theirs)
	one.want(1)
	other.want(1)
	w.read(theirs)
	w.must(other.until(theirs, 1))
	w.read(ours)
	w.read(ours)
	w.must(one.until(ours, 2))
	other.nothing()
}

func slowWatcherDelaysNoOther(w *world) {
	const changes = 200
	a := video("a")
	for range 100 { // these watchers never take an event
		w.watch(a)
	}
	one := w.watch(a)
	one.want(1)
	w.read(a)
	w.must(one.until(a, 1))
	before := heap()
	for range changes {
		w.read(a)
	}
	w.must(one.until(a, changes+1))
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		w.Errorf("the heap has grown by %d KiB, want at most 4 MiB", grown>>10)
	}
}

func closedWatchersLeaveNothing(w *world) {
	const watchers = 2000
	goroutines, before := runtime.NumGoroutine(), uint64(0)
	for round := range 8 {
		open := make([]*live.Watcher, watchers)
		for i := range open {
			open[i] = w.Hub.Watch([]storage.Subject{video("a"), video(strconv.Itoa(i))})
		}
		events := make([]*live.Event, 2)
		for i, one := range open {
			if n, err := one.Next(w.Context(), events); n != 2 || err != nil {
				w.Fatalf("watcher %d has %d events, want 2: %v", i, n, err)
			}
		}
		if n := runtime.NumGoroutine() - goroutines; n > watchers/10 {
			w.Errorf("got %d goroutines of %d watchers, want at most %d", n, watchers, watchers/10)
		}
		for _, one := range open {
			one.Close()
			one.Close()
		}
		if round == 3 { // caches and pools are full by then
			before = heap()
		}
	}
	grown := int64(heap()) - int64(before)
	tick, late := time.NewTicker(20*time.Millisecond), time.After(waitTimeout)
	defer tick.Stop()
	for grown > 3<<20 { // until the reads that are in progress for closed watchers have ended
		select {
		case <-tick.C:
			grown = int64(heap()) - int64(before)
		case <-late:
			w.Fatalf("got %d KiB on the heap of closed watchers after %v, want at most 3 MiB", grown>>10, waitTimeout)
		}
	}
}

func closeEndsNext(w *world) {
	one, other := w.watch(video("a")), w.watch(video("a"))
	one.want(1)
	other.want(1)
	ended := make(chan error, 1)
	go func() {
		_, err := one.Next(w.Context(), make([]*live.Event, 1))
		ended <- err
	}()
	one.Close()
	if err := <-ended; !errors.Is(err, live.ErrClosed) {
		w.Errorf("Next of a closed watcher returned %v, want ErrClosed", err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	go func() {
		_, err := other.Next(ctx, make([]*live.Event, 1))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		w.Errorf("Next returned %v, want context.Canceled", err)
	}
	go func() {
		_, err := other.Next(w.Context(), make([]*live.Event, 1))
		ended <- err
	}()
	w.Hub.Close()
	w.Hub.Close()
	if err := <-ended; !errors.Is(err, live.ErrClosed) {
		w.Errorf("Next after closing the hub returned %v, want ErrClosed", err)
	}
	late := w.Hub.Watch([]storage.Subject{video("a")})
	if _, err := late.Next(w.Context(), make([]*live.Event, 1)); !errors.Is(err, live.ErrClosed) {
		w.Errorf("Next of a watcher of a closed hub returned %v, want ErrClosed", err)
	}
	late.Close()
}
