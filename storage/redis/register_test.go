package redis

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

func clearIf(u storage.User, s storage.Subject, r storage.Reaction, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, If: r, Version: version}
}

// The scripts, the overlay and the database merge reactions in the same way. Actions may
// be applied, marked, overlaid and invalidated, and windows may be filled, in any order.
// The result is always the same as if the actions were applied in the order of their
// versions.
func TestReactionsMergeInAnyOrder(t *testing.T) {
	db := openDatabase(t)
	m := &merging{TB: t, db: db, s: open(t, Options{URL: startServer(t).url(), Database: db})}
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			m.user()
			if rapid.Bool().Draw(t, "loaded") {
				getStates(m, m.s, m.viewer, movie)
			}
			ways := rapid.SampledFrom([][]string{
				{"show"}, {"show", "lay over"}, {"show", "persist"}, {"show", "persist", "persist directly", "lay over"},
			}).Draw(t, "ways")
			for _, v := range rapid.Permutation([]int64{10, 20, 30, 40, 50}).Draw(t, "versions") {
				m.act(t, anyReaction(t, m.viewer, v), rapid.SampledFrom(ways).Draw(t, "way"))
			}
		}
	})
}

// merging holds a store and the reaction that it must show for the current user.
type merging struct {
	testing.TB

	db     mirror.Database
	s      *Store
	users  int
	viewer storage.User
	want   storage.Register
}

// user switches to a new user, who has no reaction.
func (m *merging) user() {
	m.users++
	m.viewer, m.want = storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint("user", m.users)}, storage.Register{}
}

func anyReaction(t *rapid.T, u storage.User, version int64) storage.Action {
	return rapid.SampledFrom([]storage.Action{
		storagetest.React(u, movie, storage.Like, version), storagetest.React(u, movie, storage.Dislike, version), storagetest.React(u, movie, storage.NoReaction, version),
		clearIf(u, movie, storage.Like, version), clearIf(u, movie, storage.Dislike, version),
	}).Draw(t, "action")
}

func (m *merging) act(t *rapid.T, a storage.Action, way string) {
	ctx, actions := context.Background(), []storage.Action{a}
	m.want = m.want.Join(storage.RegisterOf(&a))
	switch way {
	case "show":
		must.Succeed(m, m.s.Apply(ctx, actions, storage.Queued, nil))
		if rapid.Bool().Draw(t, "again") {
			must.Succeed(m, m.s.Apply(ctx, actions, storage.Queued, nil))
		}
	case "persist":
		persist(m, m.db, m.s, a)
	case "persist directly":
		_, err := m.s.Persist(ctx, message(a), nil)
		must.Succeed(m, err)
		must.Succeed(m, m.s.Apply(ctx, actions, storage.Persisted, nil))
	case "lay over":
		m.s.pending.Add(actions, 0)
	}
	if rapid.IntRange(0, 4).Draw(t, "forget") == 0 {
		must.Succeed(m, m.s.Invalidate(ctx, actions))
	}
	if states, _ := getStates(m, m.s, m.viewer, movie); states.Reaction != m.want {
		t.Fatalf("after %s of %+v: got the reaction %+v, want %+v", way, a, states.Reaction, m.want)
	}
	key := storage.StateKey{User: m.viewer, Subject: movie}
	if got, want := see(m, m.s, m.viewer, movie).Liked, m.want.Liked(key); !reflect.DeepEqual(got, want) {
		t.Fatalf("after %s of %+v the viewer sees %+v, want %+v", way, a, got, want)
	}
}

// While Redis is unavailable, or may lack actions, clearing a like leaves a dislike
// unchanged, and the viewer still sees the dislike.
func TestClearsAreConditionalWithoutRedis(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(server *server, db *hooked){
		"Redis is down":              func(server *server, _ *hooked) { server.kill() },
		"Redis was lost":             func(server *server, _ *hooked) { server.command("FLUSHALL") },
		"the epoch cannot be read":   func(_ *server, db *hooked) { f := unreadable; db.fail.Store(&f) },
		"Redis is down and was lost": func(server *server, _ *hooked) { server.command("FLUSHALL"); server.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, db := startServer(t), &hooked{Database: openDatabase(t)}
			s := open(t, Options{URL: server.url(), Database: db})
			getStates(t, s, alice, movie) // so that Redis holds the window
			persist(t, db.Database, s, storagetest.React(alice, movie, storage.Dislike, 10))
			if got := see(t, s, alice, movie); got.Liked == nil {
				t.Fatalf("before the failure: got %+v, want a dislike", got)
			}
			fails(server, db)
			await.That(t, "the state is not known", func() bool {
				_, where, err := s.Get(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, window.KindSet)
				return where == "" && (err == nil || errors.Is(err, storage.ErrUnavailable))
			})
			unlike := clearIf(alice, movie, storage.Like, 20)
			_ = s.Apply(t.Context(), []storage.Action{unlike}, storage.Queued, nil)
			if got := see(t, s, alice, movie); got.Liked == nil || got.Liked.Reaction != storage.Dislike || got.Liked.Version != 10 || got.DislikeCount != 1 {
				t.Errorf("after the unlike: got %+v of %+v, want still the dislike of version 10, and 1 dislike", got.Liked, got)
			}
			undislike := clearIf(alice, movie, storage.Dislike, 30)
			_ = s.Apply(t.Context(), []storage.Action{undislike}, storage.Queued, nil)
			if got := see(t, s, alice, movie); got.Liked != nil {
				t.Errorf("after the undislike: got %+v, want no reaction", got.Liked)
			}
			_ = s.Revert(t.Context(), []storage.Action{undislike}) // it could not be persisted
		})
	}
}

var unreadable = func(context.Context) error { return storage.ErrUnavailable }

// If an incomplete window lacks the state that a clear applies to, the state is read from
// the database, and the clear is applied to it.
func TestClearOfAnEntryMissingFromTheWindow(t *testing.T) {
	db := openDatabase(t)
	_, err := db.Persist(t.Context(), message(
		storagetest.React(alice, movie, storage.Dislike, 10), storagetest.React(alice, video("a"), storage.Like, 10), storagetest.React(alice, video("b"), storage.Like, 10)), nil)
	must.Succeed(t, err)
	s := open(t, Options{URL: startServer(t).url(), Database: db, Window: 2})
	getStates(t, s, alice, video("c"))
	for _, c := range []struct {
		clears, leaves storage.Reaction
		version        int64
	}{{storage.Like, storage.Dislike, 20}, {storage.Dislike, storage.NoReaction, 30}} {
		must.Succeed(t, s.Apply(t.Context(), []storage.Action{clearIf(alice, movie, c.clears, c.version)}, storage.Queued, nil))
		states, _, err := s.Get(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, storage.KindsOf(storage.KindReaction))
		must.Succeed(t, err)
		if got := states[0].Reaction; got.Value != c.leaves || got.Version() != c.version {
			t.Errorf("a clear of %d leaves %+v, want %d of version %d", c.clears, got, c.leaves, c.version)
		}
		if got := see(t, s, alice, movie); (got.Liked != nil) != (c.leaves != storage.NoReaction) || got.DislikeCount != int64(c.leaves/storage.Dislike) {
			t.Errorf("after a clear of %d: got %+v, want the reaction %d and its count", c.clears, got, c.leaves)
		}
	}
}

// A clear can be reverted while a later clear is queued: the reaction that the reverted
// clear removed is visible again.
func TestRevertedClearIsRemoved(t *testing.T) {
	s, _, db := openNew(t, Options{})
	persist(t, db, s, storagetest.React(alice, movie, storage.Dislike, 10))
	undislike, unlike := clearIf(alice, movie, storage.Dislike, 20), clearIf(alice, movie, storage.Like, 30)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{undislike, unlike}, storage.Queued, nil))
	if states, _ := getStates(t, s, alice, movie); states.Liked != nil || states.Reaction.Version() != 30 {
		t.Fatalf("before the revert: Get = %+v, want no reaction, as of version 30", states)
	}
	must.Succeed(t, s.Revert(t.Context(), []storage.Action{undislike}))
	if states, _ := getStates(t, s, alice, movie); states.Liked == nil || states.Liked.Reaction != storage.Dislike {
		t.Errorf("after the revert: Get = %+v, want a dislike", states)
	}
}
