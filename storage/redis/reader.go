package redis

import (
	"context"

	"ovation/storage"
)

// Interactives returns counts and the viewer's states; see answers.Reader.
func (s *Store) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	return s.answers.Interactives(ctx, viewer, subjects, kinds)
}

// CachedAuthors returns, for each subject, the id of the author that was cached with the
// counts. The id is "" if the subject has no author or its counts are not cached.
// CachedAuthors calls neither Redis nor the database.
func (s *Store) CachedAuthors(subjects []storage.Subject) []string {
	return s.counts.Cache.Authors(subjects)
}

// States returns states as of the latest acknowledged action while Redis is available,
// and otherwise as the database has them. States of storage.KindRead always come from the
// database.
func (s *Store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	out, _, err := s.answers.States(ctx, keys, kinds, false)
	return out, err
}

// Get returns the states of each key as of the latest acknowledged action, and where they
// are stored: storage.Persisted, or storage.Queued if some of them may not be in the
// database yet. The durability is "" if Redis is unavailable or may have lost queued
// actions. Get renews the life of the entries that it reads. It sets States.Deleted by the
// counts that this process has cached. Errors:
// storage.ErrUnavailable if the database is needed and unavailable; storage.ErrInvalid;
// the context's error.
func (s *Store) Get(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, storage.Durability, error) {
	if err := s.ready(ctx); err != nil {
		return nil, "", err
	}
	out, where, err := s.answers.States(ctx, keys, kinds, true)
	if err != nil {
		return nil, where, err
	}
	for i, key := range keys {
		out[i].Deleted = s.counts.Cache.Deleted(key.Subject)
	}
	return out, where, nil
}

// Ping returns nil if Redis or the database responds: either one can serve reads. A
// dependency that is known to be unavailable is not called.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	err := s.redis.Call(ctx, "ping", func(ctx context.Context) error {
		return s.client.Do(ctx, s.client.B().Ping().Build()).Error()
	})
	if err == nil {
		return nil
	}
	return s.database.Run(ctx, "ping", s.Store.Ping)
}

// ready returns an error if the context is cancelled or the store is closed.
func (s *Store) ready(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed
	}
	return ctx.Err()
}
