package live

import (
	"slices"
	"sync"
	"time"

	"ovation/storage"
)

// Event is a subject as everybody sees it who is nobody: its counts, and none
// of the viewer's states. It is shared by all watchers and must not be changed.
type Event struct {
	storage.Interactive

	// changed is when this process was first told of the change, zero where
	// nobody told it.
	changed time.Time

	mu       sync.Mutex
	payloads []payload
	held     int // bytes of them
}

type payload struct {
	key  any
	text []byte
}

// What one event remembers at most. There is one for each subject that is
// watched.
const (
	maxPayloads     = 16
	maxPayloadBytes = 2 << 10
)

// Payload returns what encode returns, which is called once for each key and
// then remembered as long as the event is. Keys are comparable, and kept as long:
// a weak pointer keeps nothing else. What is returned must not be changed. What
// there is no room for is encoded each time, and so is nil.
func (e *Event) Payload(key any, encode func() []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.IndexFunc(e.payloads, func(p payload) bool { return p.key == key }); i >= 0 {
		return e.payloads[i].text
	}
	text := encode()
	if text != nil && len(e.payloads) < maxPayloads && e.held+len(text) <= maxPayloadBytes {
		e.payloads = append(e.payloads, payload{key, text})
		e.held += len(text)
	}
	return text
}

// after returns the event that follows this one, nil where there is nothing to
// tell. Counts that are older, or not known any more, take the place of none.
func (e *Event) after(got *storage.Interactive, changed time.Time) *Event {
	next := *got
	switch {
	case e == nil:
	case got.Freshness == storage.Unavailable && e.Freshness == storage.Unavailable:
		return nil
	case got.Freshness == storage.Unavailable:
		next = e.Interactive
		if next.Freshness == storage.Stale {
			return nil
		}
		next.Freshness = storage.Stale
	case e.Freshness == storage.Unavailable || got.Version > e.Version:
	case got.Version < e.Version || got.Freshness == e.Freshness:
		return nil
	}
	return &Event{Interactive: next, changed: changed}
}
