package rate

import (
	"hash/maphash"
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
func (a *Attempts) Take(key string) (wait time.Duration) {
	if a == nil {
		return 0
	}
	return a.buckets.take(maphash.String(a.seed, key), int64(time.Since(a.since)), 1)
}

// Return undoes Take, for example for an attempt that succeeded.
func (a *Attempts) Return(key string) {
	if a != nil {
		a.buckets.charge(maphash.String(a.seed, key), int64(time.Since(a.since)), -1)
	}
}
