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

// find looks for the epoch in Redis: it is intact where the sentinel is there,
// every key has a master that answers, and none of these has started since the
// sentinel was written. A cluster of which a part does not answer is
// storage.ErrUnavailable, and yet is used: the rest answers.
func (k *Keeper) find(ctx context.Context, at *Epoch) (found finding, err error) {
	var gap error
	err = k.within(ctx, "look for the sentinel", func(ctx context.Context) error {
		replies := k.Scripts.Client.DoMulti(ctx, k.Scripts.Client.B().Get().Key(at.Keys.Sentinel()).Build(),
			k.Scripts.Client.B().Pexpire().Key(at.Keys.Sentinel()).Milliseconds(k.ShownLife.Milliseconds()).Build())
		written, err := replies[0].ToString()
		none := rueidis.IsRedisNil(err)
		if !none {
			if err = cmp.Or(err, replies[1].Error()); err != nil {
				return err
			}
			found.is = restarted
		}
		found.runs, gap, err = k.runs(ctx) // last: one that hangs takes all the time there is
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
func (k *Keeper) announce(ctx context.Context, number int64) error {
	return k.within(ctx, "write the sentinel", func(ctx context.Context) error {
		runs, gap, err := k.runs(ctx)
		if err = cmp.Or(err, gap); err != nil {
			return err
		}
		return k.Scripts.Client.Do(ctx, k.Scripts.Client.B().Set().Key(k.epochOf(number).Keys.Sentinel()).Value(strings.Join(runs, " ")).
			Px(k.ShownLife).Build()).Error()
	})
}

// Probe tries what a store needs of Redis: reading through the client's cache,
// and the scripts.
func (k *Keeper) Probe(ctx context.Context) error {
	return k.within(ctx, "try Redis", func(ctx context.Context) error {
		if k.Scripts.Client.Mode() == rueidis.ClientModeCluster { // a single server is tried by what follows
			if _, gap, err := k.masters(ctx); err != nil || gap != nil {
				return cmp.Or(err, gap)
			}
		}
		key, life := k.Prefix+":probe", scripts.Text(time.Minute.Milliseconds())
		version := scripts.Text(k.Now().UnixMicro()) // so that it does write
		_, err := k.Scripts.Run(ctx, []scripts.Call{
			scripts.Counts.On(key, nil, version, "0 0 0 0", life),
			scripts.Show.On(key+":w", nil, life, life, "1", "q", "r", version, "-"),
		})
		if err != nil {
			return err
		}
		for _, reply := range k.Scripts.Client.DoMultiCache(ctx,
			rueidis.CT(k.Scripts.Client.B().Hget().Key(key).Field(counts.Field).Cache(), time.Second)) {
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
func (k *Keeper) within(ctx context.Context, what string, f func(context.Context) error) error {
	return k.Redis.Try(ctx, min(k.RedisTimeout, PollLimit), func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && !errors.Is(err, dependency.ErrPartial) {
			err = fmt.Errorf("%s: %w: %w", what, storage.ErrUnavailable, err)
		}
		return err
	})
}
