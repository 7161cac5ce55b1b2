package database

import (
	"context"

	"ovation/storage"
	"ovation/storage/redis/internal/dependency"
)

// VideosOf returns videos from the database.
func (s *Store) VideosOf(ctx context.Context, keys []storage.VideoKey) ([]*storage.Video, error) {
	return query(ctx, s.reads, "read videos", s.Store.VideosOf, keys)
}

// Feed returns lists of videos from the database.
func (s *Store) Feed(ctx context.Context, queries []storage.FeedQuery) ([]storage.ListPage[storage.Video], error) {
	return query(ctx, s.lists, "list videos", s.Store.Feed, queries)
}

// UserVideos returns lists of users' videos from the database.
func (s *Store) UserVideos(ctx context.Context, queries []storage.UserVideosQuery) ([]storage.ListPage[storage.Video], error) {
	return query(ctx, s.lists, "list videos of users", s.Store.UserVideos, queries)
}

// SearchUsers searches the names of accounts in the database.
func (s *Store) SearchUsers(ctx context.Context, queries []storage.SearchQuery) ([]storage.ListPage[storage.FoundUser], error) {
	return query(ctx, s.lists, "search users", s.Store.SearchUsers, queries)
}

// SearchVideos searches the titles of videos in the database.
func (s *Store) SearchVideos(ctx context.Context, queries []storage.SearchQuery) ([]storage.ListPage[storage.FoundVideo], error) {
	return query(ctx, s.lists, "search videos", s.Store.SearchVideos, queries)
}

// IndexNext adds names and titles to the index of the database.
func (s *Store) IndexNext(ctx context.Context, limit int) (int, error) {
	if err := s.database.Err(); err != nil {
		return 0, err
	}
	return s.Store.IndexNext(ctx, limit)
}

// PublishVideo adds a video to the database.
func (s *Store) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (storage.PublishedVideo, storage.Outcome, error) {
	if err := s.database.Err(); err != nil {
		return storage.PublishedVideo{}, storage.Outcome{}, err
	}
	return s.Store.PublishVideo(ctx, video, mark)
}

// DeleteVideo removes a video from the database.
func (s *Store) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (*storage.Video, storage.Outcome, error) {
	if err := s.database.Err(); err != nil {
		return nil, storage.Outcome{}, err
	}
	return s.Store.DeleteVideo(ctx, deletion, mark)
}

// NamedFiles reports which files belong to videos in the database.
func (s *Store) NamedFiles(ctx context.Context, names []string) ([]bool, error) {
	return query(ctx, s.reads, "look for the videos of files", s.Store.NamedFiles, names)
}

// CoverReason returns, from the database, why a cover failed and whether it was
// dead-lettered.
func (s *Store) CoverReason(ctx context.Context, key storage.VideoKey) (reason string, deadLettered bool, err error) {
	reason, err = dependency.Query(ctx, s.reads, "read why a cover failed", func(ctx context.Context) (reason string, err error) {
		reason, deadLettered, err = s.Store.CoverReason(ctx, key)
		return reason, err
	})
	return reason, deadLettered, err
}

// DueCovers returns the keys of videos whose covers are due, and records in the database
// when these covers are due again.
func (s *Store) DueCovers(ctx context.Context, limit int) ([]storage.VideoKey, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.DueCovers(ctx, limit)
}

// SetCover records a cover in the database.
func (s *Store) SetCover(ctx context.Context, key storage.VideoKey) (bool, error) {
	if err := s.database.Err(); err != nil {
		return false, err
	}
	return s.Store.SetCover(ctx, key)
}

// FailCover records the failure of a cover in the database.
func (s *Store) FailCover(ctx context.Context, key storage.VideoKey, failure storage.CoverFailure) (tries int, err error) {
	if err := s.database.Err(); err != nil {
		return 0, err
	}
	return s.Store.FailCover(ctx, key, failure)
}

// SweepDeleted sweeps deleted subjects in the database.
func (s *Store) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (storage.Swept, storage.Outcome, error) {
	if err := s.database.Err(); err != nil {
		return storage.Swept{}, storage.Outcome{}, err
	}
	return s.Store.SweepDeleted(ctx, limit, mark)
}

// Export exports from the database. It takes no slot of the reads, because no request waits
// for it.
func (s *Store) Export(ctx context.Context, of storage.ArchiveQuery, each func(*storage.Archive) error) error {
	if err := s.database.Err(); err != nil {
		return err
	}
	return s.Store.Export(ctx, of, each)
}

// Restore restores an archive in the database.
func (s *Store) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (storage.Outcome, error) {
	if err := s.database.Err(); err != nil {
		return storage.Outcome{}, err
	}
	return s.Store.Restore(ctx, part, mark)
}
