package loaders_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/loaders"
	"ovation/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source counts the calls and keys that reach a real store.
type source struct {
	storage.Store

	mu    sync.Mutex
	calls int
	keys  int
	fail  error
}

func (s *source) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	s.mu.Lock()
	s.calls++
	s.keys += len(subjects)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	return s.Store.Interactives(ctx, viewer, subjects, kinds)
}

var (
	alice = storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	bob   = storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}
)

func subject(i int) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: fmt.Sprint(i)}
}

// liked returns a store in which alice likes the subjects with numbers below n.
func liked(t *testing.T, n int) *source {
	t.Helper()
	store := sqlitetest.Open(t)
	message := storage.Message{ID: "m1"}
	for i := range n {
		message.Actions = append(message.Actions, storage.Action{
			User: alice, Subject: subject(i), Kind: storage.KindReaction, Reaction: storage.Like, Version: 1,
		})
	}
	_, err := store.Persist(t.Context(), []storage.Message{message}, nil)
	must.Succeed(t, err)
	return &source{Store: store}
}

func TestFetchIsOneCallAKind(t *testing.T) {
	s := liked(t, 100)
	l := loaders.New(s, alice, storage.AllKinds)
	var keys []storage.Subject
	for i := range 200 {
		keys = append(keys, subject(i%100))
	}
	must.Succeed(t, fetch(t, l, keys))
	if s.calls != 1 || s.keys != 100 {
		t.Errorf("got %d calls with %d keys, want 1 with 100", s.calls, s.keys)
	}
	// All keys are cached now, for every method.
	must.Succeed(t, fetch(t, l, keys))
	for i := range 100 {
		got, err := loaders.Interactives.Load(in(t, l), subject(i))
		if err != nil || got.Subject != subject(i) || got.LikeCount != 1 || got.Liked == nil {
			t.Fatalf("subject %d: got %+v, %v, want it with the viewer's like", i, got, err)
		}
	}
	if s.calls != 1 {
		t.Errorf("got %d calls for cached values, want none", s.calls-1)
	}
}

func TestLoadOfManyKeysIsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a batch is loaded a millisecond after its first key
		s := liked(t, 10)
		l := loaders.New(s, alice, storage.AllKinds)
		keys := []storage.Subject{subject(3), subject(1), subject(3), subject(99)}
		found, err := loaders.Interactives.LoadMany(in(t, l), keys)
		must.Succeed(t, err)
		for i, got := range found {
			if got.Subject != keys[i] {
				t.Errorf("place %d holds %v, want %v", i, got.Subject, keys[i])
			}
		}
		if s.calls != 1 || s.keys != 3 {
			t.Errorf("got %d calls with %d keys, want 1 with 3", s.calls, s.keys)
		}
	})
}

func TestLoadersReadForTheirViewer(t *testing.T) {
	s := liked(t, 1)
	for viewer, want := range map[storage.User]bool{alice: true, bob: false, {Tenant: storage.DefaultTenant}: false} {
		got, err := loaders.Interactives.Load(in(t, loaders.New(s, viewer, storage.AllKinds)), subject(0))
		if err != nil || got.LikeCount != 1 || (got.Liked != nil) != want {
			t.Errorf("read by %q: got %+v, %v, want 1 like, the viewer's own: %t", viewer.UserID, got, err, want)
		}
	}
}

// What Fetch has loaded stays cached until ClearAll.
func TestClearAllClearsEveryLookup(t *testing.T) {
	l := loaders.New(sqlitetest.Open(t), alice, storage.AllKinds)
	query := storage.LikesQuery{User: alice, Page: storage.Page{First: 1}}
	cached := func() []error {
		ctx := loaders.NewContext(t.Context(), l.CachedOnly())
		_, subject := loaders.Interactives.Load(ctx, subject(0))
		_, list := loaders.Likes.Load(ctx, query)
		return []error{subject, list}
	}
	loaders.Interactives.Want(l, subject(0))
	loaders.Likes.Want(l, query)
	must.Succeed(t, l.Fetch(t.Context()))
	for _, err := range cached() {
		if err != nil {
			t.Errorf("after Fetch: got %v, want the value cached", err)
		}
	}
	l.ClearAll()
	for _, err := range cached() {
		if !errors.Is(err, loaders.ErrNotLoaded) {
			t.Errorf("after ClearAll: got %v, want %v", err, loaders.ErrNotLoaded)
		}
	}
}

// Code that misses something is run again once that has been loaded, with all that others
// missed.
func TestNotedKeysAreLoadedTogether(t *testing.T) {
	s := liked(t, 3)
	l := loaders.New(s, alice, storage.AllKinds)
	noting := loaders.NewContext(t.Context(), l.Noting())
	look := func() (errs []error) {
		_, one := loaders.Interactives.Load(noting, subject(0))
		_, many := loaders.Interactives.LoadMany(noting, []storage.Subject{subject(0), subject(1), subject(2)})
		return []error{one, many}
	}
	for _, err := range look() {
		if !errors.Is(err, loaders.ErrNotLoaded) {
			t.Errorf("before Fetch: got %v, want %v", err, loaders.ErrNotLoaded)
		}
	}
	must.Succeed(t, l.Fetch(t.Context()))
	for _, err := range look() {
		if err != nil {
			t.Errorf("after Fetch: got %v, want the values", err)
		}
	}
	if s.calls != 1 || s.keys != 3 {
		t.Errorf("got %d calls with %d keys, want 1 with 3", s.calls, s.keys)
	}
}

// in returns a context that carries the loaders.
func in(t *testing.T, l *loaders.Loaders) context.Context {
	t.Helper()
	return loaders.NewContext(t.Context(), l)
}

// fetch loads subjects in one call.
func fetch(t *testing.T, l *loaders.Loaders, subjects []storage.Subject) error {
	t.Helper()
	_, err := loaders.Interactives.FetchMany(in(t, l), subjects)
	return err
}

// Prefetched keys are found both one by one and all together, regardless of what was
// loaded before and after them.
func TestPrefetchedValuesAreFoundByEveryMethod(t *testing.T) {
	s := liked(t, 10)
	l := loaders.New(s, alice, storage.AllKinds)
	var all []storage.Subject
	for i := range 10 {
		all = append(all, subject(i))
	}
	for _, some := range [][]storage.Subject{all[:4], {all[3], all[5], all[5], all[1]}, all, all[2:2], {all[9], all[0]}} {
		before := fmt.Sprint(some)
		must.Succeed(t, fetch(t, l, some))
		if fmt.Sprint(some) != before {
			t.Errorf("Fetch changed its keys to %v, want %v", some, before)
		}
		found, err := loaders.Interactives.LoadMany(in(t, l.CachedOnly()), some)
		if err != nil || len(found) != len(some) {
			t.Fatalf("got %v, %v, want all %d cached", found, err, len(some))
		}
		for i, one := range found {
			alone, err := loaders.Interactives.Load(in(t, l.CachedOnly()), some[i])
			if err != nil || one.Subject != some[i] || alone != one {
				t.Errorf("%v: got %+v, and alone %+v, %v, want the same of both", some[i], one, alone, err)
			}
		}
	}
	if s.calls != 3 || s.keys != 10 {
		t.Errorf("got %d calls with %d keys, want 3 with 10", s.calls, s.keys)
	}
	if _, err := loaders.Interactives.Load(in(t, l.CachedOnly()), subject(99)); err == nil {
		t.Error("Interactive of a subject that was never loaded: got no error, want one")
	}
	if _, err := loaders.Interactives.LoadMany(in(t, l.CachedOnly()), []storage.Subject{subject(1), subject(99)}); err == nil {
		t.Error("Interactives with a subject that was never loaded: got no error, want one")
	}
	l.ClearAll()
	if _, err := loaders.Interactives.LoadMany(in(t, l.CachedOnly()), all); err == nil {
		t.Error("Interactives after ClearAll: got no error, want one")
	}
}

// After a failed call, no lookup of the response calls the store for the same kind again.
// After a mutation, a lookup calls it again, unless the store was unavailable.
func TestFailedKindIsLoadedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		fail  error
		calls int // including those after ClearAll
	}{
		"unavailable": {storage.ErrUnavailable, 1},
		"broken":      {errors.New("a bug"), 2},
	} {
		for way, first := range map[string]func(*loaders.Loaders) error{
			"fetched": func(l *loaders.Loaders) error {
				return fetch(t, l, []storage.Subject{subject(0)})
			},
			"gathered": func(l *loaders.Loaders) error { _, err := loaders.Interactives.Load(in(t, l), subject(0)); return err },
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				s := liked(t, 3)
				s.fail = c.fail
				l := loaders.New(s, alice, storage.AllKinds)
				ask := func() (errs []error) {
					_, one := loaders.Interactives.Load(in(t, l), subject(0))
					_, another := loaders.Interactives.Load(in(t, l), subject(1))
					_, many := loaders.Interactives.LoadMany(in(t, l), []storage.Subject{subject(0), subject(2)})
					return []error{one, another, many, fetch(t, l, []storage.Subject{subject(2)})}
				}
				for _, err := range append([]error{first(l)}, ask()...) {
					if !errors.Is(err, c.fail) {
						t.Errorf("a key of the failed kind: got %v, want %v", err, c.fail)
					}
				}
				if s.calls != 1 {
					t.Errorf("got %d calls of the failing store, want 1", s.calls)
				}
				l.ClearAll()
				ask()
				if s.calls != c.calls {
					t.Errorf("got %d calls when something was done in between, want %d", s.calls, c.calls)
				}
			})
		}
	}
}

func TestAFailedKindLeavesTheOthersAlone(t *testing.T) {
	s := liked(t, 3)
	s.fail = storage.ErrUnavailable
	l := loaders.New(s, alice, storage.AllKinds)
	query := storage.LikesQuery{User: alice, Page: storage.Page{First: 10}}
	loaders.Interactives.Want(l, subject(0))
	loaders.Likes.Want(l, query)
	err := l.Fetch(t.Context())
	if !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Fetch: got %v, want %v", err, storage.ErrUnavailable)
	}
	likes, err := loaders.Likes.Load(in(t, l.CachedOnly()), query)
	if err != nil || len(likes.Entries) != 3 {
		t.Errorf("the likes beside a failed kind: got %+v, %v, want 3 likes", likes, err)
	}
}

// blocked is a source that announces each call, and waits before it returns.
type blocked struct {
	*source

	begun, proceed chan struct{}
}

func (s blocked) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	s.begun <- struct{}{}
	<-s.proceed
	return s.source.Interactives(ctx, viewer, subjects, kinds)
}

// A key that is being loaded, by Fetch or by a lookup, is not loaded again.
func TestAKeyIsLoadedOnce(t *testing.T) {
	keys := []storage.Subject{subject(0), subject(1)}
	for name, first := range map[string]func(context.Context, *loaders.Loaders) error{
		"fetched": func(ctx context.Context, l *loaders.Loaders) error {
			_, err := loaders.Interactives.FetchMany(loaders.NewContext(ctx, l), keys)
			return err
		},
		"gathered": func(ctx context.Context, l *loaders.Loaders) error {
			_, err := loaders.Interactives.LoadMany(loaders.NewContext(ctx, l), keys)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := blocked{liked(t, 2), make(chan struct{}), make(chan struct{})}
				l := loaders.New(s, alice, storage.AllKinds)
				var group errgroup.Group
				group.Go(func() error { return first(t.Context(), l) })
				<-s.begun
				loaders.Interactives.Want(l, keys...)
				if err := l.Fetch(t.Context()); err != nil {
					t.Error(err)
				}
				for _, look := range []*loaders.Loaders{l, l.CachedOnly()} {
					group.Go(func() error {
						_, err := loaders.Interactives.Load(in(t, look), subject(0))
						return err
					})
					group.Go(func() error {
						_, err := loaders.Interactives.LoadMany(in(t, look), keys)
						return err
					})
				}
				close(s.proceed)
				if err := group.Wait(); err != nil {
					t.Error(err)
				}
				if err := fetch(t, l, keys); err != nil {
					t.Error(err)
				}
				if s.calls != 1 || s.keys != 2 {
					t.Errorf("got %d calls with %d keys, want 1 with 2", s.calls, s.keys)
				}
			})
		})
	}
}

type panicking struct{ storage.Store }

func (panicking) Interactives(context.Context, storage.User, []storage.Subject, storage.Kinds) ([]storage.Interactive, error) {
	panic("a bug")
}

func TestAPanicIsAFailure(t *testing.T) {
	keys := []storage.Subject{subject(0), subject(1)}
	fetched := fetch(t, loaders.New(panicking{}, alice, storage.AllKinds), keys)
	l := loaders.New(panicking{}, alice, storage.AllKinds)
	_, gathered := loaders.Interactives.LoadMany(in(t, l), keys)
	for _, err := range []error{fetched, gathered, fetch(t, l, keys)} {
		if err == nil || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("a panic of the store: got %v, want an error with \"a bug\"", err)
		}
	}
}
