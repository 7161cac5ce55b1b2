package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/dependency"
	"ovation/storage/redis/internal/scripts"
)

// find looks for the epoch in Redis: it is intact where the sentinel is there,
// every key has a master that answers, and none of these has started since the
// sentinel was written. A cluster of which a part does not answer is
// storage.ErrUnavailable, and yet is used: the rest answers.
func (s *Store) find(ctx context.Context, at *epoch) (found finding, err error) {
	var gap error
	err = s.within(ctx, "look for the sentinel", func(ctx context.Context) error {
		replies := s.client.DoMulti(ctx, s.client.B().Get().Key(at.keys.Sentinel()).Build(),
			s.client.B().Pexpire().Key(at.keys.Sentinel()).Milliseconds(s.opts.ShownLife.Milliseconds()).Build())
		written, err := replies[0].ToString()
		none := rueidis.IsRedisNil(err)
		if !none {
			if err = cmp.Or(err, replies[1].Error()); err != nil {
				return err
			}
			found.is = restarted
		}
		found.runs, gap, err = s.runs(ctx) // last: one that hangs takes all the time there is
		known := strings.Fields(written)
		if !none && !slices.ContainsFunc(found.runs, func(run string) bool { return !slices.Contains(known, run) }) {
			found.is = intact
		}
		if err == nil && found.is == intact && gap != nil {
			return dependency.ErrPartial
		}
		return err
	})
	if errors.Is(err, dependency.ErrPartial) {
		return found, fmt.Errorf("look for the masters: %w: %w", storage.ErrUnavailable, gap)
	}
	return found, err
}

// announce writes the sentinel of an epoch that is to begin. It is written
// before, so that none is ever written into an epoch that has lost something.
func (s *Store) announce(ctx context.Context, number int64) error {
	return s.within(ctx, "write the sentinel", func(ctx context.Context) error {
		runs, gap, err := s.runs(ctx)
		if err = cmp.Or(err, gap); err != nil {
			return err
		}
		return s.client.Do(ctx, s.client.B().Set().Key(s.epochOf(number).keys.Sentinel()).Value(strings.Join(runs, " ")).
			Px(s.opts.ShownLife).Build()).Error()
	})
}

// probe tries what a store needs of Redis: reading through the client's cache,
// and the scripts.
func (s *Store) probe(ctx context.Context) error {
	return s.within(ctx, "try Redis", func(ctx context.Context) error {
		if s.client.Mode() == rueidis.ClientModeCluster { // a single server is tried by what follows
			if _, gap, err := s.masters(ctx); err != nil || gap != nil {
				return cmp.Or(err, gap)
			}
		}
		key, life := s.opts.Prefix+":probe", scripts.Text(time.Minute.Milliseconds())
		version := scripts.Text(s.Now().UnixMicro()) // so that it does write
		_, err := s.scripts.Run(ctx, []scripts.Call{
			scripts.Counts.On(key, nil, version, "0 0 0 0", life),
			scripts.Show.On(key+":w", nil, life, life, "1", "q", "r", version, "-"),
		})
		if err != nil {
			return err
		}
		for _, reply := range s.client.DoMultiCache(ctx,
			rueidis.CT(s.client.B().Hget().Key(key).Field(counts.Field).Cache(), time.Second)) {
			if failed := reply.Error(); !rueidis.IsRedisNil(failed) { // it may have been evicted
				err = errors.Join(err, failed)
			}
		}
		if errors.Is(err, rueidis.ErrDoCacheAborted) {
			err = fmt.Errorf("read through the client's cache, for which the user must be allowed MULTI and EXEC: %w", err)
		}
		return err
	})
}

// within calls Redis also while it is away.
func (s *Store) within(ctx context.Context, what string, f func(context.Context) error) error {
	return s.redis.Try(ctx, min(s.opts.RedisTimeout, pollLimit), func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && !errors.Is(err, dependency.ErrPartial) {
			err = fmt.Errorf("%s: %w: %w", what, storage.ErrUnavailable, err)
		}
		return err
	})
}
