package redis

import (
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

// Get touches an entry again once the entry is old enough, since a fill must not replace
// an entry that an action relies on.
func TestGetKeepsAlive(t *testing.T) {
	s, server, _ := openNew(t, Options{})
	see(t, s, alice, movie) // loads the window
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	key := s.epochs.Active().Keys.Window(mirror.WindowKey{User: alice, Biz: movie.Biz})
	name := window.Field(movie.BizID)
	for age, renewed := range map[time.Duration]bool{2 * time.Second: false, 30 * time.Second: true} {
		words := strings.Fields(windowField(t, s, alice, movie))
		words[2] = scripts.Text(time.Now().Add(-age).Unix())
		must.Succeed(t, server.command("HSET", key, name, strings.Join(words, " ")).Error())
		states, where, err := s.Get(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, storage.KindsOf(storage.KindReaction))
		must.Succeed(t, err)
		if states[0].Liked == nil || where != storage.Queued {
			t.Errorf("of an entry %v old: Get = %+v, %q, want a like, %q", age, states[0], where, storage.Queued)
		}
		if got := strings.Fields(windowField(t, s, alice, movie))[2] != words[2]; got != renewed {
			t.Errorf("an entry %v old was renewed: %v, want %v", age, got, renewed)
		}
	}
}
