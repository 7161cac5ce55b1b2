package storagetest

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"

	"ovation/storage"
)

// state returns the model's states of one user on one subject. The caller may change
// them.
func (m *modelState) state(key storage.StateKey) *storage.States {
	if m.states[key] == nil {
		m.states[key] = new(storage.States)
	}
	return m.states[key]
}

// counts computes the counts of a subject from the states in the model.
func (m *modelState) counts(of storage.Subject) (c storage.Counts) {
	c.AuthorID, c.Deleted = m.authors[of].Author, m.erased[of]
	for key, s := range m.states {
		if key.Subject != of {
			continue
		}
		if s.Read != nil {
			c.ReadCount += s.Read.Times
			c.ReaderCount += one(!key.User.Anonymous())
		}
		if s.Collected != nil {
			c.CollectCount++
		}
		if s.Followed != nil {
			c.FollowerCount++
		}
		switch s.CurrentReaction() {
		case storage.Like:
			c.LikeCount++
		case storage.Dislike:
			c.DislikeCount++
		case storage.NoReaction:
		}
	}
	return c
}

// totals computes a user's totals from what the user did and what others did to the
// user's works.
func (m *modelState) totals(of storage.User) (t storage.UserTotals) {
	for key, s := range m.states {
		if key.User == of {
			t.Likes += one(s.CurrentReaction() == storage.Like)
			t.Following += one(s.Followed != nil)
			t.Collections += one(s.Collected != nil)
			t.PublicCollections += one(s.Collected != nil && m.folders[s.Collected.FolderKey()].Public)
		}
	}
	for subject, a := range m.authors {
		if subject.Tenant == of.Tenant && a.Author == of.UserID {
			t.Works++
			t.LikesReceived += m.counts(subject).LikeCount
		}
	}
	t.Followers = m.counts(of.Subject()).FollowerCount
	return t
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// items returns the number of items in a folder.
func (m *modelState) items(folder storage.FolderKey) (n int) {
	for key, s := range m.states {
		if key.User == folder.Owner && folderOf(s) == folder.FolderID {
			n++
		}
	}
	return n
}

func (m *modelState) nameTaken(by storage.FolderKey, name string) bool {
	for key, f := range m.folders {
		if key.Owner == by.Owner && key != by && storage.FolderNameKey(f.Name) == storage.FolderNameKey(name) {
			return true
		}
	}
	return false
}

func (m *modelState) folderKeys() []storage.FolderKey {
	return slices.SortedFunc(maps.Keys(m.folders), func(a, b storage.FolderKey) int {
		return cmp.Or(cmp.Compare(a.Owner.Tenant, b.Owner.Tenant), cmp.Compare(a.Owner.UserID, b.Owner.UserID), cmp.Compare(a.FolderID, b.FolderID))
	})
}

// checkOutcome compares an outcome with the model. The outcome must include the counts of
// the recalled subjects (the subjects of skipped messages) even if these counts have not
// changed.
func (m *modelState) checkOutcome(outcome storage.Outcome, recalled map[storage.Subject]bool) {
	for _, change := range outcome.Applied {
		got := m.state(storage.StateKey{User: change.User, Subject: change.Subject})
		m.equal("the state in the outcome", []any{change.Reaction, change.FolderID, change.Following}, ofKind(got, change.Kind))
		version := map[storage.Kind]int64{
			storage.KindReaction: got.Reaction.Version(), storage.KindCollection: got.CollectionVersion, storage.KindFollow: got.FollowVersion,
		}[change.Kind]
		m.equal("the version in the outcome", change.Version, version)
	}
	for _, c := range outcome.Counts {
		if c.Version < m.versions[c.Subject] || c.Version == m.versions[c.Subject] && !recalled[c.Subject] {
			m.Fatalf("the version of %v went from %d to %d, want a higher one, or the same of a skipped message", c.Subject, m.versions[c.Subject], c.Version)
		}
		m.versions[c.Subject] = c.Version
		c.Version = 0
		m.equal("the counts in the outcome", c.Counts, m.counts(c.Subject))
		delete(recalled, c.Subject)
	}
	for subject := range recalled {
		m.equal("the version of a subject not recalled", m.versions[subject], int64(0))
	}
}

// compare reads everything from the store and compares it with the model.
func (m *modelState) compare() {
	ctx, s := m.w.Context(), m.w.s
	for _, tenant := range m.tenants {
		for _, viewer := range append(m.users(tenant), storage.User{Tenant: tenant}) {
			got, err := s.Interactives(ctx, viewer, m.subjects(tenant), storage.AllKinds)
			m.wantError("Interactives", err, nil)
			for _, i := range got {
				want := storage.Interactive{Subject: i.Subject, Counts: m.counts(i.Subject), Freshness: storage.Live}
				want.Version = m.versions[i.Subject]
				if known := m.state(storage.StateKey{User: viewer, Subject: i.Subject}); !viewer.Anonymous() {
					want.Liked, want.Collected, want.Read, want.Followed = known.Liked, known.Collected, known.Read, known.Followed
				}
				m.equal("an interactive", i, want)
			}
		}
		for _, subject := range m.subjects(tenant) {
			m.compareLikers(subject)
			m.compareFollowers(subject)
		}
		for _, viewer := range m.users(tenant) {
			m.compareLikes(viewer, "")
			m.compareLikes(viewer, "video")
			m.compareFollowing(viewer, "")
			m.compareFollowing(viewer, "video")
			m.compareFriends(viewer)
			m.compareWorks(viewer, "")
			m.compareWorks(viewer, "video")
			m.compareReads(viewer, "")
			m.compareReads(viewer, "video")
			m.compareFolderLists(viewer, false)
			m.compareFolderLists(viewer, true)
		}
	}
	for _, key := range m.folderKeys() {
		m.compareFolder(key)
	}
	gone, err := s.FoldersOf(ctx, m.gone)
	m.wantError("FoldersOf", err, nil)
	m.equal("deleted folders", gone, make([]*storage.Folder, len(m.gone)))
}

var whole = storage.Page{First: 100}

func (m *modelState) compareLikers(of storage.Subject) {
	got, err := m.w.s.Likers(m.w.Context(), []storage.LikersQuery{{Subject: of, Page: whole}})
	m.wantError("Likers", err, nil)
	m.equal("likers", nonNil(got[0].Entries), m.likes(func(l *storage.Liked) bool { return l.Subject == of }))
}

func (m *modelState) compareLikes(of storage.User, biz string) {
	got, err := m.w.s.Likes(m.w.Context(), []storage.LikesQuery{{User: of, Biz: biz, Page: whole}})
	m.wantError("Likes", err, nil)
	m.equal("likes", nonNil(got[0].Entries), m.likes(func(l *storage.Liked) bool {
		return l.User == of && (biz == "" || l.Subject.Biz == biz)
	}))
}

func (m *modelState) likes(wanted func(*storage.Liked) bool) []storage.Liked {
	out := []storage.Liked{}
	for _, s := range m.states {
		if s.Liked != nil && s.Liked.Reaction == storage.Like && wanted(s.Liked) {
			out = append(out, *s.Liked)
		}
	}
	slices.SortFunc(out, func(a, b storage.Liked) int {
		return newestFirst(a.Version, b.Version, a.Subject, b.Subject, a.User.UserID, b.User.UserID)
	})
	return out
}

func (m *modelState) compareFollowers(of storage.Subject) {
	got, err := m.w.s.Followers(m.w.Context(), []storage.FollowersQuery{{Subject: of, Page: whole}})
	m.wantError("Followers", err, nil)
	m.equal("followers", nonNil(got[0].Entries), m.follows(func(f *storage.Followed) bool { return f.Subject == of }))
}

func (m *modelState) compareFollowing(of storage.User, biz string) {
	got, err := m.w.s.Following(m.w.Context(), []storage.FollowingQuery{{User: of, Biz: biz, Page: whole}})
	m.wantError("Following", err, nil)
	m.equal("following", nonNil(got[0].Entries), m.follows(func(f *storage.Followed) bool {
		return f.User == of && (biz == "" || f.Subject.Biz == biz)
	}))
}

func (m *modelState) follows(wanted func(*storage.Followed) bool) []storage.Followed {
	out := []storage.Followed{}
	for _, s := range m.states {
		if s.Followed != nil && wanted(s.Followed) {
			out = append(out, *s.Followed)
		}
	}
	slices.SortFunc(out, func(a, b storage.Followed) int {
		return newestFirst(a.Version, b.Version, a.Subject, b.Subject, a.User.UserID, b.User.UserID)
	})
	return out
}

// compareFriends compares the friends of a user, but not their order, which depends on
// the list that the store searches.
func (m *modelState) compareFriends(of storage.User) {
	want := make(map[storage.User]int64)
	for _, out := range m.follows(func(f *storage.Followed) bool { return f.User == of }) {
		for _, back := range m.follows(func(f *storage.Followed) bool { return f.Subject == of.Subject() && f.User.Subject() == out.Subject }) {
			want[back.User] = max(out.Version, back.Version)
		}
	}
	friends, err := m.w.s.Friends(m.w.Context(), []storage.FriendsQuery{{User: of, Page: whole}})
	m.wantError("Friends", err, nil)
	got := make(map[storage.User]int64)
	for _, f := range friends[0].Entries {
		got[f.User] = f.Version
	}
	m.equal("friends", got, want)
}

func (m *modelState) compareWorks(of storage.User, biz string) {
	want := []storage.Work{}
	for subject, a := range m.authors {
		if subject.Tenant == of.Tenant && a.Author == of.UserID && (biz == "" || subject.Biz == biz) {
			want = append(want, storage.Work{Subject: subject, Since: a.Version})
		}
	}
	slices.SortFunc(want, func(a, b storage.Work) int { return newestFirst(a.Since, b.Since, a.Subject, b.Subject, "", "") })
	got, err := m.w.s.Works(m.w.Context(), []storage.WorksQuery{{User: of, Biz: biz, Page: whole}})
	m.wantError("Works", err, nil)
	m.equal("works", nonNil(got[0].Entries), want)
	totals, err := m.w.s.TotalsOf(m.w.Context(), []storage.User{of})
	m.wantError("TotalsOf", err, nil)
	m.equal("totals", totals[0], m.totals(of))
}

func (m *modelState) compareReads(of storage.User, biz string) {
	want := []storage.Read{}
	for key, s := range m.states {
		if key.User == of && s.Read != nil && (biz == "" || key.Subject.Biz == biz) {
			want = append(want, *s.Read)
		}
	}
	slices.SortFunc(want, func(a, b storage.Read) int { return newestFirst(a.Last, b.Last, a.Subject, b.Subject, "", "") })
	got, err := m.w.s.Reads(m.w.Context(), []storage.ReadsQuery{{User: of, Biz: biz, Page: whole}})
	m.wantError("Reads", err, nil)
	m.equal("reads", nonNil(got[0].Entries), want)
}

// compareFolder compares a folder and the items in it. The times of a default folder are
// up to the store and are not compared.
func (m *modelState) compareFolder(key storage.FolderKey) {
	want := *m.folders[key]
	want.ItemCount = int64(m.items(key))
	got := m.w.folder(key)
	if key.FolderID == storage.DefaultFolderID {
		want.Created, want.Updated = got.Created, got.Updated
	}
	m.equal("a folder", *got, want)

	inside := []storage.Collected{}
	for _, s := range m.states {
		if s.Collected != nil && s.Collected.FolderKey() == key {
			inside = append(inside, *s.Collected)
		}
	}
	slices.SortFunc(inside, func(a, b storage.Collected) int {
		return newestFirst(a.Version, b.Version, a.Subject, b.Subject, "", "")
	})
	items, err := m.w.s.Items(m.w.Context(), []storage.ItemsQuery{{Folder: key, Page: whole}})
	m.wantError("Items", err, nil)
	m.equal("items", nonNil(items[0].Entries), inside)
}

// compareFolderLists compares the folders of a user except for the default folder, which
// is listed only after it has been created.
func (m *modelState) compareFolderLists(of storage.User, publicOnly bool) {
	want := []storage.Folder{}
	for key, f := range m.folders {
		if key.Owner == of && !f.Default() && (f.Public || !publicOnly) {
			folder := *f
			folder.ItemCount = int64(m.items(key))
			want = append(want, folder)
		}
	}
	slices.SortFunc(want, func(a, b storage.Folder) int {
		return newestFirst(a.Created, b.Created, storage.Subject{}, storage.Subject{}, a.FolderID, b.FolderID)
	})
	got, err := m.w.s.ListFolders(m.w.Context(), []storage.FoldersQuery{{Owner: of, PublicOnly: publicOnly, Page: whole}})
	m.wantError("ListFolders", err, nil)
	m.equal("folders", slices.DeleteFunc(nonNil(got[0].Entries), func(f storage.Folder) bool { return f.Default() }), want)
}

func newestFirst(v, w int64, a, b storage.Subject, x, y string) int {
	return -cmp.Or(cmp.Compare(v, w), cmp.Compare(a.Biz, b.Biz), cmp.Compare(a.BizID, b.BizID), cmp.Compare(x, y))
}

func (m *modelState) equal(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		m.Fatalf("%s: got %s, want %s", what, Text(got), Text(want))
	}
}

func (m *modelState) wantError(what string, err, want error) {
	if !errors.Is(err, want) {
		m.Fatalf("%s: got the error %v, want %v", what, err, want)
	}
}

func nonNil[E any](list []E) []E { return append([]E{}, list...) }

// ofKind returns three values: the reaction, the folder, and whether the subject is
// followed. Values that do not belong to the kind are empty.
func ofKind(s *storage.States, kind storage.Kind) []any {
	out := []any{storage.NoReaction, "", false}
	switch kind {
	case storage.KindReaction:
		out[0] = s.CurrentReaction()
	case storage.KindCollection:
		out[1] = folderOf(s)
	case storage.KindFollow:
		out[2] = s.Followed != nil
	case storage.KindRead, storage.KindAuthor:
	}
	return out
}

func folderOf(s *storage.States) string {
	if s.Collected == nil {
		return ""
	}
	return s.Collected.FolderID
}
