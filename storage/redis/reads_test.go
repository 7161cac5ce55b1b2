package redis

import (
	"testing"
	"time"

	"ovation/storage"
)

// readNow is a read now: reads are pending for a while from their time on.
func readNow(u storage.User, s storage.Subject, times int64) storage.Action {
	now := storage.Micros(time.Now())
	return storage.Action{User: u, Subject: s, Kind: storage.KindRead, Times: times, First: now, Version: now}
}

func TestOwnReadIsSeenBeforeAndAfterItIsPersisted(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	one := open(t, Options{URL: server.url(), Database: db})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	odd := video("odd id: 100%")
	anonymous := storage.User{Tenant: movie.Tenant}
	wants := func(what string, subject storage.Subject, times int64) {
		t.Helper()
		got := see(t, other, alice, subject)
		if got.ReadCount != times || (got.Read == nil) != (times == 0) || got.Freshness != storage.Live {
			t.Errorf("%s: %d reads, %+v, %s; want %d", what, got.ReadCount, got.Read, got.Freshness, times)
		}
		if got.Read != nil && got.Read.Times != times {
			t.Errorf("%s: read %d times, want %d", what, got.Read.Times, times)
		}
	}
	for _, subject := range []storage.Subject{movie, odd} {
		wants("at first", subject, 0)
		first := readNow(alice, subject, 1)
		for range 2 { // showing it twice counts once
			must(t, one.Show(t.Context(), []storage.Action{first, react(alice, subject, storage.Like, 10)}, storage.Queued))
		}
		wants("shown", subject, 1)
		second := readNow(alice, subject, 2)
		must(t, one.Show(t.Context(), []storage.Action{second, readNow(anonymous, subject, 1)}, storage.Queued))
		wants("shown again", subject, 3)
		if got := see(t, other, alice, subject); got.LikeCount != 1 || got.Liked == nil {
			t.Errorf("with a like: %+v", got)
		}
		persist(t, db, one, first, react(alice, subject, storage.Like, 10))
		wants("the first is persisted", subject, 3)
		persist(t, db, one, second)
		wants("all are persisted", subject, 3)
		eventually(t, "others see them", func() bool { return see(t, other, bob, subject).ReadCount == 3 })
		if got := see(t, other, bob, subject); got.Read != nil {
			t.Errorf("another has read: %+v", got.Read)
		}
	}
	must(t, server.command("HSET", one.windowKey(storage.WindowKey{User: alice, Biz: movie.Biz}), "~r", "x :: movie:y:z").Error())
	wants("among nonsense", movie, 3)
	// Nobody's reads grow without bounds.
	many := make([]storage.Action, 3*maxReads)
	for i := range many {
		many[i] = readNow(bob, movie, 1)
		many[i].Version += int64(i)
	}
	must(t, one.Show(t.Context(), many, storage.Queued))
	if got := see(t, other, bob, movie); got.Read == nil || got.Read.Times != maxReads {
		t.Errorf("many: %+v", got.Read)
	}
}

func TestPendingReadsEnd(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db, Doubt: short})
	must(t, s.Show(t.Context(), []storage.Action{readNow(alice, movie, 1)}, storage.Queued))
	eventually(t, "it ends", func() bool { return see(t, s, alice, movie).Read == nil })
}
