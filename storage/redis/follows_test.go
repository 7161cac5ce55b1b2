package redis

import (
	"fmt"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

// windowField returns the value of the field for a subject in a user's window.
func windowField(t *testing.T, s *Store, u storage.User, of storage.Subject) string {
	t.Helper()
	key := s.windowKey(mirror.WindowKey{User: u, Biz: of.Biz})
	value, err := s.client.Do(t.Context(), s.client.B().Hget().Key(key).Field(window.Field(of.BizID)).Build()).ToString()
	must.Succeed(t, err)
	return value
}

// A follow is immediately visible on every node. It is counted exactly once, both while
// it is queued and after it is persisted.
func TestFollowsAreShownAndCountedOnce(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s, other := open(t, Options{URL: server.url(), Database: db}), open(t, Options{URL: server.url(), Database: db})
	star := bob.Subject()
	want := func(what string, u storage.User, followers int64, followed bool) {
		t.Helper()
		for _, node := range []*Store{s, other} {
			got := see(t, node, u, star)
			if got.FollowerCount != followers || (got.Followed != nil) != followed || got.Freshness != storage.Live {
				t.Errorf("%s: got %+v, want %d followers, followed %t, %s", what, got, followers, followed, storage.Live)
			}
		}
	}
	want("initially", alice, 0, false)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{follow(alice, star, 10)}, storage.Queued, nil))
	want("queued", alice, 1, true)
	persist(t, db, s, follow(alice, star, 10), storagetest.React(alice, star, storage.Like, 10))
	want("persisted", alice, 1, true)
	must.Succeed(t, other.Apply(t.Context(), []storage.Action{unfollow(alice, star, 20)}, storage.Queued, nil))
	want("unfollowed", alice, 0, false)
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{follow(alice, star, 15)}, storage.Queued, nil)) // arrives late
	want("an older follow", alice, 0, false)
	persist(t, db, s, unfollow(alice, star, 20), follow(alice, star, 15))
	want("persisted again", alice, 0, false)
	if got := see(t, s, alice, star); got.LikeCount != 1 || got.Liked == nil {
		t.Errorf("after the unfollow: got %+v, want still 1 like, alice's", got)
	}
	if states, _ := getStates(t, other, alice, star); states.FollowVersion != 20 || states.Followed != nil {
		t.Errorf("Get = %+v, want not followed, as of version 20", states)
	}
}

// If a user follows nothing, the entry for the follow takes no space in the fields of a
// complete window, and only two characters in each field of an incomplete window.
func TestFieldWithoutFollowIsNotLonger(t *testing.T) {
	s, _, db := openNew(t, Options{Window: 5})
	see(t, s, alice, movie)
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	if value := windowField(t, s, alice, movie); strings.Count(value, ";") != 1 || !strings.HasSuffix(value, ";") {
		t.Errorf("in a complete window: got the field %q, want one semicolon, at the end", value)
	}
	for i := range 10 { // more than a window holds
		_, err := db.Persist(t.Context(), message(storagetest.React(bob, video(fmt.Sprint(i)), storage.Like, 10)), nil)
		must.Succeed(t, err)
	}
	see(t, s, bob, movie)
	if value := windowField(t, s, bob, movie); !strings.HasSuffix(value, " 0:0;0") {
		t.Errorf("in an incomplete window: got the field %q, want it to end in %q", value, " 0:0;0")
	}
	before := see(t, s, bob, movie)
	states, _ := getStates(t, s, bob, movie) // Get renews the entries that it reads
	if states.Followed != nil || before.Followed != nil || before.Freshness != storage.Live {
		t.Errorf("got %+v, and Get = %+v, want neither followed, %s", before, states, storage.Live)
	}
	if value := windowField(t, s, bob, movie); !strings.HasSuffix(value, ";0") {
		t.Errorf("after Get has renewed it: got the field %q, want it to end in %q", value, ";0")
	}
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{follow(bob, movie, 20)}, storage.Queued, nil))
	if got := see(t, s, bob, movie); got.FollowerCount != 1 || got.Followed == nil || got.Freshness != storage.Live {
		t.Errorf("after a follow: got %+v, want 1 follower, bob, %s", got, storage.Live)
	}
}
