package main

import (
	"context"
	"time"

	"ovation/storage"
	"ovation/storage/postgres"
)

// unmirrored writes to a database without updating Redis. Writes are allowed only while
// nodes do not use Redis. Otherwise, the nodes would return old data as LIVE until the
// copies in Redis expire.
type unmirrored struct{ *postgres.Store }

// errMirrorOpen is a usage error: the URL of Redis is missing although nodes use Redis.
var errMirrorOpen = usage("the nodes of this database read from Redis, which must receive every change: " +
	"set OVATION_REDIS_URL, and OVATION_PREFIX if theirs is not \"ovation\"")

// check returns errMirrorOpen while nodes use Redis.
func (s unmirrored) check(ctx context.Context) error {
	e, err := s.Epoch(ctx)
	if err == nil && e.Open {
		err = errMirrorOpen
	}
	return err
}

// refuse returns a mark that fails with errMirrorOpen if Redis would have to be updated
// for the transaction. Otherwise, the returned mark calls the given mark, if that is not
// nil.
func refuse(mark storage.Mark) storage.Mark {
	return func(ctx context.Context, outcome storage.Outcome) error {
		switch {
		case outcome.Epoch != 0:
			return errMirrorOpen
		case mark != nil:
			return mark(ctx, outcome)
		}
		return nil
	}
}

// Persist persists messages. It returns errMirrorOpen while nodes use Redis.
func (s unmirrored) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	return s.Store.Persist(ctx, messages, refuse(mark))
}

// EmptyFolder empties a folder. It returns errMirrorOpen while nodes use Redis.
func (s unmirrored) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	return s.Store.EmptyFolder(ctx, key, moveTo, at, limit, refuse(mark))
}

// ClearReads clears a read history. It returns errMirrorOpen while nodes use Redis.
func (s unmirrored) ClearReads(ctx context.Context, clearing storage.ReadsClear, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	return s.Store.ClearReads(ctx, clearing, limit, refuse(mark))
}

// SweepDeleted clears states on deleted subjects. It returns errMirrorOpen while nodes use
// Redis.
func (s unmirrored) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (storage.Swept, storage.Outcome, error) {
	return s.Store.SweepDeleted(ctx, limit, refuse(mark))
}

// EraseNext erases a part of a user. It returns errMirrorOpen while nodes use Redis.
func (s unmirrored) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	return s.Store.EraseNext(ctx, user, limit, refuse(mark))
}

// PublishVideo publishes a video. It returns errMirrorOpen while nodes use Redis.
func (s unmirrored) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (storage.PublishedVideo, storage.Outcome, error) {
	return s.Store.PublishVideo(ctx, video, refuse(mark))
}

// DeleteVideo deletes a video. It returns errMirrorOpen while nodes use Redis.
func (s unmirrored) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (*storage.Video, storage.Outcome, error) {
	return s.Store.DeleteVideo(ctx, deletion, refuse(mark))
}

// Restore restores an archive. It returns errMirrorOpen while nodes use Redis.
func (s unmirrored) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (storage.Outcome, error) {
	return s.Store.Restore(ctx, part, refuse(mark))
}

// Verify recounts everything. If repair is true, Verify returns errMirrorOpen while nodes
// use Redis. It checks for such nodes before the repairs, and again after them, because
// nodes that have begun to use Redis in the meantime may show the repaired counts late.
func (s unmirrored) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	if repair {
		if err := s.check(ctx); err != nil {
			return 0, err
		}
	}
	n, err := s.Store.Verify(ctx, repair, report)
	if err == nil && repair {
		err = s.check(ctx)
	}
	return n, err
}
