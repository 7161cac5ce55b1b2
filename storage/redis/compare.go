package redis

import (
	"context"

	"ovation/storage/redis/internal/compare"
)

// Mismatch describes a difference between Redis and the database: in the counts of a
// subject, or in an entry of a window.
type Mismatch = compare.Mismatch

// Compare compares Redis with the database. A mismatch is reported only if it outlasts
// any change that may be in progress, including one by a crashed process. To find out,
// Compare rechecks possible mismatches for up to slightly more than Options.Guard. It
// does so at the end, and whenever it has found about 10,000 of them. It compares only
// the active epoch, as other epochs are not trusted. A queued entry that is not yet
// persisted is ahead of the database; it is not a mismatch. If repair is true, Compare
// deletes mismatches from Redis; later reads fill Redis again from the database. Compare
// returns how many counts and states it compared. If report returns an error, Compare
// stops and returns that error.
func (s *Store) Compare(ctx context.Context, repair bool, report func(compare.Mismatch) error) (compared int64, err error) {
	at := s.epochs.Active()
	if at == nil { // nothing in Redis is trusted
		return 0, nil
	}
	c := &compare.Comparison{Redis: s.scripts, Database: s.source, Counts: s.counts, Windows: s.windows, Prefix: s.opts.Prefix}
	return c.Run(ctx, at.Keys, repair, report)
}
