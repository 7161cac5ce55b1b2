package redis

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/storagetest"
)

// A reverted action no longer determines the user's state. Reverting an action does not
// affect a later action.
func TestRevertedActionIsRemoved(t *testing.T) {
	s, _, db := openNew(t, Options{})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	dislike := storagetest.React(alice, movie, storage.Dislike, 20)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{dislike}, storage.Queued, nil))
	if got := see(t, s, alice, movie); got.DislikeCount != 1 {
		t.Errorf("before the revert: got %+v, want 1 dislike", got)
	}

	must.Succeed(t, s.Revert(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Dislike, 19)}))
	if got := see(t, s, alice, movie); got.DislikeCount != 1 {
		t.Errorf("after an older action was reverted: got %+v, want still 1 dislike", got)
	}
	must.Succeed(t, s.Revert(t.Context(), []storage.Action{dislike}))
	wantLikes(t, "after the revert", see(t, s, alice, movie), 1, true)
	states, where := getStates(t, s, alice, movie)
	if states.Reaction.Version() != 10 || where != storage.Persisted {
		t.Errorf("after the revert: Get = %+v, %q, want version 10, %q", states, where, storage.Persisted)
	}
}

// An action that could not be applied can be reverted as well. It is then no longer
// overlaid.
func TestRevertedActionIsNotOverlaid(t *testing.T) {
	s, server, db := openNew(t, Options{})
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	server.kill()
	cleared := storagetest.React(alice, movie, storage.NoReaction, 20)
	_ = s.Apply(t.Context(), []storage.Action{cleared}, storage.Queued, nil)
	if got := see(t, s, alice, movie); got.LikeCount != 0 {
		t.Errorf("before the revert: got %+v, want 0 likes", got)
	}
	_ = s.Revert(t.Context(), []storage.Action{cleared})
	if got := see(t, s, alice, movie); got.LikeCount != 1 || got.Liked == nil {
		t.Errorf("after the revert: got %+v, want 1 like, alice's", got)
	}
}

// If a commit outlasts the guard, a window may be filled before the commit and lack the
// committed changes. Publish then invalidates the changed entries.
func TestCommitThatOutlastsTheGuard(t *testing.T) {
	for what, markOf := range map[string]func(*Store) storage.Mark{
		"a worker":                func(s *Store) storage.Mark { return s.Mark },
		"somebody past the queue": func(s *Store) storage.Mark { return s.invalidateFirst(nil) },
	} {
		t.Run(what, func(t *testing.T) {
			s, server, db := openNew(t, Options{Guard: 50 * time.Millisecond})
			fill := func() {
				await.That(t, "the window is filled from before the commit", func() bool {
					wantLikes(t, "before the commit", see(t, s, alice, movie), 0, false)
					return server.text("HGET", s.windowKey(mirror.WindowKey{User: alice, Biz: movie.Biz}), "~f") == "1"
				})
			}
			outcome, err := db.Persist(t.Context(), message(storagetest.React(alice, movie, storage.Like, 10)), func(ctx context.Context, outcome storage.Outcome) error {
				must.Succeed(t, markOf(s)(ctx, outcome))
				fill()
				return nil
			})
			must.Succeed(t, err)
			outcome.At = outcome.At.Add(-counts.MaxWriteDelay) // as if the commit had taken that long
			must.Succeed(t, s.Publish(t.Context(), outcome))
			wantLikes(t, "after the commit", see(t, s, alice, movie), 1, true)
		})
	}
}

// Redis may evict the only key that shows an action. Evictions therefore make replies
// STALE, unless the policy evicts windows with queued entries last.
func TestOnlyUnsafeEvictionMakesRepliesStale(t *testing.T) {
	t.Parallel()
	for policy, doubtful := range map[string]bool{"allkeys-lru": true, epochs.RecommendedEviction: false} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			server, db, log := startServer(t), openDatabase(t), new(logBuffer)
			s := open(t, Options{
				URL: server.url(), Database: db, Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			first := s.epochs.Current()
			persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
			used, err := strconv.Atoi(epochs.InfoField(server.text("INFO", "memory"), "used_memory"))
			must.Succeed(t, err)
			must.Succeed(t, server.command("CONFIG", "SET", "maxmemory", strconv.Itoa(used+16<<20), "maxmemory-policy", policy).Error())
			big, client := strings.Repeat("x", 256<<10), server.client()
			for i := range 100 {
				must.Succeed(t, client.Do(t.Context(), client.B().Set().Key("other"+scripts.Text(int64(i))).Value(big).Px(time.Minute).Build()).Error())
			}
			after := time.Now()
			await.That(t, "Redis is polled", func() bool { return s.epochs.Current().LeasedAt.After(after) })
			_, where := getStates(t, s, alice, movie)
			got := see(t, s, alice, movie)
			if (where == "") != doubtful || (got.Freshness == storage.Stale) != doubtful || got.LikeCount != 1 {
				t.Errorf("got %+v, durability %q, want 1 like; %s and without durability: %t", got, where, storage.Stale, doubtful)
			}
			if lines := log.linesWith("Redis evicts"); len(lines) != 1 && doubtful || len(lines) != 0 && !doubtful {
				t.Errorf("got the log lines %q, want one: %t", lines, doubtful)
			}
			must.Succeed(t, server.command("CONFIG", "SET", "maxmemory", "0").Error())
			later := open(t, Options{URL: server.url(), Database: openAgain(t, db)}) // has noticed no eviction
			if got := see(t, later, alice, movie); (got.Freshness == storage.Stale) != doubtful {
				t.Errorf("from a process that starts later: got %+v, want %s: %t", got, storage.Stale, doubtful)
			}
			if now := s.epochs.Current(); (now.Barrier > first.Barrier) != doubtful { // the sentinel may be evicted, too
				t.Errorf("got barrier %d after %d, want a later one: %t", now.Barrier, first.Barrier, doubtful)
			}
			for _, store := range []*Store{s, later} {
				awaitLive(t, store)
				if now := store.epochs.Current(); !now.Drained {
					t.Errorf("got a reply that is LIVE, want none before barrier %d is passed", now.Barrier)
				}
			}
		})
	}
}
