package mirror

import (
	"context"
	"fmt"
	"time"

	"ovation/storage"
)

// Database is a store that a mirror stands before.
type Database interface {
	storage.Store
	Windows
	Epochs
}

// WindowKey names what one user did to subjects of one biz.
type WindowKey struct {
	User storage.User
	Biz  string
}

// Window is all of that, reads excepted.
type Window struct {
	// Complete is false where there is more than was asked for. States is then
	// nil.
	Complete bool
	// States holds, by bizId, every subject that the user ever reacted to or
	// collected, also where there is nothing left of it but its version.
	States map[string]storage.States
}

// Windows looks up all that users did at once, for whoever keeps a copy. Every
// database is one; a store that keeps a copy itself is not.
type Windows interface {
	// Windows returns each window that holds at most limit reactions and
	// collections, in total.
	Windows(ctx context.Context, keys []WindowKey, limit int) ([]Window, error)
}

// Epoch is a time in which every transaction marks in the mirror what it
// changes. What the mirror holds of an earlier epoch is not to be believed.
type Epoch struct {
	Number int64 // 1 at first
	// Open is false until the mirror is used first, and once the epoch was
	// closed because the mirror was away.
	Open bool
	// Age is how long the epoch has been as it is, by the database's clock.
	Age time.Duration
	// Wait is how long nothing is committed yet: until EpochGrace has passed
	// since an open epoch ended. It is 0 or less after that.
	Wait time.Duration
	// Holder says which mirror the epoch belongs to, as its processes named it in
	// NextEpoch; for messages.
	Holder string
	// Silence is how long ago the last process said that it uses that mirror
	// (Epochs.Hold).
	Silence time.Duration
	// History names the line of commits that the database is on. It is another one
	// once the database was restored, or a replica was promoted.
	History string
	// Rewound is true where the epoch began on another History: what was committed
	// in it, and what the mirror holds of that, may be lost. Nothing is committed
	// until the epoch is closed or the next one begins.
	Rewound bool
	// Barrier is the number of the latest barrier, 0 if none was ever raised. It
	// was raised BarrierAge ago, by the database's clock. Drained reports whether
	// every partition of the queue has passed it: everything that was queued when
	// it was raised is persisted or rejected. Outcomes and transactions do not
	// need them: only the methods of Epochs fill them in.
	Barrier    int64
	BarrierAge time.Duration
	Drained    bool
	// Clock is a reading of the database's clock. Epochs.Epoch fills it in.
	Clock ClockReading
}

// NewEpoch is what begins.
type NewEpoch struct {
	// Number is higher than that of the epoch before, and was never used: not
	// even on a History that the database has left.
	Number int64
	Holder string // see Epoch.Holder
}

// ClockReading is one reading of another clock: it showed Time at some moment
// from Before to After of the local clock.
type ClockReading struct {
	Time          time.Time
	Before, After time.Time
}

// Enter returns what Outcome.Epoch is of a transaction that begins now. Errors:
// ErrUnavailable, where the epoch before ended so lately that it may still be
// believed.
func (e Epoch) Enter() (int64, error) {
	switch {
	case e.Rewound:
		return 0, fmt.Errorf("%w: the database was restored or failed over, and what the mirror holds is being given up", storage.ErrUnavailable)
	case e.Wait > 0:
		return 0, fmt.Errorf("%w: what the mirror holds is being given up; try again in %v", storage.ErrUnavailable, e.Wait)
	case e.Open:
		return e.Number, nil
	}
	return 0, nil
}

// EpochGrace is how long after the end of an epoch nothing is committed: by
// then everybody has stopped believing the mirror.
const EpochGrace = 3 * time.Second

// HoldTime is how often it is noted that a mirror is used.
const HoldTime = 250 * time.Millisecond

// MarkTime is how long a storage.Mark may take. If the commit came later than
// that, the mirror could have doubted what was marked and believe it again.
const MarkTime = 4 * time.Second

// Mark calls mark, unless it is nil, and sets the time of the outcome. A Database
// calls it when nothing is left to do but to commit. Errors: those of mark;
// storage.ErrUnavailable if it took longer than MarkTime.
func Mark(ctx context.Context, mark storage.Mark, outcome *storage.Outcome) error {
	begin := time.Now()
	if mark != nil {
		if err := mark(ctx, *outcome); err != nil {
			return err
		}
	}
	outcome.At = time.Now()
	if took := outcome.At.Sub(begin); took > MarkTime {
		return fmt.Errorf("%w: to mark took %v, and no more than %v is safe", storage.ErrUnavailable, took, MarkTime)
	}
	return nil
}

// Epochs tell whether the mirror of the write path may be believed. Changes
// wait for every transaction of Persist and EmptyFolder that is under way;
// transactions that begin later see them.
type Epochs interface {
	// Epoch returns the present epoch.
	Epoch(ctx context.Context) (Epoch, error)
	// CloseEpoch closes the epoch of this number if it is open and returns the
	// present one, which is another where somebody else was first. For
	// EpochGrace every transaction is ErrUnavailable, later ones have
	// Outcome.Epoch 0. An epoch that is Rewound is closed again where it is closed.
	CloseEpoch(ctx context.Context, number int64) (Epoch, error)
	// NextEpoch begins the epoch after the one of this number, closed or not,
	// and returns the present one, which is another where somebody else was
	// first. Where the epoch before was open, or Rewound, every transaction is
	// ErrUnavailable for EpochGrace. It raises the barrier, unless the epoch is
	// the first that was ever open: what is queued was shown in an epoch before,
	// if at all.
	NextEpoch(ctx context.Context, number int64, next NewEpoch) (Epoch, error)
	// Hold says that this process uses the mirror of the epoch of this number. It
	// does nothing where that is not the present one, or where another process has
	// said so within HoldTime. It may be lost when the database crashes.
	Hold(ctx context.Context, number int64) error
	// RaiseBarrier raises the number of the barrier, for when the mirror may lack
	// some of what is queued now, and returns the present epoch. A number is
	// never used twice, not even by a database that was restored from a backup.
	RaiseBarrier(ctx context.Context) (Epoch, error)
}
