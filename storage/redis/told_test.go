package redis

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlite"
)

// A node that cannot reach Redis answers once a worker has told the others.
func TestCutOffNodeWaitsForTheWorker(t *testing.T) {
	t.Parallel()
	server, db := startServer(t), openDatabase(t)
	to, err := url.Parse(server.url())
	must(t, err)
	link := startProxy(t, to.Host)
	cut := open(t, Options{URL: "redis://" + link.listener.Addr().String(), Database: db, RedisTimeout: short})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	wantLikes(t, "at first", see(t, other, alice, movie), 0, false)
	link.gate.Lock()
	release := sync.OnceFunc(link.gate.Unlock)
	t.Cleanup(release)
	eventually(t, "Redis is away from it", func() bool { see(t, cut, alice, movie); return !cut.redis.Healthy() })

	actions := []storage.Action{
		react(alice, movie, storage.Like, 10), collect(alice, movie, "", 10), read(alice, movie, 2),
	}
	replied := make(chan struct{})
	go func() {
		_ = cut.Show(t.Context(), actions, storage.Queued)
		close(replied)
	}()
	select {
	case <-replied:
		t.Fatal("it replies, and nobody else knows")
	case <-time.After(50 * time.Millisecond):
	}
	persist(t, db, other, actions...)
	<-replied
	wantLikes(t, "after the reply, on another node", see(t, other, alice, movie), 1, true)
}

// A worker that does not come is waited for a moment only, and not by everyone.
func TestCutOffNodeDoesNotWaitInVain(t *testing.T) {
	t.Parallel()
	server, db := startServer(t), &hooked{Store: openDatabase(t)}
	s := open(t, Options{URL: server.url(), Database: db, RedisTimeout: short})
	see(t, s, alice, movie)
	server.hang()
	defer server.resume()
	eventually(t, "Redis is away", func() bool { see(t, s, alice, movie); return !s.redis.Healthy() })
	version := int64(10)
	looks := func() int64 { // for the worker, into the database
		before := db.reads.Load()
		version++
		_ = s.Show(t.Context(), []storage.Action{react(alice, movie, storage.Like, version)}, storage.Queued)
		return db.reads.Load() - before
	}
	if looks() == 0 {
		t.Error("it does not wait for a worker")
	}
	eventually(t, "the next one does not wait", func() bool { return looks() == 0 })
	if got := see(t, s, alice, movie); got.LikeCount != 1 || got.Liked == nil {
		t.Errorf("its own answer: %+v", got)
	}
}

// slowPolls is a database that answers some polls only once they are let go.
type slowPolls struct {
	*sqlite.Store

	gate sync.RWMutex
}

func (d *slowPolls) Epoch(ctx context.Context) (mirror.Epoch, error) {
	d.gate.RLock()
	defer d.gate.RUnlock()
	return d.Store.Epoch(ctx)
}

// An epoch is closed. Who knows shows to those who do not know yet.
func TestNodesThatHaveNotPolledSeeWhatOthersConfirm(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	first := open(t, Options{URL: server.url(), Database: db})
	slow := &slowPolls{Store: openAgain(t, db)}
	other := open(t, Options{URL: server.url(), Database: slow})
	wantLikes(t, "at first", see(t, other, alice, movie), 0, false)
	must(t, other.epochs.Poll(t.Context()))
	slow.gate.Lock()
	defer slow.gate.Unlock()
	_, err := db.CloseEpoch(t.Context(), first.epochs.Current().Number)
	must(t, err)
	must(t, first.epochs.Poll(t.Context()))
	if first.epochs.Present() != nil {
		t.Fatal("the epoch is open")
	}
	must(t, first.Show(t.Context(), []storage.Action{react(alice, movie, storage.Like, 10)}, storage.Queued))
	wantLikes(t, "on a node that has not polled", see(t, other, alice, movie), 1, true)
	if states, _ := look(t, other, alice, movie); states.Reaction.Version() != 10 {
		t.Errorf("its look: %+v", states)
	}
}

// rewoundDatabase is a database that has gone back, and begins no epoch yet.
type rewoundDatabase struct {
	*sqlite.Store

	rewound atomic.Bool
}

func (d *rewoundDatabase) Epoch(ctx context.Context) (mirror.Epoch, error) {
	e, err := d.Store.Epoch(ctx)
	if d.rewound.Load() {
		e.Rewound, e.History = true, e.History+" and back"
	}
	return e, err
}

func (d *rewoundDatabase) NextEpoch(ctx context.Context, number int64, next mirror.NewEpoch) (mirror.Epoch, error) {
	if d.rewound.Load() {
		return mirror.Epoch{}, storage.ErrUnavailable
	}
	return d.Store.NextEpoch(ctx, number, next)
}

// A database has gone back. A node that has noticed shows to those that have not.
func TestNodesThatHaveNotNoticedARewindSeeWhatOthersConfirm(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	back := &rewoundDatabase{Store: db}
	first := open(t, Options{URL: server.url(), Database: back})
	slow := &slowPolls{Store: openAgain(t, db)}
	other := open(t, Options{URL: server.url(), Database: slow})
	wantLikes(t, "at first", see(t, other, alice, movie), 0, false)
	must(t, other.epochs.Poll(t.Context()))
	slow.gate.Lock()
	defer slow.gate.Unlock()
	back.rewound.Store(true)
	eventually(t, "the first node notices", func() bool {
		_ = first.epochs.Poll(t.Context()) // which cannot begin the next epoch
		return first.epochs.Present() == nil
	})
	_ = first.Show(t.Context(), []storage.Action{react(alice, movie, storage.Like, 10)}, storage.Queued)
	wantLikes(t, "on a node that has not noticed", see(t, other, alice, movie), 1, true)
}
