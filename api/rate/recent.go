package rate

import (
	"hash/maphash"
	"sync"
	"time"
)

// Recent remembers the pairs of a network and a key that were added to it most recently.
// It holds up to 65,536 pairs in 1.1 MB. The pairs of a key belong to one set of eight
// slots: a new pair replaces the oldest in that set or, if its key has four pairs there,
// the oldest of those. A key therefore cannot displace the pairs of many others. Recent is
// safe for concurrent use.
type Recent struct {
	sets  [setCount]set // a slot is "full" when its pair was added
	seed  maphash.Seed
	since time.Time
}

// pairsOfKey is the maximum number of pairs that are remembered of one key.
const pairsOfKey = setSize / 2

// NewRecent returns an empty Recent.
func NewRecent() *Recent { return &Recent{seed: maphash.MakeSeed(), since: time.Now()} }

// Add remembers a pair.
func (r *Recent) Add(network Network, key string) {
	mu, slots, client := r.slots(network, key)
	mu.Lock()
	defer mu.Unlock()
	replaced, own, held := &slots[0], (*slot)(nil), 0
	for i := range slots {
		one := &slots[i]
		if one.fullAt > 0 && one.client == client {
			one.fullAt = r.now()
			return
		}
		if one.fullAt < replaced.fullAt {
			replaced = one
		}
		if one.fullAt > 0 && one.client>>32 == client>>32 {
			if held++; own == nil || one.fullAt < own.fullAt {
				own = one
			}
		}
	}
	if held == pairsOfKey {
		replaced = own
	}
	*replaced = slot{client: client, fullAt: r.now()}
}

func (r *Recent) now() int64 { return max(int64(time.Since(r.since)), 1) }

// Has reports whether a pair is remembered.
func (r *Recent) Has(network Network, key string) bool {
	mu, slots, client := r.slots(network, key)
	mu.Lock()
	defer mu.Unlock()
	for _, one := range slots {
		if one.client == client && one.fullAt > 0 {
			return true
		}
	}
	return false
}

// slots returns the slots of a key with their mutex, and the hash by which a pair is
// remembered. Its upper half depends on the key alone.
func (r *Recent) slots(network Network, key string) (*sync.Mutex, *[setSize]slot, uint64) {
	of := maphash.String(r.seed, key)
	s := &r.sets[of%setCount]
	return &s.mu, &s.slots, of>>32<<32 | maphash.Comparable(r.seed, pair{network.Prefix, key})>>32
}
