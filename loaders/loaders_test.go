package loaders_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

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
	must(t, err)
	return &source{Store: store}
}

func TestFetchIsOneCallAKind(t *testing.T) {
	s := liked(t, 100)
	l := loaders.New(s, alice, storage.AllKinds)
	var wants loaders.Keys
	for i := range 200 {
		wants.Interactives = append(wants.Interactives, subject(i%100))
	}
	must(t, l.Fetch(t.Context(), wants))
	if s.calls != 1 || s.keys != 100 {
		t.Errorf("got %d calls with %d keys, want 1 with 100", s.calls, s.keys)
	}
	// All keys are cached now, for every method.
	must(t, l.Fetch(t.Context(), wants))
	for i := range 100 {
		got, err := l.Interactive(t.Context(), subject(i))
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
		found, err := l.Interactives(t.Context(), keys)
		must(t, err)
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
		got, err := loaders.New(s, viewer, storage.AllKinds).Interactive(t.Context(), subject(0))
		if err != nil || got.LikeCount != 1 || (got.Liked != nil) != want {
			t.Errorf("read by %q: got %+v, %v, want 1 like, the viewer's own: %t", viewer.UserID, got, err, want)
		}
	}
}

// lookUp looks up one key of a kind.
type lookUp struct {
	key any
	in  func(context.Context, *loaders.Loaders) error
}

func kind[K comparable, V any](look func(*loaders.Loaders, context.Context, K) (V, error), key K) lookUp {
	return lookUp{key, func(ctx context.Context, l *loaders.Loaders) error {
		_, err := look(l, ctx, key)
		return err
	}}
}

// kinds maps each field of [loaders.Keys] to a lookup.
var kinds = map[string]lookUp{
	"Interactives":      kind((*loaders.Loaders).Interactive, subject(0)),
	"States":            kind((*loaders.Loaders).States, storage.StateKey{}),
	"Folders":           kind((*loaders.Loaders).Folder, storage.FolderKey{}),
	"Likers":            kind((*loaders.Loaders).Likers, storage.LikersQuery{}),
	"Likes":             kind((*loaders.Loaders).Likes, storage.LikesQuery{}),
	"Items":             kind((*loaders.Loaders).Items, storage.ItemsQuery{}),
	"FolderLists":       kind((*loaders.Loaders).Folders, storage.FoldersQuery{}),
	"Reads":             kind((*loaders.Loaders).Reads, storage.ReadsQuery{}),
	"Followers":         kind((*loaders.Loaders).Followers, storage.FollowersQuery{}),
	"Following":         kind((*loaders.Loaders).Following, storage.FollowingQuery{}),
	"FollowedLikers":    kind((*loaders.Loaders).FollowedLikers, storage.FollowedLikersQuery{}),
	"Friends":           kind((*loaders.Loaders).Friends, storage.FriendsQuery{}),
	"Trending":          kind((*loaders.Loaders).Trending, storage.TrendingQuery{}),
	"Works":             kind((*loaders.Loaders).Works, storage.WorksQuery{}),
	"Totals":            kind((*loaders.Loaders).Totals, alice),
	"Comments":          kind((*loaders.Loaders).Comment, storage.CommentKey{}),
	"CommentCounts":     kind((*loaders.Loaders).CommentCount, subject(0)),
	"CommentLists":      kind((*loaders.Loaders).CommentList, storage.CommentsQuery{Order: storage.Newest}),
	"Profiles":          kind((*loaders.Loaders).Profile, alice),
	"Messages":          kind((*loaders.Loaders).Message, storage.DirectMessageKey{}),
	"MessageLists":      kind((*loaders.Loaders).MessageList, storage.DirectMessagesQuery{}),
	"Conversations":     kind((*loaders.Loaders).Conversation, storage.ConversationKey{}),
	"ConversationLists": kind((*loaders.Loaders).ConversationList, storage.ConversationsQuery{}),
	"Videos":            kind((*loaders.Loaders).Video, storage.VideoKey{}),
	"Feeds":             kind((*loaders.Loaders).Feed, storage.FeedQuery{}),
	"UserComments":      kind((*loaders.Loaders).UserComments, storage.UserCommentsQuery{}),
	"FoundUsers":        kind((*loaders.Loaders).SearchUsers, storage.SearchQuery{Text: "a"}),
	"FoundVideos":       kind((*loaders.Loaders).SearchVideos, storage.SearchQuery{Text: "a"}),
	"UserVideos":        kind((*loaders.Loaders).UserVideos, storage.UserVideosQuery{}),
}

// Values of every kind that Fetch has loaded stay cached until ClearAll.
func TestClearAllClearsEveryKind(t *testing.T) {
	s := sqlitetest.Open(t)
	for field := range reflect.TypeFor[loaders.Keys]().Fields() {
		t.Run(field.Name, func(t *testing.T) {
			look, known := kinds[field.Name]
			if !known {
				t.Fatalf("kinds has no lookup for the field %s of Keys", field.Name)
			}
			l := loaders.New(s, alice, storage.AllKinds)
			var keys loaders.Keys
			of := reflect.ValueOf(&keys).Elem().FieldByIndex(field.Index)
			of.Set(reflect.Append(of, reflect.ValueOf(look.key)))
			must(t, l.Fetch(t.Context(), keys))
			if err := look.in(t.Context(), l.CachedOnly()); err != nil {
				t.Errorf("after Fetch: got %v, want the value cached", err)
			}
			l.ClearAll()
			if err := look.in(t.Context(), l.CachedOnly()); err == nil {
				t.Error("after ClearAll: got the cached value, want an error")
			}
		})
	}
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
		must(t, l.Fetch(t.Context(), loaders.Keys{Interactives: some}))
		if fmt.Sprint(some) != before {
			t.Errorf("Fetch changed its keys to %v, want %v", some, before)
		}
		found, err := l.CachedOnly().Interactives(t.Context(), some)
		if err != nil || len(found) != len(some) {
			t.Fatalf("got %v, %v, want all %d cached", found, err, len(some))
		}
		for i, one := range found {
			alone, err := l.CachedOnly().Interactive(t.Context(), some[i])
			if err != nil || one.Subject != some[i] || alone != one {
				t.Errorf("%v: got %+v, and alone %+v, %v, want the same of both", some[i], one, alone, err)
			}
		}
	}
	if s.calls != 3 || s.keys != 10 {
		t.Errorf("got %d calls with %d keys, want 3 with 10", s.calls, s.keys)
	}
	if _, err := l.CachedOnly().Interactive(t.Context(), subject(99)); err == nil {
		t.Error("Interactive of a subject that was never loaded: got no error, want one")
	}
	if _, err := l.CachedOnly().Interactives(t.Context(), []storage.Subject{subject(1), subject(99)}); err == nil {
		t.Error("Interactives with a subject that was never loaded: got no error, want one")
	}
	l.ClearAll()
	if _, err := l.CachedOnly().Interactives(t.Context(), all); err == nil {
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
				return l.Fetch(t.Context(), loaders.Keys{Interactives: []storage.Subject{subject(0)}})
			},
			"gathered": func(l *loaders.Loaders) error { _, err := l.Interactive(t.Context(), subject(0)); return err },
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				s := liked(t, 3)
				s.fail = c.fail
				l := loaders.New(s, alice, storage.AllKinds)
				ask := func() (errs []error) {
					_, one := l.Interactive(t.Context(), subject(0))
					_, another := l.Interactive(t.Context(), subject(1))
					_, many := l.Interactives(t.Context(), []storage.Subject{subject(0), subject(2)})
					return []error{one, another, many, l.Fetch(t.Context(), loaders.Keys{Interactives: []storage.Subject{subject(2)}})}
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
	err := l.Fetch(t.Context(), loaders.Keys{Interactives: []storage.Subject{subject(0)}, Likes: []storage.LikesQuery{query}})
	if !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Fetch: got %v, want %v", err, storage.ErrUnavailable)
	}
	likes, err := l.CachedOnly().Likes(t.Context(), query)
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
	wants := loaders.Keys{Interactives: keys}
	for name, first := range map[string]func(context.Context, *loaders.Loaders) error{
		"fetched":  func(ctx context.Context, l *loaders.Loaders) error { return l.Fetch(ctx, wants) },
		"gathered": func(ctx context.Context, l *loaders.Loaders) error { _, err := l.Interactives(ctx, keys); return err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := blocked{liked(t, 2), make(chan struct{}), make(chan struct{})}
				l := loaders.New(s, alice, storage.AllKinds)
				var group errgroup.Group
				group.Go(func() error { return first(t.Context(), l) })
				<-s.begun
				if err := l.Fetch(t.Context(), wants); err != nil {
					t.Error(err)
				}
				for _, look := range []*loaders.Loaders{l, l.CachedOnly()} {
					group.Go(func() error {
						_, err := look.Interactive(t.Context(), subject(0))
						return err
					})
					group.Go(func() error {
						_, err := look.Interactives(t.Context(), keys)
						return err
					})
				}
				close(s.proceed)
				if err := group.Wait(); err != nil {
					t.Error(err)
				}
				if err := l.Fetch(t.Context(), wants); err != nil {
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
	wants := loaders.Keys{Interactives: []storage.Subject{subject(0), subject(1)}}
	fetched := loaders.New(panicking{}, alice, storage.AllKinds).Fetch(t.Context(), wants)
	l := loaders.New(panicking{}, alice, storage.AllKinds)
	_, gathered := l.Interactives(t.Context(), wants.Interactives)
	for _, err := range []error{fetched, gathered, l.Fetch(t.Context(), wants)} {
		if err == nil || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("a panic of the store: got %v, want an error with \"a bug\"", err)
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
