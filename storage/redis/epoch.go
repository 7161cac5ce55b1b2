package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
)

const (
	pollTime    = 500 * time.Millisecond  // between two polls
	pollLimit   = time.Second             // of a poll's calls, each
	changeLimit = 5 * time.Second         // of closing an epoch or beginning one; writers may have to end first
	sureTime    = 1500 * time.Millisecond // after a poll began; less than half of mirror.EpochGrace
	failTime    = 2 * time.Second         // of failing marks, before an epoch is closed
	forgetTime  = time.Minute             // after which a failure is no longer one in a row
	closedTime  = 5 * time.Second         // at least, of a closed epoch
	steadyTime  = time.Second             // of a Redis that answers again
	noEpoch     = 1                       // of a database whose mirror was never opened
)

// epoch is what a store knows of an epoch, as of its last poll.
type epoch struct {
	number int64
	open   bool
	begun  time.Time // by the local clock
	learnt time.Time // when this store was told of it
	sureAt time.Time // when the last poll began that found everything in place
	keys   keyspace.Epoch
	// rewound: it began before the database was restored or failed over.
	rewound bool
	history string        // of the database
	holder  string        // the mirror that it belongs to
	silence time.Duration // of those that use it
	wait    time.Duration // until something is committed
	// ended is the epoch that ended as this one began, was closed or was found to be
	// rewound, as it was before; nil if it is not known.
	ended *epoch

	barrier int64     // number of the latest barrier
	raised  time.Time // not before it was, by the local clock
	drained bool      // every partition has passed it
}

func (s *Store) epochOf(number int64) *epoch {
	return &epoch{number: number, keys: keyspace.Of(s.opts.Prefix, number)}
}

// present returns the epoch in which Redis is used, nil while it is not: none
// is open, or Redis may have lost data and has not been looked at since.
func (s *Store) present() *epoch {
	return s.presently(s.epoch.Load())
}

func (s *Store) presently(e *epoch) *epoch {
	if e.open && s.trusted(e) {
		return e
	}
	return nil
}

// trusted reports whether nothing was suspected since the last good poll began.
func (s *Store) trusted(e *epoch) bool {
	return e.sureAt.Sub(s.began) > time.Duration(s.suspected.Load())
}

// sure reports whether the epoch is known to last: nothing was committed since
// it ended, if it did. What was read from Redis before it is asked is true.
func (s *Store) sure(at *epoch) bool {
	e := s.epoch.Load()
	return e.open && e.number == at.number && time.Since(e.sureAt) < sureTime && s.trusted(e)
}

// lately returns the epoch that has ended so lately that other nodes, who have
// not polled since, may still believe it; nil where there is none.
func (e *epoch) lately() *epoch {
	if time.Since(e.learnt) >= sureTime {
		return nil
	}
	return e.ended
}

// inDoubt reports whether something may be queued that this epoch does not show:
// it was shown in an earlier one, or Redis has evicted it.
func (s *Store) inDoubt(at *epoch) bool { return !at.drained || s.evicted.Load() }

// Barrier returns the number of the barrier that the partitions of the queue have
// to pass, 0 if none has to. What was shown only in the epoch before is queued by
// then: no node is sure of that epoch any longer.
func (s *Store) Barrier() int64 {
	e := s.epoch.Load()
	if e.drained || time.Since(e.raised) < sureTime {
		return 0
	}
	return e.barrier
}

// distrust has Redis left alone until a poll has found everything in place.
func (s *Store) distrust() { s.suspected.Store(int64(time.Since(s.began))) }

// suspect has the epoch polled at once: a connection was lost, or all keys
// were. Until that is done it is not sure.
func (s *Store) suspect() {
	s.distrust()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// watch polls until the context ends.
func (s *Store) watch(ctx context.Context) {
	ticker := time.NewTicker(pollTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.wake:
		}
		if err := s.poll(ctx); err != nil {
			s.opts.Logger.Debug("epoch not polled", "error", err)
		}
	}
}

// poll learns what epoch it is, closes one in which marks fail and begins the
// next of one that is over or whose copy is lost. Errors: storage.ErrUnavailable
// for either part.
func (s *Store) poll(ctx context.Context) error {
	began, now, err := s.askEpoch(ctx)
	if err != nil {
		if !s.redis.Healthy() { // it may be back all the same
			err = errors.Join(err, s.probe(ctx))
		}
		s.steady.note(false) // who uses the mirror could not be heard
		return err
	}
	if held, lost, _ := s.claim.held(now.number); now.open && held && !lost && s.marks.failing() && !s.opts.Passive {
		if now, err = s.change(ctx, now, s.opts.Database.CloseEpoch); err != nil {
			return err
		}
	}
	var found finding
	if now.open {
		found, err = s.find(ctx, now)
	} else {
		err = s.probe(ctx)
	}
	s.claim.note(now, found, err)
	if s.steady.note(err == nil); err != nil {
		s.hold(ctx, now)
		return err
	}
	if found.is != intact || now.rewound {
		s.distrust()
		if !s.mayBegin(now) {
			s.noteStranger(now)
			s.hold(ctx, now)
			return nil
		}
		began = time.Now()
		if now, err = s.begin(ctx, now); err != nil {
			return err
		}
		s.evicted.Store(false) // which has raised the barrier
		if found, err = s.find(ctx, now); err != nil {
			return err
		}
		s.claim.note(now, found, nil)
	}
	s.noteStranger(now)
	if !now.open || found.is != intact {
		return nil
	}
	return s.believe(ctx, now, began)
}

// believe makes an epoch sure in which a poll has found everything in place, after
// the barrier is raised for what Redis has evicted.
func (s *Store) believe(ctx context.Context, now *epoch, began time.Time) (err error) {
	if s.evicted.Load() {
		number := now.number
		if now, err = s.raiseBarrier(ctx); err != nil || now.number != number || !now.open {
			return err // the next poll looks at the other epoch
		}
	}
	away := s.present() == nil
	now.sureAt = began
	s.epoch.Store(now)
	if away {
		s.back()
	}
	s.hold(ctx, now)
	return nil
}

// askEpoch asks the database and learns from the answer.
func (s *Store) askEpoch(ctx context.Context) (began time.Time, now *epoch, err error) {
	began = time.Now()
	var found mirror.Epoch
	err = s.database.Try(ctx, pollLimit, func(ctx context.Context) (err error) {
		found, err = s.opts.Database.Epoch(ctx)
		return err
	})
	if err != nil {
		return began, nil, fmt.Errorf("ask for the epoch: %w", err)
	}
	s.noteClock(found.Clock)
	return began, s.learn(found, began), nil
}

// raiseBarrier puts in doubt, for every process, what Redis has evicted.
func (s *Store) raiseBarrier(ctx context.Context) (*epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	found, err := s.opts.Database.RaiseBarrier(ctx)
	if err != nil {
		return nil, err
	}
	now := s.learn(found, time.Now())
	s.evicted.Store(false)
	return now, nil
}

// change closes the epoch or begins the next.
func (s *Store) change(
	ctx context.Context, now *epoch, change func(context.Context, int64) (mirror.Epoch, error),
) (*epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	found, err := change(ctx, now.number)
	if err != nil {
		return nil, err
	}
	return s.learn(found, time.Now()), nil
}

// learn stores what the database has told, which is not sure by itself, and
// returns a copy.
func (s *Store) learn(found mirror.Epoch, at time.Time) *epoch {
	before := s.epoch.Load()
	now := s.epochOf(found.Number)
	now.open, now.begun, now.learnt = found.Open, at.Add(-found.Age), time.Now()
	now.rewound, now.history, now.holder, now.silence = found.Rewound, found.History, found.Holder, found.Silence
	now.wait = found.Wait
	if before.history != "" && before.history != now.history {
		s.rewind()
	}
	now.barrier, now.raised, now.drained = found.Barrier, now.learnt.Add(-found.BarrierAge), found.Drained
	if before.number == now.number && before.open == now.open && before.rewound == now.rewound {
		now.begun, now.learnt, now.sureAt, now.ended = before.begun, before.learnt, before.sureAt, before.ended
	} else {
		switch {
		case before.rewound: // the one that others may believe is the one before that was noticed
			now.ended = before.ended
		case before.open && before.number > noEpoch:
			ended := *before
			ended.ended = nil
			now.ended = &ended
		}
		s.logChange(before, now)
		s.marks.reset()
	}
	stored := *now
	s.epoch.Store(&stored)
	return now
}

// logChange tells that Redis is believed no more, or again. How the first epoch
// begins is no news.
func (s *Store) logChange(before, now *epoch) {
	if before.number <= noEpoch {
		return
	}
	if before.open && !before.rewound {
		s.opts.Logger.Warn("Redis is not believed any more", "epoch", before.number, "error", s.marks.reason())
	}
	if now.open && !now.rewound {
		s.opts.Logger.Info("Redis is used again", "epoch", now.number)
	}
}

// runs names the runs of the masters that hold keys; gap says what is missing of
// them. It also notes what they have evicted.
func (s *Store) runs(ctx context.Context) (out []string, gap, err error) {
	masters, gap, err := s.masters(ctx)
	for _, one := range masters {
		out = append(out, one.run)
	}
	if s.evictions.note(masters, s.opts.Logger) {
		s.evicted.Store(true)
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
