package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"ovation/internal/testing/seed"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/compare"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/window"
)

// work runs a worker. Whenever the worker dies, another one replaces it.
func (in *interleaving) work(ctx context.Context) {
	for !in.stopWorker {
		step(ctx)
		if len(in.queue) > 0 {
			in.workOnce(ctx, in.queue[:min(len(in.queue), 1+in.random.IntN(4))])
		}
	}
}

func (in *interleaving) workOnce(ctx context.Context, batch []storage.Message) {
	step(ctx)
	if in.redelivered > 0 && !in.skipRedeliveredInvalidate {
		var redelivered []storage.Action
		for _, m := range in.queue[:in.redelivered] {
			redelivered = append(redelivered, m.Actions...)
		}
		if err := in.worker.Invalidate(ctx, redelivered); err != nil {
			in.reportf("invalidate: %v", err)
		}
	}
	in.redelivered = 0
	dies := func() bool { return in.crash && chance(in.random, 0.03) }
	for in.writing {
		step(ctx)
	}
	in.writing = true
	outcome, err := in.database.Persist(ctx, batch, func(ctx context.Context, outcome storage.Outcome) error {
		if !in.markAfterCommit {
			if err := in.worker.Mark(ctx, outcome); err != nil {
				return err
			}
		}
		step(ctx)
		if dies() {
			return errCrash
		}
		return nil
	})
	in.writing = false
	if err != nil {
		if errors.Is(err, storage.ErrUnavailable) { // an epoch has just ended
			in.redelivered = len(batch)
			return
		}
		if !errors.Is(err, errCrash) {
			in.reportf("persist: %v", err)
		}
		in.redelivered = len(batch)
		return
	}
	in.recordCommit(batch, outcome)
	step(ctx)
	if dies() {
		in.redelivered = len(batch)
		return
	}
	if in.markAfterCommit {
		if err := in.worker.Mark(ctx, outcome); err != nil {
			in.reportf("mark: %v", err)
		}
	}
	if err := in.worker.Publish(ctx, outcome); err != nil {
		in.reportf("publish: %v", err)
	}
	step(ctx)
	if dies() {
		in.redelivered = len(batch)
		return
	}
	in.queue = in.queue[len(batch):]
}

// evict deletes the counts, or the window of a user who has been idle for a while. It
// keeps windows with queued entries.
func (in *interleaving) evict() {
	ctx := context.Background()
	if chance(in.random, 0.5) {
		key := in.worker.countsKey(in.subject)
		in.rawClient.Do(ctx, in.rawClient.B().Del().Key(key).Build())
		in.caches.invalidate(key)
		return
	}
	u := in.random.IntN(interleavedUsers)
	if in.now-in.lastActive[u] <= idleSteps {
		return
	}
	key := in.worker.windowKey(mirror.WindowKey{User: in.users[u], Biz: in.subject.Biz})
	if shown, _ := in.rawClient.Do(ctx, in.rawClient.B().Hget().Key(key).Field("~n").Build()).AsInt64(); shown == 0 {
		in.rawClient.Do(ctx, in.rawClient.B().Del().Key(key).Build())
	}
}

// lose deletes everything in Redis, clears every node's caches, and polls.
func (in *interleaving) lose() {
	in.rawClient.Do(context.Background(), in.rawClient.B().Flushall().Build())
	for node := range interleavedNodes {
		in.caches.dropAll(node)
	}
	in.poll()
}

// poll polls, and gives every store the current epoch with a lease on it. The lease
// outlasts the run, so that only polls end it, however slow the steps are.
func (in *interleaving) poll() {
	err := in.base.epochs.Poll(context.Background())
	for tries := 1; errors.Is(err, storage.ErrUnavailable) && tries < 10; tries++ { // a call was too slow
		err = in.base.epochs.Poll(context.Background())
	}
	if err != nil {
		in.reportf("poll: %v", err)
	}

	current := *in.base.epochs.Current()
	now := &current
	if in.base.epochs.ActiveOf(now) != nil {
		now.LeasedAt = time.Now().Add(time.Hour)
	}
	if now.Number != in.worker.epochs.Current().Number { // as if mirror.EpochGrace had passed
		in.edit(`UPDATE mirror SET free_at = 0`)
	}
	for _, nodes := range in.stores {
		for _, s := range nodes {
			s.epochs.Adopt(now)
		}
	}
	in.worker.epochs.Adopt(now)
	if !now.Drained && now.Barrier != in.barrier { // no node trusts the previous epoch any longer
		in.barrier = now.Barrier
		m := storage.Message{ID: "barrier", Barrier: storage.Barrier{Number: now.Barrier, Partitions: 1}}
		if !in.bypassBarrierQueue {
			in.queue = append(in.queue, m)
		} else if _, err := in.database.Persist(context.Background(), []storage.Message{m}, nil); err != nil {
			in.reportf("barrier: %v", err)
		}
	}
}

// run takes the steps of a run and returns the violations that it has found.
func (in *interleaving) run(evict bool) []string {
	worker := newActor(in.work)
	var busy [interleavedUsers]*actor
	for in.now = range interleavedSteps {
		if in.now%100 == 0 {
			in.poll()
		}
		switch x := in.random.Float64(); {
		case x < 0.25:
			worker.next()
		case x < 0.35:
			in.caches.deliverInvalidations(in.random.IntN(interleavedNodes))
		case x < 0.36 && evict:
			in.evict()
		case x < 0.362 && in.lossy:
			if !in.writing { // otherwise the next epoch would wait for the transaction
				in.lose()
			}
		default:
			u := in.random.IntN(interleavedUsers)
			if busy[u] == nil {
				s := in.stores[u][in.random.IntN(interleavedNodes)]
				do := in.query
				switch x := in.random.Float64(); {
				case x < 0.35:
					do = in.mutate
				case x < 0.5:
					do = in.read
				}
				busy[u] = newActor(func(ctx context.Context) { do(ctx, u, s) })
			}
			in.lastActive[u] = in.now
			if _, more := busy[u].next(); !more {
				busy[u] = nil
			}
		}
	}
	for left := true; left; {
		left = false
		worker.next()
		for u, a := range busy {
			if a == nil {
				continue
			}
			if _, more := a.next(); !more {
				busy[u] = nil
			}
			left = true
		}
	}
	for len(in.queue) > 0 {
		worker.next()
	}
	in.stopWorker = true
	for more := true; more; {
		_, more = worker.next()
	}
	in.atRest()
	return in.violations
}

// atRest is called when no step is left. It checks that the database and Redis agree with
// each other and with the acknowledged actions.
func (in *interleaving) atRest() {
	ctx := context.Background()
	in.poll()
	for u, silent := range in.unackedReads {
		in.acked[u].reads += silent
	}
	acked := countStates(in.acked)
	there, err := in.database.Interactives(ctx, storage.User{Tenant: in.subject.Tenant}, []storage.Subject{in.subject}, 0)
	if err != nil || withoutVersion(there[0].Counts) != acked {
		in.reportf("at rest, the database counts %+v (%v), want %+v", there, err, acked)
		return
	}
	var copied counts.Result
	differs := func() bool {
		copied, err = countsInRedis(ctx, in.worker, in.subject)
		return err != nil || copied.Known && copied.Counts != there[0].Counts
	}
	// Counts that a writer did not replace, because it died, expire with the guard.
	for over := time.Now().Add(in.worker.opts.Guard + compare.ConfirmMargin); differs() && time.Now().Before(over); {
		runtime.Gosched()
	}
	if differs() {
		in.reportf("at rest, Redis counts %+v (%v), the database %+v", copied, err, there[0].Counts)
	}
	in.worker.opts.Guard = -time.Second // as if the guard had expired
	in.worker.windows.Guard = in.worker.opts.Guard
	for u, want := range in.acked {
		states, err := in.database.States(ctx, []storage.StateKey{in.key(u)}, storage.AllKinds)
		if err == nil && states[0].Read != nil {
			want.reads -= states[0].Read.Times
		}
		if err != nil || userStateOf(states[0].Liked, states[0].Collected, states[0].Followed) != want {
			in.reportf("at rest, user %d is %+v in the database (%v), want %+v", u, states, err, want)
		}
		inDatabase := states[0]
		states, where, err := in.worker.Get(ctx, []storage.StateKey{in.key(u)}, window.KindSet)
		if err != nil || userStateOf(states[0].Liked, states[0].Collected, states[0].Followed) != want || where != storage.Persisted {
			raw := in.rawClient.Do(ctx, in.rawClient.B().Hgetall().Key(in.worker.windowKey(mirror.WindowKey{User: in.users[u], Biz: in.subject.Biz})).Build())
			window, _ := raw.AsStrMap()
			in.reportf("at rest, user %d is %q in Redis (%v): %v; in the database %+v; want %+v, %q", u, where, err, window, inDatabase, want, storage.Persisted)
		}
	}
}

// interleave makes runs until they have taken the given number of steps in total, or have
// found a violation. The same seed repeats the same choices, but not their timing, since
// Redis has a clock of its own.
func interleave(t *testing.T, steps int, rules func(*interleaving)) (taken int, found []string) {
	t.Helper()
	seed := seed.Of(t)
	server := startServer(t)
	db := openDatabase(t)
	plain := server.client()
	base := open(t, Options{
		URL: server.url(), Database: db, Prefix: "steps",
		RedisTimeout: time.Minute, DatabaseTimeout: time.Minute, Guard: 500 * time.Millisecond,
	})
	base.stopBackground()
	told := 0
	for run := uint64(0); taken < steps && len(found) == 0; run++ {
		random := rand.New(rand.NewPCG(seed, run))
		in := newInterleaving(base, plain, db, fmt.Sprintf("run%d", run), random)
		in.edit = func(statement string) { db.Edit(t, statement) }
		in.crash, in.direct = run%2 == 1, run%3 == 2
		rules(in)
		found = in.run(run%4 >= 2)
		taken += interleavedSteps
		told += in.repliesWithSubject
		for i := range found {
			found[i] = fmt.Sprintf("run %d, %s", run, found[i])
		}
	}
	t.Logf("%d steps, %d mutations returned what they changed", taken, told)
	if told == 0 && len(found) == 0 {
		found = append(found, "no mutation returned what it changed")
	}
	return taken, found
}

// TestInterleavings checks the protocol for viewers' own writes, as the model in
// docs/model/mirror does: every reply shows the viewer's own acknowledged actions, and counts
// that include each of these actions exactly once.
func TestInterleavings(t *testing.T) {
	wantNoViolation(t, 15_000, func(*interleaving) {})
}

// Redis loses everything from time to time, including queued actions. Nevertheless,
// nothing that was acknowledged is lost, and in the end Redis agrees with the database.
func TestInterleavingsWithLosses(t *testing.T) {
	wantNoViolation(t, 8_000, lossy)
}

func lossy(in *interleaving) { in.lossy = true }

// wantNoViolation fails the test if a violation is found within about the given number of
// steps.
func wantNoViolation(t *testing.T, steps int, rules func(*interleaving)) {
	t.Helper()
	_, found := interleave(t, steps, rules)
	for _, f := range found {
		t.Errorf("found %q, want nothing wrong", f)
	}
}
