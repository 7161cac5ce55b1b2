package storagetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
)

// barrier returns a message that is a barrier.
func (w *world) barrier(number int64, partition, partitions int) storage.Message {
	m := w.message()
	m.Barrier = storage.Barrier{Number: number, Partition: partition, Partitions: partitions}
	return m
}

// wantBarrier checks the number of the latest barrier and whether every partition has
// passed it.
func (w *world) wantBarrier(what string, number int64, drained bool) {
	w.Helper()
	e, err := w.database().Epoch(w.Context())
	w.must(err)
	if e.Barrier != number || e.Drained != drained {
		w.Errorf("%s: got barrier %d, drained: %t, want %d, %t", what, e.Barrier, e.Drained, number, drained)
	}
}

func barrierIsPassedByEveryPartition(w *world) {
	db, ctx := w.database(), w.Context()
	w.wantBarrier("initially", 0, true)
	_, err := next(db)(ctx, 1)
	w.must(err)
	w.wantBarrier("in the first epoch that is open", 0, true)
	begun := time.Now()
	e, err := next(db)(ctx, 2)
	took := time.Since(begun)
	w.must(err)
	first := e.Barrier
	if first < 1 || e.Drained || e.BarrierAge < 0 || e.BarrierAge > took {
		w.Errorf("the next epoch: got %+v, want a barrier that is due, of an age from 0 to %v", e, took)
	}
	w.lengthenGrace(e, took)
	_, err = w.s.Persist(ctx, []storage.Message{w.barrier(first, 0, 2)}, nil)
	w.wantError("a barrier before the grace has passed", err, storage.ErrUnavailable) // the grace has not passed
	w.outlastGrace()

	alice, s := user("alice"), video("1")
	passing := w.barrier(first, 0, 2)
	outcome := w.persistMessages(w.message(like(alice, s, 1)), passing)
	w.equal("skipped", outcome.Skipped, 0)
	w.wantCounts(s, 0, 1, 0, 0)
	seen, err := w.s.Seen(ctx, []string{passing.ID})
	w.must(err)
	w.equal("in the inbox", seen, []bool{false})
	w.wantBarrier("passed by one of two", first, false)
	w.persistMessages(w.barrier(first-1, 1, 2))
	w.wantBarrier("an older one passed by the other", first, false)
	w.persistMessages(w.barrier(first, 1, 3))
	w.wantBarrier("passed by one of another number of partitions", first, false)
	failed := errors.New("not marked")
	_, err = w.s.Persist(ctx, []storage.Message{w.barrier(first, 1, 2)}, func(context.Context, storage.Outcome) error { return failed })
	w.wantError("a barrier whose mark fails", err, failed)
	w.wantBarrier("rolled back", first, false)
	w.persistMessages(w.barrier(first, 1, 2), w.barrier(first-1, 1, 2))
	w.wantBarrier("passed by both", first, true)
	w.persistMessages(w.barrier(first-1, 0, 2))
	w.wantBarrier("after an older barrier", first, true)
	w.persistMessages(w.barrier(first+1, 0, 2))
	w.wantBarrier("after a barrier of another database", first, true)

	e, err = db.RaiseBarrier(ctx)
	w.wantEpoch("with a raised barrier", e, err, 3, true)
	if e.Barrier <= first || e.Drained {
		w.Errorf("after RaiseBarrier: got %+v, want a barrier after %d that is due", e, first)
	}
	w.must(err)
	w.persistMessages(w.barrier(e.Barrier, 0, 1))
	w.wantBarrier("passed by the only partition", e.Barrier, true)
	_, err = db.CloseEpoch(ctx, 3)
	w.must(err)
	w.wantBarrier("closed", e.Barrier, true)
	w.s = w.open() // as another process would
	w.wantBarrier("another process", e.Barrier, true)
	later, err := next(w.database())(ctx, 3)
	w.must(err)
	if later.Barrier <= e.Barrier || later.Drained {
		w.Errorf("after a closed epoch: got %+v, want a barrier after %d that is due", later, e.Barrier)
	}
}

// restoredDatabaseUsesNoBarrierTwice checks that a restored database does not mistake a
// barrier from before the restore for one of its own. The old barrier may have any number
// that the database assigned after the backup was made.
func restoredDatabaseUsesNoBarrierTwice(w *world) {
	db, ctx := w.database(), w.Context()
	before, err := db.RaiseBarrier(ctx)
	w.must(err)
	w.db.Edit(w.T, `UPDATE mirror SET barrier = 0, raised_at = 0`)
	after, err := db.RaiseBarrier(ctx)
	w.must(err)
	if after.Barrier <= before.Barrier {
		w.Errorf("barrier %d was raised after %d, want a higher number", after.Barrier, before.Barrier)
	}
	w.persistMessages(w.barrier(before.Barrier, 0, 1))
	w.wantBarrier("the lost barrier is passed", after.Barrier, false)
	// The clock of the server before the restore was ahead.
	w.persistMessages(w.barrier(after.Barrier+mirror.EpochGrace.Microseconds(), 0, 1))
	w.wantBarrier("a lost barrier of a higher number is passed", after.Barrier, false)
	w.persistMessages(w.barrier(after.Barrier, 0, 1))
	w.wantBarrier("its own barrier is passed", after.Barrier, true)
}

func invalidBarrierPersistsNothing(w *world) {
	number := int64(1)
	full := w.barrier(number, 0, 1)
	full.Actions = []storage.Action{like(user("alice"), video("1"), 1)}
	for _, m := range []storage.Message{full, w.barrier(-1, 0, 1), w.barrier(number, 1, 1), w.barrier(number, -1, 1), w.barrier(number, 0, 0)} {
		_, err := w.s.Persist(w.Context(), []storage.Message{m}, nil)
		w.wantError(fmt.Sprintf("the message %+v", m), err, storage.ErrInvalid)
	}
	w.equal("counts", w.counts(video("1")), storage.Counts{})
}
