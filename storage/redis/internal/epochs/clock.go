package epochs

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage/mirror"
)

const (
	// clockDrift is the maximum relative drift between two clocks: 100 ppm is more than a
	// quartz clock drifts.
	clockDrift = 1e-4
	// noticeableSkew is larger than the skew between synchronised clocks.
	noticeableSkew = 500 * time.Millisecond
)

// clock follows the database's clock, so that versions from all processes come from one
// clock. It keeps the most exact of the latest readings. It extrapolates from this
// reading with the local monotonic clock, so setting the local wall clock has no effect.
// Without a reading, it returns the local time. It is safe for concurrent use.
type clock struct {
	local func() time.Time
	best  atomic.Pointer[mirror.ClockReading]

	mu     sync.Mutex
	warned bool
}

// now returns the time by the database's clock.
func (c *clock) now() time.Time {
	if best := c.best.Load(); best != nil {
		return timeAt(best, c.local())
	}
	return c.local()
}

// timeAt returns the database's time at the given local time, extrapolated from the
// reading r. It assumes that r was taken midway between its bounds.
func timeAt(r *mirror.ClockReading, local time.Time) time.Time {
	return r.Time.Add(local.Sub(r.Before) - r.After.Sub(r.Before)/2)
}

// uncertainty returns the maximum error of the result of timeAt for the same arguments.
func uncertainty(r *mirror.ClockReading, local time.Time) time.Duration {
	drift := time.Duration(math.Abs(float64(local.Sub(r.After))) * clockDrift)
	return r.After.Sub(r.Before)/2 + drift
}

// observe adopts the reading r if r is more exact than the current reading, which has
// become less exact with time. It also adopts r if the two readings contradict each
// other: in that case, one of the clocks was set or stood still.
func (c *clock) observe(r mirror.ClockReading) {
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

// skew returns how far the local clock is ahead of the database's. The result is negative
// if the local clock is behind.
func (c *clock) skew() time.Duration {
	return c.local().Round(0).Sub(c.now()) // the wall clock, without its monotonic reading
}

// becameNoticeable reports whether the skew has just become noticeable.
func (c *clock) becameNoticeable() bool {
	skew := c.skew().Abs()
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.warned
	c.warned = skew > noticeableSkew || before && skew > noticeableSkew/2
	return c.warned && !before
}

// Now returns an estimate of the current time by the database's clock, based on the
// latest polls. Actions take their versions from this time. The estimate is off by at
// most half of a poll's round trip, plus the drift between the clocks since that poll.
func (k *Keeper) Now() time.Time { return k.clock.now() }

// ClockSkew returns how far this machine's clock is ahead of the database's. The result
// is negative if this machine's clock is behind.
func (k *Keeper) ClockSkew() time.Duration { return k.clock.skew() }

// observeClock adopts a reading of the database's clock and logs a noticeable skew.
func (k *Keeper) observeClock(r mirror.ClockReading) {
	k.clock.observe(r)
	if k.clock.becameNoticeable() {
		k.Logger.Warn("this machine's clock differs from the database's: versions follow the database's clock; check NTP on both",
			"ahead_ms", k.clock.skew().Milliseconds())
	}
}
