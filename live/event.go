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
}

type payload struct {
	key  any
	text []byte
}

const maxPayloads = 16

// Payload returns what encode returns, which is called once for each key and
// then remembered as long as the event is. Keys are comparable. What is returned
// must not be changed. Nothing is remembered of very many keys, and of nil.
func (e *Event) Payload(key any, encode func() []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.IndexFunc(e.payloads, func(p payload) bool { return p.key == key }); i >= 0 {
		return e.payloads[i].text
	}
	text := encode()
	if text != nil && len(e.payloads) < maxPayloads {
		e.payloads = append(e.payloads, payload{key, text})
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
