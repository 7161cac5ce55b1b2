package mirror

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ovation/storage"
)

// Database is a store with a mirror in front of it. When Persist receives a barrier, it
// records the barrier as passed, in the transaction that applies the other messages,
// unless a later barrier was raised. A barrier does not enter the inbox (the table of
// received message ids) and is not counted as skipped. A Database sets the fields Epoch
// and At of an Outcome and the field CountsVersion of States.
type Database interface {
	storage.Store
	Windows
	Epochs
}

// WindowKey identifies a window: the states of one user on the subjects of one biz.
type WindowKey struct {
	User storage.User
	Biz  string
}

// Window holds a user's states in one biz, except reads.
type Window struct {
	// Complete is false if there are more states than the limit; States is then nil.
	Complete bool
	// States holds the user's states on each subject, by bizId. Every subject that the
	// user once reacted to, collected or followed is included, even if only the version
	// of the state is left.
	States map[string]storage.States
}

// Windows reads whole windows, to fill a cache. Every database implements it; a store
// that is itself a cache does not.
type Windows interface {
	// Windows returns the windows in the order of the keys. A window is not Complete if
	// it holds, in total, more reactions, collections and follows than limit allows.
	Windows(ctx context.Context, keys []WindowKey, limit int) ([]Window, error)
}

// Epoch is a period in which every transaction marks its changes in the mirror. Entries
// of an earlier epoch must not be trusted.
type Epoch struct {
	Number int64 // starts at 1
	// Open is false until the mirror is first used, and after the epoch has been closed
	// because the mirror was unavailable.
	Open bool
	// Age is the time since the epoch was opened or closed, by the database's clock.
	Age time.Duration
	// Wait is the time until transactions may commit again. They may do so once
	// EpochGrace has passed since the end of an open epoch; from then on, Wait is 0 or
	// negative.
	Wait time.Duration
	// Holder names the mirror that the epoch belongs to, as given to NextEpoch. It is
	// used in log messages.
	Holder string
	// Silence is the time since a process last reported that it uses the mirror of this
	// epoch (see Epochs.Hold).
	Silence time.Duration
	// History identifies the line of commits that the database is on. It changes when the
	// database is restored or a replica is promoted.
	History string
	// Rewound is true if the epoch began on another History. The database may then lack
	// commits from this epoch that the mirror includes. Nothing is committed until the
	// epoch is closed or the next one begins.
	Rewound bool
	// Barrier is the number of the latest barrier, or 0 if none was ever raised. It was
	// raised BarrierAge ago, by the database's clock. Drained reports whether every
	// partition of the queue has passed the barrier: everything that was queued when the
	// barrier was raised has then been persisted or rejected. Only the methods of Epochs
	// set these fields; outcomes and transactions do not need them.
	Barrier    int64
	BarrierAge time.Duration
	Drained    bool
	// Clock is a reading of the database's clock. Only Epochs.Epoch sets it.
	Clock ClockReading
}

// NewEpoch describes the epoch to begin.
type NewEpoch struct {
	// Number is higher than the number of the previous epoch and has never been used, on
	// any History of the database.
	Number int64
	Holder string // see Epoch.Holder
}

// ClockReading is a reading of a remote clock. The remote clock showed Time at some
// moment between Before and After, which are times of the local clock.
type ClockReading struct {
	Time          time.Time
	Before, After time.Time
}

// Enter returns the value of Outcome.Epoch for a transaction that begins now. Errors:
// storage.ErrUnavailable if the previous epoch ended so recently that a process may still
// trust it, or if the current one is Rewound.
func (e Epoch) Enter() (int64, error) {
	switch {
	case e.Rewound:
		return 0, fmt.Errorf("%w: the database was restored or failed over; writes resume when the next epoch of the mirror begins", storage.ErrUnavailable)
	case e.Wait > 0:
		return 0, fmt.Errorf("%w: the mirror is being invalidated; retry in %v", storage.ErrUnavailable, e.Wait)
	case e.Open:
		return e.Number, nil
	}
	return 0, nil
}

// EpochGrace is the time after the end of an epoch during which nothing is committed.
// After that, no process trusts the mirror's entries of the ended epoch any longer.
const EpochGrace = 3 * time.Second

// HoldTime is the interval at which processes report that they use a mirror.
const HoldTime = 250 * time.Millisecond

// MarkTime is the maximum duration of a storage.Mark. If a Mark took longer, the mirror
// could be distrusted after the mark and trusted again before the commit.
const MarkTime = 4 * time.Second

// Mark calls the function mark, unless it is nil, and sets outcome.At. A Database calls
// Mark last, right before the commit. Errors: those that the function returns;
// storage.ErrUnavailable if the call took longer than MarkTime.
func Mark(ctx context.Context, mark storage.Mark, outcome *storage.Outcome) error {
	begin := time.Now()
	if mark != nil {
		if err := mark(ctx, *outcome); err != nil {
			return err
		}
	}
	outcome.At = time.Now()
	if took := outcome.At.Sub(begin); took > MarkTime {
		return fmt.Errorf("%w: the mark took %v, longer than the safe maximum of %v", storage.ErrUnavailable, took, MarkTime)
	}
	return nil
}

// SplitBarriers separates the messages that are barriers from all other messages. It does
// not modify its argument, and allocates only if there are barriers.
func SplitBarriers(messages []storage.Message) (barriers []storage.Barrier, others []storage.Message) {
	isBarrier := func(m storage.Message) bool { return m.Barrier != (storage.Barrier{}) }
	if !slices.ContainsFunc(messages, isBarrier) {
		return nil, messages
	}
	for _, m := range messages {
		if isBarrier(m) {
			barriers = append(barriers, m.Barrier)
		}
	}
	return barriers, slices.DeleteFunc(slices.Clone(messages), isBarrier)
}

// Epochs determines whether the mirror of the write path can be trusted. Closing the
// epoch or beginning the next one waits for all transactions in progress that change
// states or counts of subjects; transactions that begin later use the new epoch.
type Epochs interface {
	// Epoch returns the current epoch.
	Epoch(ctx context.Context) (Epoch, error)
	// CloseEpoch closes the epoch with this number if it is open or Rewound. It returns
	// the current epoch, which is a later one if another process has begun it. Every
	// transaction then fails with ErrUnavailable for EpochGrace; later transactions have
	// Outcome.Epoch 0.
	CloseEpoch(ctx context.Context, number int64) (Epoch, error)
	// NextEpoch begins the next epoch if the current epoch, closed or not, still has this
	// number. It returns the current epoch, which differs from next if another process
	// was first. If the previous epoch was open or Rewound, every transaction fails with
	// ErrUnavailable for EpochGrace. Unless the new epoch is the first one ever opened,
	// NextEpoch also raises the barrier, because queued actions may be visible only in
	// entries of an earlier epoch.
	NextEpoch(ctx context.Context, number int64, next NewEpoch) (Epoch, error)
	// Hold records that the mirror of the epoch with this number is in use. It does
	// nothing if that is not the current epoch, or if the last record is less than
	// HoldTime old. The record may be lost when the database crashes.
	Hold(ctx context.Context, number int64) error
	// RaiseBarrier raises the barrier and returns the current epoch. It is called when
	// the mirror may lack queued actions. The number of a barrier is never reused, not
	// even by a database that was restored from a backup.
	RaiseBarrier(ctx context.Context) (Epoch, error)
}
