package live

import (
	"slices"
	"sync"
	"time"

	"ovation/storage"
)

// Event is a subject as anonymous viewers see it: its counts, without any viewer's
// states. All watchers share it; do not modify it.
type Event struct {
	storage.Interactive

	// Rewinds is the number of calls to Hub.Rewound before the counts were read. The
	// versions of two events can be compared only if their Rewinds are equal.
	Rewinds int

	// changed is the time at which this process received the first signal of the change,
	// or zero if there was no signal.
	changed time.Time

	mu           sync.Mutex
	payloads     []payload
	payloadBytes int // bytes of all payloads
}

type payload struct {
	key  any
	text []byte
}

// Limits on the payloads that one event caches: their number and their total size. There
// is one event per watched subject.
const (
	maxPayloads     = 16
	maxPayloadBytes = 2 << 10
)

// Payload returns the result of encode. It calls encode once per key and caches the
// result in the event. If the cache is full or the result is nil, it calls encode each
// time. Do not modify the result. Keys must be comparable. The event also keeps its keys,
// so use a weak pointer as a key if the key must not keep anything else alive.
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

// after returns the event that follows e, or nil if no event is to be delivered. The
// counts in got are those that have been read since e. The receiver may be nil. Older or
// unknown counts never replace known counts. After a rewind, known counts are delivered
// regardless of their version, even if they equal the previous counts: in the meantime, a
// subscriber may have read counts that were then lost.
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
