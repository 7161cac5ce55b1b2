package redis

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/redis/internal/windows"
)

// EraseNext erases a part of a user from the database. It updates Redis as Persist does.
// When nothing is left in the database, it removes everything that names the user from
// Redis.
func (s *Store) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	n, outcome, err := s.Store.EraseNext(ctx, user, limit, s.invalidateFirst(mark))
	if err != nil {
		return n, outcome, err
	}
	s.publishCommitted(ctx, outcome)
	if n > 0 {
		return n, outcome, nil
	}
	if err := s.scripts.Scan(ctx, s.opts.Prefix+":", func(keys []string) error { return s.forget(ctx, user, keys) }); err != nil {
		return 0, storage.Outcome{}, fmt.Errorf("remove a user from Redis: %w", err)
	}
	return n, outcome, nil
}

// forget deletes those of the keys, in any epoch, that name a user: the user's windows and
// the counts of the user as a subject. It also deletes the entries about the user in the
// windows of others.
func (s *Store) forget(ctx context.Context, user storage.User, keys []string) error {
	var reads []scripts.Call
	var epochs []keyspace.Epoch
	var of []storage.User
	for _, key := range keys {
		epoch, ok := keyspace.EpochOf(s.opts.Prefix, key)
		if !ok {
			continue
		}
		w, ok := epoch.WindowOf(key)
		switch {
		case ok && w.User == user, key == epoch.Counts(user.Subject()):
			if err := s.deleteKey(ctx, key); err != nil {
				return err
			}
		case ok && w.User.Tenant == user.Tenant && w.Biz == storage.BizUser:
			reads = append(reads, scripts.Field(key, window.Field(user.UserID)))
			epochs, of = append(epochs, epoch), append(of, w.User)
		}
	}
	groups := map[keyspace.Epoch]*windows.Group{}
	err := scripts.Retry(ctx, func() error {
		clear(groups)
		return s.scripts.RunAll(ctx, "find a user", reads, func(i int, reply *rueidis.RedisMessage) error {
			if reply.IsNil() {
				return nil
			}
			if groups[epochs[i]] == nil {
				groups[epochs[i]] = s.windows.InvalidationGroup(epochs[i])
			}
			for _, kind := range window.Kinds {
				groups[epochs[i]].Add(of[i], user.Subject(), kind, "-")
			}
			return nil
		})
	})
	for _, g := range groups {
		if err == nil {
			err = scripts.Retry(ctx, func() error { return g.Run(ctx, "remove a user") })
		}
	}
	return err
}

func (s *Store) deleteKey(ctx context.Context, key string) error {
	return scripts.Retry(ctx, func() error {
		return s.redis.Call(ctx, "delete a key", func(ctx context.Context) error {
			return s.client.Do(ctx, s.client.B().Del().Key(key).Build()).Error()
		})
	})
}
