package live

import (
	"slices"
	"sync"
	"time"

	"ovation/storage"
)

// Event is a subject as anonymous viewers see it: its counts, without any
// viewer's states. It is shared by all watchers and must not be changed.
type Event struct {
	storage.Interactive

	// Rewinds is how many calls of Hub.Rewound preceded the read of the counts.
	// Only versions of events with the same Rewinds can be compared.
	Rewinds int

	// changed is when this process received the first signal of the change, or
	// zero if there was none.
	changed time.Time

	mu           sync.Mutex
	payloads     []payload
	payloadBytes int // bytes of all payloads
}

type payload struct {
	key  any
	text []byte
}

// Limits of the payloads cached by one event. There is one event per watched subject.
const (
	maxPayloads     = 16
	maxPayloadBytes = 2 << 10
)

// Payload returns the result of encode, which is called once per key and cached as long
// as the event exists. Keys must be comparable. They are kept as long as the event, so a
// key should be a weak pointer if it must not keep anything else alive. The result must
// not be changed. If the cache is full or the result is nil, encode is called each time.
func (e *Event) Payload(key any, encode func() []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.IndexFunc(e.payloads, func(p payload) bool { return p.key == key }); i >= 0 {
		return e.payloads[i].text
	}
	text := encode()
	if text != nil && len(e.payloads) < maxPayloads && e.payloadBytes+len(text) <= maxPayloadBytes {
		e.payloads = append(e.payloads, payload{key, text})
		e.payloadBytes += len(text)
	}
	return text
}

// after returns the event that follows this one, or nil if there is none to deliver.
// Older or unknown counts never replace known ones. After a rewind, known counts are
// delivered whatever their version, even if they are equal to the previous ones: in the
// meantime, a subscriber may have read others, which were lost.
func (e *Event) after(got *storage.Interactive, changed time.Time, rewinds int) *Event {
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
		next.Freshness, rewinds = storage.Stale, e.Rewinds
	case e.Rewinds != rewinds:
	case e.Freshness == storage.Unavailable || got.Version > e.Version:
	case got.Version < e.Version || got.Freshness == e.Freshness:
		return nil
	}
	return &Event{Interactive: next, Rewinds: rewinds, changed: changed}
}
