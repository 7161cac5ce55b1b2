package storagetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"ovation/internal/testing/seed"
	"ovation/storage"
)

var _ = seed.ForRapidOverServers()

// modelState is a store together with maps of what the store must hold. Each run has
// tenants of its own, so that all runs can share one database.
type modelState struct {
	*rapid.T

	w        *world
	action   func() storage.Action // draws an action
	tenants  []string
	inbox    map[string]storage.Message // persisted messages, by id
	states   map[storage.StateKey]*storage.States
	comments map[storage.StateKey][]storage.Action // of KindReaction, in the order of arrival
	authors  map[storage.Subject]storage.Action    // the declarations in force
	folders  map[storage.FolderKey]*storage.Folder // including the default folders from the start; without item counts
	gone     []storage.FolderKey
	deleted  map[storage.FolderKey]tombstone
	versions map[storage.Subject]int64 // of the counts
	videos   []*storage.Video          // published, including deleted ones
	erased   map[storage.Subject]bool  // the subjects of deleted videos
}

// tombstone records where the items of a deleted folder went, and when.
type tombstone struct {
	movedTo string
	version int64
}

// model applies the same random actions, some of them repeatedly and out of order, to the
// store and to the maps, and changes folders in between.
func model(w *world) {
	run := 0
	rapid.Check(w.T, func(t *rapid.T) {
		run++
		w.sweepUntilDone(100, func() {}) // what earlier runs have left
		m := newModelState(w, t, fmt.Sprintf("run%d-a", run), fmt.Sprintf("run%d-b", run))
		t.Repeat(map[string]func(*rapid.T){
			"persist":      func(*rapid.T) { m.persist() },
			"persistMore":  func(*rapid.T) { m.persist() }, // so that persist runs twice as often
			"createFolder": func(*rapid.T) { m.createFolder() },
			"updateFolder": func(*rapid.T) { m.updateFolder() },
			"emptyFolder":  func(*rapid.T) { m.emptyFolder() },
			"deleteFolder": func(*rapid.T) { m.deleteFolder() },
			"publish":      func(*rapid.T) { m.publish() },
			"deleteVideo":  func(*rapid.T) { m.deleteVideo() },
			"sweep":        func(*rapid.T) { m.sweep() },
		})
		m.compare()
	})
	w.verified()
}

func newModelState(w *world, t *rapid.T, tenants ...string) *modelState {
	m := &modelState{
		T: t, w: w,
		tenants:  tenants,
		inbox:    make(map[string]storage.Message),
		states:   make(map[storage.StateKey]*storage.States),
		comments: make(map[storage.StateKey][]storage.Action),
		authors:  make(map[storage.Subject]storage.Action),
		folders:  make(map[storage.FolderKey]*storage.Folder),
		deleted:  make(map[storage.FolderKey]tombstone),
		versions: make(map[storage.Subject]int64),
		erased:   make(map[storage.Subject]bool),
	}
	m.action = m.anyAction
	for _, owner := range m.users(m.tenants...) {
		m.folders[defaultOf(owner)] = &storage.Folder{
			Owner: owner, FolderID: storage.DefaultFolderID, Name: storage.DefaultFolderName,
		}
	}
	return m
}

// persist persists some new messages and some that were persisted before, and checks the
// outcome.
func (m *modelState) persist() {
	messages := make([]storage.Message, 0, 3)
	for range rapid.IntRange(1, 3).Draw(m.T, "messages") {
		if ids := slices.Sorted(maps.Keys(m.inbox)); len(ids) > 0 && rapid.IntRange(0, 3).Draw(m.T, "again") == 0 {
			messages = append(messages, m.inbox[rapid.SampledFrom(ids).Draw(m.T, "message")])
			continue
		}
		message := m.w.message()
		for range rapid.IntRange(0, 6).Draw(m.T, "actions") {
			message.Actions = append(message.Actions, m.action())
		}
		messages = append(messages, message)
		if rapid.IntRange(0, 9).Draw(m.T, "twin") == 0 {
			messages = append(messages, message)
		}
	}
	outcome, err := m.w.s.Persist(m.w.Context(), messages, nil)
	m.wantError("Persist", err, nil)

	skipped, recalled := 0, make(map[storage.Subject]bool)
	meant := make(map[string]storage.States) // the states that the actions address, as they were before
	for _, message := range messages {
		if _, seen := m.inbox[message.ID]; seen {
			skipped++
			for _, a := range message.Actions {
				recalled[a.Subject] = true
			}
			continue
		}
		m.inbox[message.ID] = message
		for _, a := range message.Actions {
			id := fmt.Sprint(a.User, a.Subject, a.Kind)
			if _, known := meant[id]; !known && !a.Kind.AddsUp() && a.Kind != storage.KindAuthor {
				meant[id] = *m.state(storage.StateKey{User: a.User, Subject: a.Subject})
			}
			if !m.repeats(a, outcome.Applied) {
				a = m.admitted(a)
			}
			m.apply(a)
		}
	}
	m.equal("skipped", outcome.Skipped, skipped)
	m.equal("states in the outcome", len(outcome.Applied), len(meant))
	for _, change := range outcome.Applied {
		was := meant[fmt.Sprint(change.User, change.Subject, change.Kind)]
		m.equal("the state before", []any{change.OldReaction, change.OldFolderID, change.OldFollowing}, ofKind(&was, change.Kind))
	}
	m.checkOutcome(outcome, recalled)
}

func (m *modelState) anyAction() storage.Action {
	tenant := rapid.SampledFrom(m.tenants).Draw(m.T, "tenant")
	a := storage.Action{
		User:    rapid.SampledFrom(append(m.users(tenant), storage.User{Tenant: tenant})).Draw(m.T, "user"),
		Subject: rapid.SampledFrom(m.subjects(tenant)).Draw(m.T, "subject"),
		Kind:    storage.KindRead,
		Version: m.version("version"),
	}
	if a.User.Anonymous() && rapid.Bool().Draw(m.T, "declares") {
		a.Kind, a.Author = storage.KindAuthor, rapid.SampledFrom([]string{"", "ann", "bea"}).Draw(m.T, "author")
		return a
	}
	if !a.User.Anonymous() {
		a.Kind = storage.Kind(rapid.IntRange(int(storage.KindReaction), int(storage.KindFollow)).Draw(m.T, "kind"))
	}
	switch a.Kind {
	case storage.KindReaction:
		m.reaction(&a)
	case storage.KindCollection:
		a.FolderID = rapid.SampledFrom(append(m.folderIDs(), "")).Draw(m.T, "folder")
	case storage.KindRead:
		a.Times, a.First = rapid.Int64Range(1, 3).Draw(m.T, "times"), rapid.Int64Range(1, a.Version).Draw(m.T, "first")
	case storage.KindFollow:
		a.Following = a.Subject != a.User.Subject() && rapid.Bool().Draw(m.T, "following")
	case storage.KindAuthor: // its author was drawn above
	}
	return a
}

// apply applies an action to the model.
func (m *modelState) apply(a storage.Action) {
	if a.Kind == storage.KindAuthor {
		if a.Version >= m.authors[a.Subject].Version {
			m.authors[a.Subject] = a
		}
		return
	}
	s := m.state(storage.StateKey{User: a.User, Subject: a.Subject})
	switch {
	case a.Kind == storage.KindReaction:
		m.react(a, s)
	case a.Kind == storage.KindCollection && a.Version > s.CollectionVersion:
		s.CollectionVersion, s.Collected = a.Version, nil
		if a.FolderID = m.home(a); a.FolderID != "" {
			s.Collected = &storage.Collected{User: a.User, Subject: a.Subject, FolderID: a.FolderID, Version: a.Version}
		}
	case a.Kind == storage.KindFollow && a.Version > s.FollowVersion:
		s.FollowVersion, s.Followed = a.Version, nil
		if a.Following {
			s.Followed = &storage.Followed{User: a.User, Subject: a.Subject, Version: a.Version}
		}
	case a.Kind == storage.KindRead:
		if s.Read == nil {
			s.Read = &storage.Read{User: a.User, Subject: a.Subject, First: a.First}
		}
		s.Read.Times += a.Times
		s.Read.First, s.Read.Last = min(s.Read.First, a.First), max(s.Read.Last, a.Version)
	}
}

// react replays all reactions of the action's user to its subject in the order of their
// versions. Among actions with the same version, conditional clears come first; of the
// other actions, only the first to arrive counts.
func (m *modelState) react(a storage.Action, s *storage.States) {
	key := storage.StateKey{User: a.User, Subject: a.Subject}
	m.comments[key] = append(m.comments[key], a)
	said := slices.Clone(m.comments[key])
	slices.SortStableFunc(said, func(a, b storage.Action) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), -cmp.Compare(a.If, b.If))
	})
	s.Liked = nil
	set := int64(0)
	for _, a := range said {
		switch {
		case a.If != storage.NoReaction:
			if s.CurrentReaction() == a.If {
				s.Liked = nil
			}
		case a.Version > set:
			set, s.Liked = a.Version, nil
			if a.Reaction != storage.NoReaction {
				s.Liked = &storage.Liked{User: a.User, Subject: a.Subject, Reaction: a.Reaction, Version: a.Version}
			}
		}
	}
	s.Reaction = storage.Register{Value: s.CurrentReaction(), Set: max(set, said[len(said)-1].Version)} // only its version is compared
}

// home returns the folder that a collection goes to.
func (m *modelState) home(a storage.Action) string {
	key := storage.FolderKey{Owner: a.User, FolderID: a.FolderID}
	for key.FolderID != "" && m.folders[key] == nil {
		to, known := m.deleted[key]
		if !known || to.version <= a.Version {
			return storage.DefaultFolderID
		}
		key.FolderID = to.movedTo
	}
	return key.FolderID
}

func (m *modelState) createFolder() {
	f := storage.Folder{
		Owner: rapid.SampledFrom(m.users(m.tenants...)).Draw(m.T, "owner"), Name: m.name(),
		Public: rapid.Bool().Draw(m.T, "public"), Created: m.version("created"),
	}
	got, err := m.w.s.CreateFolder(m.w.Context(), f)
	if m.nameTaken(f.Key(), f.Name) {
		m.wantError("CreateFolder", err, storage.ErrNameTaken)
		return
	}
	m.wantError("CreateFolder", err, nil)
	m.folders[got.Key()] = got
}

func (m *modelState) updateFolder() {
	key, name, public, at := m.folderKey(), m.name(), rapid.Bool().Draw(m.T, "public"), m.version("at")
	got, err := m.w.s.UpdateFolder(m.w.Context(), key, storage.FolderChange{Name: &name, Public: &public}, storage.Time(at))
	switch {
	case m.folders[key] == nil:
		m.wantError("UpdateFolder", err, storage.ErrNotFound)
	case m.nameTaken(key, name):
		m.wantError("UpdateFolder", err, storage.ErrNameTaken)
	default:
		m.wantError("UpdateFolder", err, nil)
		m.equal("the folder returned", []any{got.Name, got.Public}, []any{name, public})
		got.ItemCount = 0 // the model counts the items itself
		m.folders[key] = got
	}
}

func (m *modelState) emptyFolder() {
	key, at, limit := m.folderKey(), m.version("at"), rapid.IntRange(1, 3).Draw(m.T, "limit")
	moveTo := rapid.SampledFrom(append(m.folderIDs(), "")).Draw(m.T, "moveTo")
	n, outcome, err := m.w.s.EmptyFolder(m.w.Context(), key, moveTo, storage.Time(at), limit, nil)
	switch {
	case moveTo == key.FolderID:
		m.wantError("EmptyFolder", err, storage.ErrInvalid)
		return
	case m.folders[key] == nil, moveTo != "" && m.folders[storage.FolderKey{Owner: key.Owner, FolderID: moveTo}] == nil:
		m.wantError("EmptyFolder", err, storage.ErrNotFound)
		return
	}
	m.wantError("EmptyFolder", err, nil)
	m.equal("items taken", []int{n, len(outcome.Applied)}, []int{min(limit, m.items(key)), n})
	for _, change := range outcome.Applied { // which items are moved depends on the store
		s := m.state(storage.StateKey{User: key.Owner, Subject: change.Subject})
		m.equal("where it was", []string{folderOf(s), change.OldFolderID}, []string{key.FolderID, key.FolderID})
		m.apply(storage.Action{
			User: key.Owner, Subject: change.Subject, Kind: storage.KindCollection,
			FolderID: moveTo, Version: s.CollectionVersion + 1,
		})
	}
	m.checkOutcome(outcome, nil)
}

func (m *modelState) deleteFolder() {
	key, at := m.folderKey(), m.version("at")
	moveTo := rapid.SampledFrom(append(m.folderIDs(), "")).Draw(m.T, "moveTo")
	for id := moveTo; id != ""; id = m.deleted[storage.FolderKey{Owner: key.Owner, FolderID: id}].movedTo {
		if id == key.FolderID {
			moveTo = "" // a folder cannot be its own target
		}
	}
	err := m.w.s.DeleteFolder(m.w.Context(), key, moveTo, storage.Time(at))
	switch {
	case key.FolderID == storage.DefaultFolderID:
		m.wantError("DeleteFolder", err, storage.ErrDefaultFolder)
	case m.folders[key] == nil, moveTo != "" && moveTo != storage.DefaultFolderID &&
		m.folders[storage.FolderKey{Owner: key.Owner, FolderID: moveTo}] == nil:
		m.wantError("DeleteFolder", err, storage.ErrNotFound)
	case m.items(key) > 0:
		m.wantError("DeleteFolder", err, storage.ErrFolderNotEmpty)
	default:
		m.wantError("DeleteFolder", err, nil)
		delete(m.folders, key)
		m.gone = append(m.gone, key)
		m.deleted[key] = tombstone{moveTo, at}
	}
}

// The values that actions are drawn from. There are few of each, so that several actions
// address the same state.

func (m *modelState) users(tenants ...string) (out []storage.User) {
	for _, tenant := range tenants {
		out = append(out, storage.User{Tenant: tenant, UserID: "ann"}, storage.User{Tenant: tenant, UserID: "bea"})
	}
	return out
}

func (m *modelState) subjects(tenant string) []storage.Subject {
	users := m.users(tenant)
	out := []storage.Subject{
		{Tenant: tenant, Biz: "video", BizID: "1"},
		{Tenant: tenant, Biz: "video", BizID: "2"},
		{Tenant: tenant, Biz: "article", BizID: "1"},
		users[0].Subject(), users[1].Subject(),
	}
	for _, v := range m.videos {
		if v.Author.Tenant == tenant {
			out = append(out, v.Key().Subject())
		}
	}
	return out
}

func (m *modelState) version(label string) int64 { return rapid.Int64Range(1, 30).Draw(m.T, label) }

func (m *modelState) name() string {
	return rapid.SampledFrom([]string{"Films", "FILMS", "Books", "Ö", "ö", storage.DefaultFolderName}).Draw(m.T, "name")
}

// folderKey draws the key of a folder, which may have been deleted.
func (m *modelState) folderKey() storage.FolderKey {
	return rapid.SampledFrom(append(m.folderKeys(), m.gone...)).Draw(m.T, "key")
}

// folderIDs returns the ids of all folders of all users, including deleted ones.
func (m *modelState) folderIDs() []string {
	keys := append(m.folderKeys(), m.gone...)
	ids := make([]string, 0, len(keys))
	for _, key := range keys {
		ids = append(ids, key.FolderID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
