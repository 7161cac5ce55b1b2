package redis

import (
	"context"

	"ovation/storage"
)

// SweepDeleted sweeps deleted subjects in the database. It updates Redis as Persist does.
func (s *Store) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (storage.Swept, storage.Outcome, error) {
	swept, outcome, err := s.Store.SweepDeleted(ctx, limit, s.invalidateFirst(mark))
	if err == nil {
		s.publishCommitted(ctx, outcome)
	}
	return swept, outcome, err
}
