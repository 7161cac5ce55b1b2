package media

import (
	"sync"

	"ovation/api/quota"
)

// places bounds how many transfers are in progress at the same time.
type places struct {
	*quota.Quota
}

func newPlaces(shares quota.Shares) places { return places{quota.New(shares)} }

// take takes a place. It reports false if there is none, or none in a share of the owner.
// The returned function releases the place and may be called twice.
func (p places) take(by quota.Owner) (release func(), ok bool) {
	if p.Acquire(by, 1) != quota.None {
		return nil, false
	}
	return sync.OnceFunc(func() { p.Release(by, 1) }), true
}

// minRate returns the minimum rate of a transfer in bytes a second. While at most half of
// the places are taken, it is minBytesPerSecond. It doubles with each further sixth of
// the places, up to eight times minBytesPerSecond when none is left, so that slow
// transfers make room.
func (p places) minRate() int64 {
	total := p.Bound(quota.Total)
	return minBytesPerSecond << max(0, (6*p.Used()-3*total)/total)
}
