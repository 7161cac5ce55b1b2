package storagetest

import (
	"fmt"

	"ovation/storage"
	"ovation/storage/mirror"
)

func windowsAreCompleteOrMarkedIncomplete(w *world) {
	alice, bob, foreign := user("alice"), user("bob"), storage.User{Tenant: "other", UserID: "alice"}
	article := storage.Subject{Tenant: storage.DefaultTenant, Biz: "article", BizID: "1"}
	theirs := storage.Subject{Tenant: foreign.Tenant, Biz: "video", BizID: "1"}
	f := w.newFolder(alice, "Films")
	w.persist(
		like(alice, video("1"), 1), Collect(alice, video("1"), f.FolderID, 2), React(alice, video("2"), storage.Dislike, 3),
		like(alice, video("3"), 4), Collect(alice, video("4"), storage.DefaultFolderID, 5), read(alice, video("5"), 1, 6, 6),
		like(alice, article, 7), like(bob, video("1"), 8),
		like(foreign, theirs, 9),
		follow(alice, video("1"), 12), follow(alice, video("6"), 13),
	)
	w.persist(React(alice, video("3"), storage.NoReaction, 10), Collect(alice, video("4"), "", 11), follow(alice, video("3"), 14), unfollow(alice, video("6"), 15))

	videos := mirror.WindowKey{User: alice, Biz: "video"}
	all := map[string]storage.States{
		"1": {
			Liked:     &storage.Liked{User: alice, Subject: video("1"), Reaction: storage.Like, Version: 1},
			Reaction:  storage.Register{Value: storage.Like, Set: 1},
			Collected: &storage.Collected{User: alice, Subject: video("1"), FolderID: f.FolderID, Version: 2}, CollectionVersion: 2,
			Followed: &storage.Followed{User: alice, Subject: video("1"), Version: 12}, FollowVersion: 12,
			CountsVersion: 1,
		},
		"2": {Liked: &storage.Liked{User: alice, Subject: video("2"), Reaction: storage.Dislike, Version: 3}, Reaction: storage.Register{Value: storage.Dislike, Set: 3}, CountsVersion: 1},
		"3": {Reaction: storage.Register{Set: 10}, Followed: &storage.Followed{User: alice, Subject: video("3"), Version: 14}, FollowVersion: 14, CountsVersion: 2},
		"4": {CollectionVersion: 11, CountsVersion: 2},
		"6": {FollowVersion: 15, CountsVersion: 2},
	}
	like := func(u storage.User, s storage.Subject, version int64) mirror.Window {
		return mirror.Window{Complete: true, States: map[string]storage.States{
			s.BizID: {Liked: &storage.Liked{User: u, Subject: s, Reaction: storage.Like, Version: version}, Reaction: storage.Register{Value: storage.Like, Set: version}, CountsVersion: 1},
		}}
	}
	none := mirror.Window{Complete: true, States: map[string]storage.States{}}
	keys := []mirror.WindowKey{
		videos,
		{User: bob, Biz: "video"},
		{User: alice, Biz: "article"},
		videos,
		{User: foreign, Biz: "video"},
		{User: user("carol"), Biz: "video"},
		{User: alice, Biz: "podcast"},
		{User: user(""), Biz: "video"},
	}
	for limit, complete := range map[int]bool{4: false, 7: false, 8: true, 1000: true} {
		window := mirror.Window{Complete: true, States: all}
		if !complete {
			window = mirror.Window{}
		}
		got, err := w.database().Windows(w.Context(), keys, limit)
		w.must(err)
		w.equal(fmt.Sprintf("windows of at most %d states", limit), got, []mirror.Window{
			window, like(bob, video("1"), 8), like(alice, article, 7), window,
			like(foreign, theirs, 9), none, none, none,
		})
	}
	got, err := w.database().Windows(w.Context(), nil, 5)
	w.must(err)
	w.equal("windows of no keys", len(got), 0)
}

func statesIncludeTheVersionOfTheirCounts(w *world) {
	alice, bob := user("alice"), user("bob")
	liked, collected, read1, none := video("liked"), video("collected"), video("read"), video("none")
	followed := video("followed")
	w.persist(
		like(alice, liked, 1), Collect(alice, collected, storage.DefaultFolderID, 1), read(alice, read1, 1, 1, 1),
		React(alice, none, storage.NoReaction, 1), follow(alice, followed, 1),
	)
	w.persist(like(bob, liked, 1), like(bob, collected, 1))
	w.persist(like(bob, liked, 2), React(bob, liked, storage.Dislike, 3))

	keys := []storage.StateKey{
		{User: alice, Subject: liked},
		{User: alice, Subject: collected},
		{User: alice, Subject: read1},
		{User: alice, Subject: none},
		{User: bob, Subject: liked},
		{User: bob, Subject: collected},
		{User: bob, Subject: read1},
		{User: alice, Subject: followed},
		{User: bob, Subject: followed},
	}
	both := storage.KindsOf(storage.KindReaction, storage.KindCollection)
	for kinds, want := range map[storage.Kinds][]int64{
		storage.AllKinds:                        {3, 2, 1, 0, 3, 2, 0, 1, 0},
		both:                                    {3, 2, 0, 0, 3, 2, 0, 0, 0},
		storage.KindsOf(storage.KindReaction):   {3, 0, 0, 0, 3, 2, 0, 0, 0},
		storage.KindsOf(storage.KindCollection): {0, 2, 0, 0, 0, 0, 0, 0, 0},
		storage.KindsOf(storage.KindRead):       {0, 0, 1, 0, 0, 0, 0, 0, 0},
		storage.KindsOf(storage.KindFollow):     {0, 0, 0, 0, 0, 0, 0, 1, 0},
	} {
		states, err := w.s.States(w.Context(), keys, kinds)
		w.must(err)
		got := make([]int64, len(states))
		for i := range states {
			got[i] = states[i].CountsVersion
		}
		w.equal(fmt.Sprintf("versions of the counts, of the kinds %b", kinds), got, want)
	}
}
