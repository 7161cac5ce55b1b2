package redis

import (
	"time"

	"ovation/storage/redis/internal/epochs"
)

// ErrStranger says that the mirror of the database is another one.
var ErrStranger = epochs.ErrStranger

// Barrier returns the number of the barrier that the partitions of the queue have
// to pass, 0 if none has to. What was shown only in the epoch before is queued by
// then: no node is sure of that epoch any longer.
func (s *Store) Barrier() int64 { return s.epochs.Barrier() }

// Stranger returns an error while the mirror of the database is another one, in
// which this process can mark nothing: it wraps ErrStranger and says which.
func (s *Store) Stranger() error { return s.epochs.Stranger() }

// Now is the time by the database's clock, as of the latest polls: what versions
// are made of. It is off by half of a poll's round trip at most.
func (s *Store) Now() time.Time { return s.epochs.Now() }

// ClockSkew is how far this machine's clock is ahead of the database's; negative
// where it is behind.
func (s *Store) ClockSkew() time.Duration { return s.epochs.ClockSkew() }
