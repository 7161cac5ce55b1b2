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
	const exact = time.Second // the process may be suspended between two readings of the clock
	if off := time.Until(s.Now()); off.Abs() > exact {
		t.Errorf("Now() is off by %v, want at most %v", off, exact)
	}
	if off := s.ClockSkew() + 5*time.Second; off.Abs() > exact {
		t.Errorf("ClockSkew() = %v, want -5s, give or take %v", s.ClockSkew(), exact)
	}
	by.Store(0)
	poll(t, s)
	if skew, off := s.ClockSkew(), time.Until(s.Now()); skew.Abs() > exact || off.Abs() > exact {
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

	local func() time.Time
}

func (d *otherClock) Epoch(ctx context.Context) (mirror.Epoch, error) {
	before := d.local()
	e, err := d.Database.Epoch(ctx)
	e.Clock.Before, e.Clock.After = before, d.local()
	return e, err
}
