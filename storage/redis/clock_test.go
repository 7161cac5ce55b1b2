package redis

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ovation/storage/mirror"
)

// reading is one of a clock that is ahead by skew, with a round trip, of which
// the way there took a part.
func reading(local time.Time, skew, trip, there time.Duration) mirror.ClockReading {
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
			t.Errorf("%s: it is off by %v", what, off)
		}
	}
	wants("without a reading it is the local clock", 0, 0)
	c.note(reading(at, skew, 100*ms, 0)) // the answer was slow, so that the middle is wrong
	wants("after a slow reading", skew, 50*ms)
	local = at.Add(500 * ms)
	c.note(reading(local, skew, 2*ms, 2*ms))
	wants("after a quick one", skew, ms)
	local = at.Add(1000 * ms)
	c.note(reading(local, skew, 300*ms, 290*ms))
	wants("after a slow one that says nothing new", skew, ms)
	for range 20 { // a few seconds later the quick one is no longer more exact
		local = local.Add(time.Minute)
		c.note(reading(local, skew, 3*ms, ms))
	}
	wants("in the long run", skew, 2*ms)
	local = local.Add(500 * ms)
	c.note(reading(local, -skew, 100*ms, 50*ms))
	wants("after the database's clock was set", -skew, 50*ms)
}

// shifted is a clock that can be set.
func shifted(by *atomic.Int64) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
}

// A process whose clock is off has the time of its database, and says so once.
func TestStoreHasTheTimeOfItsDatabase(t *testing.T) {
	var by atomic.Int64
	by.Store(int64(-5 * time.Second))
	log := new(strings.Builder)
	logger := slog.New(slog.NewTextHandler(log, nil))
	db := &otherClock{Database: openDatabase(t), local: shifted(&by)}
	s := open(t, Options{URL: startServer(t).url(), Database: db, Now: db.local, Logger: logger})
	s.halt() // polls are made here
	for range 3 {
		must(t, s.poll(t.Context()))
	}
	const exact = time.Second // a process may stand still between two looks at the clock
	if off := time.Until(s.Now()); off.Abs() > exact {
		t.Errorf("the time is off by %v", off)
	}
	if off := s.ClockSkew() + 5*time.Second; off.Abs() > exact {
		t.Errorf("the skew is %v", s.ClockSkew())
	}
	by.Store(0)
	must(t, s.poll(t.Context()))
	if s.ClockSkew().Abs() > exact || time.Until(s.Now()).Abs() > exact {
		t.Errorf("once the clock is right, the skew is %v", s.ClockSkew())
	}
	if n := strings.Count(log.String(), "clock differs"); n != 1 {
		t.Errorf("it was said %d times: %s", n, log)
	}
}

// otherClock is a database on another machine than the process.
type otherClock struct {
	Database

	local func() time.Time
}

func (d *otherClock) Epoch(ctx context.Context) (mirror.Epoch, error) {
	before := d.local()
	e, err := d.Database.Epoch(ctx)
	e.Clock.Before, e.Clock.After = before, d.local()
	return e, err
}
