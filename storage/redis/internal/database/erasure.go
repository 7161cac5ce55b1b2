package database

import (
	"context"

	"ovation/storage"
)

// BeginErase begins to erase a user from the database.
func (s *Store) BeginErase(ctx context.Context, user storage.User) error {
	if err := s.database.Err(); err != nil {
		return err
	}
	return s.Store.BeginErase(ctx, user)
}

// EraseNext erases a part of a user from the database.
func (s *Store) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	if err := s.database.Err(); err != nil {
		return 0, storage.Outcome{}, err
	}
	return s.Store.EraseNext(ctx, user, limit, mark)
}
