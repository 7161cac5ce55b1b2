package storagetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"ovation/storage"
)

// database is the store of the case with all its roles.
func (w *world) database() storage.Database {
	w.Helper()
	d, ok := w.s.(storage.Database)
	if !ok {
		w.Fatalf("%T is no storage.Database", w.s)
	}
	return d
}

// wantEpoch compares all but the age, which is not below 0.
func (w *world) wantEpoch(what string, got storage.Epoch, err error, number int64, open bool) {
	w.Helper()
	w.must(err)
	if got.Number != number || got.Open != open || got.Age < 0 {
		w.Errorf("%s: the epoch is %+v, want %d, open: %v", what, got, number, open)
	}
}

// outlastGrace lets the epoch have been as it is for longer than
// storage.EpochGrace.
func (w *world) outlastGrace() {
	w.Helper()
	w.db.Edit(w.T, `UPDATE mirror SET changed_at = changed_at - `+strconv.FormatInt(storage.EpochGrace.Microseconds(), 10))
}

func epochsRise(w *world) {
	db, ctx := w.database(), w.Context()
	e, err := db.Epoch(ctx)
	w.wantEpoch("at first", e, err, 1, true)
	w.equal("of a transaction", w.persist(like(user("alice"), video("1"), 1)).Epoch, int64(1))

	e, err = db.NextEpoch(ctx, 1)
	w.wantEpoch("the next of an open one", e, err, 2, true)
	e, err = db.NextEpoch(ctx, 1)
	w.wantEpoch("the next of one that is over", e, err, 2, true)
	e, err = db.CloseEpoch(ctx, 1)
	w.wantEpoch("one that is over is closed", e, err, 2, true)
	e, err = db.CloseEpoch(ctx, 2)
	w.wantEpoch("closed", e, err, 2, false)
	w.outlastGrace()
	before, err := db.Epoch(ctx)
	w.wantEpoch("some time later", before, err, 2, false)
	e, err = db.CloseEpoch(ctx, 2)
	w.wantEpoch("closed again", e, err, 2, false)
	if before.Age < storage.EpochGrace || e.Age < before.Age {
		w.Errorf("closed again the epoch is %v old, after %v", e.Age, before.Age)
	}
	e, err = db.NextEpoch(ctx, 2)
	w.wantEpoch("the next of a closed one", e, err, 3, true)
	if e.Age >= storage.EpochGrace {
		w.Errorf("a new epoch is %v old", e.Age)
	}

	w.s = w.open() // another process
	e, err = w.database().Epoch(ctx)
	w.wantEpoch("another process's", e, err, 3, true)
	w.equal("of its transaction", w.persist(like(user("alice"), video("2"), 1)).Epoch, int64(3))

	// Of several at once one wins, and all are told the same.
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			change := db.NextEpoch
			if n%2 == 0 {
				change = w.database().NextEpoch
			}
			e, err := change(ctx, 3)
			if err != nil || e.Number != 4 || !e.Open {
				w.Errorf("one of several: %+v, %v", e, err)
			}
		})
	}
	group.Wait()
}

func closedEpochRefusesThenGoesOn(w *world) {
	db, ctx := w.database(), w.Context()
	alice, s := user("alice"), video("1")
	w.persist(collect(alice, s, storage.DefaultFolderID, 1))
	_, err := db.CloseEpoch(ctx, 1)
	w.must(err)

	m := w.message(like(alice, s, 1))
	_, err = w.s.Persist(ctx, []storage.Message{m}, nil)
	w.wantError(err, storage.ErrUnavailable)
	_, _, err = w.s.EmptyFolder(ctx, defaultOf(alice), "", storage.Time(9), 5, nil)
	w.wantError(err, storage.ErrUnavailable)
	w.wantCounts(s, 0, 0, 0, 1)
	w.newFolder(alice, "Films") // changes no counts

	w.db.Edit(w.T, `UPDATE interactive SET like_count = 7`)
	_, err = w.s.Verify(ctx, true, func(storage.Difference) error { return nil })
	w.wantError(err, storage.ErrUnavailable)
	w.wantCounts(s, 0, 7, 0, 1)

	w.outlastGrace()
	_, err = w.s.Verify(ctx, true, func(storage.Difference) error { return nil })
	w.must(err)
	marked := int64(-1)
	outcome, err := w.s.Persist(ctx, []storage.Message{m}, func(_ context.Context, o storage.Outcome) error {
		marked = o.Epoch
		return nil
	})
	w.must(err)
	w.equal("epochs without a mirror", []int64{outcome.Epoch, marked, int64(outcome.Skipped)}, []int64{0, 0, 0})
	_, outcome, err = w.s.EmptyFolder(ctx, defaultOf(alice), "", storage.Time(9), 5, nil)
	w.must(err)
	w.equal("the epoch of an emptied folder", outcome.Epoch, int64(0))
	w.wantCounts(s, 0, 1, 0, 0)

	_, err = db.NextEpoch(ctx, 1)
	w.must(err)
	w.equal("the epoch in the end", w.persist(like(user("bob"), s, 1)).Epoch, int64(2))
	_, outcome, err = w.s.EmptyFolder(ctx, defaultOf(alice), "", storage.Time(10), 5, nil)
	w.must(err)
	w.equal("the epoch of an emptied folder in the end", outcome.Epoch, int64(2))
}

// Whoever changes the epoch finds committed what began before.
func epochChangeWaitsForTransactions(w *world) {
	alice, s := user("alice"), video("1")
	other, _ := w.open().(storage.Database)
	w.persist(like(user("bob"), s, 1), collect(alice, s, storage.DefaultFolderID, 1))
	number := int64(1)
	var found chan storage.Counts
	change := func() {
		if _, err := other.NextEpoch(w.Context(), number); err != nil {
			w.Error(err)
		}
		found <- w.counts(s)
	}
	mark := func(ctx context.Context, o storage.Outcome) error {
		w.equal("the epoch of the transaction", o.Epoch, number)
		found = make(chan storage.Counts, 1)
		go change()
		for range 20 { // one that does not wait is done by then
			if _, err := other.Interactives(ctx, alice, []storage.Subject{s}, 0); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := w.s.Persist(w.Context(), []storage.Message{w.message(like(alice, s, 1))}, mark)
	w.must(err)
	w.equal("likes when the epoch is over", (<-found).LikeCount, int64(2))
	number++
	_, _, err = w.s.EmptyFolder(w.Context(), defaultOf(alice), "", storage.Time(9), 5, mark)
	w.must(err)
	w.equal("collections when the next one is over", (<-found).CollectCount, int64(0))
}

// Writers and keepers of folders work while epochs begin. None is still in its
// transaction when the next epoch has begun.
func noTransactionStraddlesEpochs(w *world) {
	const writers, rounds = 8, 8
	stores := []storage.Store{w.s, w.open()}
	var begun, version atomic.Int64
	begun.Store(1)
	committed := make(chan struct{}, 1)
	mark := func(_ context.Context, o storage.Outcome) error {
		if now := begun.Load(); o.Epoch < now {
			return fmt.Errorf("a transaction of epoch %d is under way in epoch %d", o.Epoch, now)
		}
		return nil
	}
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1)) //nolint:gosec // the same numbers in every run
			s, seen := stores[n%len(stores)], int64(0)
			for round := range rounds {
				m := storage.Message{ID: fmt.Sprintf("%d-%d", n, round)}
				for range 10 {
					m.Actions = append(m.Actions, randomAction(random, &version, new(sync.Map)))
				}
				outcome, err := s.Persist(w.Context(), []storage.Message{m}, mark)
				if n%2 == 0 && err == nil {
					owner := user(fmt.Sprint("user", random.IntN(4)))
					_, outcome, err = s.EmptyFolder(w.Context(), defaultOf(owner), "", storage.Time(version.Add(1)), 3, mark)
				}
				if err != nil || outcome.Epoch < seen {
					w.Errorf("writer %d: epoch %d after %d, %v", n, outcome.Epoch, seen, err)
				}
				seen = outcome.Epoch
				select {
				case committed <- struct{}{}:
				default: // an epoch begins already
				}
			}
		})
	}
	go func() {
		group.Wait()
		close(committed)
	}()
	for range committed {
		number := begun.Load()
		e, err := w.database().NextEpoch(w.Context(), number)
		w.wantEpoch("begun", e, err, number+1, true)
		begun.Store(e.Number)
	}
	w.verified()
}
