package redis

import (
	"time"

	"ovation/storage/redis/internal/epochs"
)

// ErrForeignMirror is returned if the database uses a different mirror than this process.
var ErrForeignMirror = epochs.ErrForeignMirror

// Barrier returns the number of the barrier that the partitions of the queue have to
// pass, or 0 if there is none. It also returns 0 while a node may still have a valid
// lease on an earlier epoch. When Barrier returns a number other than 0, every action
// that is visible only in an earlier epoch is therefore already in the queue.
func (s *Store) Barrier() int64 { return s.epochs.Barrier() }

// Foreign returns an error while the database uses another mirror. Meanwhile this process
// cannot mark anything. The error wraps ErrForeignMirror and names the other mirror.
func (s *Store) Foreign() error { return s.epochs.Foreign() }

// Now returns an estimate of the current time by the database's clock, based on the
// latest polls. Actions take their versions from this time. The estimate is off by at
// most half of a poll's round trip, plus the drift between the clocks since that poll.
func (s *Store) Now() time.Time { return s.epochs.Now() }

// ClockSkew returns how far this machine's clock is ahead of the database's. The result
// is negative if this machine's clock is behind.
func (s *Store) ClockSkew() time.Duration { return s.epochs.ClockSkew() }
