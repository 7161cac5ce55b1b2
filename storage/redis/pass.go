package redis

import (
	"context"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/dependency"
)

// What follows is not kept in Redis. It goes to the database, past which the
// breaker keeps everyone from waiting where it is down.

// FoldersOf asks the database.
func (s *Store) FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	return pass(ctx, s.reads, "read folders", s.Store.FoldersOf, keys)
}

// Likers asks the database.
func (s *Store) Likers(ctx context.Context, queries []storage.LikersQuery) ([]storage.ListPage[storage.Liked], error) {
	return pass(ctx, s.lists, "list likers", s.Store.Likers, queries)
}

// Likes asks the database.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) ([]storage.ListPage[storage.Liked], error) {
	return pass(ctx, s.lists, "list likes", s.Store.Likes, queries)
}

// Items asks the database.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) ([]storage.ListPage[storage.Collected], error) {
	return pass(ctx, s.lists, "list items", s.Store.Items, queries)
}

// ListFolders asks the database.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([]storage.ListPage[storage.Folder], error) {
	return pass(ctx, s.lists, "list folders", s.Store.ListFolders, queries)
}

// Reads asks the database.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) ([]storage.ListPage[storage.Read], error) {
	return pass(ctx, s.lists, "list reads", s.Store.Reads, queries)
}

func pass[Q, A any](
	ctx context.Context, as *dependency.Class, what string, f func(context.Context, []Q) ([]A, error), queries []Q,
) ([]A, error) {
	return dependency.AskAs(ctx, as, what, func(ctx context.Context) ([]A, error) { return f(ctx, queries) })
}

// CreateFolder makes a folder in the database.
func (s *Store) CreateFolder(ctx context.Context, folder storage.Folder) (*storage.Folder, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.CreateFolder(ctx, folder)
}

// UpdateFolder changes a folder in the database.
func (s *Store) UpdateFolder(
	ctx context.Context, key storage.FolderKey, change storage.FolderChange, at time.Time,
) (*storage.Folder, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.UpdateFolder(ctx, key, change, at)
}

// DeleteFolder removes a folder from the database.
func (s *Store) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time) error {
	if err := s.database.Err(); err != nil {
		return err
	}
	return s.Store.DeleteFolder(ctx, key, moveTo, at)
}
