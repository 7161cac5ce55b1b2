package storagetest

import (
	"fmt"
	"slices"
	"strconv"

	"ovation/storage"
)

func followersAreCounted(w *world) {
	alice, bob, carol := user("alice"), user("bob"), user("carol")
	s := bob.Subject()
	for _, step := range []struct {
		name      string
		action    storage.Action
		followers int64
		version   int64 // of the counts
	}{
		{"none as the first word", unfollow(alice, s, 1), 0, 0},
		{"a follow", follow(alice, s, 2), 1, 1},
		{"the same follow again", follow(alice, s, 3), 1, 1},
		{"another's follow", follow(carol, s, 1), 2, 2},
		{"an older unfollow", unfollow(alice, s, 2), 2, 2},
		{"one of the same version", unfollow(carol, s, 1), 2, 2},
		{"an unfollow", unfollow(alice, s, 4), 1, 3},
		{"an unfollow twice", unfollow(alice, s, 5), 1, 3},
		{"an older follow", follow(alice, s, 4), 1, 3},
		{"a follow once more", follow(alice, s, 6), 2, 4},
	} {
		w.persist(step.action)
		w.equal("counts after "+step.name, w.counts(s), storage.Counts{FollowerCount: step.followers, Version: step.version})
	}
	w.equal("the follow", w.states(alice, s), storage.States{
		Followed: &storage.Followed{User: alice, Subject: s, Version: 6}, FollowVersion: 6,
	})

	// A like, a collection and a read of the same subject are separate states.
	w.persist(like(alice, s, 1), Collect(alice, s, storage.DefaultFolderID, 1), read(alice, s, 1, 1, 1))
	w.persist(unfollow(alice, s, 7))
	got := w.states(alice, s)
	w.equal("the like, the collection, the read and the follow are there", []bool{got.Liked != nil, got.Collected != nil, got.Read != nil, got.Followed != nil}, []bool{true, true, true, false})
	w.equal("counts", w.counts(s), storage.Counts{ReadCount: 1, ReaderCount: 1, LikeCount: 1, CollectCount: 1, FollowerCount: 1, Version: 6})

	// Followers of any subject are counted, regardless of the order of the actions in a
	// message.
	outcome := w.persist(unfollow(alice, video("1"), 9), follow(bob, video("1"), 5), follow(alice, video("1"), 8))
	w.equal("applied", outcome.Applied, []storage.StateChange{
		{User: alice, Subject: video("1"), Kind: storage.KindFollow, Version: 9},
		{User: bob, Subject: video("1"), Kind: storage.KindFollow, Following: true, Version: 5},
	})
	again := w.persist(unfollow(bob, video("1"), 4), unfollow(bob, video("1"), 6))
	w.equal("applied when repeated", again.Applied, []storage.StateChange{
		{User: bob, Subject: video("1"), Kind: storage.KindFollow, OldFollowing: true, Version: 6},
	})
	old := w.persist(follow(bob, video("1"), 3))
	w.equal("applied by an older action", old.Applied, []storage.StateChange{
		{User: bob, Subject: video("1"), Kind: storage.KindFollow, Version: 6},
	})
	w.verified()
}

func usersCannotFollowThemselves(w *world) {
	alice := user("alice")
	_, err := w.s.Persist(w.Context(), []storage.Message{w.message(follow(alice, alice.Subject(), 1))}, nil)
	w.wantError("a follow of oneself", err, storage.ErrInvalid)
	w.equal("counts", w.counts(alice.Subject()), storage.Counts{})
	w.persist(unfollow(alice, alice.Subject(), 1), follow(alice, video("alice"), 1))
	w.equal("followers of a video with the user's id", w.counts(video("alice")).FollowerCount, int64(1))
}

// friends returns all friends of a user. It reads pages until a page is short.
func (w *world) friends(of storage.User, first int) (out []storage.Friend) {
	w.Helper()
	page := storage.Page{First: first}
	for range 1000 {
		got, err := w.s.Friends(w.Context(), []storage.FriendsQuery{{User: of, Page: page}})
		w.must(err)
		entries, resume := got[0].Entries, got[0].Resume
		out = append(out, entries...)
		switch {
		case len(entries) > first, len(entries) == first && resume != storage.Position{}:
			w.Fatalf("got a page of %d that resumes at %+v, want at most %d entries, and a position only if fewer", len(entries), resume, first)
		case len(entries) == first:
			page.After = entries[first-1].Position
		case resume != storage.Position{}:
			page.After = resume
		default:
			return out
		}
	}
	w.Fatalf("got 1000 pages of friends of %s, want a short one as the last", of.UserID)
	return nil
}

func namesOf(friends []storage.Friend) []string {
	out := make([]string, 0, len(friends))
	for _, f := range friends {
		out = append(out, f.User.UserID)
	}
	return out
}

func friendsFollowEachOther(w *world) {
	alice, bob, carol, dave, other := user("alice"), user("bob"), user("carol"), user("dave"), storage.User{Tenant: "other", UserID: "erin"}
	w.persist(
		follow(alice, bob.Subject(), 1), follow(bob, alice.Subject(), 9), // friends
		follow(alice, carol.Subject(), 2), follow(carol, alice.Subject(), 3), // friends
		follow(alice, dave.Subject(), 4),                                            // one way
		follow(user("erin"), alice.Subject(), 5),                                    // only the other way
		follow(alice, video("frank"), 6), follow(user("frank"), alice.Subject(), 7), // alice follows a video with that id
		follow(other, storage.User{Tenant: "other", UserID: "alice"}.Subject(), 1), like(alice, video("1"), 1), // another tenant
	)
	w.persist(follow(alice, user("grace").Subject(), 8), follow(user("grace"), alice.Subject(), 8))
	w.persist(unfollow(user("grace"), alice.Subject(), 9))
	for _, first := range []int{1, 2, 10} {
		got := w.friends(alice, first)
		w.equal("friends", slices.Sorted(slices.Values(namesOf(got))), []string{"bob", "carol"})
		for _, f := range got {
			w.equal("the version of the later follow", f.Version, map[string]int64{"bob": 9, "carol": 3}[f.User.UserID])
			w.equal("the tenant of a friend", f.User.Tenant, alice.Tenant)
		}
	}
	w.equal("friends of bob, dave, erin", [][]string{namesOf(w.friends(bob, 5)), namesOf(w.friends(dave, 5)), namesOf(w.friends(user("erin"), 5))},
		[][]string{{"alice"}, {}, {}})

	both, err := w.s.Friends(w.Context(), []storage.FriendsQuery{
		{User: dave, Page: storage.Page{First: 5}},
		{User: alice, Page: storage.Page{First: 5}},
		{User: user("nobody"), Page: storage.Page{First: 5}},
		{User: bob, Page: storage.Page{First: 5}},
		{User: user(""), Page: storage.Page{First: 5}},
	})
	w.must(err)
	w.equal("friends of several users, in the order asked", lengths(both), []int{0, 2, 0, 1, 0})
}

// friendsAreSearchedInTheShorterList checks two users: the star has many followers and
// follows few users; the fan follows many users and has few followers. The first page
// must hold all friends of each user. They are sorted by their follows in the list that
// is searched, the newest first.
func friendsAreSearchedInTheShorterList(w *world) {
	const many = storage.MaxListScan + 20
	star, fan := user("star"), user("fan")
	actions := make([]storage.Action, 0, 2*many+12)
	for i := range many {
		somebody := user(fmt.Sprint("somebody", i))
		actions = append(actions, follow(somebody, star.Subject(), int64(1000+i)), follow(fan, somebody.Subject(), int64(1000+i)))
	}
	for i, name := range []string{"first", "second", "third"} {
		u, v := user(name), int64(i+1) // older than all other follows
		actions = append(actions, follow(star, u.Subject(), v), follow(u, star.Subject(), 10-v), follow(u, fan.Subject(), v), follow(fan, u.Subject(), 10-v))
	}
	w.persist(actions...)
	for _, of := range []storage.User{star, fan} {
		got, err := w.s.Friends(w.Context(), []storage.FriendsQuery{{User: of, Page: storage.Page{First: 10}}})
		w.must(err)
		w.equal("friends of "+of.UserID, namesOf(got[0].Entries), []string{"third", "second", "first"})
		w.equal("where it resumes", got[0].Resume, storage.Position{})
		w.equal("friends in pages of 1", w.friends(of, 1), got[0].Entries)
	}

	// A later page continues in the list that the first page searched, even if that list
	// is the longer one by now.
	first, err := w.s.Friends(w.Context(), []storage.FriendsQuery{{User: star, Page: storage.Page{First: 1}}})
	w.must(err)
	for i := range 2 * many {
		actions[i] = follow(star, video(strconv.Itoa(i)), int64(2000+i))
	}
	w.persist(actions[:2*many]...)
	rest, err := w.s.Friends(w.Context(), []storage.FriendsQuery{{User: star, Page: storage.Page{First: 10, After: first[0].Entries[0].Position}}})
	w.must(err)
	w.equal("friends on the next page", namesOf(rest[0].Entries), []string{"second", "first"})
}

// pagesOfFriendsExamineBoundedRows checks that a page examines a bounded number of rows,
// including follows of other kinds of content, and that the next page resumes after those
// rows.
func pagesOfFriendsExamineBoundedRows(w *world) {
	alice := user("alice")
	var actions []storage.Action
	friends := []int64{scattered, scattered - storage.MaxListScan + 1, scattered - storage.MaxListScan, 700, 699, 1}
	for v := int64(1); v <= scattered; v++ {
		id := strconv.FormatInt(v, 10)
		switch {
		case slices.Contains(friends, v):
			actions = append(actions, follow(alice, user(id).Subject(), v), follow(user(id), alice.Subject(), v))
		case v%2 == 0:
			actions = append(actions, follow(alice, user(id).Subject(), v))
		default:
			actions = append(actions, follow(alice, video(id), v))
		}
		// As many users follow alice, in another order, so that this list is searched.
		actions = append(actions, follow(user("fan"+id), alice.Subject(), v))
	}
	w.persist(actions...)
	for _, first := range []int{1, 2, 100} {
		var got []int64
		for _, f := range w.friends(alice, first) {
			got = append(got, f.Version)
		}
		w.equal(fmt.Sprint("friends in pages of ", first), got, friends)
	}
	page, err := w.s.Friends(w.Context(), []storage.FriendsQuery{{User: alice, Page: storage.Page{First: 3}}})
	w.must(err)
	w.equal("friends within the first rows", len(page[0].Entries), 2)
	w.equal("where it resumes", page[0].Resume.Version, int64(scattered-storage.MaxListScan+1))
}

// followedLikes returns the ids of all users whom a user follows and who like a subject. It
// reads pages until the list has ended.
func (w *world) followedLikes(of storage.User, s storage.Subject, first int) (out []string) {
	w.Helper()
	page := storage.Page{First: first}
	for range 1000 {
		got, err := w.s.FollowedLikers(w.Context(), []storage.FollowedLikersQuery{{User: of, Subject: s, Page: page}})
		w.must(err)
		for i := range got[0].Entries {
			l := &got[0].Entries[i]
			out = append(out, l.User.UserID)
			page.After = l.Position
			w.equal("a like that is followed", l.Liked, storage.Liked{User: user(l.User.UserID), Subject: s, Reaction: storage.Like, Version: w.states(l.User, s).Liked.Version})
		}
		switch {
		case got[0].Resume != storage.Position{}:
			page.After = got[0].Resume
		case len(got[0].Entries) < first:
			return out
		}
	}
	w.Fatalf("got 1000 pages of likers whom %s follows, want a last one", of.UserID)
	return nil
}

func followedLikersAreFollowed(w *world) {
	alice, bob, carol, dave, erin, s := user("alice"), user("bob"), user("carol"), user("dave"), user("erin"), video("1")
	w.persist(
		follow(alice, bob.Subject(), 1), follow(alice, carol.Subject(), 2), follow(alice, dave.Subject(), 3), follow(alice, erin.Subject(), 4),
		storage.Action{User: alice, Subject: erin.Subject(), Kind: storage.KindFollow, Version: 5}, // no longer
		follow(alice, s, 6), // no user
		follow(bob, alice.Subject(), 7),
		like(bob, s, 20), like(carol, s, 10), React(dave, s, storage.Dislike, 30), like(erin, s, 40), like(alice, s, 50), like(user("stranger"), s, 60),
		like(dave, video("2"), 70),
	)
	for _, first := range []int{1, 2, 3} {
		w.equal("likers whom alice follows, the latest follow first", w.followedLikes(alice, s, first), []string{"carol", "bob"})
	}
	other := storage.User{Tenant: "other", UserID: "alice"}
	found, err := w.s.FollowedLikers(w.Context(), []storage.FollowedLikersQuery{
		{User: alice, Subject: video("2"), Page: storage.Page{First: 5}},
		{User: bob, Subject: s, Page: storage.Page{First: 5}},
		{User: alice, Subject: video("none"), Page: storage.Page{First: 5}},
		{User: other, Subject: storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}, Page: storage.Page{First: 5}},
		{User: user(""), Subject: s, Page: storage.Page{First: 5}},
		{User: alice, Subject: s, Page: storage.Page{First: 1}},
	})
	w.must(err)
	w.equal("lists of several users, in the order asked", lengths(found), []int{1, 1, 0, 0, 0, 1})
	w.persist(storage.Action{User: carol, Subject: s, Kind: storage.KindReaction, If: storage.Like, Version: 80})
	w.equal("likers after an unlike", w.followedLikes(alice, s, 3), []string{"bob"})
}

// pagesOfFollowedLikersExamineBoundedRows checks that a page examines a bounded number of
// follows, and that the next page resumes after them.
func pagesOfFollowedLikersExamineBoundedRows(w *world) {
	alice, s := user("alice"), video("1")
	var actions []storage.Action
	likers := []int64{scattered, scattered - storage.MaxListScan + 1, scattered - storage.MaxListScan, 700, 699, 1}
	want := make([]string, len(likers))
	for v := int64(1); v <= scattered; v++ {
		id := strconv.FormatInt(v, 10)
		if slices.Contains(likers, v) {
			actions = append(actions, like(user(id), s, v))
			want[slices.Index(likers, v)] = id
		}
		actions = append(actions, follow(alice, user(id).Subject(), v))
	}
	w.persist(actions...)
	for _, first := range []int{1, 2, 100} {
		w.equal(fmt.Sprint("likers in pages of ", first), w.followedLikes(alice, s, first), want)
	}
	page, err := w.s.FollowedLikers(w.Context(), []storage.FollowedLikersQuery{{User: alice, Subject: s, Page: storage.Page{First: 3}}})
	w.must(err)
	w.equal("likers within the first rows", len(page[0].Entries), 2)
	w.equal("where it resumes", page[0].Resume.Version, int64(scattered-storage.MaxListScan+1))
}
