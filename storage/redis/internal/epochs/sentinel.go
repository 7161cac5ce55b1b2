package epochs

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

// checkSentinel looks for the epoch in Redis. The epoch is intact if the sentinel exists,
// every key has a master that responds, and none of these masters has started since the
// sentinel was written. If some masters of a cluster do not respond, the error is
// storage.ErrUnavailable, but the masters that respond are still used.
func (k *Keeper) checkSentinel(ctx context.Context, at *Epoch) (found sentinelCheck, err error) {
	var gap error
	err = k.tryRedis(ctx, "look for the sentinel", func(ctx context.Context) error {
		replies := k.Scripts.Client.DoMulti(ctx, k.Scripts.Client.B().Get().Key(at.Keys.Sentinel()).Build(),
			k.Scripts.Client.B().Pexpire().Key(at.Keys.Sentinel()).Milliseconds(k.SentinelTTL.Milliseconds()).Build())
		written, err := replies[0].ToString()
		none := rueidis.IsRedisNil(err)
		if !none {
			if err = cmp.Or(err, replies[1].Error()); err != nil {
				return err
			}
			found.state = restarted
		}
		found.runIDs, gap, err = k.runIDs(ctx) // called last, since a server that hangs uses up the timeout
		known := strings.Fields(written)
		if !none && !slices.ContainsFunc(found.runIDs, func(run string) bool { return !slices.Contains(known, run) }) {
			found.state = intact
		}
		if err == nil && found.state == intact && gap != nil {
			return dependency.ErrPartial
		}
		return err
	})
	if errors.Is(err, dependency.ErrPartial) {
		return found, fmt.Errorf("look for the masters: %w: %w", storage.ErrUnavailable, gap)
	}
	return found, err
}

// writeSentinel writes the sentinel of the next epoch. It is called before the epoch
// begins, so that no sentinel is ever written for an epoch that may have lost data.
func (k *Keeper) writeSentinel(ctx context.Context, number int64) error {
	return k.tryRedis(ctx, "write the sentinel", func(ctx context.Context) error {
		runs, gap, err := k.runIDs(ctx)
		if err = cmp.Or(err, gap); err != nil {
			return err
		}
		return k.Scripts.Client.Do(ctx, k.Scripts.Client.B().Set().Key(k.epochOf(number).Keys.Sentinel()).Value(strings.Join(runs, " ")).
			Px(k.SentinelTTL).Build()).Error()
	})
}

// Probe checks the features that a store needs from Redis: client-side caching and
// scripts.
func (k *Keeper) Probe(ctx context.Context) error {
	return k.tryRedis(ctx, "probe Redis", func(ctx context.Context) error {
		if k.Scripts.Client.Mode() == rueidis.ClientModeCluster { // a single server is checked below
			if _, gap, err := k.masters(ctx); err != nil || gap != nil {
				return cmp.Or(err, gap)
			}
		}
		key, life := k.Prefix+":probe", scripts.Text(time.Minute.Milliseconds())
		version := scripts.Text(k.Now().UnixMicro()) // new, so that the script writes
		_, err := k.Scripts.Run(ctx, []scripts.Call{
			scripts.Counts.On(key, nil, version, counts.Text(storage.Counts{}), life),
			scripts.Apply.On(key+":w", nil, life, life, "1", "q", "r", version, "-"),
		})
		if err != nil {
			return err
		}
		for _, reply := range k.Scripts.Client.DoMultiCache(ctx,
			rueidis.CT(k.Scripts.Client.B().Hget().Key(key).Field(counts.Field).Cache(), time.Second)) {
			if failed := reply.Error(); !rueidis.IsRedisNil(failed) { // nil if the key was evicted
				err = errors.Join(err, failed)
			}
		}
		if errors.Is(err, rueidis.ErrDoCacheAborted) {
			err = fmt.Errorf("read through the client-side cache, for which the user needs permission for MULTI and EXEC: %w", err)
		}
		return err
	})
}

// tryRedis calls Redis even if its breaker is open.
func (k *Keeper) tryRedis(ctx context.Context, what string, f func(context.Context) error) error {
	return k.RedisBackend.Try(ctx, min(k.RedisTimeout, PollTimeout), func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && !errors.Is(err, dependency.ErrPartial) {
			err = fmt.Errorf("%s: %w: %w", what, storage.ErrUnavailable, err)
		}
		return err
	})
}
