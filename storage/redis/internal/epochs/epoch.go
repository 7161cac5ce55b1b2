package epochs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
)

// The times of polls and epochs.
const (
	PollTime    = 500 * time.Millisecond  // between two polls
	PollLimit   = time.Second             // of a poll's calls, each
	changeLimit = 5 * time.Second         // of closing an epoch or beginning one; writers may have to end first
	sureTime    = 1500 * time.Millisecond // after a poll began; less than half of mirror.EpochGrace
	failTime    = 2 * time.Second         // of failing marks, before an epoch is closed
	forgetTime  = time.Minute             // after which a failure is no longer one in a row
	closedTime  = 5 * time.Second         // at least, of a closed epoch
	steadyTime  = time.Second             // of a Redis that answers again
	noEpoch     = 1                       // of a database whose mirror was never opened
	startTime   = 10 * time.Second        // that the first poll may be tried
)

// Epoch is what a store knows of an epoch, as of its last poll.
type Epoch struct {
	Number int64
	Open   bool
	begun  time.Time // by the local clock
	learnt time.Time // when this store was told of it
	SureAt time.Time // when the last poll began that found everything in place
	Keys   keyspace.Epoch
	// rewound: it began before the database was restored or failed over.
	rewound bool
	history string        // of the database
	Holder  string        // the mirror that it belongs to
	silence time.Duration // of those that use it
	wait    time.Duration // until something is committed
	// ended is the epoch that ended as this one began, was closed or was found to be
	// rewound, as it was before; nil if it is not known.
	ended *Epoch

	Barrier int64     // number of the latest barrier
	raised  time.Time // not before it was, by the local clock
	Drained bool      // every partition has passed it
}

func (k *Keeper) epochOf(number int64) *Epoch {
	return &Epoch{Number: number, Keys: keyspace.Of(k.Prefix, number)}
}

// Present returns the epoch in which Redis is used, nil while it is not: none
// is open, or Redis may have lost data and has not been looked at since.
func (k *Keeper) Present() *Epoch {
	return k.PresentOf(k.epoch.Load())
}

// PresentOf returns the epoch, which a caller has looked up, if Redis is used in it.
func (k *Keeper) PresentOf(e *Epoch) *Epoch {
	if e.Open && k.trusted(e) {
		return e
	}
	return nil
}

// trusted reports whether nothing was suspected since the last good poll began.
func (k *Keeper) trusted(e *Epoch) bool {
	return e.SureAt.Sub(k.opened) > time.Duration(k.suspected.Load())
}

// Sure reports whether the epoch is known to last: nothing was committed since
// it ended, if it did. What was read from Redis before it is asked is true.
func (k *Keeper) Sure(at *Epoch) bool {
	e := k.epoch.Load()
	return e.Open && e.Number == at.Number && time.Since(e.SureAt) < sureTime && k.trusted(e)
}

// Lately returns the epoch that has ended so lately that other nodes, who have
// not polled since, may still believe it; nil where there is none.
func (e *Epoch) Lately() *Epoch {
	if time.Since(e.learnt) >= sureTime {
		return nil
	}
	return e.ended
}

// InDoubt reports whether something may be queued that this epoch does not show:
// it was shown in an earlier one, or Redis has evicted it.
func (k *Keeper) InDoubt(at *Epoch) bool { return !at.Drained || k.evicted.Load() }

// Barrier returns the number of the barrier that the partitions of the queue have
// to pass, 0 if none has to. What was shown only in the epoch before is queued by
// then: no node is sure of that epoch any longer.
func (k *Keeper) Barrier() int64 {
	e := k.epoch.Load()
	if e.Drained || time.Since(e.raised) < sureTime {
		return 0
	}
	return e.Barrier
}

// distrust has Redis left alone until a poll has found everything in place.
func (k *Keeper) distrust() { k.suspected.Store(int64(time.Since(k.opened))) }

// Suspect has the epoch polled at once: a connection was lost, or all keys
// were. Until that is done it is not sure.
func (k *Keeper) Suspect() {
	k.distrust()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Watch polls until the context ends.
func (k *Keeper) Watch(ctx context.Context) {
	ticker := time.NewTicker(PollTime)
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

// Poll learns what epoch it is, closes one in which marks fail and begins the
// next of one that is over or whose copy is lost. Errors: storage.ErrUnavailable
// for either part.
func (k *Keeper) Poll(ctx context.Context) error {
	began, now, err := k.askEpoch(ctx)
	if err != nil {
		if !k.Redis.Healthy() { // it may be back all the same
			err = errors.Join(err, k.Probe(ctx))
		}
		k.steady.note(false) // who uses the mirror could not be heard
		return err
	}
	if held, lost, _ := k.claim.held(now.Number); now.Open && held && !lost && k.marks.failing() && !k.Passive {
		if now, err = k.change(ctx, now, k.Database.CloseEpoch); err != nil {
			return err
		}
	}
	var found finding
	if now.Open {
		found, err = k.find(ctx, now)
	} else {
		err = k.Probe(ctx)
	}
	k.claim.note(now, found, err)
	if k.steady.note(err == nil); err != nil {
		k.hold(ctx, now)
		return err
	}
	if found.is != intact || now.rewound {
		k.distrust()
		if !k.mayBegin(now) {
			k.noteStranger(now)
			k.hold(ctx, now)
			return nil
		}
		began = time.Now()
		if now, err = k.begin(ctx, now); err != nil {
			return err
		}
		k.evicted.Store(false) // which has raised the barrier
		if found, err = k.find(ctx, now); err != nil {
			return err
		}
		k.claim.note(now, found, nil)
	}
	k.noteStranger(now)
	if !now.Open || found.is != intact {
		return nil
	}
	return k.believe(ctx, now, began)
}

// believe makes an epoch sure in which a poll has found everything in place, after
// the barrier is raised for what Redis has evicted.
func (k *Keeper) believe(ctx context.Context, now *Epoch, began time.Time) (err error) {
	if k.evicted.Load() {
		number := now.Number
		if now, err = k.raiseBarrier(ctx); err != nil || now.Number != number || !now.Open {
			return err // the next poll looks at the other epoch
		}
	}
	away := k.Present() == nil
	now.SureAt = began
	k.epoch.Store(now)
	if away {
		k.Back()
	}
	k.hold(ctx, now)
	return nil
}

// askEpoch asks the database and learns from the answer.
func (k *Keeper) askEpoch(ctx context.Context) (began time.Time, now *Epoch, err error) {
	began = time.Now()
	var found mirror.Epoch
	err = k.Behind.Try(ctx, PollLimit, func(ctx context.Context) (err error) {
		found, err = k.Database.Epoch(ctx)
		return err
	})
	if err != nil {
		return began, nil, fmt.Errorf("ask for the epoch: %w", err)
	}
	k.noteClock(found.Clock)
	return began, k.learn(found, began), nil
}

// raiseBarrier puts in doubt, for every process, what Redis has evicted.
func (k *Keeper) raiseBarrier(ctx context.Context) (*Epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, PollLimit)
	defer cancel()
	found, err := k.Database.RaiseBarrier(ctx)
	if err != nil {
		return nil, err
	}
	now := k.learn(found, time.Now())
	k.evicted.Store(false)
	return now, nil
}

// change closes the epoch or begins the next.
func (k *Keeper) change(
	ctx context.Context, now *Epoch, change func(context.Context, int64) (mirror.Epoch, error),
) (*Epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	found, err := change(ctx, now.Number)
	if err != nil {
		return nil, err
	}
	return k.learn(found, time.Now()), nil
}

// learn stores what the database has told, which is not sure by itself, and
// returns a copy.
func (k *Keeper) learn(found mirror.Epoch, at time.Time) *Epoch {
	before := k.epoch.Load()
	now := k.epochOf(found.Number)
	now.Open, now.begun, now.learnt = found.Open, at.Add(-found.Age), time.Now()
	now.rewound, now.history, now.Holder, now.silence = found.Rewound, found.History, found.Holder, found.Silence
	now.wait = found.Wait
	if before.history != "" && before.history != now.history {
		k.rewind()
	}
	now.Barrier, now.raised, now.Drained = found.Barrier, now.learnt.Add(-found.BarrierAge), found.Drained
	if before.Number == now.Number && before.Open == now.Open && before.rewound == now.rewound {
		now.begun, now.learnt, now.SureAt, now.ended = before.begun, before.learnt, before.SureAt, before.ended
	} else {
		switch {
		case before.rewound: // the one that others may believe is the one before that was noticed
			now.ended = before.ended
		case before.Open && before.Number > noEpoch:
			ended := *before
			ended.ended = nil
			now.ended = &ended
		}
		k.logChange(before, now)
		k.marks.reset()
	}
	stored := *now
	k.epoch.Store(&stored)
	return now
}

// logChange tells that Redis is believed no more, or again. How the first epoch
// begins is no news.
func (k *Keeper) logChange(before, now *Epoch) {
	if before.Number <= noEpoch {
		return
	}
	if before.Open && !before.rewound {
		k.Logger.Warn("Redis is not believed any more", "epoch", before.Number, "error", k.marks.reason())
	}
	if now.Open && !now.rewound {
		k.Logger.Info("Redis is used again", "epoch", now.Number)
	}
}

// runs names the runs of the masters that hold keys; gap says what is missing of
// them. It also notes what they have evicted.
func (k *Keeper) runs(ctx context.Context) (out []string, gap, err error) {
	masters, gap, err := k.masters(ctx)
	for _, one := range masters {
		out = append(out, one.run)
	}
	if k.evictions.note(masters, k.Logger) {
		k.evicted.Store(true)
	}
	return out, gap, err
}

// streak tells how long something has been so.
type streak struct{ from time.Time }

func (s *streak) note(holds bool) {
	switch {
	case !holds:
		s.from = time.Time{}
	case s.from.IsZero():
		s.from = time.Now()
	}
}

func (s *streak) since() time.Duration {
	if s.from.IsZero() {
		return 0
	}
	return time.Since(s.from)
}

// marks tells how marking goes.
type marks struct {
	mu          sync.Mutex
	tries       int // that failed, in a row
	first, last time.Time
	why         error // of the last
}

// note notes how marking ended, and returns the error.
func (m *marks) note(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		m.tries = 0
	case !errors.Is(err, storage.ErrUnavailable): // the caller went away
	default:
		if m.tries == 0 || now.Sub(m.last) > forgetTime {
			m.tries, m.first = 0, now
		}
		m.tries, m.last, m.why = m.tries+1, now, err
	}
	return err
}

// failing reports whether it has failed for so long that workers had better go
// on without.
func (m *marks) failing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tries >= 2 && time.Since(m.first) >= failTime && time.Since(m.last) <= forgetTime
}

var errLost = errors.New("it has lost data, or another process could not write to it")

// reason tells why an epoch is over.
func (m *marks) reason() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tries == 0 {
		return errLost
	}
	return m.why
}

func (m *marks) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries = 0
}

// FirstPoll polls, and again where that takes too long: while it starts, a process
// on a busy machine is slower than calls are allowed to be later.
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
	}, backoff.WithMaxElapsedTime(startTime))
	return err
}

// InDoubtSince is the time of the database's clock at which the barrier was
// raised that is not passed yet.
func (k *Keeper) InDoubtSince() float64 {
	at := k.epoch.Load()
	if !k.InDoubt(at) {
		return 0
	}
	return float64(at.Barrier) / 1e6
}
