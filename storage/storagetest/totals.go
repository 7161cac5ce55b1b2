package storagetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"ovation/storage"
)

func declare(s storage.Subject, author string, since int64) storage.Action {
	return storage.Action{User: storage.User{Tenant: s.Tenant}, Subject: s, Kind: storage.KindAuthor, Author: author, Version: since}
}

func (w *world) totals(of storage.User) storage.UserTotals {
	w.Helper()
	got, err := w.s.TotalsOf(w.Context(), []storage.User{of})
	w.must(err)
	return got[0]
}

// works returns the bizIds of all of a user's works, which it reads in pages.
func (w *world) works(of storage.User, biz string, first int) (ids []string) {
	w.Helper()
	page := storage.Page{First: first}
	for range 1000 {
		got, err := w.s.Works(w.Context(), []storage.WorksQuery{{User: of, Biz: biz, Page: page}})
		w.must(err)
		entries := got[0].Entries
		for _, e := range entries {
			w.equal("the tenant of a work", e.Subject.Tenant, of.Tenant)
			ids = append(ids, e.Subject.BizID)
		}
		switch resume := got[0].Resume; {
		case resume != storage.Position{}:
			page.After = resume
		case len(entries) == first:
			last := entries[first-1]
			page.After = storage.Position{Version: last.Since, Biz: last.Subject.Biz, ID: last.Subject.BizID}
		default:
			return ids
		}
	}
	w.Fatalf("got 1000 pages of works of %s, want a short one as the last", of.UserID)
	return nil
}

func latestDeclarationIsInForce(w *world) {
	s := video("1")
	for _, step := range []struct {
		author  string
		since   int64
		want    string
		version int64
	}{
		{"alice", 5, "alice", 1},
		{"alice", 5, "alice", 1}, // repeated
		{"bob", 4, "alice", 1},   // an earlier time
		{"bob", 5, "bob", 2},     // the same time, corrected
		{"bob", 7, "bob", 3},     // a later time
		{"", 8, "", 4},
		{"carol", 7, "", 4},
		{"carol", 9, "carol", 5},
	} {
		outcome := w.persist(declare(s, step.author, step.since))
		got := w.counts(s)
		w.equal(fmt.Sprint("author and version after ", step), []any{got.AuthorID, got.Version}, []any{step.want, step.version})
		w.equal("states in the outcome", len(outcome.Applied), 0)
		for _, told := range outcome.Counts {
			w.equal("the counts in the outcome", told.Counts, got)
		}
		w.verified()
	}
	// Within a call, the order of messages and actions decides if the times are equal.
	outcome := w.persistMessages(w.message(declare(s, "dave", 20), declare(s, "erin", 30)), w.message(declare(s, "frank", 30), declare(s, "grace", 10)))
	w.equal("the author in the outcome", outcome.Counts[0].AuthorID, "frank")
	w.equal("the version in the outcome", outcome.Counts[0].Version, int64(6))

	again := w.message(declare(s, "alice", 40))
	w.persistMessages(again)
	w.persist(declare(s, "bob", 50))
	w.equal("the author recalled for a redelivered message", w.persistMessages(again).Counts[0].AuthorID, "bob")
}

func declarationsAreChecked(w *world) {
	s := video("1")
	of := declare(s, "alice", 1)
	of.User = user("bob")
	for name, a := range map[string]storage.Action{
		"of a user":           of,
		"no valid author":     declare(s, "a\x00b", 1),
		"no time":             declare(s, "alice", 0),
		"an author of a like": {User: user("bob"), Subject: s, Kind: storage.KindReaction, Author: "alice", Version: 1},
	} {
		_, err := w.s.Persist(w.Context(), []storage.Message{w.message(declare(video("2"), "alice", 1), a)}, nil)
		if !errors.Is(err, storage.ErrInvalid) {
			w.Errorf("%s: got %v, want %v", name, err, storage.ErrInvalid)
		}
	}
	w.equal("counts of a subject declared with invalid ones", w.counts(video("2")), storage.Counts{})
}

// authorsReceiveLikes adds likes before, in and after the transaction that declares the
// author.
func authorsReceiveLikes(w *world) {
	alice, bob, s := user("alice"), user("bob"), video("1")
	w.persist(like(alice, s, 1), like(user("carol"), s, 1), React(user("dave"), s, storage.Dislike, 1))
	w.persist(declare(s, "bob", 5), like(user("dave"), s, 2))
	w.equal("totals of an author declared after likes", w.totals(bob), storage.UserTotals{Works: 1, LikesReceived: 3})
	w.persist(React(alice, s, storage.NoReaction, 3), like(bob, s, 3))
	w.equal("totals after one more like and one less", w.totals(bob), storage.UserTotals{Works: 1, LikesReceived: 3, Likes: 1})
	w.persist(declare(s, "alice", 6), declare(video("2"), "alice", 6), like(alice, s, 4), like(bob, video("2"), 4))
	w.equal("totals of the author before", w.totals(bob), storage.UserTotals{Likes: 2})
	w.equal("totals of the author after", w.totals(alice), storage.UserTotals{Works: 2, LikesReceived: 5, Likes: 1})
	w.persist(declare(s, "", 7))
	w.equal("totals of the author of one work", w.totals(alice), storage.UserTotals{Works: 1, LikesReceived: 1, Likes: 1})
	w.equal("likes of a subject without an author", w.counts(s).LikeCount, int64(4))
	w.verified()
}

func totalsCountActionsOfUsers(w *world) {
	alice, bob := user("alice"), user("bob")
	films := w.newFolder(alice, "Films")
	w.persist(
		like(alice, video("1"), 1), like(alice, video("2"), 1), React(alice, video("3"), storage.Dislike, 1), read(alice, video("1"), 3, 1, 1),
		Collect(alice, video("1"), films.FolderID, 1), Collect(alice, video("2"), films.FolderID, 1), Collect(alice, video("3"), "default", 1),
		follow(alice, video("1"), 1), follow(alice, bob.Subject(), 1), follow(user("carol"), bob.Subject(), 1), follow(bob, alice.Subject(), 1),
	)
	added, err := w.s.AddComments(w.Context(), []storage.NewComment{
		{Subject: video("1"), User: alice, Text: "one", RequestID: "1"},
		{Subject: video("2"), User: alice, Text: "two"},
		{Subject: video("1"), User: alice, Text: "one", RequestID: "1"},
		{Subject: video("1"), User: bob, Text: " "},
	})
	w.must(err)
	want := storage.UserTotals{Likes: 2, Following: 2, Followers: 1, Collections: 3, Comments: 2}
	w.equal("totals", w.totals(alice), want)
	w.equal("totals of bob", w.totals(bob), storage.UserTotals{Following: 1, Followers: 2})
	all, err := w.s.TotalsOf(w.Context(), []storage.User{user("nobody"), alice, user(""), {Tenant: "other", UserID: "alice"}, alice})
	w.must(err)
	w.equal("totals in the order asked", all, []storage.UserTotals{{}, want, {}, {}, want})

	w.persist(React(alice, video("1"), storage.Dislike, 2), unfollow(alice, video("1"), 2), Collect(alice, video("3"), films.FolderID, 2))
	_, _, err = w.s.EmptyFolder(w.Context(), films.Key(), storage.DefaultFolderID, storage.Time(3), 1, nil)
	w.must(err)
	_, _, err = w.s.EmptyFolder(w.Context(), films.Key(), "", storage.Time(3), 10, nil)
	w.must(err)
	one := added[0].Comment.Key()
	_, err = w.s.EditComment(w.Context(), storage.CommentChange{Key: one, By: alice}, "edited")
	w.must(err)
	_, err = w.s.DeleteComment(w.Context(), storage.CommentChange{Key: one, By: bob, Moderates: true})
	w.must(err)
	_, err = w.s.DeleteComment(w.Context(), storage.CommentChange{Key: one, By: alice})
	w.wantError("deleting a deleted comment", err, storage.ErrNotFound)
	w.equal("totals after some was taken back", w.totals(alice), storage.UserTotals{Likes: 1, Following: 1, Followers: 1, Collections: 1, Comments: 1})
	w.verified()
}

func worksAreNewestFirst(w *world) {
	alice := user("alice")
	page := storage.Subject{Tenant: storage.DefaultTenant, Biz: "page", BizID: "p"}
	w.persist(declare(video("1"), "alice", 1), declare(video("2"), "alice", 3), declare(video("3"), "bob", 9),
		declare(page, "alice", 3), declare(video("4"), "alice", 2),
		declare(storage.Subject{Tenant: "other", Biz: "video", BizID: "5"}, "alice", 5))
	for _, first := range []int{1, 2, 10} {
		w.equal("works", w.works(alice, "", first), []string{"2", "p", "4", "1"})
		w.equal("works of one biz", w.works(alice, "video", first), []string{"2", "4", "1"})
	}
	w.persist(declare(video("2"), "bob", 4), declare(video("1"), "alice", 8), like(alice, video("4"), 1))
	w.equal("works afterwards", w.works(alice, "", 2), []string{"1", "p", "4"})
	w.equal("works of an anonymous user", w.works(user(""), "", 2), []string(nil))

	// A page of one biz examines a bounded number of works of another biz.
	actions := make([]storage.Action, 0, storage.MaxListScan+6)
	for i := range storage.MaxListScan + 5 {
		actions = append(actions, declare(video(fmt.Sprint("old", i)), "carol", int64(10+i)))
	}
	page.BizID = "first"
	w.persist(append(actions, declare(page, "carol", 1))...)
	got, err := w.s.Works(w.Context(), []storage.WorksQuery{{User: user("carol"), Biz: "page", Page: storage.Page{First: 3}}})
	w.must(err)
	w.equal("entries and where it resumes", []any{len(got[0].Entries), got[0].Resume.Version}, []any{0, int64(15)})
	w.equal("works of one biz behind many others", w.works(user("carol"), "page", 3), []string{"first"})
}

func verifyRecountsTotals(w *world) {
	alice := user("alice")
	w.persist(like(alice, video("1"), 1), follow(alice, video("1"), 1), Collect(alice, video("1"), storage.DefaultFolderID, 1),
		declare(video("1"), "bob", 1), declare(video("2"), "bob", 1), like(user("carol"), video("2"), 1))
	_, err := w.s.AddComments(w.Context(), []storage.NewComment{{Subject: video("1"), User: alice, Text: "one"}})
	w.must(err)
	w.verified()
	right := []storage.UserTotals{w.totals(alice), w.totals(user("bob"))}

	w.db.Edit(w.T, `UPDATE user_totals SET likes = 7, following = 0, collections = 5 WHERE user_id = 'alice'`)
	w.db.Edit(w.T, `UPDATE user_comments SET comments = 9 WHERE user_id = 'alice'`)
	w.db.Edit(w.T, `DELETE FROM user_totals WHERE user_id = 'bob'`)
	w.db.Edit(w.T, `INSERT INTO user_totals VALUES ('default', 'zoe', 0, 0, 0, 1, 2)`)
	w.db.Edit(w.T, `UPDATE interactive SET like_count = 9 WHERE biz_id = '2'`) // the author does not receive these likes
	bob, zoe := user("bob"), user("zoe")
	want := []storage.Difference{
		{Subject: video("2"), Count: "likeCount", Stored: 9, Counted: 1},
		{User: alice, Count: "likes", Stored: 7, Counted: 1},
		{User: alice, Count: "following", Stored: 0, Counted: 1},
		{User: alice, Count: "collections", Stored: 5, Counted: 1},
		{User: alice, Count: "comments", Stored: 9, Counted: 1},
		{User: bob, Count: "works", Stored: 0, Counted: 2},
		{User: bob, Count: "likesReceived", Stored: 0, Counted: 2},
		{User: zoe, Count: "works", Stored: 1, Counted: 0},
		{User: zoe, Count: "likesReceived", Stored: 2, Counted: 0},
	}
	w.repaired(want...)
	w.equal("totals after the repair", []storage.UserTotals{w.totals(alice), w.totals(bob)}, right)
	w.persist(like(alice, video("2"), 9), declare(video("1"), "alice", 9))
	w.verified()
}

// concurrentAuthorsAgree runs concurrent writers through two stores. They like, collect,
// comment, empty folders and declare authors, all on the same few users and subjects. No
// writer blocks another writer permanently, and all totals are right at the end.
func concurrentAuthorsAgree(w *world) {
	const writers, rounds = 8, 12
	stores := []storage.Store{w.s, w.open()}
	var version atomic.Int64
	var folders sync.Map
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 2)) //nolint:gosec // the same numbers in every run
			for round := range rounds {
				s := stores[(n+round)%len(stores)] // in turn: on one SQLite file, a store may wait too long for one that never pauses
				var err error
				switch name := fmt.Sprintf("%d-%d", n, round); n % 4 {
				case 2:
					err = w.talk(s, random, user(fmt.Sprint("user", random.IntN(4))), []storage.Subject{video("0"), video("1")}, name)
				case 3:
					err = keepFolders(w, s, random, &version, &folders, "Folder "+name)
				default:
					m := storage.Message{ID: name}
					for range 20 {
						a := randomAction(random, &version, &folders)
						if random.IntN(4) == 0 {
							authors := []string{"", "user0", "user1", "user2"}
							a = declare(video(strconv.Itoa(random.IntN(3))), authors[random.IntN(len(authors))], version.Add(1))
						}
						m.Actions = append(m.Actions, a)
					}
					_, err = s.Persist(w.Context(), []storage.Message{m}, nil)
				}
				if err != nil {
					w.Errorf("writer %d: %v", n, err)
				}
			}
		})
	}
	group.Wait()
	w.verified()
	for i := range 4 {
		u := user(fmt.Sprint("user", i))
		works := w.works(u, "", 2)
		w.equal("works", int64(len(works)), w.totals(u).Works)
		received := int64(0)
		for _, id := range slices.Compact(works) {
			received += w.counts(video(id)).LikeCount
		}
		w.equal("likes received", w.totals(u).LikesReceived, received)
	}
}

// publicCollectionsFollowTheirFolders checks that PublicCollections counts the items of
// public folders, whichever folder they move to and whichever folder becomes public.
func publicCollectionsFollowTheirFolders(w *world) {
	alice := user("alice")
	films := w.newFolder(alice, "Films")
	w.persist(Collect(alice, video("1"), films.FolderID, 1), Collect(alice, video("2"), films.FolderID, 1),
		Collect(alice, video("3"), storage.DefaultFolderID, 1))
	want := func(what string, public int64) {
		w.Helper()
		w.equal("totals, "+what, w.totals(alice), storage.UserTotals{Collections: 3, PublicCollections: public})
		w.verified()
	}
	show := func(key storage.FolderKey, public bool) {
		w.Helper()
		_, err := w.s.UpdateFolder(w.Context(), key, storage.FolderChange{Public: &public}, storage.Time(2))
		w.must(err)
	}
	want("all folders are private", 0)
	show(films.Key(), true)
	want("one folder is public", 2)
	w.persist(Collect(alice, video("2"), storage.DefaultFolderID, 2))
	want("an item moved to a private folder", 1)
	show(defaultOf(alice), true)
	want("all folders are public", 3)
	show(films.Key(), false)
	want("one folder is private again", 2)
}
