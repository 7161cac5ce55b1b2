package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
)

// database returns the store of the case as a mirror.Database.
func (w *world) database() mirror.Database {
	w.Helper()
	d, ok := w.s.(mirror.Database)
	if !ok {
		w.Fatalf("%T is no mirror.Database", w.s)
	}
	return d
}

// wantEpoch checks the number of an epoch and whether the epoch is open. The age must not
// be negative.
func (w *world) wantEpoch(what string, got mirror.Epoch, err error, number int64, open bool) {
	w.Helper()
	w.must(err)
	if got.Number != number || got.Open != open || got.Age < 0 {
		w.Errorf("%s: got the epoch %+v, want %d, open: %t", what, got, number, open)
	}
}

// longGrace is how much lengthenGrace adds to the grace of an epoch.
const longGrace = time.Hour

// lengthenGrace checks that the grace period of mirror.EpochGrace began within the time
// that a call took, which returned e. It then lengthens the grace period, so that it does
// not end before outlastGrace is called, however slow the steps of a case are.
func (w *world) lengthenGrace(e mirror.Epoch, took time.Duration) {
	w.Helper()
	if e.Wait > mirror.EpochGrace || e.Wait < mirror.EpochGrace-took {
		w.Errorf("after a call of %v, commits wait for %v, want at most %v, less at most the duration of the call", took, e.Wait, mirror.EpochGrace)
	}
	w.db.Edit(w.T, `UPDATE mirror SET free_at = free_at + `+strconv.FormatInt(longGrace.Microseconds(), 10))
}

// outlastGrace moves all times of the epoch into the past by mirror.EpochGrace, and by as
// much as lengthenGrace adds.
func (w *world) outlastGrace() {
	w.Helper()
	grace := strconv.FormatInt((mirror.EpochGrace + longGrace).Microseconds(), 10)
	w.db.Edit(w.T, `UPDATE mirror SET changed_at = changed_at - `+grace+`, free_at = free_at - `+grace)
}

// next returns a function that begins the epoch after the one with the given number.
func next(db mirror.Epochs) func(context.Context, int64) (mirror.Epoch, error) {
	return func(ctx context.Context, number int64) (mirror.Epoch, error) {
		return db.NextEpoch(ctx, number, mirror.NewEpoch{Number: number + 1, Holder: "a mirror"})
	}
}

// nextBesideWriters is like next, for epochs that begin while transactions are in
// progress, or several at once. A call waits for the others only for a short time, but is
// repeated for as long as all the writers of a case may need on a busy machine.
func nextBesideWriters(db mirror.Epochs) func(context.Context, int64) (mirror.Epoch, error) {
	return func(ctx context.Context, number int64) (e mirror.Epoch, err error) {
		err = Repeat(storage.ErrUnavailable, 5*time.Minute, func() error {
			e, err = next(db)(ctx, number)
			return err
		})
		return e, err
	}
}

// epochsAreHeld checks the fields Holder and Silence of epochs.
func epochsAreHeld(w *world) {
	db, ctx := w.database(), w.Context()
	e, err := db.NextEpoch(ctx, 1, mirror.NewEpoch{Number: 20, Holder: "one"})
	w.wantEpoch("begun", e, err, 20, true)
	e, err = db.NextEpoch(ctx, 1, mirror.NewEpoch{Number: 30, Holder: "another"})
	w.wantEpoch("begun by another process meanwhile", e, err, 20, true)
	w.equal("the mirror of the epoch", e.Holder, "one")
	w.outlastHold()
	before, err := db.Epoch(ctx)
	w.wantEpoch("without a holder", before, err, 20, true)
	if before.Silence < mirror.EpochGrace {
		w.Errorf("without a holder the epoch is silent for %v, want at least %v", before.Silence, mirror.EpochGrace)
	}
	w.must(db.Hold(ctx, 19))
	e, err = db.Epoch(ctx)
	w.wantEpoch("while another epoch is held", e, err, 20, true)
	if e.Silence < before.Silence {
		w.Errorf("without a holder the epoch is silent for %v, want at least %v", e.Silence, before.Silence)
	}
	begun := time.Now()
	w.must(db.Hold(ctx, 20))
	e, err = db.Epoch(ctx)
	w.wantEpoch("held", e, err, 20, true)
	if took := time.Since(begun); e.Silence > took || e.Silence < 0 || e.Rewound {
		w.Errorf("the held epoch is %+v, want one that is silent for at most %v, not rewound", e, took)
	}
	w.outlastHold()
	begun = time.Now()
	e, err = db.NextEpoch(ctx, 20, mirror.NewEpoch{Number: 31, Holder: "another"})
	w.wantEpoch("the next one", e, err, 31, true)
	if took := time.Since(begun); e.Holder != "another" || e.Silence > took {
		w.Errorf("the next epoch is %+v, want another holder, silent for at most %v", e, took)
	}
}

// outlastHold moves the time of the last Hold into the past by mirror.EpochGrace.
func (w *world) outlastHold() {
	w.Helper()
	w.db.Edit(w.T, `UPDATE mirror SET held_at = held_at - `+strconv.FormatInt(mirror.EpochGrace.Microseconds(), 10))
}

func epochsRise(w *world) {
	db, ctx := w.database(), w.Context()
	e, err := db.Epoch(ctx)
	w.wantEpoch("initially", e, err, 1, false)
	if e.Age < mirror.EpochGrace || e.Wait > 0 {
		w.Errorf("initially the epoch is %v old, and commits wait for %v, want at least %v old, and no wait", e.Age, e.Wait, mirror.EpochGrace)
	}
	w.equal("the epoch of a transaction", w.persist(like(user("alice"), video("0"), 1)).Epoch, int64(0))
	e, err = db.CloseEpoch(ctx, 1)
	w.wantEpoch("closed before it was opened", e, err, 1, false)
	e, err = next(db)(ctx, 1)
	w.wantEpoch("the first open epoch", e, err, 2, true)
	w.equal("the epoch of an immediate transaction", w.persist(like(user("alice"), video("1"), 1)).Epoch, int64(2))

	begun := time.Now()
	e, err = next(db)(ctx, 2)
	took := time.Since(begun)
	w.wantEpoch("the epoch after an open one", e, err, 3, true)
	if e.Age > took {
		w.Errorf("the next epoch is %v old, want at most the %v that the call took", e.Age, took)
	}
	w.lengthenGrace(e, took)
	e, err = next(db)(ctx, 2)
	w.wantEpoch("the epoch after an outdated one", e, err, 3, true)
	e, err = db.CloseEpoch(ctx, 2)
	w.wantEpoch("after closing an outdated one", e, err, 3, true)
	e, err = db.CloseEpoch(ctx, 3)
	w.wantEpoch("closed", e, err, 3, false)
	w.outlastGrace()
	before, err := db.Epoch(ctx)
	w.wantEpoch("closed for some time", before, err, 3, false)
	e, err = db.CloseEpoch(ctx, 3)
	w.wantEpoch("closed again", e, err, 3, false)
	if before.Age < mirror.EpochGrace || e.Age < before.Age || e.Wait > 0 {
		w.Errorf("closed again, the epoch is %v old after %v, and commits wait for %v, want at least %v, not younger, and no wait",
			e.Age, before.Age, e.Wait, mirror.EpochGrace)
	}
	begun = time.Now()
	e, err = next(db)(ctx, 3)
	took = time.Since(begun)
	w.wantEpoch("the epoch after a closed one", e, err, 4, true)
	if e.Age > took || e.Wait > 0 {
		w.Errorf("a new epoch is %v old, and commits wait for %v, want at most %v old, and no wait", e.Age, e.Wait, took)
	}

	w.s = w.open() // as another process would
	e, err = w.database().Epoch(ctx)
	w.wantEpoch("begun by another process", e, err, 4, true)
	w.equal("the epoch of its transaction", w.persist(like(user("alice"), video("2"), 1)).Epoch, int64(4))

	// Of several concurrent calls, one wins, and all return the same epoch.
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			change := nextBesideWriters(db)
			if n%2 == 0 {
				change = nextBesideWriters(w.database())
			}
			e, err := change(ctx, 4)
			if err != nil || e.Number != 5 || !e.Open {
				w.Errorf("one of several concurrent calls returned %+v, %v, want epoch 5, open", e, err)
			}
		})
	}
	group.Wait()
}

func outcomesIncludeTheirCommitTime(w *world) {
	owner := user("alice")
	outcomes := []storage.Outcome{w.persist(Collect(owner, video("1"), storage.DefaultFolderID, 1))}
	_, outcome, err := w.s.EmptyFolder(w.Context(), defaultOf(owner), "", storage.Time(9), 10, nil)
	w.must(err)
	for _, o := range append(outcomes, outcome) {
		if age := time.Since(o.At); age < 0 || age > time.Minute {
			w.Errorf("the transaction prepared its commit %v ago, want 0 to 1 minute", age)
		}
	}
}

// endedEpochRejectsUntilTheNextBegins checks that nothing is committed while a process
// may still rely on an epoch that has ended.
func endedEpochRejectsUntilTheNextBegins(w *world) {
	db, ctx := w.database(), w.Context()
	alice, s := user("alice"), video("1")
	w.persist(Collect(alice, s, storage.DefaultFolderID, 1), Collect(alice, video("2"), storage.DefaultFolderID, 1))
	_, err := next(db)(ctx, 1)
	w.must(err)
	for _, step := range []struct {
		name   string
		change func(context.Context, int64) (mirror.Epoch, error)
		number int64
		want   int64
	}{
		{"closed", db.CloseEpoch, 2, 0},
		{"begun after a closed one", next(db), 2, 3},
		{"begun after an open one", next(db), 3, 4},
		{"closed and begun at once", func(ctx context.Context, number int64) (mirror.Epoch, error) {
			if e, err := db.CloseEpoch(ctx, number); err != nil {
				return e, err
			}
			return next(db)(ctx, number)
		}, 4, 5},
	} {
		w.Log(step.name)
		begun := time.Now()
		e, err := step.change(ctx, step.number)
		took := time.Since(begun)
		w.must(err)
		m := w.message(React(alice, s, storage.Reaction(step.number%3), step.number))
		if step.number != 2 || step.want == 0 {
			w.lengthenGrace(e, took)
			w.refuses(m)
			w.outlastGrace()
		}
		marked := int64(-1)
		outcome, err := w.s.Persist(ctx, []storage.Message{m}, func(_ context.Context, o storage.Outcome) error {
			marked = o.Epoch
			return nil
		})
		w.must(err)
		w.equal("epoch of the outcome, of the mark, and skipped", []int64{outcome.Epoch, marked, int64(outcome.Skipped)}, []int64{step.want, step.want, 0})
		_, outcome, err = w.s.EmptyFolder(ctx, defaultOf(user("bob")), "", storage.Time(9), 1, nil)
		w.must(err)
		w.equal("the epoch of an emptied folder", outcome.Epoch, step.want)
	}
	w.verified()
}

// refuses checks that the store currently rejects every change to counts.
func (w *world) refuses(m storage.Message) {
	w.Helper()
	before := w.counts(video("1"))
	_, err := w.s.Persist(w.Context(), []storage.Message{m}, nil)
	w.wantError("Persist while the epoch rejects transactions", err, storage.ErrUnavailable)
	_, _, err = w.s.EmptyFolder(w.Context(), defaultOf(user("alice")), "", storage.Time(9), 5, nil)
	w.wantError("EmptyFolder while the epoch rejects transactions", err, storage.ErrUnavailable)
	w.db.Edit(w.T, `UPDATE interactive SET read_count = 7 WHERE biz_id = '1'`)
	_, err = w.s.Verify(w.Context(), true, func(storage.Difference) error { return nil })
	w.wantError("a repair while the epoch rejects transactions", err, storage.ErrUnavailable)
	w.db.Edit(w.T, `UPDATE interactive SET read_count = 0 WHERE biz_id = '1'`)
	w.equal("counts after refused changes", w.counts(video("1")), before)
	_, err = w.s.UpdateFolder(w.Context(), defaultOf(user("alice")), storage.FolderChange{}, storage.Time(9)) // changes no counts
	w.must(err)
}

// epochChangeWaitsForTransactions checks that, once the epoch has changed, the commits of
// all transactions that began before the change are visible.
func epochChangeWaitsForTransactions(w *world) {
	alice, s := user("alice"), video("1")
	other, _ := w.open().(mirror.Database)
	w.persist(like(user("bob"), s, 1), Collect(alice, s, storage.DefaultFolderID, 1))
	_, err := next(other)(w.Context(), 1)
	w.must(err)
	number := int64(2)
	var found chan storage.Counts
	change := func() {
		if _, err := nextBesideWriters(other)(w.Context(), number); err != nil {
			w.Errorf("NextEpoch(%d): %v", number, err)
		}
		found <- w.counts(s)
	}
	mark := func(ctx context.Context, o storage.Outcome) error {
		w.equal("the epoch of the transaction", o.Epoch, number)
		found = make(chan storage.Counts, 1)
		go change()
		for range 20 { // a change that does not wait ends within this time
			if _, err := other.Interactives(ctx, alice, []storage.Subject{s}, 0); err != nil {
				return err
			}
		}
		return nil
	}
	_, err = w.s.Persist(w.Context(), []storage.Message{w.message(like(alice, s, 1))}, mark)
	w.must(err)
	w.equal("likes at the end of the epoch", (<-found).LikeCount, int64(2))
	number++
	w.outlastGrace()
	_, _, err = w.s.EmptyFolder(w.Context(), defaultOf(alice), "", storage.Time(9), 5, mark)
	w.must(err)
	w.equal("collections at the end of the next epoch", (<-found).CollectCount, int64(0))
}

// noTransactionStraddlesEpochs begins epochs while writers persist messages and empty
// folders. It checks that no transaction is still in progress when the next epoch has
// begun.
func noTransactionStraddlesEpochs(w *world) {
	const writers, rounds = 8, 8
	stores := []storage.Store{w.s, w.open()}
	var begun, version atomic.Int64
	begun.Store(1)
	var grace sync.Mutex // held from the beginning of an epoch until its grace is over
	mark := func(_ context.Context, o storage.Outcome) error {
		if now := begun.Load(); o.Epoch != 0 && o.Epoch < now {
			return fmt.Errorf("a transaction of epoch %d is running in epoch %d, want none", o.Epoch, now)
		}
		return nil
	}
	work := func(n int, do func(storage.Store) (storage.Outcome, error)) {
		for {
			outcome, err := do(stores[n%len(stores)])
			if errors.Is(err, storage.ErrUnavailable) {
				grace.Lock()
				grace.Unlock() //nolint:staticcheck // the grace period is over
				continue
			}
			if err != nil {
				w.Errorf("writer %d in epoch %d: %v", n, outcome.Epoch, err)
			}
			return
		}
	}
	committed := make(chan struct{}, 1)
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1)) //nolint:gosec // the same numbers in every run
			for round := range rounds {
				m := storage.Message{ID: fmt.Sprintf("%d-%d", n, round)}
				for range 10 {
					m.Actions = append(m.Actions, randomAction(random, &version, new(sync.Map)))
				}
				work(n, func(s storage.Store) (storage.Outcome, error) {
					return s.Persist(w.Context(), []storage.Message{m}, mark)
				})
				if owner := user(fmt.Sprint("user", random.IntN(4))); n%2 == 0 {
					work(n, func(s storage.Store) (storage.Outcome, error) {
						_, outcome, err := s.EmptyFolder(w.Context(), defaultOf(owner), "", storage.Time(version.Add(1)), 3, mark)
						return outcome, err
					})
				}
				select {
				case committed <- struct{}{}:
				default: // an epoch is already being started
				}
			}
		})
	}
	go func() {
		group.Wait()
		close(committed)
	}()
	for range committed {
		grace.Lock()
		number := begun.Load()
		e, err := nextBesideWriters(w.database())(w.Context(), number)
		w.wantEpoch("begun", e, err, number+1, true)
		begun.Store(e.Number)
		w.outlastGrace()
		grace.Unlock()
	}
	w.verified()
}
