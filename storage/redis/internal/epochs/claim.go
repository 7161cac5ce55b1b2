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

// One mirror belongs to a database: one prefix in one Redis. A process whose Redis
// has the sentinel of the present epoch is of that mirror, since no other epoch
// ever had its number. Any other process is a stranger: it reads from the
// database, marks nothing, and may begin an epoch, in its own mirror, only when
// no process of the other one is left.

const (
	// strangerSilence is how long no process of a mirror must have been heard
	// before a stranger takes its place.
	strangerSilence = 5 * time.Second
	// holderSilence is the same for a process of that mirror which finds its Redis
	// empty. That Redis has lost everything, and so nobody holds the epoch; or
	// this process alone was led to another one.
	holderSilence = 1500 * time.Millisecond
	// numberRange is from how many numbers that of the next epoch is drawn, so that
	// none is used twice: not by two who begin one at once, nor by a database that
	// was restored and has forgotten the latest ones, nor by a new one beside a Redis
	// that still holds the mirror of the one before.
	numberRange = 1_000_000_000
)

// ErrStranger says that the mirror of the database is another one.
var ErrStranger = errors.New("another Redis, or another prefix in it, belongs to this database")

// finding is what Redis has of an epoch.
type finding struct {
	is   presence
	runs []string // of the servers
}

type presence int

const (
	missing   presence = iota // no sentinel: it was lost, or is another mirror's
	restarted                 // the sentinel, but a server has started since it was written
	intact                    // all that was written in it
)

// claim is this process's part in the mirror.
type claim struct {
	stranger atomic.Pointer[error] // why it has none, nil where it has one

	mu     sync.Mutex
	number int64    // of the epoch that was last found in this Redis
	runs   []string // of the servers that it was found in
	lost   bool     // it was looked for since, in vain
	same   bool     // these servers have answered then
}

// note takes what a poll has found.
func (c *claim) note(at *Epoch, found finding, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil || !at.Open:
		c.lost = false
	case found.is == missing:
		c.lost = true
		c.same = !slices.ContainsFunc(found.runs, func(run string) bool { return !slices.Contains(c.runs, run) })
	default:
		c.number, c.runs, c.lost = at.Number, found.runs, false
	}
}

// held reports whether the epoch has been in this Redis, and whether it was lost
// since; sure, that it was lost by the very servers that had it.
func (c *claim) held(number int64) (held, lost, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = c.number == number
	return held, held && c.lost, held && c.lost && c.same
}

// hold tells the database that this process uses the mirror, where nobody else
// has done so lately.
func (k *Keeper) hold(ctx context.Context, at *Epoch) {
	held, lost, _ := k.claim.held(at.Number)
	if k.Passive || !held || lost || at.rewound || at.silence < mirror.HoldTime {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, PollTime)
	defer cancel()
	if err := k.Database.Hold(ctx, at.Number); err != nil { // the next poll tries again
		k.Logger.Debug("epoch not held", "error", err)
	}
}

// mayBegin reports whether this process may begin the epoch after one that is
// closed, rewound, or not intact in its Redis.
func (k *Keeper) mayBegin(at *Epoch) bool {
	held, lost, sure := k.claim.held(at.Number)
	steady := k.steady.since()
	switch {
	case k.Passive:
		return false
	case at.Number <= noEpoch:
		return true
	case !at.Open && !at.rewound && (time.Since(at.begun) < closedTime || steady < steadyTime):
		return false
	case held:
		return !lost || sure || at.silence >= holderSilence
	}
	return steady >= strangerSilence && at.silence >= strangerSilence
}

// begin begins the next epoch in this mirror.
func (k *Keeper) begin(ctx context.Context, at *Epoch) (*Epoch, error) {
	next := mirror.NewEpoch{Number: at.Number + 1 + rand.Int64N(numberRange), Holder: k.Name} //nolint:gosec // nobody gains by guessing it
	if err := k.announce(ctx, next.Number); err != nil {
		return nil, err
	}
	return k.change(ctx, at, func(ctx context.Context, number int64) (mirror.Epoch, error) {
		return k.Database.NextEpoch(ctx, number, next)
	})
}

// Stranger returns an error while the mirror of the database is another one, in
// which this process can mark nothing: it wraps ErrStranger and says which.
func (k *Keeper) Stranger() error {
	if err := k.claim.stranger.Load(); err != nil {
		return *err
	}
	return nil
}

// noteStranger notes whether this process is a stranger to the epoch.
func (k *Keeper) noteStranger(at *Epoch) {
	if held, _, _ := k.claim.held(at.Number); held || !at.Open {
		if held && k.claim.stranger.Swap(nil) != nil {
			k.Logger.Info("this process's Redis and prefix belong to the database now", "mirror", k.Name)
		}
		return
	}
	err := k.strange(at)
	if k.claim.stranger.Swap(&err) == nil && !k.Passive {
		k.Logger.Warn("Redis is not used: it belongs to other processes than this one's database", "error", err)
	}
}

func (k *Keeper) strange(at *Epoch) error {
	return fmt.Errorf("%w: its processes use %s, last seen %v ago, and this one uses %s; check OVATION_PREFIX and OVATION_REDIS_URL. "+
		"Where the site moves or another version takes over: this one takes over %v after the last of the others has stopped",
		ErrStranger, at.Holder, at.silence.Round(time.Second/10), k.Name, strangerSilence)
}

// Ours returns the epoch of a transaction, to be written to. Errors:
// storage.ErrUnavailable where this Redis does not hold it: those who read it read
// another one.
func (k *Keeper) Ours(ctx context.Context, number int64) (*Epoch, error) {
	at := k.epochOf(number)
	if e := k.epoch.Load(); e.Number == number && k.trusted(e) {
		return at, nil
	}
	return at, k.Redis.Call(ctx, "look for the sentinel", func(ctx context.Context) error {
		n, err := k.Scripts.Client.Do(ctx, k.Scripts.Client.B().Exists().Key(at.Keys.Sentinel()).Build()).AsInt64()
		if err == nil && n == 0 {
			err = fmt.Errorf("this Redis does not hold epoch %d", number)
		}
		return err
	})
}

// Attach has a passive store wait until it may be used: its Redis has the epoch,
// or none is open. An epoch that no process uses any longer, and that this Redis
// does not have, is closed. Errors: ErrStranger.
func (k *Keeper) Attach(ctx context.Context) error {
	again := time.NewTicker(PollTime / 2)
	defer again.Stop()
	for began := time.Now(); ; {
		at := k.epoch.Load()
		late := time.Since(began) >= strangerSilence
		switch {
		case at.Open && at.wait <= 0 && k.Sure(at), !at.Open && !at.rewound && at.wait <= 0:
			return nil
		case late && at.silence >= strangerSilence:
			if _, err := k.change(ctx, at, k.Database.CloseEpoch); err != nil {
				return err
			}
		case late && at.Open && at.wait <= 0:
			return k.strange(at)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := k.Poll(ctx); err != nil && late {
			return err
		}
	}
}

// rewind forgets what the database may have lost: the versions of counts begin
// again from what it has now.
func (k *Keeper) rewind() {
	k.distrust()
	k.Rewound()
}
