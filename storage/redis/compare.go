package redis

import (
	"context"

	"ovation/storage/redis/internal/compare"
)

// Mismatch is a value in Redis, counts or an entry, that disagrees with the database.
type Mismatch = compare.Mismatch

// Compare compares Redis with the database. It reports mismatches that persist for longer
// than any change in progress may take, including a change by a process that has crashed
// (Options.Guard). It compares only the active epoch, as entries of other epochs are not
// trusted. An entry that is queued and not yet persisted is ahead of the database, which
// is not a mismatch. If repair is true, mismatches are deleted from Redis, which is later
// filled again from the database. Compare returns how many counts and states it compared.
// If report returns an error, Compare stops and returns it.
func (s *Store) Compare(ctx context.Context, repair bool, report func(compare.Mismatch) error) (compared int64, err error) {
	at := s.epochs.Active()
	if at == nil { // nothing in Redis is trusted
		return 0, nil
	}
	c := &compare.Comparison{Redis: s.scripts, Database: s.source, Counts: s.counts, Windows: s.windows, Prefix: s.opts.Prefix}
	return c.Run(ctx, at.Keys, repair, report)
}
