package live

import (
	"time"

	"ovation/storage"
)

// topic is a subject that is watched. The hub's lock guards it.
//
// A topic is read when it is dirty or has a new watcher. A new result is delivered to all
// watchers; the topic is then throttled for Options.Gap, during which it is read again
// only for a new watcher.
type topic struct {
	subject     storage.Subject
	index       int // in Hub.order
	watchers    []watcherEntry
	newWatchers []watcherEntry // watchers for whom the first read has not begun
	removed     bool           // its last watcher has left

	latest    *Event // the newest event that was read
	delivered *Event // the newest event that all watchers have received

	dirty          bool      // it may have changed since it was read
	changed        time.Time // when the first signal arrived
	queued         bool      // it is in Hub.ready
	throttled      bool
	throttledUntil time.Time // when it may be read again
}

// watcherEntry refers to an entry of a watcher.
type watcherEntry struct {
	watcher *Watcher
	index   int
}

// join adds a watcher. The watcher's first event comes from a read that begins later.
func (t *topic) join(h *Hub, w *Watcher, i int) {
	w.entries[i].topic, w.entries[i].index = t, len(t.watchers)
	one := watcherEntry{w, i}
	t.watchers, t.newWatchers = append(t.watchers, one), append(t.newWatchers, one)
	h.queue(t)
}

func (t *topic) leave(w *Watcher, i int) {
	at, end := w.entries[i].index, len(t.watchers)-1
	last := t.watchers[end]
	t.watchers[at] = last
	last.watcher.entries[last.index].index = at
	t.watchers[end] = watcherEntry{}
	t.watchers = t.watchers[:end]
}

// queue schedules a topic for the next read.
func (h *Hub) queue(t *topic) {
	if !t.queued {
		t.queued = true
		h.ready = append(h.ready, t)
	}
}

// markDirty records that a topic may have changed. A throttled topic is read when its
// gap ends.
func (h *Hub) markDirty(t *topic, at time.Time) {
	if !t.dirty {
		t.dirty, t.changed = true, at
	}
	if !t.throttled {
		h.queue(t)
	}
}

// publish delivers the result of reading a topic. New watchers always receive it; the
// other watchers receive it only if it is new. publish appends the watchers that must be
// released to toRelease. The caller holds the hub's lock.
func (h *Hub) publish(t *topic, got *storage.Interactive, newWatchers []watcherEntry, changed, now time.Time, toRelease []*Watcher) []*Watcher {
	if t.removed {
		return toRelease
	}
	if next := t.latest.after(got, changed, h.rewinds); next != nil {
		t.latest = next
	}
	for _, one := range newWatchers {
		if one.watcher.deliver(one.index, t.latest, true) {
			toRelease = append(toRelease, one.watcher)
		}
	}
	switch {
	case t.delivered == t.latest:
		return toRelease
	case t.throttled:
		h.markDirty(t, now)
		return toRelease
	}
	t.delivered = t.latest
	t.throttled, t.throttledUntil = true, now.Add(h.opts.Gap)
	h.throttled = append(h.throttled, t)
	for _, one := range t.watchers {
		if one.watcher.deliver(one.index, t.delivered, false) {
			toRelease = append(toRelease, one.watcher)
		}
	}
	return toRelease
}
