package redis

import (
	"context"

	"ovation/storage"
)

// Restore restores an archive in the database. It updates Redis as Persist does.
func (s *Store) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (storage.Outcome, error) {
	outcome, err := s.Store.Restore(ctx, part, s.invalidateFirst(mark))
	if err == nil {
		s.publishCommitted(ctx, outcome)
	}
	return outcome, err
}
