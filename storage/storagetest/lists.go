package storagetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ovation/storage"
)

// entry is an entry of any list.
type entry struct {
	key string // identifies the entry within the case
	at  storage.Position
}

// listing is one list in a world. All listings are written and paged in the same way.
type listing struct {
	name string
	// put adds the entry with the given key or, if the entry exists, gives it another
	// version.
	put func(key string, version int64)
	// drop removes the entry. It is nil if entries cannot be removed.
	drop func(key string, version int64)
	page func(storage.Page) []entry
}

// listings returns all lists, each of one user or of one subject. The database also holds
// a few other entries.
func listings(w *world) []listing {
	alice, bob := user("alice"), user("bob")
	subject := func(key string) storage.Subject {
		// Two kinds of content, so that biz affects the order.
		return storage.Subject{Tenant: storage.DefaultTenant, Biz: []string{"article", "video"}[len(key)%2], BizID: key}
	}
	films := w.newFolder(alice, "Films")
	other := w.newFolder(alice, "Other")
	w.persist(
		like(bob, video("noise"), 5), React(alice, video("noise"), storage.Dislike, 5), read(bob, video("noise"), 1, 5, 5),
		Collect(alice, video("noise"), other.FolderID, 5), read(user(""), video("noise"), 1, 5, 5),
		follow(bob, video("noise"), 5), unfollow(alice, video("noise"), 5),
	)
	return []listing{
		{
			"likers",
			func(key string, v int64) { w.persist(like(user(key), video("1"), v)) },
			func(key string, v int64) { w.persist(React(user(key), video("1"), storage.Dislike, v)) },
			func(p storage.Page) []entry {
				got, err := w.s.Likers(w.Context(), []storage.LikersQuery{{Subject: video("1"), Page: p}})
				return entries(w, got, err, func(l storage.Liked) entry {
					w.equal("the subject", l.Subject, video("1"))
					return entry{l.User.UserID, storage.Position{Version: l.Version, ID: l.User.UserID}}
				})
			},
		},
		{
			"likes",
			func(key string, v int64) { w.persist(like(alice, subject(key), v)) },
			func(key string, v int64) { w.persist(React(alice, subject(key), storage.NoReaction, v)) },
			func(p storage.Page) []entry {
				got, err := w.s.Likes(w.Context(), []storage.LikesQuery{{User: alice, Page: p}})
				return entries(w, got, err, func(l storage.Liked) entry { return of(l.Subject, l.Version) })
			},
		},
		{
			"likes of a biz",
			func(key string, v int64) { w.persist(like(bob, video(key), v), like(bob, subject("an article"), v)) },
			func(key string, v int64) { w.persist(React(bob, video(key), storage.Dislike, v)) },
			func(p storage.Page) []entry {
				got, err := w.s.Likes(w.Context(), []storage.LikesQuery{{User: bob, Biz: "video", Page: p}})
				return slices.DeleteFunc(entries(w, got, err, func(l storage.Liked) entry { return of(l.Subject, l.Version) }),
					func(e entry) bool { return e.key == "noise" })
			},
		},
		{
			"items",
			func(key string, v int64) { w.persist(Collect(alice, subject(key), films.FolderID, v)) },
			func(key string, v int64) { w.persist(Collect(alice, subject(key), other.FolderID, v)) },
			func(p storage.Page) []entry {
				got, err := w.s.Items(w.Context(), []storage.ItemsQuery{{Folder: films.Key(), Page: p}})
				return entries(w, got, err, func(c storage.Collected) entry { return of(c.Subject, c.Version) })
			},
		},
		{
			"followers",
			func(key string, v int64) { w.persist(follow(user(key), video("1"), v)) },
			func(key string, v int64) { w.persist(unfollow(user(key), video("1"), v)) },
			func(p storage.Page) []entry {
				got, err := w.s.Followers(w.Context(), []storage.FollowersQuery{{Subject: video("1"), Page: p}})
				return entries(w, got, err, func(f storage.Followed) entry {
					w.equal("the subject", f.Subject, video("1"))
					return entry{f.User.UserID, storage.Position{Version: f.Version, ID: f.User.UserID}}
				})
			},
		},
		{
			"following",
			func(key string, v int64) { w.persist(follow(alice, subject(key), v)) },
			func(key string, v int64) { w.persist(unfollow(alice, subject(key), v)) },
			func(p storage.Page) []entry {
				got, err := w.s.Following(w.Context(), []storage.FollowingQuery{{User: alice, Page: p}})
				return entries(w, got, err, func(f storage.Followed) entry { return of(f.Subject, f.Version) })
			},
		},
		{
			"following of a biz",
			func(key string, v int64) {
				w.persist(follow(bob, video(key), v), follow(bob, subject("an article"), v))
			},
			func(key string, v int64) { w.persist(unfollow(bob, video(key), v)) },
			func(p storage.Page) []entry {
				got, err := w.s.Following(w.Context(), []storage.FollowingQuery{{User: bob, Biz: "video", Page: p}})
				return slices.DeleteFunc(entries(w, got, err, func(f storage.Followed) entry { return of(f.Subject, f.Version) }),
					func(e entry) bool { return e.key == "noise" })
			},
		},
		{
			"reads",
			func(key string, v int64) { w.persist(read(alice, subject(key), 1, 1, v)) },
			nil,
			func(p storage.Page) []entry {
				got, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: alice, Page: p}})
				return entries(w, got, err, func(r storage.Read) entry { return of(r.Subject, r.Last) })
			},
		},
		{
			"reads of a biz",
			func(key string, v int64) {
				w.persist(read(user("carol"), video(key), 1, 1, v), read(user("carol"), subject("an article"), 1, 1, v))
			},
			nil,
			func(p storage.Page) []entry {
				got, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: user("carol"), Biz: "video", Page: p}})
				return entries(w, got, err, func(r storage.Read) entry { return of(r.Subject, r.Last) })
			},
		},
		folderListing(w, "folders", user("dave"), false),
		folderListing(w, "public folders", user("erin"), true),
	}
}

// folderListing lists the folders of an owner except for the two oldest.
func folderListing(w *world, name string, owner storage.User, publicOnly bool) listing {
	made := make(map[string]storage.FolderKey)
	const oldest = "First" // created together with the default folder
	w.newFolder(owner, oldest)
	remove := func(key string, _ int64) {
		w.must(w.s.DeleteFolder(w.Context(), made[key], "", storage.Time(1)))
		delete(made, key)
	}
	return listing{
		name,
		func(key string, v int64) {
			if _, ok := made[key]; ok {
				remove(key, v)
			}
			f, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: owner, Name: key, Public: publicOnly, Created: v})
			w.must(err)
			made[key] = f.Key()
		},
		remove,
		func(p storage.Page) []entry {
			got, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: owner, PublicOnly: publicOnly, Page: p}})
			all := entries(w, got, err, func(f storage.Folder) entry {
				return entry{f.Name, storage.Position{Version: f.Created, ID: f.FolderID}}
			})
			return slices.DeleteFunc(all, func(e entry) bool { return e.key == storage.DefaultFolderName || e.key == oldest })
		},
	}
}

func of(s storage.Subject, version int64) entry {
	return entry{s.BizID, storage.Position{Version: version, Biz: s.Biz, ID: s.BizID}}
}

func entries[E any](w *world, lists []storage.ListPage[E], err error, as func(E) entry) []entry {
	w.Helper()
	w.must(err)
	out := make([]entry, 0, len(lists[0].Entries))
	for _, e := range lists[0].Entries {
		out = append(out, as(e))
	}
	return out
}

func listsAreNewestFirst(w *world) {
	for _, l := range listings(w) {
		want := make(map[string]bool)
		for i := range 23 {
			// Several entries have the same version, so that the other columns decide the
			// order.
			key := fmt.Sprint("k", i*7%23)
			l.put(key, int64(10+i/4))
			want[key] = true
		}
		for _, first := range []int{1, 7, 23, 100} {
			got := pages(w, l, first, nil)
			if !slices.IsSortedFunc(got, descending) {
				w.Errorf("%s in pages of %d: got %v, want the newest first", l.name, first, got)
			}
			w.equal(fmt.Sprintf("%s in pages of %d", l.name, first), keys(got), slices.Sorted(maps.Keys(want)))
		}
	}
}

// unchangedEntriesAppearOnce reads pages while entries are added, moved and removed.
func unchangedEntriesAppearOnce(w *world) {
	for _, l := range listings(w) {
		all := make([]string, 0, 30)
		for i := range 30 {
			all = append(all, fmt.Sprint("k", i))
			l.put(all[i], int64(100+i/3))
		}
		var touched []string
		n := 0
		got := pages(w, l, 4, func() {
			n++
			older, newer := fmt.Sprint("k", n), fmt.Sprint("k", 30-n)
			l.put(fmt.Sprint("new", n), int64(1000+n)) // above every page
			l.put(fmt.Sprint("late", n), int64(100+n)) // somewhere in between
			l.put(older, int64(2000+n))                // moves up from below
			touched = append(touched, older)
			if l.drop != nil {
				l.drop(newer, int64(3000+n))
				touched = append(touched, newer)
			}
		})
		times := make(map[string]int)
		for _, e := range got {
			times[e.key]++
		}
		for _, key := range all {
			if !slices.Contains(touched, key) && times[key] != 1 {
				w.Errorf("%s: %s did not change and appeared %d times, want once", l.name, key, times[key])
			}
		}
		if n < 5 || len(touched) > 25 {
			w.Errorf("%s: got %d pages, %d entries touched, want at least 5, at most 25: otherwise the case proves nothing", l.name, n, len(touched))
		}
	}
}

// pages returns the whole list, read in pages. If the parameter between is not nil, it is
// called after each page.
func pages(w *world, l listing, first int, between func()) []entry {
	w.Helper()
	var all []entry
	page := storage.Page{First: first}
	for {
		got := l.page(page)
		if len(got) > first {
			w.Fatalf("%s: got a page of %d entries, want at most %d", l.name, len(got), first)
		}
		all = append(all, got...)
		if len(got) == 0 || len(all) > 1000 {
			return all
		}
		page.After = got[len(got)-1].at
		if between != nil {
			between()
		}
	}
}

func descending(a, b entry) int {
	return -cmp.Or(cmp.Compare(a.at.Version, b.at.Version), cmp.Compare(a.at.Biz, b.at.Biz), cmp.Compare(a.at.ID, b.at.ID))
}

func keys(entries []entry) []string {
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.key)
	}
	slices.Sort(out)
	return out
}

func listsContainTheirEntries(w *world) {
	alice, s := user("alice"), video("1")
	f := w.newFolder(alice, "Films")
	w.persist(like(alice, s, 10), Collect(alice, s, f.FolderID, 11), read(alice, s, 3, 5, 12))
	page := storage.Page{First: 5}
	liked := []storage.ListPage[storage.Liked]{{Entries: []storage.Liked{{User: alice, Subject: s, Reaction: storage.Like, Version: 10}}}}

	likers, err := w.s.Likers(w.Context(), []storage.LikersQuery{{Subject: s, Page: page}})
	w.must(err)
	w.equal("likers", likers, liked)
	likes, err := w.s.Likes(w.Context(), []storage.LikesQuery{{User: alice, Page: page}})
	w.must(err)
	w.equal("likes", likes, liked)
	none, err := w.s.Likes(w.Context(), []storage.LikesQuery{{User: alice, Biz: "article", Page: page}})
	w.must(err)
	w.equal("likes of another biz", len(none[0].Entries), 0)
	items, err := w.s.Items(w.Context(), []storage.ItemsQuery{{Folder: f.Key(), Page: page}})
	w.must(err)
	w.equal("items", items, []storage.ListPage[storage.Collected]{{Entries: []storage.Collected{{User: alice, Subject: s, FolderID: f.FolderID, Version: 11}}}})
	nowhere, err := w.s.Items(w.Context(), []storage.ItemsQuery{{Folder: storage.FolderKey{Owner: alice}, Page: page}})
	w.must(err)
	w.equal("items of no folder", len(nowhere[0].Entries), 0)
	reads, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: alice, Page: page}})
	w.must(err)
	w.equal("reads", reads, []storage.ListPage[storage.Read]{{Entries: []storage.Read{{User: alice, Subject: s, Times: 3, First: 5, Last: 12}}}})
	folders, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: alice, Page: page}})
	w.must(err)
	for _, f := range folders[0].Entries {
		w.equal("a listed folder", f, *w.folder(f.Key()))
	}

	// A follow is in the list of its subject's followers and in the list of its user's
	// follows.
	w.persist(follow(alice, s, 13), unfollow(user("bob"), s, 13))
	follows := []storage.ListPage[storage.Followed]{{Entries: []storage.Followed{{User: alice, Subject: s, Version: 13}}}}
	followers, err := w.s.Followers(w.Context(), []storage.FollowersQuery{{Subject: s, Page: page}})
	w.must(err)
	w.equal("followers", followers, follows)
	following, err := w.s.Following(w.Context(), []storage.FollowingQuery{{User: alice, Page: page}})
	w.must(err)
	w.equal("following", following, follows)
	following, err = w.s.Following(w.Context(), []storage.FollowingQuery{{User: alice, Biz: "article", Page: page}})
	w.must(err)
	w.equal("following of another biz", len(following[0].Entries), 0)

	// A dislike is in no list of likes; a subject in no folder is no item.
	w.persist(React(alice, s, storage.Dislike, 20), Collect(alice, s, "", 20))
	likers, err = w.s.Likers(w.Context(), []storage.LikersQuery{{Subject: s, Page: page}})
	w.must(err)
	items, err = w.s.Items(w.Context(), []storage.ItemsQuery{{Folder: f.Key(), Page: page}})
	w.must(err)
	w.equal("likers and items after all were removed", []int{len(likers[0].Entries), len(items[0].Entries)}, []int{0, 0})
}

func privateFoldersAreHidden(w *world) {
	alice := user("alice")
	public, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: alice, Name: "Public", Public: true, Created: 1})
	w.must(err)
	private := w.newFolder(alice, "Private")
	names := func(publicOnly bool) (out []string) {
		got, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: alice, PublicOnly: publicOnly, Page: storage.Page{First: 10}}})
		w.must(err)
		for _, f := range got[0].Entries {
			out = append(out, f.Name)
		}
		slices.Sort(out)
		return out
	}
	w.equal("all folders", names(false), []string{storage.DefaultFolderName, "Private", "Public"})
	w.equal("the public folders", names(true), []string{"Public"})
	yes, no := true, false
	_, err = w.s.UpdateFolder(w.Context(), private.Key(), storage.FolderChange{Public: &yes}, storage.Time(2))
	w.must(err)
	_, err = w.s.UpdateFolder(w.Context(), public.Key(), storage.FolderChange{Public: &no}, storage.Time(2))
	w.must(err)
	w.equal("the public folders afterwards", names(true), []string{"Private"})
}
