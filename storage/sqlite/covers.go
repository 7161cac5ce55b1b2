package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	takeDueCovers = `
UPDATE video SET cover_due = ?1 + min(max(?3, ?1 - created), ?4)
WHERE (tenant, video_id) IN (
    SELECT tenant, video_id FROM video WHERE cover_due > 0 AND cover_due <= ?1 ORDER BY cover_due LIMIT ?2)
RETURNING tenant, video_id`

	setCover = `UPDATE video SET covered = 1, cover_due = 0, cover_reason = '' WHERE tenant = ? AND video_id = ?`

	failCover = `
UPDATE video SET cover_tries = cover_tries + ?3, cover_reason = ?4,
    cover_due = CASE WHEN cover_tries + ?3 >= ?5 THEN 0 ELSE ?6 END
WHERE tenant = ?1 AND video_id = ?2 AND NOT covered RETURNING cover_tries`

	selectCoverReason = `SELECT cover_reason, cover_due = 0 AND NOT covered FROM video WHERE tenant = ? AND video_id = ?`
)

// DueCovers returns the keys of videos whose covers are due, and reschedules these
// covers.
func (s *Store) DueCovers(ctx context.Context, limit int) (out []storage.VideoKey, err error) {
	err = s.write(ctx, "take due covers", func(t tx) error {
		args := []any{storage.Micros(s.now()), max(limit, 0), int64(storage.CoverEvery), int64(sqlstore.MaxCoverWait)}
		return t.query(takeDueCovers, args, func(scan func(...any) error) error {
			var k storage.VideoKey
			err := scan(&k.Tenant, &k.Number)
			out = append(out, k)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SetCover records that a video has a cover, and reports whether the video exists.
func (s *Store) SetCover(ctx context.Context, key storage.VideoKey) (there bool, err error) {
	err = s.write(ctx, "set cover", func(t tx) error {
		n, err := t.exec(setCover, key.Tenant, key.Number)
		there = n > 0
		return err
	})
	return there, err
}

// FailCover records a failure to create a cover, and returns the number of failures so
// far for which CoverFailure.Counts was set.
func (s *Store) FailCover(ctx context.Context, key storage.VideoKey, f storage.CoverFailure) (tries int, err error) {
	err = s.write(ctx, "fail cover", func(t tx) error {
		found := false
		args := []any{key.Tenant, key.Number, sqlstore.BoolToInt(f.Counts), f.Text(), storage.MaxCoverTries, f.Due}
		err := t.query(failCover, args, func(scan func(...any) error) error {
			found = true
			return scan(&tries)
		})
		if err == nil && !found {
			err = storage.ErrNotFound
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return tries, nil
}

// CoverReason returns why a video has no cover, and whether the cover is dead-lettered.
func (s *Store) CoverReason(ctx context.Context, key storage.VideoKey) (reason string, deadLettered bool, err error) {
	err = s.read(ctx, "read reason of cover", func(t tx) error {
		return t.query(selectCoverReason, []any{key.Tenant, key.Number}, func(scan func(...any) error) error {
			return scan(&reason, &deadLettered)
		})
	})
	return reason, deadLettered, err
}
