package epochs

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage/mirror"
)

const (
	// clockDrift is how far two clocks drift apart, relative to the time that
	// passes: 100 ppm is more than a quartz does.
	clockDrift = 1e-4
	// noticeableSkew is what a synchronized clock does not reach.
	noticeableSkew = 500 * time.Millisecond
)

// clock follows the database's clock, so that versions of all processes come
// from one clock. It keeps the most exact of the latest readings and counts on
// from it by the local monotonic clock: steps of the local time do not matter.
// The zero value with local set is the local clock. It is safe for concurrent use.
type clock struct {
	local func() time.Time
	best  atomic.Pointer[mirror.ClockReading]

	mu     sync.Mutex
	warned bool
}

// now is the time by the database's clock.
func (c *clock) now() time.Time {
	if best := c.best.Load(); best != nil {
		return timeAt(best, c.local())
	}
	return c.local()
}

// timeAt is what the other clock showed, by a reading, at a moment of the local
// one. The reading is taken as one of the middle between its bounds.
func timeAt(r *mirror.ClockReading, local time.Time) time.Time {
	return r.Time.Add(local.Sub(r.Before) - r.After.Sub(r.Before)/2)
}

// uncertainty is how far off timeAt may be at a moment.
func uncertainty(r *mirror.ClockReading, local time.Time) time.Duration {
	drift := time.Duration(math.Abs(float64(local.Sub(r.After))) * clockDrift)
	return r.After.Sub(r.Before)/2 + drift
}

// note takes a reading that is more exact than the one in use has become, or
// that contradicts it: then one of the clocks was set, or stood still.
func (c *clock) note(r mirror.ClockReading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if best := c.best.Load(); best != nil {
		now, was := uncertainty(&r, r.After), uncertainty(best, r.After)
		if now > was && timeAt(&r, r.After).Sub(timeAt(best, r.After)).Abs() <= now+was {
			return
		}
	}
	c.best.Store(&r)
}

// skew is how far the local clock is ahead of the database's; negative where it
// is behind.
func (c *clock) skew() time.Duration {
	return c.local().Round(0).Sub(c.now()) // as it is set: without its monotonic reading
}

// noticed reports whether the skew is noticeable for the first time since it was
// not.
func (c *clock) noticed() bool {
	skew := c.skew().Abs()
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.warned
	c.warned = skew > noticeableSkew || before && skew > noticeableSkew/2
	return c.warned && !before
}

// Now is the time by the database's clock, as of the latest polls: what
// versions are made of. It is off by half of a poll's round trip at most.
func (k *Keeper) Now() time.Time { return k.clock.now() }

// ClockSkew is how far this machine's clock is ahead of the database's; negative
// where it is behind.
func (k *Keeper) ClockSkew() time.Duration { return k.clock.skew() }

// noteClock follows the database's clock.
func (k *Keeper) noteClock(r mirror.ClockReading) {
	k.clock.note(r)
	if k.clock.noticed() {
		k.Logger.Warn("this machine's clock differs from the database's: versions follow the database's clock; check NTP on both",
			"ahead_ms", k.clock.skew().Milliseconds())
	}
}
