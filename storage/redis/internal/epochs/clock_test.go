package epochs

import (
	"testing"
	"time"

	"ovation/storage/mirror"
)

// clockReading returns a reading of a clock that is ahead of the local clock by skew. The
// round trip begins at the given local time and takes as long as trip. The parameter
// there is the part of the round trip that passes before the clock is read.
func clockReading(local time.Time, skew, trip, there time.Duration) mirror.ClockReading {
	return mirror.ClockReading{Time: local.Add(there + skew), Before: local, After: local.Add(trip)}
}

func TestClockFollowsTheMostExactReading(t *testing.T) {
	const ms, skew = time.Millisecond, 5 * time.Second
	at := time.Now()
	local := at
	c := clock{local: func() time.Time { return local }}
	wants := func(what string, ahead, within time.Duration) {
		t.Helper()
		if off := c.now().Sub(local) - ahead; off.Abs() > within {
			t.Errorf("%s: the clock is off by %v, want at most %v", what, off, within)
		}
	}
	wants("without a reading it is the local clock", 0, 0)
	c.observe(clockReading(at, skew, 100*ms, 0)) // the reply was slow, so that the reading was not taken midway
	wants("after a slow reading", skew, 50*ms)
	local = at.Add(500 * ms)
	c.observe(clockReading(local, skew, 2*ms, 2*ms))
	wants("after a quick one", skew, ms)
	local = at.Add(1000 * ms)
	c.observe(clockReading(local, skew, 300*ms, 290*ms))
	wants("after a slow one that says nothing new", skew, ms)
	for range 20 { // after a few seconds, the quick reading is no longer more exact
		local = local.Add(time.Minute)
		c.observe(clockReading(local, skew, 3*ms, ms))
	}
	wants("in the long run", skew, 2*ms)
	local = local.Add(500 * ms)
	c.observe(clockReading(local, -skew, 100*ms, 50*ms))
	wants("after the database's clock was set", -skew, 50*ms)
}
