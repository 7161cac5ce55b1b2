package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"ovation/storage"
)

// The demo data consists of actions from the last 30 days (reads, reactions, collections
// and follows), comments, messages, and the authors of the subjects. With the same
// demoSeed, the same users perform the same actions. addDemoClips adds clips.
const (
	demoUsers    = 200
	demoVideos   = 20
	demoArticles = 100
	demoReads    = 4000
	demoDays     = 30
	demoAuthors  = 40 // the authors of all subjects are among the first demoAuthors users
	demoFriends  = 16 // the friends of the users in demoNames are among the first demoFriends users
	demoSeed     = 20
)

// demoNames holds the ids of the first users.
var demoNames = []string{demoViewer, "bob", "carol"}

// Each step of addDemo persists a message that has one of these ids. addDemo skips the
// steps whose messages have been persisted.
const (
	demoActionsID  = "demo-actions-1"
	demoFoldersID  = "demo-folders-1"
	demoFollowsID  = "demo-follows-1"
	demoCommentsID = "demo-comments-1"
	demoAuthorsID  = "demo-authors-1"
	demoMessagesID = "demo-messages-1"
)

// addDemo adds the demo data to an empty store, with actions dated up to now. If an
// earlier call was interrupted, addDemo completes the demo data of that call. A store
// that contains only other data is left unchanged. addDemo may be called repeatedly.
func addDemo(ctx context.Context, store storage.Store, now time.Time) error {
	seen, err := store.Seen(ctx, []string{demoActionsID, demoFoldersID, demoFollowsID, demoCommentsID, demoAuthorsID, demoMessagesID})
	if err != nil {
		return fmt.Errorf("check for demo data: %w", err)
	}
	if !seen[0] {
		counts, err := store.Verify(ctx, false, func(storage.Difference) error { return nil })
		if err != nil {
			return fmt.Errorf("check whether there is data: %w", err)
		}
		if counts > 0 {
			return nil
		}
	}
	d := newDemo(now)
	for i, step := range []func(context.Context, storage.Store) (storage.Message, error){d.actions, d.folders, d.follows, d.comments, d.authors, d.messages} {
		if seen[i] {
			continue
		}
		d.begin(uint64(i) + 1)
		message, err := step(ctx, store)
		if err != nil {
			return fmt.Errorf("add demo data: %w", err)
		}
		if _, err := store.Persist(ctx, []storage.Message{message}, nil); err != nil {
			return fmt.Errorf("add demo data: %w", err)
		}
	}
	return nil
}

// demo generates the demo data.
type demo struct {
	random   *rand.Rand
	now      time.Time
	subjects []storage.Subject // the most popular first
	popular  *rand.Zipf
	active   *rand.Zipf
}

func newDemo(now time.Time) *demo {
	d := &demo{now: now}
	d.begin(0)
	for i := range demoVideos + demoArticles {
		s := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: strconv.Itoa(i + 1)}
		if i >= demoVideos {
			s.Biz, s.BizID = "article", strconv.Itoa(i+1-demoVideos)
		}
		d.subjects = append(d.subjects, s)
	}
	// Videos and articles are mixed, but the first video remains the most popular
	// subject.
	rest := d.subjects[1:]
	d.random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return d
}

// begin starts a step with a new random generator. The step therefore generates the same
// data even if an interrupted start of the program has already completed the earlier
// steps.
func (d *demo) begin(step uint64) {
	d.random = rand.New(rand.NewPCG(demoSeed, step)) //nolint:gosec // it is meant to be the same each time
	d.popular = rand.NewZipf(d.random, 1.2, 4, demoVideos+demoArticles-1)
	d.active = rand.NewZipf(d.random, 1.1, 12, demoUsers-1)
}

// user returns user number n, counted from 0. The first users have the ids in demoNames.
func (d *demo) user(n int) storage.User {
	u := storage.User{Tenant: storage.DefaultTenant}
	if n < len(demoNames) {
		u.UserID = demoNames[n]
	} else {
		u.UserID = "user-" + strconv.Itoa(n+1)
	}
	return u
}

// actions returns a message with reads. Some reads are followed by a reaction or a
// collection.
func (d *demo) actions(context.Context, storage.Store) (storage.Message, error) {
	m := storage.Message{ID: demoActionsID, Forever: true}
	for range demoReads {
		user := d.user(int(d.active.Uint64()))
		subject := d.subjects[d.popular.Uint64()]
		at := d.now.Add(-time.Duration(d.random.Int64N(int64(demoDays * 24 * time.Hour))))
		m.Actions = append(m.Actions, storage.Action{
			User: user, Subject: subject, Kind: storage.KindRead, Times: 1, First: storage.Micros(at), Version: storage.Micros(at),
		})
		// The next action follows within five minutes of the read.
		later := storage.Micros(at.Add(time.Duration(d.random.IntN(300)) * time.Second))
		later = min(later, storage.Micros(d.now))
		switch chance := d.random.Float64(); {
		case chance < 0.30:
			m.Actions = append(m.Actions, storage.Action{
				User: user, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: later,
			})
		case chance < 0.34:
			m.Actions = append(m.Actions, storage.Action{
				User: user, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Dislike, Version: later,
			})
		case chance < 0.44:
			m.Actions = append(m.Actions, storage.Action{
				User: user, Subject: subject, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID, Version: later,
			})
		}
	}
	return m, nil
}

// folders creates a few folders, and returns a message that collects items into them.
func (d *demo) folders(ctx context.Context, store storage.Store) (storage.Message, error) {
	m := storage.Message{ID: demoFoldersID, Forever: true}
	for i, f := range []struct {
		user, items       int
		name, description string
		public            bool
	}{
		{0, 8, "Watch later", "For a quiet evening", false},
		{0, 12, "Best of the month", "What everybody should see", true},
		{1, 6, "Recipes", "", true},
		{1, 4, "Gift ideas", "Not for carol's eyes", false},
		{2, 9, "Inspiration", "", true},
	} {
		folder, err := d.folder(ctx, store, storage.Folder{
			Owner: d.user(f.user), Name: f.name, Description: f.description, Public: f.public,
			Created: storage.Micros(d.now.Add(-demoDays * 24 * time.Hour)),
		})
		if err != nil {
			return m, err
		}
		for n := range f.items {
			m.Actions = append(m.Actions, storage.Action{
				User: d.user(f.user), Subject: d.subjects[(i*17+n*5)%len(d.subjects)], Kind: storage.KindCollection,
				FolderID: folder.FolderID, Version: storage.Micros(d.now.Add(-time.Duration(n) * time.Hour)),
			})
		}
	}
	return m, nil
}

// follows returns a message with follows between users. The most active users have the
// most followers. The users in demoNames have friends: they follow their friends, and
// their friends follow them.
func (d *demo) follows(context.Context, storage.Store) (storage.Message, error) {
	m := storage.Message{ID: demoFollowsID, Forever: true}
	follow := func(user, other int) {
		if user == other {
			return
		}
		at := d.now.Add(-time.Duration(d.random.Int64N(int64(demoDays * 24 * time.Hour))))
		m.Actions = append(m.Actions, storage.Action{
			User: d.user(user), Subject: d.user(other).Subject(), Kind: storage.KindFollow, Following: true, Version: storage.Micros(at),
		})
	}
	for n := range demoUsers {
		for range d.random.IntN(12) {
			follow(n, int(d.active.Uint64()))
		}
	}
	for n := range demoNames {
		for other := n + 1; other < demoFriends; other += 1 + d.random.IntN(3) {
			follow(n, other)
			follow(other, n)
		}
	}
	return m, nil
}

// authors returns a message that declares the author of every subject.
func (d *demo) authors(context.Context, storage.Store) (storage.Message, error) {
	m := storage.Message{ID: demoAuthorsID, Forever: true}
	for i, subject := range d.subjects {
		at := d.now.Add(-time.Duration(demoDays*24+d.random.IntN(demoDays*24)) * time.Hour)
		m.Actions = append(m.Actions, storage.Action{
			User: storage.User{Tenant: subject.Tenant}, Subject: subject, Kind: storage.KindAuthor, Author: d.user((i*7 + 1) % demoAuthors).UserID,
			Version: storage.Micros(at),
		})
	}
	return m, nil
}

// folder creates a folder. If an interrupted start of the program has already created it,
// folder returns the existing folder.
func (d *demo) folder(ctx context.Context, store storage.Store, folder storage.Folder) (*storage.Folder, error) {
	made, err := store.CreateFolder(ctx, folder)
	if !errors.Is(err, storage.ErrNameTaken) {
		return made, err
	}
	lists, err := store.ListFolders(ctx, []storage.FoldersQuery{{Owner: folder.Owner, Page: storage.Page{First: storage.MaxFolders}}})
	if err != nil {
		return nil, err
	}
	for _, f := range lists[0].Entries {
		if f.Name == folder.Name {
			return &f, nil
		}
	}
	return nil, fmt.Errorf("folder %q: %w", folder.Name, storage.ErrNotFound)
}
