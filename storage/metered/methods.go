package metered

import (
	"context"
	"time"

	"ovation/storage"
)

// Interactives implements storage.Reader.
func (s *Store) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) (out []storage.Interactive, err error) {
	defer s.measure("Interactives", time.Now(), &err)
	out, err = s.Store.Interactives(ctx, viewer, subjects, kinds)
	for from, to := 0, 0; from < len(out); from = to {
		for to < len(out) && out[to].Freshness == out[from].Freshness {
			to++
		}
		s.replies.WithLabelValues(string(out[from].Freshness)).Add(float64(to - from))
	}
	return out, err
}

// States implements storage.Reader.
func (s *Store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) (_ []storage.States, err error) {
	defer s.measure("States", time.Now(), &err)
	return s.Store.States(ctx, keys, kinds)
}

// FoldersOf implements storage.Reader.
func (s *Store) FoldersOf(ctx context.Context, keys []storage.FolderKey) (_ []*storage.Folder, err error) {
	defer s.measure("FoldersOf", time.Now(), &err)
	return s.Store.FoldersOf(ctx, keys)
}

// Likers implements storage.Lister.
func (s *Store) Likers(ctx context.Context, queries []storage.LikersQuery) (_ []storage.ListPage[storage.Liked], err error) {
	defer s.measure("Likers", time.Now(), &err)
	return s.Store.Likers(ctx, queries)
}

// Likes implements storage.Lister.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) (_ []storage.ListPage[storage.Liked], err error) {
	defer s.measure("Likes", time.Now(), &err)
	return s.Store.Likes(ctx, queries)
}

// Items implements storage.Lister.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) (_ []storage.ListPage[storage.Collected], err error) {
	defer s.measure("Items", time.Now(), &err)
	return s.Store.Items(ctx, queries)
}

// ListFolders implements storage.Lister.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) (_ []storage.ListPage[storage.Folder], err error) {
	defer s.measure("ListFolders", time.Now(), &err)
	return s.Store.ListFolders(ctx, queries)
}

// Reads implements storage.Lister.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) (_ []storage.ListPage[storage.Read], err error) {
	defer s.measure("Reads", time.Now(), &err)
	return s.Store.Reads(ctx, queries)
}

// Persist implements storage.Persister.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (_ storage.Outcome, err error) {
	defer s.measure("Persist", time.Now(), &err)
	return s.Store.Persist(ctx, messages, mark)
}

// Seen implements storage.Persister.
func (s *Store) Seen(ctx context.Context, ids []string) (_ []bool, err error) {
	defer s.measure("Seen", time.Now(), &err)
	return s.Store.Seen(ctx, ids)
}

// Prune implements storage.Persister.
func (s *Store) Prune(ctx context.Context, age time.Duration) (_ int64, err error) {
	defer s.measure("Prune", time.Now(), &err)
	return s.Store.Prune(ctx, age)
}

// CreateFolder implements storage.Folders.
func (s *Store) CreateFolder(ctx context.Context, folder storage.Folder) (_ *storage.Folder, err error) {
	defer s.measure("CreateFolder", time.Now(), &err)
	return s.Store.CreateFolder(ctx, folder)
}

// UpdateFolder implements storage.Folders.
func (s *Store) UpdateFolder(ctx context.Context, key storage.FolderKey, change storage.FolderChange, at time.Time) (_ *storage.Folder, err error) {
	defer s.measure("UpdateFolder", time.Now(), &err)
	return s.Store.UpdateFolder(ctx, key, change, at)
}

// EmptyFolder implements storage.Folders.
func (s *Store) EmptyFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark) (_ int, _ storage.Outcome, err error) {
	defer s.measure("EmptyFolder", time.Now(), &err)
	return s.Store.EmptyFolder(ctx, key, moveTo, at, limit, mark)
}

// DeleteFolder implements storage.Folders.
func (s *Store) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time) (err error) {
	defer s.measure("DeleteFolder", time.Now(), &err)
	return s.Store.DeleteFolder(ctx, key, moveTo, at)
}
