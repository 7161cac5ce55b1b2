package rate

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// Attempts limits the attempts for each of many keys, such as names and addresses. A nil
// *Attempts limits nothing. It is safe for concurrent use, and its memory is bounded like
// that of a Limiter.
type Attempts struct {
	buckets *buckets
	seed    maphash.Seed
	since   time.Time
}

// NewAttempts returns Attempts that allow each key a burst of the given number of
// attempts, and one more after each interval. If burst is 0, there is no limit, and
// NewAttempts returns nil.
func NewAttempts(burst int, every time.Duration) *Attempts {
	if burst <= 0 {
		return nil
	}
	unit := max(int64(every), 1)
	return &Attempts{&buckets{pace: pace{unit: unit, burst: int64(burst) * unit}}, maphash.MakeSeed(), time.Now()}
}

// Take counts an attempt for a key. If there have been too many attempts, Take does not
// count this one and returns the time until the next is allowed.
func (a *Attempts) Take(key string) (wait time.Duration) { return a.TakeIn(anywhere, key) }

// Return undoes Take, for example for an attempt that succeeded.
func (a *Attempts) Return(key string) { a.ReturnIn(anywhere, key) }

// Charge counts attempts that were made without Take. If there have been too many, it
// leaves a debt, which is bounded.
func (a *Attempts) Charge(key string, attempts int) {
	if a != nil {
		a.buckets.charge(a.client(anywhere, key), anywhere.Share, int64(time.Since(a.since)), attempts)
	}
}

// anywhere is the network of attempts that do not depend on an address.
var anywhere = Network{Share: 1}

// TakeIn is like Take, for the pair of a network and a key. The network may make Share
// times as many attempts as an address.
func (a *Attempts) TakeIn(network Network, key string) (wait time.Duration) {
	if a == nil {
		return 0
	}
	return a.buckets.take(a.client(network, key), network.Share, int64(time.Since(a.since)), 1)
}

// ReturnIn undoes TakeIn.
func (a *Attempts) ReturnIn(network Network, key string) {
	if a != nil {
		a.buckets.charge(a.client(network, key), network.Share, int64(time.Since(a.since)), -1)
	}
}

func (a *Attempts) client(network Network, key string) uint64 {
	return maphash.Comparable(a.seed, pair{network.Prefix, key})
}

// pair is a network and a key in it.
type pair struct {
	network netip.Prefix
	key     string
}
