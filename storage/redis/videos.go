package redis

import (
	"context"

	"ovation/storage"
)

// PublishVideo publishes a video in the database. It updates Redis as Persist does.
func (s *Store) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (storage.PublishedVideo, storage.Outcome, error) {
	out, outcome, err := s.Store.PublishVideo(ctx, video, s.invalidateFirst(mark))
	if err == nil {
		s.publishCommitted(ctx, outcome)
	}
	return out, outcome, err
}

// DeleteVideo deletes a video from the database. It updates Redis as Persist does.
func (s *Store) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (*storage.Video, storage.Outcome, error) {
	video, outcome, err := s.Store.DeleteVideo(ctx, deletion, s.invalidateFirst(mark))
	if err == nil {
		s.publishCommitted(ctx, outcome)
	}
	return video, outcome, err
}
