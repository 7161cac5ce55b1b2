package enforce_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ovation/api/enforce"
	"ovation/api/viewer"
	"ovation/internal/testing/sqlitetest"
	"ovation/internal/testing/wrapping"
	"ovation/storage"
	"ovation/storage/policy"
)

func enforcer(tb testing.TB, text string) enforce.Enforcer {
	tb.Helper()
	p, err := policy.Parse("f", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return enforce.New(policy.NewHandle(p))
}

func TestEveryLookupIsDecided(t *testing.T) {
	store := enforce.Enforcer{}.Store(nil)
	wrapping.Check[storage.Reader](t, store, wrapping.Promoted{
		"folders have no counts of subjects": {"FoldersOf"},
		"totals are public":                  {"TotalsOf"},
	})
	wrapping.Check[storage.Searcher](t, store, wrapping.Promoted{
		"names and titles are public; their counts are looked up by Interactives": {"SearchUsers", "SearchVideos"},
	})
	wrapping.Check[storage.Lister](t, store, wrapping.Promoted{
		"its entries have neither counts nor likes": {"Items", "ListFolders", "Reads", "Followers", "Following", "Friends", "Works"},
	})
}

// TestPagesWithoutHiddenLikes pages through likes of which some are hidden.
func TestPagesWithoutHiddenLikes(t *testing.T) {
	ctx := t.Context()
	database := sqlitetest.Open(t)
	user := func(id string) storage.User { return storage.User{Tenant: "default", UserID: id} }
	alice, bob := user("alice"), user("bob")
	at := time.Now().UnixMicro()
	var actions []storage.Action
	var want []string
	for i := range 40 {
		biz := map[bool]string{true: "photo", false: "article"}[i%3 == 0 || i > 10 && i < 25] // photos are hidden
		subject := storage.Subject{Tenant: "default", Biz: biz, BizID: fmt.Sprint(i)}
		actions = append(actions, storage.Action{User: bob, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: at + int64(i)})
		if i == 15 {
			actions = append(actions, storage.Action{User: user(""), Subject: subject, Kind: storage.KindAuthor, Author: "alice", Version: at})
		}
		if biz == "article" || i == 15 {
			want = append([]string{subject.BizID}, want...)
		}
	}
	if _, err := database.Persist(ctx, []storage.Message{{ID: "1", Actions: actions}}, nil); err != nil {
		t.Fatal(err)
	}
	store := enforcer(t, "biz: {photo: {likers: author}}").Store(database)
	list := func(me storage.User, first int) (ids []string, pages int) {
		page := storage.Page{First: first}
		for {
			found, err := store.Likes(viewer.NewContext(ctx, me), []storage.LikesQuery{{User: bob, Page: page}})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range found[0].Entries {
				ids = append(ids, l.Subject.BizID)
				page.After = storage.Position{Version: l.Version, Biz: l.Subject.Biz, ID: l.Subject.BizID}
			}
			pages++
			if (found[0].Resume != storage.Position{}) {
				page.After = found[0].Resume
			} else if len(found[0].Entries) < first {
				return ids, pages
			}
		}
	}
	for first := 1; first <= 41; first++ {
		if got, pages := list(alice, first); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pages of %d: got %v in %d pages, want %v", first, got, pages, want)
		}
		if got, _ := list(bob, first); len(got) != 40 {
			t.Errorf("pages of %d: bob sees %d own likes, want 40", first, len(got))
		}
	}
}

// Hidden likes cannot be looked up by the key of their state either.
func TestHiddenStates(t *testing.T) {
	ctx := t.Context()
	database := sqlitetest.Open(t)
	subject := storage.Subject{Tenant: "default", Biz: "photo", BizID: "1"}
	bob, eve := storage.User{Tenant: "default", UserID: "bob"}, storage.User{Tenant: "default", UserID: "eve"}
	_, err := database.Persist(ctx, []storage.Message{{ID: "1", Actions: []storage.Action{
		{User: bob, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1},
		{User: bob, Subject: subject, Kind: storage.KindFollow, Following: true, Version: 1},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := enforcer(t, "biz: {photo: {likers: 'scope:staff', counts: author}}")
	for _, me := range []storage.User{bob, eve, {Tenant: "default"}} {
		found, err := e.Store(database).States(viewer.NewContext(ctx, me), []storage.StateKey{{User: bob, Subject: subject}}, storage.AllKinds)
		if err != nil || (found[0].Liked != nil) != (me == bob) || found[0].Followed == nil {
			t.Errorf("%q: got %+v, %v, want the like for bob only, and the follow", me.UserID, found, err)
		}
	}
}

func TestHiddenLikesOfFollowedUsers(t *testing.T) {
	database := sqlitetest.Open(t)
	subject := storage.Subject{Tenant: "default", Biz: "photo", BizID: "1"}
	bob, eve := storage.User{Tenant: "default", UserID: "bob"}, storage.User{Tenant: "default", UserID: "eve"}
	_, err := database.Persist(t.Context(), []storage.Message{{ID: "1", Actions: []storage.Action{
		{User: bob, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1},
		{User: eve, Subject: bob.Subject(), Kind: storage.KindFollow, Following: true, Version: 1},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for likers, want := range map[string]int{"public": 1, "author": 0} {
		store := enforcer(t, "biz: {photo: {likers: "+likers+"}}").Store(database)
		found, err := store.FollowedLikers(viewer.NewContext(t.Context(), eve), []storage.FollowedLikersQuery{{User: eve, Subject: subject, Page: storage.Page{First: 5}}})
		if err != nil || len(found[0].Entries) != want {
			t.Errorf("likers %s: got %+v, %v, want %d", likers, found, err, want)
		}
	}
}

// BenchmarkInteractives measures a page of 32 subjects: without a policy, with one that hides
// nothing, and with one that hides counts of another kind.
func BenchmarkInteractives(b *testing.B) {
	database := sqlitetest.Open(b)
	subjects := make([]storage.Subject, 32)
	for i := range subjects {
		subjects[i] = storage.Subject{Tenant: "default", Biz: "article", BizID: fmt.Sprint(i)}
	}
	alice := storage.User{Tenant: "default", UserID: "alice"}
	found, err := database.Interactives(b.Context(), alice, subjects, 0)
	if err != nil {
		b.Fatal(err)
	}
	constant := constantStore{database, found}
	for name, e := range map[string]enforce.Enforcer{
		"none":   {},
		"public": enforcer(b, "biz: {article: {allow: {like: users}}}"),
		"hidden": enforcer(b, "biz: {photo: {counts: author}}"),
	} {
		b.Run(name, func(b *testing.B) {
			ctx, store := b.Context(), e.Store(constant)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Interactives(e.Begin(ctx), alice, subjects, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// constantStore returns the same subjects each time, so that only the decoration is measured.
type constantStore struct {
	storage.Store

	found []storage.Interactive
}

func (s constantStore) Interactives(context.Context, storage.User, []storage.Subject, storage.Kinds) ([]storage.Interactive, error) {
	return s.found, nil
}
