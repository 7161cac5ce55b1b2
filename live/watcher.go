package live

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is returned where the hub or the watcher is closed.
var ErrClosed = errors.New("the watch is closed")

// Watcher watches some subjects for one subscriber. Take, Await and Next are
// called by one goroutine at a time, Close by any.
type Watcher struct {
	hub *Hub

	mu      sync.Mutex
	closed  bool
	ready   func()  // called once there is something to take; may be nil
	entries []entry // one for each subject, in the order asked
	unknown int     // entries whose first event was not released
	pending int     // entries whose event was released and not taken
	from    int     // where to look first, so that each subject has its turn
	// Of what was given since the last release: events, and first events.
	given, first int
}

// entry is one subject of one watcher.
type entry struct {
	topic   *topic // the hub's lock guards it
	place   int    // in the topic's watchers; the hub's lock guards it
	event   *Event // the newest that was given
	pending bool   // and has not been taken
}

// Next is Take, once there is something to take. Errors: ErrClosed, the
// context's.
func (w *Watcher) Next(ctx context.Context, events []*Event) (int, error) {
	for {
		n, err := w.Take(events)
		if n > 0 || err != nil {
			return n, err
		}
		wake := make(chan struct{})
		w.Await(func() { close(wake) })
		select {
		case <-wake:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Await has ready called once, when there is something to take or the watcher
// is closed: before it returns if that is so already. Ready must be quick, and
// must not call the hub or the watcher. It takes the place of one that is still
// to be called.
func (w *Watcher) Await(ready func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready = ready
	if w.closed || w.unknown == 0 && w.pending > 0 {
		w.signal()
	}
}

// Take puts as many events as there are, and fit, into events, each of another
// subject. The first ones are every subject once, as it was read after Watch
// was called; they come when all are known. Later ones come when a subject has
// changed; only its newest event is there then. It returns 0 where there are
// none. Errors: ErrClosed.
func (w *Watcher) Take(events []*Event) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, ErrClosed
	}
	if w.unknown > 0 {
		return 0, nil
	}
	for range w.entries {
		if w.pending == 0 || n == len(events) {
			break
		}
		if e := &w.entries[w.from]; e.pending {
			e.pending = false
			w.pending--
			events[n] = e.event
			n++
			w.hub.opts.Metrics.pushed(e.event)
		}
		w.from = (w.from + 1) % len(w.entries)
	}
	return n, nil
}

// give hands the watcher an event of one of its subjects, which it sees when it
// is released: what was read together is seen together. It returns true where
// that is still to be done. It never blocks. A first event is of a read that
// began after Watch was called, or it waits.
func (w *Watcher) give(i int, event *Event, first bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &w.entries[i]
	switch {
	case w.closed, e.event == event, e.event == nil && !first:
		return false
	case e.event == nil:
		w.first++
	}
	e.event = event
	if e.pending {
		w.hub.opts.Metrics.skips.Inc()
		return false
	}
	e.pending = true
	w.given++
	return w.given == 1
}

// release shows the watcher what it was given.
func (w *Watcher) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending, w.unknown = w.pending+w.given, w.unknown-w.first
	w.given, w.first = 0, 0
	if w.unknown == 0 {
		w.signal()
	}
}

// signal tells whoever awaits. The watcher is locked.
func (w *Watcher) signal() {
	if ready := w.ready; ready != nil {
		w.ready = nil
		ready()
	}
}

// end has Next return ErrClosed. It returns false where that was so already.
func (w *Watcher) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.closed = true
	w.signal()
	return true
}

// Close frees the watcher. It may be called twice, and while Next waits.
func (w *Watcher) Close() {
	if w.end() {
		w.hub.leave(w)
	}
}

// age is how long ago something was, in seconds.
func age(t time.Time) float64 { return time.Since(t).Seconds() }
