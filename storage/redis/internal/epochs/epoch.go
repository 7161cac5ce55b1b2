package epochs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
)

// Intervals and timeouts of polls and epochs.
const (
	PollInterval  = 500 * time.Millisecond  // between two polls
	PollTimeout   = time.Second             // of each call of a poll
	changeTimeout = 5 * time.Second         // of closing or beginning an epoch; both wait for writers
	leaseTime     = 1500 * time.Millisecond // of a lease, from the beginning of the poll; less than half of mirror.EpochGrace
	maxFailTime   = 2 * time.Second         // for which marks may fail before the epoch is closed
	failureGap    = time.Minute             // longest time between failures that count as consecutive
	minClosedTime = 5 * time.Second         // shortest time for which an epoch stays closed
	minSteadyTime = time.Second             // time for which polls must succeed before the epoch after a closed one begins
	firstEpoch    = 1                       // number of the epoch until a mirror is first used
	startTimeout  = 10 * time.Second        // of the first poll, with retries
)

// Epoch is an epoch as of the last poll. Its times are by the local clock.
type Epoch struct {
	mirror.Epoch

	begun           time.Time
	learnedAt       time.Time // when this process first read the epoch in this state
	barrierRaisedAt time.Time // when the barrier was raised, or slightly later
	LeasedAt        time.Time // beginning of the last successful poll
	Keys            keyspace.Epoch
	// ended is the epoch that ended when this epoch reached its present state: the
	// previous epoch or, if this epoch has been closed or found to be rewound, this
	// epoch as it was before. ended is nil if no open epoch ended then, because the
	// previous epoch was closed already or there was none, or if it is unknown which
	// epoch ended.
	ended *Epoch
}

func (k *Keeper) epochOf(number int64) *Epoch {
	return &Epoch{Epoch: mirror.Epoch{Number: number}, Keys: keyspace.Of(k.Prefix, number)}
}

// Active returns the epoch in which Redis is used. It returns nil if no epoch is open or
// if Redis may have lost data since the last successful poll.
func (k *Keeper) Active() *Epoch {
	return k.ActiveOf(k.epoch.Load())
}

// ActiveOf returns e if Redis is used in e, and nil otherwise. e is a result of Current.
func (k *Keeper) ActiveOf(e *Epoch) *Epoch {
	if e.Open && k.trusted(e) {
		return e
	}
	return nil
}

// trusted reports whether no lease has been revoked since the last successful poll began.
func (k *Keeper) trusted(e *Epoch) bool {
	return e.LeasedAt.Sub(k.opened) > time.Duration(k.revokedAt.Load())
}

// LeaseValid reports whether the lease on the epoch is valid. If it is valid, values read
// from Redis before the call are correct: even if the epoch has ended, nothing has been
// committed since its end.
func (k *Keeper) LeaseValid(at *Epoch) bool {
	e := k.epoch.Load()
	return e.Open && e.Number == at.Number && time.Since(e.LeasedAt) < leaseTime && k.trusted(e)
}

// RecentlyEnded returns the previous epoch if nodes that have not polled since its end
// may still trust it. Otherwise it returns nil.
func (e *Epoch) RecentlyEnded() *Epoch {
	if time.Since(e.learnedAt) >= leaseTime {
		return nil
	}
	return e.ended
}

// MayMissWrites reports whether the epoch may lack queued actions, because they were
// applied in an earlier epoch or Redis has evicted them.
func (k *Keeper) MayMissWrites(at *Epoch) bool { return !at.Drained || k.evicted.Load() }

// Barrier returns the number of the barrier that the partitions of the queue have to
// pass, or 0 if there is none. It also returns 0 while a node may still have a valid
// lease on an earlier epoch. When Barrier returns a number other than 0, every action
// that is visible only in an earlier epoch is therefore already in the queue.
func (k *Keeper) Barrier() int64 {
	e := k.epoch.Load()
	if e.Drained || time.Since(e.barrierRaisedAt) < leaseTime {
		return 0
	}
	return e.Barrier
}

// revokeLease stops the use of Redis until the next successful poll.
func (k *Keeper) revokeLease() { k.revokedAt.Store(int64(time.Since(k.opened))) }

// Recheck revokes the lease and triggers a poll. It is called when a connection has been
// lost or Redis has been flushed.
func (k *Keeper) Recheck() {
	k.revokeLease()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Watch polls until the context ends.
func (k *Keeper) Watch(ctx context.Context) {
	ticker := time.NewTicker(PollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-k.wake:
		}
		if err := k.Poll(ctx); err != nil {
			k.Logger.Debug("epoch not polled", "error", err)
		}
	}
}

// Poll reads the current epoch, and closes it if marks fail. It begins the next epoch if
// the current one is closed or rewound, or if Redis has lost data. Errors:
// storage.ErrUnavailable if the database or Redis is unavailable.
func (k *Keeper) Poll(ctx context.Context) error {
	began, now, err := k.askEpoch(ctx)
	if err != nil {
		if !k.RedisBackend.Healthy() { // Redis may be available again
			err = errors.Join(err, k.Probe(ctx))
		}
		k.steady.record(false) // it is unknown which processes use the mirror
		return err
	}
	if held, lost, _ := k.claim.holds(now.Number); now.Open && held && !lost && k.markHealth.failing() && !k.Passive {
		if now, err = k.change(ctx, now, k.Database.CloseEpoch); err != nil {
			return err
		}
	}
	var found sentinelCheck
	if now.Open {
		found, err = k.checkSentinel(ctx, now)
	} else {
		err = k.Probe(ctx)
	}
	k.claim.record(now, found, err)
	if k.steady.record(err == nil); err != nil {
		k.hold(ctx, now)
		return err
	}
	if found.state != intact || now.Rewound {
		k.revokeLease()
		if !k.mayBegin(now) {
			k.updateForeign(now)
			k.hold(ctx, now)
			return nil
		}
		began = time.Now()
		if now, err = k.begin(ctx, now); err != nil {
			return err
		}
		k.evicted.Store(false) // the new epoch has raised the barrier
		if found, err = k.checkSentinel(ctx, now); err != nil {
			return err
		}
		k.claim.record(now, found, nil)
	}
	k.updateForeign(now)
	if !now.Open || found.state != intact {
		return nil
	}
	return k.grantLease(ctx, now, began)
}

// grantLease grants a lease on an epoch after a successful poll. It first raises the
// barrier if Redis has evicted keys.
func (k *Keeper) grantLease(ctx context.Context, now *Epoch, began time.Time) (err error) {
	if k.evicted.Load() {
		number := now.Number
		if now, err = k.raiseBarrier(ctx); err != nil || now.Number != number || !now.Open {
			return err // the next poll checks the epoch that was found
		}
	}
	away := k.Active() == nil
	now.LeasedAt = began
	k.epoch.Store(now)
	if away {
		k.OnTrusted()
	}
	k.hold(ctx, now)
	return nil
}

// askEpoch reads the epoch from the database. The result began is the time right before
// the read.
func (k *Keeper) askEpoch(ctx context.Context) (began time.Time, now *Epoch, err error) {
	began = time.Now()
	var found mirror.Epoch
	err = k.DatabaseBackend.Try(ctx, PollTimeout, func(ctx context.Context) (err error) {
		found, err = k.Database.Epoch(ctx)
		return err
	})
	if err != nil {
		return began, nil, fmt.Errorf("read the epoch: %w", err)
	}
	k.observeClock(found.Clock)
	return began, k.learn(found, began), nil
}

// raiseBarrier raises a barrier, since Redis has evicted keys. Until the barrier is
// passed, every process assumes that replies may lack writes.
func (k *Keeper) raiseBarrier(ctx context.Context) (*Epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, PollTimeout)
	defer cancel()
	found, err := k.Database.RaiseBarrier(ctx)
	if err != nil {
		return nil, err
	}
	now := k.learn(found, time.Now())
	k.evicted.Store(false)
	return now, nil
}

// change calls its parameter of the same name, a function that closes the epoch or begins
// the next one. It stores the epoch that this function returns.
func (k *Keeper) change(
	ctx context.Context, now *Epoch, change func(context.Context, int64) (mirror.Epoch, error),
) (*Epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	found, err := change(ctx, now.Number)
	if err != nil {
		return nil, err
	}
	return k.learn(found, time.Now()), nil
}

// learn stores an epoch read from the database, without granting a lease on it, and
// returns a copy.
func (k *Keeper) learn(found mirror.Epoch, at time.Time) *Epoch {
	before := k.epoch.Load()
	now := k.epochOf(found.Number)
	now.Epoch, now.begun, now.learnedAt = found, at.Add(-found.Age), time.Now()
	now.barrierRaisedAt = now.learnedAt.Add(-found.BarrierAge)
	if before.History != "" && before.History != now.History {
		k.rewind(before)
	}
	if before.Number == now.Number && before.Open == now.Open && before.Rewound == now.Rewound {
		now.begun, now.learnedAt, now.LeasedAt, now.ended = before.begun, before.learnedAt, before.LeasedAt, before.ended
	} else {
		switch {
		case before.Rewound: // other nodes may not have noticed the rewind yet
			now.ended = before.ended
		case before.Open && before.Number > firstEpoch:
			ended := *before
			ended.ended = nil
			now.ended = &ended
		}
		k.logChange(before, now)
		k.markHealth.reset()
	}
	stored := *now
	k.epoch.Store(&stored)
	return now
}

// logChange logs that Redis is no longer trusted, or is trusted again. The beginning of
// the first epoch is not logged.
func (k *Keeper) logChange(before, now *Epoch) {
	if before.Number <= firstEpoch {
		return
	}
	if before.Open && !before.Rewound {
		k.Logger.Warn("Redis is no longer trusted", "epoch", before.Number, "error", k.markHealth.reason())
	}
	if now.Open && !now.Rewound {
		k.Logger.Info("Redis is used again", "epoch", now.Number)
	}
}

// runIDs returns the run ids of the masters that hold keys. If these masters do not cover
// every key, gap describes what is missing. runIDs also records evictions.
func (k *Keeper) runIDs(ctx context.Context) (out []string, gap, err error) {
	masters, gap, err := k.masters(ctx)
	for _, one := range masters {
		out = append(out, one.runID)
	}
	if k.evictions.record(masters, k.Logger) {
		k.evicted.Store(true)
	}
	return out, gap, err
}

// FirstPoll polls, and retries if calls time out. On a busy machine, a process that is
// starting may be too slow for the timeouts, which suit later calls.
func (k *Keeper) FirstPoll(ctx context.Context) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := k.Probe(ctx)
		if err == nil {
			err = k.Poll(ctx)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(startTimeout))
	return err
}

// MayMissWritesSince returns the Unix time, by the database's clock, at which the latest
// barrier was raised. It returns 0 if MayMissWrites returns false for the current epoch.
func (k *Keeper) MayMissWritesSince() float64 {
	at := k.epoch.Load()
	if !k.MayMissWrites(at) {
		return 0
	}
	return float64(at.Barrier) / 1e6
}
