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

// shiftedClock returns a clock that is ahead of the local clock. The parameter by points
// to the difference, in nanoseconds, which the test may change.
func shiftedClock(by *atomic.Int64) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
}

// A process whose clock is off uses the time of its database, and logs the skew once.
func TestStoreHasTheTimeOfItsDatabase(t *testing.T) {
	var by atomic.Int64
	by.Store(int64(-5 * time.Second))
	log := new(strings.Builder)
	logger := slog.New(slog.NewTextHandler(log, nil))
	db := &otherClock{Database: openDatabase(t), local: shiftedClock(&by)}
	s := open(t, Options{URL: startServer(t).url(), Database: db, Now: db.local, Logger: logger})
	s.stopBackground() // the test polls
	for range 3 {
		poll(t, s)
	}
	off := func() time.Duration { // a lower bound: the process may be suspended between two readings of the clock
		before := time.Now()
		now := s.Now()
		return max(before.Sub(now), time.Until(now), 0)
	}
	exact := time.Second + time.Duration(db.slowest.Load())
	if off := off(); off > exact {
		t.Errorf("Now() is off by %v, want at most %v", off, exact)
	}
	if off := s.ClockSkew() + 5*time.Second; off.Abs() > exact {
		t.Errorf("ClockSkew() = %v, want -5s, give or take %v", s.ClockSkew(), exact)
	}
	by.Store(0)
	poll(t, s)
	exact = time.Second + time.Duration(db.slowest.Load())
	if skew, off := s.ClockSkew(), off(); skew.Abs() > exact || off > exact {
		t.Errorf("once the clock is right: ClockSkew() = %v, and Now() is off by %v, want at most %v each", skew, off, exact)
	}
	if n := strings.Count(log.String(), "clock differs"); n != 1 {
		t.Errorf("the skew was logged %d times, want once: %s", n, log)
	}
}

// otherClock is a database that calls the function local, instead of reading the
// machine's clock, for the times before and after each reading of the database's clock.
type otherClock struct {
	Database

	local   func() time.Time
	slowest atomic.Int64 // the longest time between readings of the local clock, in nanoseconds
}

func (d *otherClock) Epoch(ctx context.Context) (mirror.Epoch, error) {
	before, begun := d.local(), time.Now()
	e, err := d.Database.Epoch(ctx)
	d.slowest.Store(max(d.slowest.Load(), int64(time.Since(begun))))
	e.Clock.Before, e.Clock.After = before, d.local()
	return e, err
}
