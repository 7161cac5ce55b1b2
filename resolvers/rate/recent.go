package rate

import (
	"hash/maphash"
	"time"
)

// Recent remembers the pairs of a network and a key that were added to it most recently.
// It holds up to 65,536 pairs in 1.1 MB, and forgets the oldest of eight for a new one.
// It is safe for concurrent use.
type Recent struct {
	added *buckets // which "fill" when their pair was added
	seed  maphash.Seed
	since time.Time
}

// NewRecent returns an empty Recent.
func NewRecent() *Recent { return &Recent{new(buckets), maphash.MakeSeed(), time.Now()} }

// Add remembers a pair.
func (r *Recent) Add(network Network, key string) {
	one, s := r.added.of(maphash.Comparable(r.seed, pair{network.Prefix, key}))
	defer s.mu.Unlock()
	one.fullAt = max(int64(time.Since(r.since)), 1)
}

// Has reports whether a pair is remembered.
func (r *Recent) Has(network Network, key string) bool {
	client := maphash.Comparable(r.seed, pair{network.Prefix, key})
	s := &r.added.sets[client%setCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.slots {
		if one.client == client && one.fullAt > 0 {
			return true
		}
	}
	return false
}
