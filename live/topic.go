package live

import (
	"time"

	"ovation/storage"
)

// topic is a subject that is watched. The hub's lock guards it.
//
// A topic is read when it is dirty or has a new watcher. A new result is delivered to all
// watchers; the topic then cools for Options.Gap, and is read again only afterwards or
// for a new watcher.
type topic struct {
	subject  storage.Subject
	place    int // in the hub's order
	watchers []seat
	fresh    []seat // those that wait for a read that has not begun yet
	gone     bool   // it has no watchers any more

	latest *Event // the newest that was read
	told   *Event // the newest that all watchers have received

	dirty   bool      // it may have changed since it was read
	changed time.Time // when the first signal arrived
	queued  bool      // it is in Hub.ready
	cooling bool
	until   time.Time // when it has cooled
}

// seat is an entry of a watcher.
type seat struct {
	watcher *Watcher
	entry   int
}

// join adds a watcher. Its first event comes from a read that begins later.
func (t *topic) join(h *Hub, w *Watcher, i int) {
	w.entries[i].topic, w.entries[i].place = t, len(t.watchers)
	one := seat{w, i}
	t.watchers, t.fresh = append(t.watchers, one), append(t.fresh, one)
	h.queue(t)
}

func (t *topic) leave(w *Watcher, i int) {
	at, end := w.entries[i].place, len(t.watchers)-1
	last := t.watchers[end]
	t.watchers[at] = last
	last.watcher.entries[last.entry].place = at
	t.watchers[end] = seat{}
	t.watchers = t.watchers[:end]
}

// queue schedules a topic for the next read.
func (h *Hub) queue(t *topic) {
	if !t.queued {
		t.queued = true
		h.ready = append(h.ready, t)
	}
}

// note records that a topic may have changed. A cooling topic is read once it has
// cooled.
func (h *Hub) note(t *topic, at time.Time) {
	if !t.dirty {
		t.dirty, t.changed = true, at
	}
	if !t.cooling {
		h.queue(t)
	}
}

// settle processes the result of reading a topic: the watchers in fresh receive it in
// any case, all others only if it is new. It appends to given the watchers that must be
// released.
func (h *Hub) settle(t *topic, got *storage.Interactive, fresh []seat, changed, now time.Time, given []*Watcher) []*Watcher {
	if t.gone {
		return given
	}
	if next := t.latest.after(got, changed, h.rewinds); next != nil {
		t.latest = next
	}
	for _, one := range fresh {
		if one.watcher.give(one.entry, t.latest, true) {
			given = append(given, one.watcher)
		}
	}
	switch {
	case t.told == t.latest:
		return given
	case t.cooling:
		h.note(t, now)
		return given
	}
	t.told = t.latest
	t.cooling, t.until = true, now.Add(h.opts.Gap)
	h.cooling = append(h.cooling, t)
	for _, one := range t.watchers {
		if one.watcher.give(one.entry, t.told, false) {
			given = append(given, one.watcher)
		}
	}
	return given
}
