package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

func TestOwnActionIsSeenBeforeAndAfterItIsPersisted(t *testing.T) {
	t.Parallel()
	one, server, db := openNew(t, Options{})
	const guard = 2 * time.Second
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db), Guard: guard})
	wantLikes(t, "initially", see(t, other, alice, movie), 0, false)

	like := storagetest.React(alice, movie, storage.Like, 10)
	if _, where := getStates(t, one, alice, movie); where != storage.Persisted {
		t.Errorf("before any action: Get returned the durability %q, want %q", where, storage.Persisted)
	}
	must.Succeed(t, one.Apply(t.Context(), []storage.Action{like, storagetest.Collect(alice, movie, "weird folder, 100%:\n", 11)}, storage.Queued, nil))
	wantLikes(t, "after Apply", see(t, other, alice, movie), 1, true)
	wantLikes(t, "after Apply, to bob", see(t, other, bob, movie), 0, false)
	if got := see(t, other, alice, movie); got.CollectCount != 1 || got.Collected.FolderID != "weird folder, 100%:\n" {
		t.Errorf("after Apply: got %+v, collected %+v, want 1 collection, into %q", got.Counts, got.Collected, "weird folder, 100%:\n")
	}
	states, where := getStates(t, other, alice, movie)
	if states.Reaction.Version() != 10 || where != storage.Queued {
		t.Errorf("after Apply: Get returned version %d, %q, want 10, %q", states.Reaction.Version(), where, storage.Queued)
	}
	must.Succeed(t, other.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Dislike, 9)}, storage.Queued, nil))
	wantLikes(t, "after an older action", see(t, other, alice, movie), 1, true)

	persist(t, db, one, like)
	wantLikes(t, "persisted", see(t, other, alice, movie), 1, true)
	if _, where := getStates(t, other, alice, movie); where != storage.Queued {
		t.Errorf("with a queued collection: Get returned the durability %q, want %q", where, storage.Queued)
	}
	marked := time.Now()
	persist(t, db, one, storagetest.Collect(alice, movie, "gone", 11))
	if got := see(t, other, alice, movie); got.CollectCount != 1 || got.Collected.FolderID != storage.DefaultFolderID {
		t.Errorf("persisted: got %+v, collected %+v, want 1 collection, into %q", got.Counts, got.Collected, storage.DefaultFolderID)
	}
	if _, where := getStates(t, other, alice, movie); where != storage.Queued && time.Since(marked) < guard-time.Second { // ages are in whole seconds
		t.Errorf("just marked and perhaps not committed: Get returned the durability %q, want %q", where, storage.Queued)
	}
	await.That(t, "the entry is old enough to count as persisted", func() bool {
		_, where := getStates(t, other, alice, movie)
		return where == storage.Persisted
	})
	await.That(t, "the other node counts the like", func() bool { return see(t, other, bob, movie).LikeCount == 1 })
}

func TestStaleFillIsDropped(t *testing.T) {
	for _, tooMuch := range []bool{false, true} {
		t.Run(fmt.Sprintf("too much %v", tooMuch), func(t *testing.T) {
			server := startServer(t)
			db := &hooked{Database: openDatabase(t)}
			s := open(t, Options{URL: server.url(), Database: db, Window: 1})
			if tooMuch {
				persist(t, db, s, storagetest.React(alice, video("a"), storage.Like, 1), storagetest.React(alice, video("b"), storage.Like, 1))
				server.command("DEL", s.windowKey(mirror.WindowKey{User: alice, Biz: movie.Biz}))
			}
			// While the window is read from the database, a like is applied and
			// persisted.
			hook := func() {
				db.windows, db.states = nil, nil
				must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
				persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
			}
			db.windows = hook
			if tooMuch {
				db.windows, db.states = nil, hook
			}
			see(t, s, alice, movie) // may return the state before the like
			wantLikes(t, "after the fill", see(t, s, alice, movie), 1, true)
		})
	}
}

func TestFillDuringATransactionIsDropped(t *testing.T) {
	s, _, db := openNew(t, Options{})
	// Redis is empty when the transaction marks. A reader that arrives before the commit
	// finds the previous state in the database.
	outcome, err := db.Persist(t.Context(), message(storagetest.React(alice, movie, storage.Like, 10)), func(ctx context.Context, o storage.Outcome) error {
		must.Succeed(t, s.Mark(ctx, o))
		if got := see(t, s, alice, movie); got.Liked != nil { //nolint:contextcheck // the reader has a context of its own
			t.Errorf("before the commit: got %+v, want no like", got.Liked)
		}
		return nil
	})
	must.Succeed(t, err)
	must.Succeed(t, s.Publish(t.Context(), outcome))
	wantLikes(t, "after the commit", see(t, s, alice, movie), 1, true)
}

func TestFailedPersistLeavesNothing(t *testing.T) {
	s, _, db := openNew(t, Options{})
	wantLikes(t, "initially", see(t, s, alice, movie), 0, false)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := db.Persist(ctx, message(storagetest.React(alice, movie, storage.Like, 10)), func(ctx context.Context, o storage.Outcome) error {
		defer cancel() // the commit fails after the invalidation
		return s.invalidateFirst(nil)(ctx, o)
	})
	if err == nil {
		t.Fatal("Persist of a cancelled transaction: got no error")
	}
	wantLikes(t, "after the failure", see(t, s, alice, movie), 0, false)
	if states, where := getStates(t, s, alice, movie); states.Reaction.Version() != 0 || where != storage.Persisted {
		t.Errorf("after the failure: Get = %+v, %q, want no reaction, %q", states, where, storage.Persisted)
	}
}

// A direct writer's process may be killed after the commit, so that the counts are never
// published. The user who acted sees the action immediately, and other users see it when
// the old counts have expired.
func TestDirectWriterMayDieAfterItsCommit(t *testing.T) {
	t.Parallel()
	const guard = 3 * time.Second // longer than the steps take before the guard may expire
	s, server, db := openNew(t, Options{Guard: guard})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db), Guard: guard})
	persist(t, db, s, storagetest.React(bob, movie, storage.Like, 10))
	wantLikes(t, "initially", see(t, other, alice, movie), 1, false)
	persistUntold := func(a storage.Action) {
		_, err := db.Persist(t.Context(), message(a), func(ctx context.Context, o storage.Outcome) error {
			if err := s.invalidateFirst(nil)(ctx, o); err != nil {
				return err
			}
			see(t, other, alice, movie) //nolint:contextcheck // a reader that fills the window with the old state
			return nil
		})
		must.Succeed(t, err)
	}
	persistUntold(storagetest.React(alice, movie, storage.Like, 20))
	wantLikes(t, "to the user who liked it", see(t, other, alice, movie), 2, true)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 20)}, storage.Persisted, nil))
	wantLikes(t, "corrected", see(t, other, alice, movie), 2, true)
	if _, where := getStates(t, other, alice, movie); where != storage.Persisted {
		t.Errorf("Get returned the durability %q, want %q", where, storage.Persisted)
	}
	await.That(t, "bob sees both likes", func() bool { return see(t, other, bob, movie).LikeCount == 2 })
	wantLikes(t, "finally", see(t, other, alice, movie), 2, true)
}

func TestInvalidateKeepsQueuedEntries(t *testing.T) {
	s, _, db := openNew(t, Options{})
	like := storagetest.React(alice, movie, storage.Like, 10)
	see(t, s, alice, movie)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{like}, storage.Queued, nil))
	_, err := db.Persist(t.Context(), message(like), func(ctx context.Context, o storage.Outcome) error {
		must.Succeed(t, s.Mark(ctx, o))
		return errCrash
	})
	if err == nil {
		t.Fatal("Persist with a mark that fails: got no error")
	}
	// Another user's like then gives the counts the version that was marked.
	must.Succeed(t, s.Invalidate(t.Context(), []storage.Action{like}))
	persist(t, db, s, storagetest.React(bob, movie, storage.Like, 11))
	wantLikes(t, "after the crash", see(t, s, alice, movie), 2, true)
	if _, where := getStates(t, s, alice, movie); where != storage.Queued {
		t.Errorf("after the crash: Get returned the durability %q, want %q", where, storage.Queued)
	}
	persist(t, db, s, like)
	wantLikes(t, "finally", see(t, s, alice, movie), 2, true)
}

// If a worker has committed counts but not published them, a viewer may see the counts
// from the database. After that, no node shows that viewer older counts.
func TestSnapshotsAreWrittenToRedis(t *testing.T) {
	s, server, db := openNew(t, Options{})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	see(t, s, alice, movie)
	wantLikes(t, "initially", see(t, other, bob, movie), 0, false)
	like := storagetest.React(alice, movie, storage.Like, 10)
	_, err := db.Persist(t.Context(), message(like), s.Mark)
	must.Succeed(t, err)
	must.Succeed(t, s.Invalidate(t.Context(), []storage.Action{like}))
	wantLikes(t, "from the database", see(t, s, alice, movie), 1, true)
	inRedis, err := countsInRedis(t.Context(), s, movie)
	if err != nil || inRedis.LikeCount != 1 {
		t.Errorf("Redis holds %+v, %v, want 1 like", inRedis, err)
	}
	await.That(t, "the other node counts the like", func() bool { return see(t, other, bob, movie).LikeCount == 1 })
}

func TestCountsNeverGoBack(t *testing.T) {
	t.Parallel()
	s, server, db := openNew(t, Options{Prefix: "back"})
	const last = 300
	ctx, cancel := context.WithCancel(t.Context())
	var writers, readers sync.WaitGroup
	for n := range 3 {
		reader := open(t, Options{URL: server.url(), Database: openAgain(t, db), Prefix: "back"})
		readers.Go(func() {
			var seen int64
			for ctx.Err() == nil {
				got, err := reader.Interactives(ctx, storage.User{Tenant: movie.Tenant}, []storage.Subject{movie}, 0)
				if ctx.Err() != nil {
					return
				}
				if err == nil && got[0].Freshness != storage.Live && got[0].Version == 0 {
					continue // Redis was too slow, and the database, which lacks these counts, has answered
				}
				if err != nil || got[0].Version < seen || got[0].LikeCount != got[0].Version {
					t.Errorf("after version %d: got %+v, %v, want no older version, and as many likes as the version", seen, got, err)
					return
				}
				seen = got[0].Version
			}
		})
		writers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range int64(last) {
				v := max(1, i-random.Int64N(5))
				if err := s.Publish(context.Background(), storage.Outcome{Epoch: s.epochs.Current().Number, Counts: []storage.SubjectCounts{{Subject: movie, Counts: storage.Counts{LikeCount: v, Version: v}}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
	must.Succeed(t, s.Publish(t.Context(), storage.Outcome{Epoch: s.epochs.Current().Number, Counts: []storage.SubjectCounts{{Subject: movie, Counts: storage.Counts{LikeCount: 2, Version: 2}}}}))
	got, err := countsInRedis(t.Context(), s, movie)
	if err != nil || got.Version < last-10 {
		t.Errorf("final result: Redis holds %+v, %v, want at least version %d", got, err, last-10)
	}
}

func TestQueuedEntriesOutliveAReload(t *testing.T) {
	s, server, db := openNew(t, Options{})
	see(t, s, alice, movie)
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Dislike, 20)}, storage.Queued, nil))
	key := s.windowKey(mirror.WindowKey{User: alice, Biz: movie.Biz})
	server.command("HDEL", key, "~b")
	for range 2 {
		got := see(t, s, alice, movie)
		if got.LikeCount != 0 || got.DislikeCount != 1 || got.Liked == nil || got.Liked.Reaction != storage.Dislike {
			t.Errorf("after the reload: got %+v, want 0 likes, 1 dislike, alice's", got)
		}
	}
	if born, err := server.command("HEXISTS", key, "~b").AsInt64(); err != nil || born != 1 {
		t.Errorf("HEXISTS of the window's birth = %d, %v, want 1 after it was loaded", born, err)
	}
	if life, err := server.command("PTTL", key).AsInt64(); err != nil || time.Duration(life)*time.Millisecond < 24*time.Hour {
		t.Errorf("the queued entry expires in %d ms, %v, want at least 24 h", life, err)
	}
	persist(t, db, s, storagetest.React(alice, movie, storage.Dislike, 20))
	if life, err := server.command("PTTL", key).AsInt64(); err != nil || time.Duration(life)*time.Millisecond > 2*time.Hour {
		t.Errorf("the persisted entry expires in %d ms, %v, want at most 2 h", life, err)
	}
}

// If a worker dies between its marks and its commit, and its messages are not redelivered
// for minutes, the user still sees the marked states.
func TestMarkedOutlivesAReload(t *testing.T) {
	s, server, db := openNew(t, Options{})
	see(t, s, alice, movie)
	like := storagetest.React(alice, movie, storage.Like, 10)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{like}, storage.Queued, nil))
	dies := errors.New("it dies")
	_, err := db.Persist(t.Context(), message(like), func(ctx context.Context, outcome storage.Outcome) error {
		must.Succeed(t, s.Mark(ctx, outcome))
		return dies
	})
	if !errors.Is(err, dies) {
		t.Fatalf("Persist = %v, want %v", err, dies)
	}
	key := s.windowKey(mirror.WindowKey{User: alice, Biz: movie.Biz})
	entry := windowField(t, s, alice, movie)
	words := strings.Fields(entry)
	if words[1] != "m" {
		t.Fatalf("got the entry %q, want a marked one, with %q as its second word", entry, "m")
	}
	words[2] = "1" // touched long ago
	server.command("HSET", key, "smovie", strings.Join(words, " "))
	server.command("HDEL", key, "~b")
	wantLikes(t, "after the reload", see(t, s, alice, movie), 1, true)
	if born, err := server.command("HEXISTS", key, "~b").AsInt64(); err != nil || born != 1 {
		t.Errorf("HEXISTS of the window's birth = %d, %v, want 1 after it was loaded", born, err)
	}
	wantLikes(t, "once more", see(t, s, alice, movie), 1, true)
}

func TestWindowsAreBounded(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	const limit, all = 20, 100
	s := open(t, Options{URL: server.url(), Database: db, Window: limit})
	actions := make([]storage.Action, 0, all)
	subjects := make([]storage.Subject, 0, 2*all)
	for i := range all {
		subjects = append(subjects, video(strconv.Itoa(i)), video("not "+strconv.Itoa(i)))
		actions = append(actions, storagetest.React(alice, subjects[2*i], storage.Like, int64(i+1)))
	}
	see(t, s, alice, subjects[0]) // loads an empty, complete window
	persist(t, db, s, actions...)
	for round := range 3 {
		for from := 0; from < len(subjects); from += 10 {
			got, err := s.Interactives(t.Context(), alice, subjects[from:from+10], window.KindSet)
			must.Succeed(t, err)
			for i := range got {
				wantLikes(t, fmt.Sprintf("round %d, %s", round, got[i].BizID), got[i], int64((i+1)%2), i%2 == 0)
			}
		}
		key := s.windowKey(mirror.WindowKey{User: alice, Biz: "video"})
		if n, err := server.command("HLEN", key).AsInt64(); err != nil || n > limit+limit/4+5 {
			t.Errorf("round %d: the window has %d fields, %v, want at most %d", round, n, err, limit+limit/4+5)
		}
	}
}

func TestEveryKeyHasAnAge(t *testing.T) {
	s, server, db := openNew(t, Options{})
	for i := range int64(20) {
		u := storage.User{Tenant: storage.DefaultTenant, UserID: scripts.Text(i)}
		if i%2 == 0 {
			see(t, s, u, movie)
		}
		if i%3 == 0 {
			must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(u, movie, storage.Like, i+1)}, storage.Queued, nil))
		}
		if i%4 != 0 {
			persist(t, db, s, storagetest.React(u, movie, storage.Like, i+1))
		}
		getStates(t, s, u, video(scripts.Text(i)))
		see(t, s, storage.User{Tenant: storage.DefaultTenant}, video(scripts.Text(i)))
	}
	keys, err := server.command("KEYS", "*").AsStrSlice()
	must.Succeed(t, err)
	lives := map[int64]int{}
	for _, key := range keys {
		life, err := server.command("PTTL", key).AsInt64()
		if err != nil || life <= 0 {
			t.Errorf("%s expires in %d ms, %v, want a time to live", key, life, err)
		}
		lives[life/1000]++
	}
	for life, n := range lives {
		if n > len(keys)/4 && n > 3 {
			t.Errorf("%d of %d keys expire in the same second, after %d s, want at most a quarter", n, len(keys), life)
		}
	}
}

func TestLostScriptsAreSentAgain(t *testing.T) {
	s, server, _ := openNew(t, Options{})
	for i := range int64(5) {
		must.Succeed(t, server.command("SCRIPT", "FLUSH").Error())
		must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Reaction(i%2+1), i+1), storagetest.React(bob, movie, storage.Like, i+1)}, storage.Queued, nil))
		if got := see(t, s, alice, movie); got.Liked == nil || got.Liked.Version != i+1 {
			t.Errorf("after flush %d: got %+v, want a reaction of version %d", i, got.Liked, i+1)
		}
	}
}

// If a read of counts begins before this node shows newer counts, later callers do not
// use the result of that read.
func TestCountsReadLongAgoDoNotFollowNewerOnes(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	asked, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	slow := &hooked{Database: db, counts: func() {
		first.Do(func() {
			close(asked)
			<-goOn
		})
	}}
	reader, worker := open(t, Options{URL: server.url(), Database: slow}), open(t, Options{URL: server.url(), Database: db})
	persist(t, db, worker, storagetest.React(bob, movie, storage.Like, 1))
	server.command("DEL", worker.countsKey(movie))
	ask := func() (storage.Interactive, error) {
		got, err := reader.Interactives(t.Context(), storage.User{Tenant: movie.Tenant}, []storage.Subject{movie}, 0)
		if err != nil {
			return storage.Interactive{}, err
		}
		return got[0], nil
	}
	var readers errgroup.Group
	readers.Go(func() error { _, err := ask(); return err })
	<-asked
	persist(t, db, worker, storagetest.React(alice, movie, storage.Like, 2))
	cached := func() counts.Result {
		out, err := reader.counts.Cached(t.Context(), reader.epochs.Current().Keys, []storage.Subject{movie})
		must.Succeed(t, err)
		return out[0]
	}
	await.That(t, "the node shows both likes", func() bool { return cached().LikeCount == 2 })
	before := cached().Version
	server.command("DEL", worker.countsKey(movie))
	await.That(t, "the client cache is invalidated", func() bool { return !cached().Known })
	readers.Go(func() error {
		got, err := ask()
		if err == nil && got.Version < before {
			err = fmt.Errorf("got %+v after version %d, want no older one", got.Counts, before)
		}
		return err
	})
	time.Sleep(50 * time.Millisecond) // by now the second reader waits for the first; no event shows this
	close(goOn)
	must.Succeed(t, readers.Wait())
}

// Counts that Redis has lost are read from the database. A node does not return counts
// older than those that it has recently seen.
func TestCountsDoNotGoBackWhenRedisLosesThem(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	reader, worker := open(t, Options{URL: server.url(), Database: db}), open(t, Options{URL: server.url(), Database: db})
	persist(t, db, worker, storagetest.React(bob, movie, storage.Like, 1))
	server.command("DEL", worker.countsKey(movie))
	see(t, reader, alice, movie) // the node keeps the counts that it reads from the database for a while
	persist(t, db, worker, storagetest.React(alice, movie, storage.Like, 2))
	var before storage.Interactive
	await.That(t, "the node shows the second like", func() bool {
		before = see(t, reader, alice, movie)
		return before.Version > 1
	})
	server.command("DEL", worker.countsKey(movie))
	for over := time.Now().Add(300 * time.Millisecond); time.Now().Before(over); { // as long as the reader might return older counts
		if got := see(t, reader, alice, movie); got.Version < before.Version || got.LikeCount != 2 {
			t.Fatalf("got %+v after %+v, want 2 likes and no older version", got.Counts, before.Counts)
		}
	}
}
