package live

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is returned if the hub or the watcher is closed.
var ErrClosed = errors.New("the watch is closed")

// Watcher watches some subjects for one subscriber. Only one goroutine at a time may
// call Take, Await and Next; any goroutine may call Close.
type Watcher struct {
	hub *Hub

	mu            sync.Mutex
	closed        bool
	ready         func()  // called when there is something to take; may be nil
	entries       []entry // one for each subject, in the order given to Watch
	awaitingFirst int     // entries whose first event is not yet released
	pending       int     // entries whose event was released but not yet taken
	next          int     // the entry at which the next Take begins, so that each subject has its turn
	// The number of events delivered since the last release, and how many of these events
	// are the first of their subject.
	unreleased, unreleasedFirst int
}

// entry is one subject of one watcher.
type entry struct {
	topic   *topic // the hub's lock guards it
	index   int    // in topic.watchers; the hub's lock guards it
	event   *Event // the latest event that was delivered
	pending bool   // whether event has not been taken
}

// Next waits until there are events and takes them. It blocks the caller's goroutine.
// Errors: ErrClosed, and the error of ctx.
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

// Await calls the given function once, when there are events or the watcher is closed. If
// that is already the case, Await calls it before returning. The function must be fast
// and must not call the hub or the watcher. If the function passed to an earlier Await
// has not been called yet, the new one replaces it.
func (w *Watcher) Await(ready func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready = ready
	if w.closed || w.awaitingFirst == 0 && w.pending > 0 {
		w.signal()
	}
}

// Take copies the available events, at most one for each subject, into the given slice,
// until it is full. The first events are a snapshot of every subject, read after Watch
// was called. They become available when all subjects have been read. Later events follow
// changes. Only the newest event of a subject is kept. Take returns 0 if there are no
// events. Errors: ErrClosed.
func (w *Watcher) Take(events []*Event) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, ErrClosed
	}
	if w.awaitingFirst > 0 {
		return 0, nil
	}
	for range w.entries {
		if w.pending == 0 || n == len(events) {
			break
		}
		if e := &w.entries[w.next]; e.pending {
			e.pending = false
			w.pending--
			events[n] = e.event
			n++
			w.hub.opts.Metrics.pushed(e.event)
		}
		w.next = (w.next + 1) % len(w.entries)
	}
	return n, nil
}

// deliver passes the watcher an event for its subject i. It never blocks. Events become
// available when release is called, so that all events of one read become available
// together. deliver returns true if the caller must call release. The parameter first is
// true if the event is from a read that began after Watch was called. Until such an event
// is delivered, all other events for the subject are ignored.
func (w *Watcher) deliver(i int, event *Event, first bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &w.entries[i]
	switch {
	case w.closed, e.event == event, e.event == nil && !first:
		return false
	case e.event == nil:
		w.unreleasedFirst++
	}
	e.event = event
	if e.pending {
		w.hub.opts.Metrics.skips.Inc()
		return false
	}
	e.pending = true
	w.unreleased++
	return w.unreleased == 1
}

// release makes the delivered events available.
func (w *Watcher) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending, w.awaitingFirst = w.pending+w.unreleased, w.awaitingFirst-w.unreleasedFirst
	w.unreleased, w.unreleasedFirst = 0, 0
	if w.awaitingFirst == 0 {
		w.signal()
	}
}

// signal calls the function passed to Await. The caller holds the watcher's lock.
func (w *Watcher) signal() {
	if ready := w.ready; ready != nil {
		w.ready = nil
		ready()
	}
}

// end makes Take and Next return ErrClosed. It returns false if the watcher was closed
// already.
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

// Close frees the watcher. It may be called twice, and while Next is waiting.
func (w *Watcher) Close() {
	if w.end() {
		w.hub.leave(w)
	}
}

// age returns how long ago t was, in seconds.
func age(t time.Time) float64 { return time.Since(t).Seconds() }
