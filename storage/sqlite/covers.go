package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectDueCovers = `
SELECT tenant, video_id, user_id, created FROM video WHERE cover_due > 0 AND cover_due <= ? ORDER BY cover_due LIMIT ?`

	rescheduleCover = `UPDATE video SET cover_due = ? WHERE tenant = ? AND video_id = ?`

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
		now := storage.Micros(s.now())
		due := map[storage.VideoKey]int64{} // when the covers are due next
		share, of := storage.CoverShare(limit), map[storage.User]int{}
		err := t.query(selectDueCovers, []any{now, max(limit, 0)}, func(scan func(...any) error) error {
			var author storage.User
			var number, created int64
			if err := scan(&author.Tenant, &number, &author.UserID, &created); err != nil {
				return err
			}
			k, earlier := storage.VideoKey{Tenant: author.Tenant, Number: number}, of[author]
			of[author]++
			if earlier < share {
				out = append(out, k)
				due[k] = now + min(max(storage.CoverEvery, now-created), sqlstore.MaxCoverWait)
			} else {
				due[k] = now + int64(earlier/share)*sqlstore.CoverPause
			}
			return nil
		})
		for k, next := range due {
			if err != nil {
				break
			}
			_, err = t.exec(rescheduleCover, next, k.Tenant, k.Number)
		}
		return err
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
