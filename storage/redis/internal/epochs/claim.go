package epochs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage/mirror"
)

// A database has one mirror: one prefix in one Redis. A process belongs to that mirror if
// its Redis has the sentinel of the current epoch, since no other epoch ever had the same
// number. To any other process, the mirror is foreign. Such a process reads from the
// database and marks nothing. It may begin an epoch in its own mirror only if no process
// uses the foreign one.

const (
	// takeoverSilence is how long all processes of a mirror must have been silent before
	// another mirror may replace it.
	takeoverSilence = 5 * time.Second
	// recoverySilence is how long all processes of a mirror must have been silent before
	// a process that finds its Redis empty may begin the next epoch. The silence
	// distinguishes two cases. If Redis has lost everything, no process reports any
	// longer that it uses the mirror. If this process alone is connected to another
	// Redis, the other processes continue to report that they use the mirror.
	recoverySilence = 1500 * time.Millisecond
	// numberRange is the size of the range from which the number of the next epoch is
	// drawn. It is large, so that no number is used twice. With a small range, two
	// processes that begin an epoch at the same time might draw the same number. The
	// number of an earlier epoch might also be drawn again: for a restored database that
	// lacks the latest numbers, or for a new database whose Redis still holds the mirror
	// of the previous database.
	numberRange = 1_000_000_000
)

// ErrForeignMirror is returned if the database uses a different mirror than this process.
var ErrForeignMirror = errors.New("this database is mirrored in another Redis, or under another prefix")

// sentinelCheck is the result of looking for an epoch in Redis.
type sentinelCheck struct {
	state  sentinelState
	runIDs []string // of the servers
}

type sentinelState int

const (
	missing   sentinelState = iota // there is no sentinel: it was lost, or is in another mirror
	restarted                      // the sentinel exists, but a server has started since it was written
	intact                         // no data was lost since the epoch began
)

// claim records whether this process belongs to the mirror of the database.
type claim struct {
	foreign atomic.Pointer[error] // why the mirror is foreign to this process; nil if it is not

	mu          sync.Mutex
	number      int64    // of the epoch last found in this Redis
	runIDs      []string // of the servers where it was found
	lost        bool     // a later poll did not find that epoch
	sameServers bool     // all servers that responded to that poll are in runIDs
}

// record records the result of a poll.
func (c *claim) record(at *Epoch, found sentinelCheck, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil || !at.Open:
		c.lost = false
	case found.state == missing:
		c.lost = true
		c.sameServers = !slices.ContainsFunc(found.runIDs, func(run string) bool { return !slices.Contains(c.runIDs, run) })
	default:
		c.number, c.runIDs, c.lost = at.Number, found.runIDs, false
	}
}

// holds reports what is known of the epoch with the given number. The result held is true
// if that epoch is the last one found in this Redis. The result lost is true if, in
// addition, a later poll did not find the epoch. The result sure is true if, in addition
// to both, that poll reached only servers where the epoch had been found.
func (c *claim) holds(number int64) (held, lost, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = c.number == number
	return held, held && c.lost, held && c.lost && c.sameServers
}

// hold reports to the database that this process uses the mirror, unless some process has
// reported this recently.
func (k *Keeper) hold(ctx context.Context, at *Epoch) {
	held, lost, _ := k.claim.holds(at.Number)
	if k.Passive || !held || lost || at.Rewound || at.Silence < mirror.HoldTime {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, PollInterval)
	defer cancel()
	if err := k.Database.Hold(ctx, at.Number); err != nil { // the next poll tries again
		k.Logger.Debug("epoch not held", "error", err)
	}
}

// mayBegin reports whether this process may begin the next epoch. The parameter at is the
// current epoch, which is closed, rewound, or not intact in this process's Redis.
func (k *Keeper) mayBegin(at *Epoch) bool {
	held, lost, sure := k.claim.holds(at.Number)
	steady := k.steady.since()
	switch {
	case k.Passive:
		return false
	case at.Number <= firstEpoch:
		return true
	case !at.Open && !at.Rewound && (time.Since(at.begun) < minClosedTime || steady < minSteadyTime):
		return false
	case held:
		return !lost || sure || at.Silence >= recoverySilence
	}
	return steady >= takeoverSilence && at.Silence >= takeoverSilence
}

// begin begins the next epoch in this mirror.
func (k *Keeper) begin(ctx context.Context, at *Epoch) (*Epoch, error) {
	next := mirror.NewEpoch{Number: at.Number + 1 + rand.Int64N(numberRange), Holder: k.Name} //nolint:gosec // it need not be unpredictable
	if err := k.writeSentinel(ctx, next.Number); err != nil {
		return nil, err
	}
	return k.change(ctx, at, func(ctx context.Context, number int64) (mirror.Epoch, error) {
		return k.Database.NextEpoch(ctx, number, next)
	})
}

// Foreign returns an error while the database uses another mirror. During that time, this
// process cannot mark anything. The error wraps ErrForeignMirror and names the other
// mirror.
func (k *Keeper) Foreign() error {
	if err := k.claim.foreign.Load(); err != nil {
		return *err
	}
	return nil
}

// updateForeign updates and logs whether the mirror of the epoch is foreign to this
// process.
func (k *Keeper) updateForeign(at *Epoch) {
	if held, _, _ := k.claim.holds(at.Number); held || !at.Open {
		if held && k.claim.foreign.Swap(nil) != nil {
			k.Logger.Info("the database is mirrored in this process's Redis and prefix now", "mirror", k.Name)
		}
		return
	}
	err := k.foreignError(at)
	if k.claim.foreign.Swap(&err) == nil && !k.Passive {
		k.Logger.Warn("Redis is not used: it belongs to other processes than this one's database", "error", err)
	}
}

func (k *Keeper) foreignError(at *Epoch) error {
	return fmt.Errorf("%w: its processes use %s, last seen %v ago, and this one uses %s; check OVATION_PREFIX and OVATION_REDIS_URL. "+
		"Where the site moves or another version takes over: this one takes over %v after the last of the others has stopped",
		ErrForeignMirror, at.Holder, at.Silence.Round(time.Second/10), k.Name, takeoverSilence)
}

// ForWriting returns the epoch with the given number, for a transaction that writes to
// Redis in that epoch. The result is not nil even if there is an error. Errors:
// storage.ErrUnavailable if Redis is unavailable, or if this Redis does not hold the epoch
// and the epoch's readers therefore use another Redis; the context's error.
func (k *Keeper) ForWriting(ctx context.Context, number int64) (*Epoch, error) {
	at := k.epochOf(number)
	if e := k.epoch.Load(); e.Number == number && k.trusted(e) {
		return at, nil
	}
	return at, k.RedisBackend.Call(ctx, "look for the sentinel", func(ctx context.Context) error {
		n, err := k.Scripts.Client.Do(ctx, k.Scripts.Client.B().Exists().Key(at.Keys.Sentinel()).Build()).AsInt64()
		if err == nil && n == 0 {
			err = fmt.Errorf("this Redis does not hold epoch %d", number)
		}
		return err
	})
}

// Attach waits until a passive store may be used, that is, until its Redis has the epoch
// or no epoch is open. It closes an epoch that no process uses any longer and that this
// Redis does not have. Errors: ErrForeignMirror, storage.ErrUnavailable, the context's
// error.
func (k *Keeper) Attach(ctx context.Context) error {
	again := time.NewTicker(PollInterval / 2)
	defer again.Stop()
	late := false // whether the last poll began late enough to show takeoverSilence
	for began := time.Now(); ; {
		at := k.epoch.Load()
		switch {
		case at.Open && at.Wait <= 0 && k.LeaseValid(at), !at.Open && !at.Rewound && at.Wait <= 0:
			return nil
		case late && at.Silence >= takeoverSilence:
			if _, err := k.change(ctx, at, k.Database.CloseEpoch); err != nil {
				return err
			}
		case late && at.Open && at.Wait <= 0:
			return k.foreignError(at)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		late = time.Since(began) >= takeoverSilence
		if err := k.Poll(ctx); err != nil && late {
			return err
		}
	}
}

// rewind revokes the lease and calls OnRewind. The database may have lost commits of the
// ended epoch. New versions continue from the latest version that the database still has.
func (k *Keeper) rewind(ended *Epoch) {
	k.revokeLease()
	k.OnRewind(ended.Keys)
}
