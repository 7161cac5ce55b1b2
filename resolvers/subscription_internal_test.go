package resolvers

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/graph"
	"ovation/internal/testing/sqlitetest"
	"ovation/live"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

func TestEventsOfAViewerNeverGoBack(t *testing.T) {
	subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	is := func(version int64, freshness storage.Freshness, liked *storage.Liked) storage.Interactive {
		return storage.Interactive{Subject: subject, Counts: storage.Counts{LikeCount: version, Version: version}, Freshness: freshness, Liked: liked}
	}
	like, again := &storage.Liked{Reaction: storage.Like, Version: 1}, &storage.Liked{Reaction: storage.Like, Version: 1}
	for name, test := range map[string]struct {
		sent, got storage.Interactive
		want      *storage.Interactive
	}{
		"newer":                           {is(1, storage.Live, nil), is(2, storage.Live, nil), new(is(2, storage.Live, nil))},
		"the same":                        {is(1, storage.Live, like), is(1, storage.Live, again), nil},
		"older":                           {is(2, storage.Live, nil), is(1, storage.Live, nil), nil},
		"older, with the viewer's like":   {is(2, storage.Live, nil), is(1, storage.Live, like), nil},
		"the viewer's like":               {is(1, storage.Live, nil), is(1, storage.Live, like), new(is(1, storage.Live, like))},
		"the viewer's like removed":       {is(1, storage.Live, like), is(1, storage.Live, nil), new(is(1, storage.Live, nil))},
		"less fresh":                      {is(1, storage.Live, like), is(1, storage.Stale, like), new(is(1, storage.Stale, like))},
		"became unavailable":              {is(1, storage.Live, like), is(0, storage.Unavailable, nil), new(is(1, storage.Stale, like))},
		"unavailable after stale":         {is(1, storage.Stale, like), is(0, storage.Unavailable, nil), nil},
		"always unavailable":              {is(0, storage.Unavailable, nil), is(0, storage.Unavailable, nil), nil},
		"became available":                {is(0, storage.Unavailable, nil), is(3, storage.Live, like), new(is(3, storage.Live, like))},
		"became available without counts": {is(0, storage.Unavailable, nil), is(0, storage.Live, nil), new(is(0, storage.Live, nil))},
	} {
		t.Run(name, func(t *testing.T) {
			s := &subscription{sent: []sentState{{Interactive: test.sent, sent: true}}}
			got := test.got
			switch news := s.isNew(&got); {
			case news != (test.want != nil):
				t.Errorf("got an event sent: %t, want %t", news, test.want != nil)
			case news && got != *test.want:
				t.Errorf("got the event %+v, want %+v", got, *test.want)
			}
		})
	}
}

// When a slow connection can be written to again, it receives the latest state.
func TestSlowConnectionReceivesTheLatestState(t *testing.T) {
	store := sqlitetest.Open(t)
	alice := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	subject := storage.Subject{Tenant: alice.Tenant, Biz: "video", BizID: "1"}
	s := &subscription{
		Root: &Root{store: store}, me: alice, plan: planned(storage.AllKinds), at: time.Now().Add(-snapshotTTL),
		snapshot: []*storage.Interactive{{Subject: subject, Freshness: storage.Live}}, loaders: loaders.New(store, alice, storage.AllKinds),
		sent: newSentStates([]storage.Subject{subject}),
	}
	_, err := store.Persist(t.Context(), []storage.Message{{ID: "1", Actions: []storage.Action{
		{User: alice, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := withOperation(t)
	if got, _ := s.nextOfViewer(ctx); got.LikeCount != 1 || got.Liked == nil {
		t.Errorf("got %+v, want one like, the viewer's own", got)
	}
	ctx, cancel := context.WithCancel(ctx)
	hub := live.New(store, live.Options{})
	defer hub.Close()
	s.watcher, s.events = hub.Watch([]storage.Subject{subject}), make([]*live.Event, 1)
	context.AfterFunc(ctx, s.watcher.Close)
	cancel()
	if got, _ := s.nextOfViewer(ctx); got != nil {
		t.Errorf("after the cancellation: got the event %+v, want none", got)
	}
}

// staleStore is a store whose results can be STALE for signed-in viewers.
type staleStore struct {
	storage.Store

	stale atomic.Bool
}

func (d *staleStore) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	out, err := d.Store.Interactives(ctx, viewer, subjects, kinds)
	for i := range out {
		if d.stale.Load() && !viewer.Anonymous() {
			out[i].Freshness = storage.Stale
		}
	}
	return out, err
}

// stubStore is a store in which every subject exists, without counts. It has no
// goroutines.
type stubStore struct{ storage.Store }

func (stubStore) Interactives(_ context.Context, _ storage.User, subjects []storage.Subject, _ storage.Kinds) ([]storage.Interactive, error) {
	out := make([]storage.Interactive, len(subjects))
	for i := range out {
		out[i] = storage.Interactive{Subject: subjects[i], Freshness: storage.Live}
	}
	return out, nil
}

func TestViewerReceivesAnEventWhenCountsAreCertainAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &staleStore{Store: stubStore{}}
		store.stale.Store(true)
		s, ctx, _ := subscriptionOfAlice(t, store)
		if got, _ := s.nextOfViewer(ctx); got.Freshness != storage.Stale {
			t.Errorf("the first event: got %+v, want it STALE", got)
		}
		began := time.Now()
		time.AfterFunc(time.Minute, func() { store.stale.Store(false) })
		defer time.AfterFunc(time.Hour, s.watcher.Close).Stop() // ends the stream if no event is sent
		if got, _ := s.nextOfViewer(ctx); got == nil || got.Freshness != storage.Live || time.Since(began) > time.Minute+freshnessInterval {
			t.Errorf("after %v: got the event %+v, want it LIVE within %v", time.Since(began), got, time.Minute+freshnessInterval)
		}
	})
}

// revertedLike is a store in which the viewer has a pending like until reverted is set.
// Only the viewer sees the like and its count.
type revertedLike struct {
	stubStore

	reverted atomic.Bool
}

func (u *revertedLike) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	out, err := u.stubStore.Interactives(ctx, viewer, subjects, kinds)
	if !viewer.Anonymous() && !u.reverted.Load() {
		for i := range out {
			out[i].Liked = &storage.Liked{User: viewer, Subject: subjects[i], Reaction: storage.Like, Version: 1}
			out[i].LikeCount++
		}
	}
	return out, err
}

// A like and an unlike that are persisted together change no count, so there is no
// notification. A viewer who was sent the like still receives the subject without it.
func TestViewerReceivesTheUndoOfAPendingLike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &revertedLike{}
		s, ctx, _ := subscriptionOfAlice(t, store)
		if got, _ := s.nextOfViewer(ctx); got.Liked == nil || got.LikeCount != 1 {
			t.Errorf("the first event: got %+v, want the viewer's own like", got)
		}
		began := time.Now()
		time.AfterFunc(time.Minute, func() { store.reverted.Store(true) })
		defer time.AfterFunc(time.Hour, s.watcher.Close).Stop() // ends the stream if no event is sent
		if got, _ := s.nextOfViewer(ctx); got == nil || got.Liked != nil || got.LikeCount != 0 || time.Since(began) > time.Minute+pendingInterval {
			t.Errorf("after %v: got the event %+v, want no like within %v", time.Since(began), got, time.Minute+pendingInterval)
		}
	})
}

// lossy is a store that returns counts with version 3 to the hub, and counts with the
// version in its field to signed-in viewers.
type lossy struct {
	stubStore

	version atomic.Int64
}

func (l *lossy) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	out, err := l.stubStore.Interactives(ctx, viewer, subjects, kinds)
	for i := range out {
		out[i].Version = 3
		if !viewer.Anonymous() {
			out[i].Version = l.version.Load()
		}
	}
	return out, err
}

// A failover may lose commits. A viewer who was sent counts from lost commits then
// receives the remaining counts, even if no other viewer was sent the lost counts.
func TestViewerReceivesLowerVersionsAfterARewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lossy{}
		store.version.Store(5)
		s, ctx, hub := subscriptionOfAlice(t, store)
		if got, _ := s.nextOfViewer(ctx); got.Version != 5 {
			t.Errorf("the first event: got %+v, want version 5", got)
		}
		store.version.Store(3)
		time.AfterFunc(time.Minute, hub.Rewound)
		defer time.AfterFunc(time.Hour, s.watcher.Close).Stop() // ends the stream if no event is sent
		if got, _ := s.nextOfViewer(ctx); got == nil || got.Version != 3 {
			t.Errorf("after the rewind: got the event %+v, want version 3", got)
		}
		time.AfterFunc(time.Minute, s.watcher.Close)
		if got, _ := s.nextOfViewer(ctx); got != nil {
			t.Errorf("after the watcher was closed: got the event %+v, want none", got)
		}
	})
}

// subscriptionOfAlice returns a subscription to one subject, its context and its hub.
func subscriptionOfAlice(t *testing.T, store storage.Store) (*subscription, context.Context, *live.Hub) {
	t.Helper()
	hub := live.New(store, live.Options{})
	t.Cleanup(hub.Close)
	subjects := []storage.Subject{{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}}
	return &subscription{
		Root: &Root{store: store}, plan: planned(0), me: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, events: make([]*live.Event, 1),
		sent: newSentStates(subjects), watcher: hub.Watch(subjects),
	}, withOperation(t), hub
}

// withOperation returns the context of an operation that selects nothing.
func withOperation(t *testing.T) context.Context {
	t.Helper()
	return graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Operation: &ast.OperationDefinition{}})
}

// planned returns the plan of an operation that selects only the viewer's states of the
// given kinds.
func planned(kinds storage.Kinds) *plan.Plan {
	p := plan.NewPlanner(graph.NewExecutableSchema(graph.Config{}).Schema(), nil, nil).Plan(&ast.OperationDefinition{})
	p.Kinds = kinds
	return p
}
