package livetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"ovation/live"
	"ovation/storage"
)

// waitTimeout bounds every wait. It is long enough for a busy machine.
const waitTimeout = 2 * time.Minute

// world is the site of one case, with methods that change and watch it.
type world struct {
	*testing.T
	Site

	acts atomic.Int64
}

func video(id string) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// read persists one action of kind read for each subject. This increases the subject's
// read count by one.
func (w *world) read(subjects ...storage.Subject) {
	w.Helper()
	w.must(w.tryRead(subjects...))
}

func (w *world) tryRead(subjects ...storage.Subject) error {
	n := w.acts.Add(1)
	message := storage.Message{ID: "message-" + strconv.FormatInt(n, 10)}
	for _, subject := range subjects {
		message.Actions = append(message.Actions, storage.Action{
			User: storage.User{Tenant: subject.Tenant}, Subject: subject, Kind: storage.KindRead, Times: 1, First: n, Version: n,
		})
	}
	return w.Persist(message)
}

// watch watches subjects until the case ends.
func (w *world) watch(subjects ...storage.Subject) *watch {
	w.Helper()
	watcher := w.Hub.Watch(subjects)
	w.Cleanup(watcher.Close)
	return &watch{world: w, Watcher: watcher, last: map[storage.Subject]storage.Counts{}}
}

// watch is a watcher whose events are checked.
type watch struct {
	*world
	*live.Watcher

	last map[storage.Subject]storage.Counts
}

var errBackwards = errors.New("a version did not increase")

// next waits for events and takes at most n of them. It returns errBackwards if a
// subject's version did not increase.
func (w *watch) next(ctx context.Context, n int) ([]*live.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	events := make([]*live.Event, n)
	n, err := w.Next(ctx, events)
	events = events[:n]
	for _, event := range events {
		before, known := w.last[event.Subject]
		if known && event.Version <= before.Version {
			return nil, fmt.Errorf("%w: %+v of %v after %+v", errBackwards, event.Counts, event.Subject, before)
		}
		w.last[event.Subject] = event.Counts
	}
	return events, err
}

func (w *watch) want(n int) []*live.Event {
	w.Helper()
	events, err := w.next(w.Context(), n)
	if err != nil {
		w.Fatal(err)
	}
	return events
}

// until takes events until the subject has the given number of reads.
func (w *watch) until(subject storage.Subject, reads int64) error {
	for w.last[subject].ReadCount != reads {
		if got := w.last[subject].ReadCount; got > reads {
			return fmt.Errorf("%d reads of %v are counted, want %d", got, subject, reads)
		}
		if _, err := w.next(w.Context(), 1); err != nil {
			return fmt.Errorf("wait for %d reads of %v, after %d: %w", reads, subject, w.last[subject].ReadCount, err)
		}
	}
	return nil
}

// nothing checks that no event is available, and fails the case otherwise.
func (w *watch) nothing() {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	if events, err := w.next(ctx, 1); err == nil {
		w.Errorf("got the event %+v, want none", events[0].Interactive)
	}
}

// heap returns the number of bytes in use on the heap, after a garbage collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
