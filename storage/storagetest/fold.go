package storagetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ovation/storage"
)

// Fold is the state of a database as its events tell it. It begins empty; Apply takes the
// events in the order of their positions, each of them once.
type Fold struct {
	Last     int64 // the position of the latest event
	states   map[storage.StateKey]*foldedStates
	comments map[storage.Subject]map[string]storage.User // authors of comments, by id
	authors  map[storage.Subject]string
	videos   map[storage.Subject]storage.User
	folders  map[storage.FolderKey]bool
}

type foldedStates struct {
	reaction, folder, following string
	reads                       int64
}

// NewFold returns an empty Fold.
func NewFold() *Fold {
	return &Fold{
		states: map[storage.StateKey]*foldedStates{}, comments: map[storage.Subject]map[string]storage.User{},
		authors: map[storage.Subject]string{}, videos: map[storage.Subject]storage.User{}, folders: map[storage.FolderKey]bool{},
	}
}

// Apply applies an event. It returns an error if the event does not follow from the events
// before it.
func (f *Fold) Apply(e *storage.Event) error {
	err := f.apply(e)
	if err == nil && e.Position != f.Last+1 {
		err = fmt.Errorf("its position should be %d", f.Last+1)
	}
	if err != nil {
		return fmt.Errorf("event %+v: %w", *e, err)
	}
	f.Last = e.Position
	return nil
}

func (f *Fold) apply(e *storage.Event) error {
	key := storage.StateKey{User: e.User, Subject: e.Subject}
	switch e.Type {
	case storage.EventLiked, storage.EventUnliked, storage.EventDisliked, storage.EventUndisliked:
		return change(&f.of(key).reaction, e)
	case storage.EventCollected, storage.EventUncollected, storage.EventMoved:
		return change(&f.of(key).folder, e)
	case storage.EventFollowed, storage.EventUnfollowed:
		return change(&f.of(key).following, e)
	case storage.EventRead:
		return f.read(key, e.Times, e.Before, e.After)
	case storage.EventReadCleared:
		anonymous := storage.StateKey{User: storage.User{Tenant: e.User.Tenant}, Subject: e.Subject}
		f.of(anonymous).reads += e.Times
		return f.read(key, -e.Times, e.Before, e.After)
	case storage.EventAuthorChanged:
		author := f.authors[e.Subject]
		err := change(&author, e)
		f.authors[e.Subject] = author
		return err
	case storage.EventCommented, storage.EventCommentEdited, storage.EventCommentDeleted:
		return f.comment(e)
	case storage.EventVideoPublished, storage.EventVideoDeleted:
		return f.video(e)
	case storage.EventFolderCreated, storage.EventFolderUpdated, storage.EventFolderDeleted:
		return f.folder(e)
	}
	return errors.New("its type is unknown")
}

func (f *Fold) of(key storage.StateKey) *foldedStates {
	if f.states[key] == nil {
		f.states[key] = new(foldedStates)
	}
	return f.states[key]
}

func change(value *string, e *storage.Event) error {
	if *value != e.Before || e.Before == e.After {
		return fmt.Errorf("the value before it is %q", *value)
	}
	*value = e.After
	return nil
}

func (f *Fold) read(key storage.StateKey, times int64, before, after string) error {
	s := f.of(key)
	if strconv.FormatInt(s.reads, 10) != before || strconv.FormatInt(s.reads+times, 10) != after {
		return fmt.Errorf("the number of reads before it is %d", s.reads)
	}
	s.reads += times
	return nil
}

func (f *Fold) comment(e *storage.Event) error {
	of := f.comments[e.Subject]
	if of == nil {
		of = map[string]storage.User{}
		f.comments[e.Subject] = of
	}
	author, exists := of[e.Object]
	if exists == (e.Type == storage.EventCommented) || exists && author != e.User || e.Object == "" {
		return fmt.Errorf("the comment before it exists: %v, by %v", exists, author)
	}
	if of[e.Object] = e.User; e.Type == storage.EventCommentDeleted {
		delete(of, e.Object)
	}
	return nil
}

func (f *Fold) video(e *storage.Event) error {
	author, exists := f.videos[e.Subject]
	if exists == (e.Type == storage.EventVideoPublished) || exists && author != e.User {
		return fmt.Errorf("the video before it exists: %v, by %v", exists, author)
	}
	if f.videos[e.Subject] = e.User; e.Type == storage.EventVideoDeleted {
		delete(f.videos, e.Subject)
	}
	return nil
}

func (f *Fold) folder(e *storage.Event) error {
	key := storage.FolderKey{Owner: e.User, FolderID: e.Object}
	if f.folders[key] == (e.Type == storage.EventFolderCreated) && e.Object != storage.DefaultFolderID {
		return fmt.Errorf("the folder before it exists: %v", f.folders[key])
	}
	if f.folders[key] = true; e.Type == storage.EventFolderDeleted {
		delete(f.folders, key)
	}
	return nil
}

// Compare compares the states, the counts, the comments, the videos and the folders with
// those of a store, and returns the differences. As the counts of the store equal its
// states (storage.Verifier), the store has no states beyond those of the events either.
func (f *Fold) Compare(ctx context.Context, store storage.Store) (differences []string, err error) {
	counts := map[storage.Subject]*storage.Counts{}
	of := func(s storage.Subject) *storage.Counts {
		if counts[s] == nil {
			counts[s] = &storage.Counts{AuthorID: f.authors[s]}
		}
		return counts[s]
	}
	report := func(what string, key, got, want any) {
		differences = append(differences, fmt.Sprintf("%s of %v: the store has %v, its events tell %v", what, key, got, want))
	}
	for key, want := range f.states {
		found, err := store.States(ctx, []storage.StateKey{key}, storage.AllKinds)
		if err != nil {
			return nil, err
		}
		got := statesAsFolded(&found[0])
		if key.User.Anonymous() {
			got = *want // only counts show them
		}
		if got != *want {
			report("states", key, got, *want)
		}
		want.addTo(of(key.Subject), key.User)
	}
	for s := range f.authors {
		of(s)
	}
	for s, want := range counts {
		found, err := store.Interactives(ctx, storage.User{Tenant: s.Tenant}, []storage.Subject{s}, 0)
		if err != nil {
			return nil, err
		}
		got := found[0].Counts
		if got.Version, got.Deleted = 0, false; got != *want {
			report("counts", s, got, *want)
		}
	}
	for s, want := range f.comments {
		got, err := store.CommentCounts(ctx, []storage.Subject{s})
		if err != nil {
			return nil, err
		}
		if got[0].Comments != int64(len(want)) {
			report("comments", s, got[0].Comments, len(want))
		}
	}
	keys := slices.Collect(maps.Keys(f.folders))
	folders, err := store.FoldersOf(ctx, keys)
	for i := range folders {
		if folders[i] == nil {
			report("folder", keys[i], "none", "one")
		}
	}
	return differences, err
}

func statesAsFolded(s *storage.States) (out foldedStates) {
	switch s.CurrentReaction() {
	case storage.Like:
		out.reaction = "LIKE"
	case storage.Dislike:
		out.reaction = "DISLIKE"
	case storage.NoReaction:
	}
	if s.Collected != nil {
		out.folder = s.Collected.FolderID
	}
	if s.Followed != nil {
		out.following = "FOLLOWING"
	}
	if s.Read != nil {
		out.reads = s.Read.Times
	}
	return out
}

func (s *foldedStates) addTo(counts *storage.Counts, of storage.User) {
	add := func(to *int64, is bool) {
		if is {
			*to++
		}
	}
	add(&counts.LikeCount, s.reaction == "LIKE")
	add(&counts.DislikeCount, s.reaction == "DISLIKE")
	add(&counts.CollectCount, s.folder != "")
	add(&counts.FollowerCount, s.following != "")
	add(&counts.ReaderCount, s.reads > 0 && !of.Anonymous())
	counts.ReadCount += s.reads
}
