package redis

import (
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// A read is visible once it is persisted: to its user in the field Read, and to everyone
// in ReadCount.
func TestReadIsSeenOnceItIsPersisted(t *testing.T) {
	one, server, db := openNew(t, Options{})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	wants := func(what string, s *Store, times int64) bool {
		got := see(t, s, alice, movie)
		states, err := s.States(t.Context(), []storage.StateKey{{User: alice, Subject: movie}}, storage.KindsOf(storage.KindRead))
		must.Succeed(t, err)
		own, state := int64(0), int64(0)
		if got.Read != nil {
			own = got.Read.Times
		}
		if states[0].Read != nil {
			state = states[0].Read.Times
		}
		if own != times || state != times || got.Freshness != storage.Live {
			t.Errorf("%s: got the read %+v, the state %+v, %s, want %d times in both, %s", what, got.Read, states[0].Read, got.Freshness, times, storage.Live)
		}
		return got.ReadCount == times
	}
	for _, s := range []*Store{one, other} {
		if !wants("initially", s, 0) {
			t.Error("initially: the number of reads is not 0")
		}
	}
	first, second := read(alice, movie, 1), read(alice, movie, 2)
	must.Succeed(t, one.Apply(t.Context(), []storage.Action{first, storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	wants("queued", other, 0)
	persist(t, db, one, first)
	_, err := one.Persist(t.Context(), message(second), nil)
	must.Succeed(t, err)
	for _, s := range []*Store{one, other} {
		await.That(t, "the node counts 3 reads", func() bool { return wants("persisted", s, 3) })
		wantLikes(t, "with a queued like", see(t, s, alice, movie), 1, true)
	}
}
