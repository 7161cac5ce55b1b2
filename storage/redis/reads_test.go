package redis

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ovation/storage"
)

var lastRead atomic.Int64

// readNow is a read now, and no other is of the same microsecond: what was sent
// before the epoch began is not shown.
func readNow(u storage.User, s storage.Subject, times int64) storage.Action {
	last := lastRead.Load()
	now := max(last+1, storage.Micros(time.Now()))
	if !lastRead.CompareAndSwap(last, now) {
		return readNow(u, s, times)
	}
	return storage.Action{User: u, Subject: s, Kind: storage.KindRead, Times: times, First: now, Version: now}
}

// wantReads compares what a viewer sees with how often that one has read.
func wantReads(tb testing.TB, what string, got storage.Interactive, times int64) {
	tb.Helper()
	own := int64(0)
	if got.Read != nil {
		own = got.Read.Times
	}
	if got.ReadCount != times || own != times || (got.Read == nil) != (times == 0) || got.Freshness != storage.Live {
		tb.Errorf("%s: %d reads, %+v, %s; want %d", what, got.ReadCount, got.Read, got.Freshness, times)
	}
}

func TestOwnReadIsSeenBeforeAndAfterItIsPersisted(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	one := open(t, Options{URL: server.url(), Database: db})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	odd := video("odd id: 100%")
	anonymous := storage.User{Tenant: movie.Tenant}
	for _, subject := range []storage.Subject{movie, odd} {
		wants := func(what string, times int64) {
			t.Helper()
			wantReads(t, what, see(t, other, alice, subject), times)
			states, err := other.States(t.Context(), []storage.StateKey{{User: alice, Subject: subject}}, storage.KindsOf(storage.KindRead))
			must(t, err)
			if read := states[0].Read; (read == nil) != (times == 0) || read != nil && read.Times != times {
				t.Errorf("%s: the state is %+v, want %d", what, read, times)
			}
		}
		wants("at first", 0)
		first := readNow(alice, subject, 1)
		for range 2 { // showing it twice counts once
			must(t, one.Show(t.Context(), []storage.Action{first, react(alice, subject, storage.Like, 10)}, storage.Queued))
		}
		wants("shown", 1)
		second := readNow(alice, subject, 2)
		must(t, one.Show(t.Context(), []storage.Action{second, readNow(anonymous, subject, 1)}, storage.Queued))
		wants("shown again", 3)
		if got := see(t, other, alice, subject); got.LikeCount != 1 || got.Liked == nil {
			t.Errorf("with a like: %+v", got)
		}
		persist(t, db, one, second, react(alice, subject, storage.Like, 10))
		wants("the second is persisted", 3)
		persist(t, db, one, first)
		wants("all are persisted", 3)
		eventually(t, "others see them", func() bool { return see(t, other, bob, subject).ReadCount == 3 })
		if got := see(t, other, bob, subject); got.Read != nil {
			t.Errorf("another has read: %+v", got.Read)
		}
		early := readNow(alice, subject, 4)
		persist(t, db, one, early)
		must(t, one.Show(t.Context(), []storage.Action{early}, storage.Queued))
		wants("persisted before it is shown", 7)
	}
	must(t, server.command("HSET", one.windowKey(storage.WindowKey{User: alice, Biz: movie.Biz}), "~w", "x :: movie:y:z movie:1:2:3:y:x 0 0 0").Error())
	wantReads(t, "among nonsense", see(t, other, alice, movie), 7)
}

// What is pending costs no question to the database.
func TestPendingReadsAskNobody(t *testing.T) {
	db := &hooked{Store: openDatabase(t)}
	s := open(t, Options{URL: startServer(t).url(), Database: db})
	see(t, s, alice, movie) // the window is loaded
	persist(t, db, s, react(alice, movie, storage.Like, 10))
	persisted := readNow(alice, movie, 2)
	must(t, s.Show(t.Context(), []storage.Action{readNow(alice, movie, 1), persisted}, storage.Queued))
	persist(t, db, s, persisted)
	db.reads.Store(0)
	for range 10 {
		got, err := s.Interactives(t.Context(), alice, []storage.Subject{movie}, windowStates)
		must(t, err)
		if got[0].ReadCount != 3 || got[0].Freshness != storage.Live {
			t.Errorf("%+v", got)
		}
	}
	if n := db.reads.Load(); n > 0 {
		t.Errorf("the database was asked %d times", n)
	}
}

// words are those that Redis keeps of alice, but for the numbers before them.
func words(tb testing.TB, server *server, s *Store) []string {
	tb.Helper()
	value, err := server.command("HGET", s.windowKey(storage.WindowKey{User: alice, Biz: movie.Biz}), "~w").ToString()
	must(tb, err)
	return strings.Fields(value)[4:]
}

// Nobody's reads grow without bounds: those that counts include go first. Where
// others have gone, the answers are not LIVE, until they are persisted.
func TestReadsAreBounded(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db, Doubt: 5 * time.Second})
	many := make([]storage.Action, 3*maxReads)
	for i := range many {
		many[i] = readNow(alice, movie, 1)
	}
	persisted, shown := many[:maxReads], many[maxReads:]
	must(t, s.Show(t.Context(), persisted, storage.Queued))
	wantReads(t, "all are shown", see(t, s, alice, movie), maxReads)
	persist(t, db, s, persisted...)
	must(t, s.Show(t.Context(), shown[:maxReads], storage.Queued))
	wantReads(t, "the others are", see(t, s, alice, movie), 2*maxReads)
	must(t, s.Show(t.Context(), persisted, storage.Queued))
	wantReads(t, "what is persisted is not shown again", see(t, s, alice, movie), 2*maxReads)
	must(t, s.Show(t.Context(), shown[maxReads:], storage.Queued))
	if got := see(t, s, alice, movie); got.ReadCount != 2*maxReads || got.Freshness != storage.Stale {
		t.Errorf("without those that have gone: %+v", got)
	}
	for i := range shown[maxReads:] { // one by one they are as many
		must(t, s.Show(t.Context(), shown[maxReads+i:][:1], storage.Queued))
		if n := len(words(t, server, s)); n < maxReads || n > maxReads*5/4 {
			t.Fatalf("%d are kept", n)
		}
	}
	persist(t, db, s, shown...)
	live(t, s)
	wantReads(t, "all are persisted", see(t, s, alice, movie), 3*maxReads)
	if n := len(words(t, server, s)); n > maxReads*5/4 {
		t.Errorf("%d are kept", n)
	}
}

// A read stays until it is persisted, and for a while after.
func TestReadsStayUntilTheyArePersisted(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db, Doubt: time.Second, Life: time.Second})
	kept, gone := readNow(alice, movie, 1), readNow(alice, movie, 2)
	gone.Version++
	must(t, s.Show(t.Context(), []storage.Action{kept, gone}, storage.Queued))
	persist(t, db, s, gone)
	later := readNow(alice, video("later"), 1)
	eventually(t, "what the counts include has gone", func() bool {
		must(t, s.Show(t.Context(), []storage.Action{later}, storage.Queued))
		return len(words(t, server, s)) == 2
	})
	must(t, s.Show(t.Context(), []storage.Action{gone}, storage.Queued))
	wantReads(t, "long after", see(t, s, alice, movie), 3)
}

// What a transaction has marked that may have been rolled back is not known.
// The database tells.
func TestForgottenReadsAreLookedUp(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db})
	a := readNow(alice, movie, 2)
	must(t, s.Show(t.Context(), []storage.Action{a}, storage.Queued))
	batch := []storage.Message{{ID: "batch", Actions: []storage.Action{a}}}
	failed, err := db.Persist(t.Context(), batch, s.Mark)
	must(t, err)
	must(t, s.Forget(t.Context(), batch[0].Actions))
	wantReads(t, "it was persisted, and not published", see(t, s, alice, movie), 2)
	must(t, s.Publish(t.Context(), failed))
	wantReads(t, "published", see(t, s, alice, movie), 2)
	again, err := db.Persist(t.Context(), batch, s.Mark)
	must(t, err)
	if again.Skipped != 1 {
		t.Fatalf("not skipped: %+v", again)
	}
	wantReads(t, "skipped", see(t, s, alice, movie), 2)
	if left := words(t, server, s); len(left) != 1 || !strings.Contains(left[0], ":1:1:") {
		t.Errorf("what is known is %q", left)
	}

	// Another commits the version that was marked.
	b := readNow(alice, movie, 4)
	must(t, s.Show(t.Context(), []storage.Action{b}, storage.Queued))
	rolledBack := storage.Outcome{
		Epoch: failed.Epoch, Reads: []storage.Action{b},
		Counts: []storage.SubjectCounts{{Subject: movie, Counts: storage.Counts{Version: 2}}},
	}
	must(t, s.Mark(t.Context(), rolledBack))
	must(t, s.Forget(t.Context(), []storage.Action{b}))
	persist(t, db, s, react(bob, movie, storage.Like, 10))
	wantReads(t, "it was rolled back", see(t, s, alice, movie), 6)
	persist(t, db, s, b)
	wantReads(t, "it is persisted", see(t, s, alice, movie), 6)

	// Somebody else's overtakes: the database cannot tell, and the answer says so.
	c, d := readNow(alice, movie, 8), readNow(alice, movie, 16)
	c.Version, d.Version = c.Version+1, d.Version+2
	must(t, s.Show(t.Context(), []storage.Action{c, d}, storage.Queued))
	persist(t, db, s, d)
	rolledBack.Reads, rolledBack.Counts[0].Version = []storage.Action{c}, 5
	must(t, s.Mark(t.Context(), rolledBack))
	must(t, s.Forget(t.Context(), []storage.Action{c}))
	wantReads(t, "counts older than the mark", see(t, s, alice, movie), 30)
	persist(t, db, s, react(bob, movie, storage.Dislike, 20))
	if got := see(t, s, alice, movie); got.Freshness != storage.Stale {
		t.Errorf("not known: %+v", got)
	}
	persist(t, db, s, c)
	wantReads(t, "known again", see(t, s, alice, movie), 30)
}

// Reads that Redis could not be told of are laid over what this process says.
func TestUnshownReadsAreLaidOver(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db, RedisTimeout: short})
	persist(t, db, s, readNow(alice, movie, 1))
	server.hang()
	a := readNow(alice, movie, 2)
	if s.Show(t.Context(), []storage.Action{a, readNow(storage.User{Tenant: movie.Tenant}, movie, 1)}, storage.Queued) == nil {
		t.Error("shown")
	}
	for range 2 {
		got := see(t, s, alice, movie)
		if got.ReadCount != 3 || got.Read == nil || got.Read.Times != 3 || got.Freshness != storage.Stale {
			t.Errorf("without Redis: %+v, %+v", got, got.Read)
		}
	}
	if got := see(t, s, bob, movie); got.ReadCount != 1 || got.Read != nil {
		t.Errorf("another: %+v", got)
	}
	server.resume()
	eventually(t, "it is shown", func() bool { return s.unshown.count() == 0 })
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	eventually(t, "it counts everywhere", func() bool {
		got := see(t, other, alice, movie)
		return got.ReadCount == 3 && got.Read != nil && got.Read.Times == 3 && got.Freshness == storage.Live
	})
	persist(t, db, s, a)
	wantReads(t, "persisted", see(t, other, alice, movie), 3)
}

// What was sent before an epoch began may have been persisted before, too.
func TestReadsOfAnEarlierEpochAreNotShown(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db, Doubt: short})
	before := readNow(alice, movie, 1)
	persist(t, db, s, before)
	must(t, server.command("FLUSHALL").Error())
	eventually(t, "the next epoch begins", func() bool { return s.epoch.Load().number > firstEpoch && s.present() != nil })
	must(t, s.Show(t.Context(), []storage.Action{before}, storage.Queued))
	eventually(t, "it is believed", func() bool { return see(t, s, alice, movie).Freshness == storage.Live })
	wantReads(t, "sent before", see(t, s, alice, movie), 1)
}

// Those who persist past the queue tell which counts include what was read.
func TestReadsPastTheQueue(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s := open(t, Options{URL: server.url(), Database: db})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	for n := range int64(50) {
		wantReads(t, "before", see(t, other, alice, movie), n)
		_, err := s.Persist(t.Context(), []storage.Message{{ID: text(n), Actions: []storage.Action{readNow(alice, movie, 1)}}}, nil)
		must(t, err)
		wantReads(t, "after", see(t, other, alice, movie), n+1)
	}
	old := storage.Action{User: alice, Subject: video("old"), Kind: storage.KindRead, Times: 1, First: 5, Version: 5}
	_, err := s.Persist(t.Context(), []storage.Message{{ID: "import", Actions: []storage.Action{old}}}, nil)
	must(t, err)
	for _, word := range words(t, server, s) {
		if strings.HasPrefix(word, "old:") {
			t.Errorf("an import leaves %q", word)
		}
	}
}
