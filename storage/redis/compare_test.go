package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

func TestCompareFindsAndDropsStaleEntries(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{Prefix: "a[b]*", Guard: time.Second})
	odd := storage.User{Tenant: storage.DefaultTenant, UserID: "od}:d:u:x"}
	other := video("a:{b}")
	for _, u := range []storage.User{alice, bob, odd} {
		see(t, s, u, movie)
		persist(t, db, s, storagetest.React(u, movie, storage.Like, 10), storagetest.Collect(u, other, storage.DefaultFolderID, 10))
		see(t, s, u, other)
	}
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, other, storage.Dislike, 20)}, storage.Queued, nil))
	compare := func(repair bool) (found map[Mismatch]bool, n int64) {
		found = make(map[Mismatch]bool)
		await.That(t, "Compare succeeds", func() bool { // on a busy machine Redis may be unavailable in between
			var err error
			n, err = s.Compare(t.Context(), repair, func(stale Mismatch) error {
				found[stale] = true
				return nil
			})
			if !errors.Is(err, storage.ErrUnavailable) {
				must.Succeed(t, err)
			}
			return err == nil
		})
		return found, n
	}
	if found, n := compare(false); len(found) > 0 || n < 10 {
		t.Errorf("before any change: Compare found %+v among %d entries, want none among at least 10", found, n)
	}
	for _, words := range [][]string{
		{"HSET", s.countsKey(movie), counts.Field, "4 0 0 7 0 0 0 @"},
		{"HSET", s.windowKey(mirror.WindowKey{User: odd, Biz: "video"}), "smovie", "10 - 1 2 0:2;"},
		{"HDEL", s.windowKey(mirror.WindowKey{User: bob, Biz: "video"}), window.Field(other.BizID)},
	} {
		must.Succeed(t, server.command(words...).Error())
	}
	enough := errors.New("enough")
	if _, err := s.Compare(t.Context(), false, func(Mismatch) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("Compare = %v, want %v", err, enough)
	}
	if found, _ := compare(false); len(found) != 3 {
		t.Errorf("Compare found %+v, want 3 mismatches", found)
	}
	if found, _ := compare(true); len(found) != 3 {
		t.Errorf("the repair found %+v, want 3 mismatches", found)
	}
	if found, _ := compare(false); len(found) > 0 {
		t.Errorf("after the repair: Compare found %+v, want none", found)
	}
	await.That(t, "the client cache is invalidated", func() bool { return see(t, s, alice, movie).LikeCount == 3 })
	if got := see(t, s, odd, movie); got.Liked == nil || got.Liked.Reaction != storage.Like {
		t.Errorf("after the repair: got %+v, want a like", got)
	}
}

// A node may fail to apply an action at first and succeed later, perhaps only after a
// later action from another node was persisted. The resulting entry is not a mismatch.
func TestLateApplyIsNoDifference(t *testing.T) {
	t.Parallel()
	s, _, db := openNew(t, Options{Guard: time.Second})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 20))
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Dislike, 10)}, storage.Queued, nil))
	if entry := windowField(t, s, alice, movie); !strings.HasPrefix(entry, "10 q ") {
		t.Fatalf("got the entry %q, want one that begins with \"10 q \"", entry)
	}
	wantNoMismatch(t, s)
	states, _, err := s.Get(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, storage.KindsOf(storage.KindReaction))
	must.Succeed(t, err)
	if states[0].Reaction.Value != storage.Like {
		t.Errorf("Get returned the reaction %+v, want a like", states[0].Reaction)
	}
	if got := see(t, s, alice, movie); got.Liked == nil || got.Liked.Reaction != storage.Like || got.LikeCount != 1 {
		t.Errorf("a reader sees %+v, want 1 like, alice's", got)
	}
}

// A process that dies after its commit and before it publishes leaves counts that expire
// by themselves, so that nothing has to be repaired.
func TestCompareWaitsOutTransientDifferences(t *testing.T) {
	t.Parallel()
	s, _, db := openNew(t, Options{Guard: time.Second})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	see(t, s, alice, movie)
	_, err := db.Persist(t.Context(), message(storagetest.React(bob, movie, storage.Like, 11)), s.invalidateFirst(nil))
	must.Succeed(t, err)
	wantNoMismatch(t, s)
}

// wantNoMismatch fails the test unless Redis agrees with the database.
func wantNoMismatch(t *testing.T, s *Store) {
	t.Helper()
	n, err := s.Compare(t.Context(), false, func(stale Mismatch) error {
		t.Errorf("Compare found %+v, want no mismatch", stale)
		return nil
	})
	if err != nil || n == 0 {
		t.Errorf("Compare = %d, %v, want at least 1 entry compared", n, err)
	}
}

// shaky is a database of which the next reads of each kind fail.
type shaky struct {
	*sqlitetest.Database

	counts, states, windows atomic.Int64 // reads that fail from now on
}

func hiccup(faults *atomic.Int64) error {
	if faults.Add(-1) >= 0 {
		return fmt.Errorf("%w: a hiccup", storage.ErrUnavailable)
	}
	return nil
}

func (d *shaky) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	if err := hiccup(&d.counts); err != nil {
		return nil, err
	}
	return d.Database.Interactives(ctx, viewer, subjects, kinds)
}

func (d *shaky) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	if err := hiccup(&d.states); err != nil {
		return nil, err
	}
	return d.Database.States(ctx, keys, kinds)
}

func (d *shaky) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	if err := hiccup(&d.windows); err != nil {
		return nil, err
	}
	return d.Database.Windows(ctx, keys, limit)
}

// Compare continues when reads of the database fail for a moment.
func TestCompareSurvivesFailedReads(t *testing.T) {
	t.Parallel()
	server, db := startServer(t), &shaky{Database: openDatabase(t)}
	s := open(t, Options{URL: server.url(), Database: db})
	see(t, s, alice, movie)
	persist(t, db.Database, s, storagetest.React(alice, movie, storage.Like, 10))
	see(t, s, alice, movie)
	for _, faults := range []*atomic.Int64{&db.counts, &db.states, &db.windows} {
		faults.Store(2)
	}
	wantNoMismatch(t, s)
	if counts, states, windows := db.counts.Load(), db.states.Load(), db.windows.Load(); max(counts, states, windows) >= 0 {
		t.Errorf("%d reads of counts, %d of states and %d of windows were not repeated, want none", counts+1, states+1, windows+1)
	}
}

// Compare continues when connections are lost: a comparison may take long, and the
// database cannot answer in place of Redis.
func TestCompareSurvivesLostConnections(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{})
	for i := range int64(20) {
		u := storage.User{Tenant: storage.DefaultTenant, UserID: strconv.FormatInt(i, 10)}
		see(t, s, u, movie)
		persist(t, db, s, storagetest.React(u, movie, storage.Like, i+1))
	}
	compared := make(chan error, 1)
	go func() {
		var err error
		for until := time.Now().Add(2 * time.Second); err == nil && time.Now().Before(until); {
			_, err = s.Compare(context.Background(), false, func(stale Mismatch) error { return fmt.Errorf("Compare found %+v, want no mismatch", stale) })
		}
		compared <- err
	}()
	killer, after := server.client(), int64(0)
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case err := <-compared:
			must.Succeed(t, err)
			tick.Stop()
			return
		case <-tick.C:
			done := commands(t, server)
			if done < after { // on a busy machine, no connection has made progress
				continue
			}
			after = done + 100
			must.Succeed(t, killer.Do(t.Context(), killer.B().Arbitrary("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Build()).Error())
		}
	}
}
