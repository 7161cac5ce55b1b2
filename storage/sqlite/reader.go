package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// Interactives looks up counts and the viewer's states in one snapshot.
func (s *Store) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	out, keys, err := sqlstore.NewInteractives(viewer, subjects)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "read interactives", func(t tx) error {
		if err := t.counts(out); err != nil || viewer.Anonymous() {
			return err
		}
		states, err := t.states(keys, kinds)
		for i, state := range states {
			out[i].Liked, out[i].Collected, out[i].Read, out[i].Followed = state.Liked, state.Collected, state.Read, state.Followed
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// States looks up states in one snapshot.
func (s *Store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) (out []storage.States, err error) {
	if err := sqlstore.CheckTenants(keys); err != nil {
		return nil, err
	}
	err = s.read(ctx, "read states", func(t tx) error {
		if out, err = t.states(keys, kinds); err != nil {
			return err
		}
		subjects := make([]storage.Subject, len(keys))
		for i := range keys {
			subjects[i] = keys[i].Subject
		}
		return t.deleted(subjects, func(i int) { out[i].Deleted = true })
	})
	return out, err
}

const selectCounts = `
SELECT k.key, i.read_count, i.reader_count, i.like_count, i.dislike_count, i.collect_count, i.follower_count, i.author, i.deleted > 0, i.version
FROM jsonb_each(?) k CROSS JOIN interactive i
WHERE i.tenant = k.value ->> 0 AND i.biz = k.value ->> 1 AND i.biz_id = k.value ->> 2`

// counts fills in the counts of each subject.
func (t tx) counts(of []storage.Interactive) error {
	var keys tuples
	for i := range of {
		keys.add([]string{of[i].Tenant, of[i].Biz, of[i].BizID})
	}
	return t.query(selectCounts, []any{keys.json()}, func(scan func(...any) error) error {
		var i int
		var c storage.Counts
		err := scan(&i, &c.ReadCount, &c.ReaderCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.FollowerCount, &c.AuthorID, &c.Deleted, &c.Version)
		of[i].Counts = c
		return err
	})
}

const (
	selectReactions = `
SELECT k.key, s.state, s.version, s.unlike, s.undislike
FROM jsonb_each(?) k CROSS JOIN user_reaction s
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3`

	selectCollections = `
SELECT k.key, s.state, s.version
FROM jsonb_each(?) k CROSS JOIN user_collection s
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3`

	selectFollows = `
SELECT k.key, s.state, s.version
FROM jsonb_each(?) k CROSS JOIN user_follow s
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3`

	selectReads = `
SELECT k.key, s.times, s.first_read, s.version
FROM jsonb_each(?) k CROSS JOIN user_read s
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3`
)

// states looks up each requested kind with one statement. The anonymous user has no
// states: the reads stored under the empty user id are from all anonymous visitors.
func (t tx) states(of []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	out := make([]storage.States, len(of))
	keys := stateKeys(of)
	for _, look := range []struct {
		kind  storage.Kind
		query string
		row   func(scan func(...any) error) error
	}{
		{storage.KindReaction, selectReactions, func(scan func(...any) error) error {
			var i int
			var r storage.Register
			err := scan(append([]any{&i}, registerFields(&r)...)...)
			out[i].Reaction, out[i].Liked = r, r.Liked(of[i])
			return err
		}},
		{storage.KindCollection, selectCollections, func(scan func(...any) error) error {
			var i int
			var c storage.Collected
			err := scan(&i, &c.FolderID, &c.Version)
			out[i].CollectionVersion = c.Version
			if c.FolderID != "" {
				c.User, c.Subject = of[i].User, of[i].Subject
				out[i].Collected = &c
			}
			return err
		}},
		{storage.KindFollow, selectFollows, func(scan func(...any) error) error {
			var i int
			var following bool
			var f storage.Followed
			err := scan(&i, &following, &f.Version)
			out[i].FollowVersion = f.Version
			if following {
				f.User, f.Subject = of[i].User, of[i].Subject
				out[i].Followed = &f
			}
			return err
		}},
		{storage.KindRead, selectReads, func(scan func(...any) error) error {
			var i int
			var r storage.Read
			err := scan(&i, &r.Times, &r.First, &r.Last)
			if !of[i].User.Anonymous() {
				r.User, r.Subject = of[i].User, of[i].Subject
				out[i].Read = &r
			}
			return err
		}},
	} {
		if !kinds.Has(look.kind) {
			continue
		}
		if err := t.query(look.query, []any{keys}, look.row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func stateKeys(of []storage.StateKey) string {
	var keys tuples
	for _, k := range of {
		keys.add([]string{k.User.Tenant, k.User.UserID, k.Subject.Biz, k.Subject.BizID})
	}
	return keys.json()
}

const selectFoldersByKey = `
SELECT k.key, f.name, f.description, f.public, f.item_count, f.created, f.updated
FROM jsonb_each(?) k CROSS JOIN folder f
WHERE f.tenant = k.value ->> 0 AND f.user_id = k.value ->> 1 AND f.folder_id = k.value ->> 2`

// FoldersOf looks up folders in one snapshot.
func (s *Store) FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	out := sqlstore.DefaultFolders(keys, s.now())
	var rows tuples
	for _, k := range keys {
		rows.add([]string{k.Owner.Tenant, k.Owner.UserID, k.FolderID})
	}
	err := s.read(ctx, "read folders", func(t tx) error {
		return t.query(selectFoldersByKey, []any{rows.json()}, func(scan func(...any) error) error {
			var i int
			var f storage.Folder
			err := scan(&i, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated)
			f.Owner, f.FolderID = keys[i].Owner, keys[i].FolderID
			out[i] = &f
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
