package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	// takeDueCovers skips covers that another process is taking at the same time.
	takeDueCovers = `
WITH due AS (
    SELECT tenant, video_id, user_id, cover_due FROM video
    WHERE cover_due > 0 AND cover_due <= ` + transactionTime + ` ORDER BY cover_due LIMIT $1 FOR UPDATE SKIP LOCKED),
ranked AS (
    SELECT tenant, video_id, row_number() OVER (PARTITION BY tenant, user_id ORDER BY cover_due, video_id) - 1 AS earlier FROM due)
UPDATE video v SET cover_due = ` + transactionTime + ` + CASE WHEN r.earlier < $4::bigint
    THEN least(greatest($2::bigint, ` + transactionTime + ` - v.created), $3::bigint) ELSE r.earlier / $4::bigint * $5::bigint END
FROM ranked r WHERE v.tenant = r.tenant AND v.video_id = r.video_id
RETURNING v.tenant, v.video_id, r.earlier < $4::bigint`

	setCover = `UPDATE video SET covered = TRUE, cover_due = 0, cover_reason = '' WHERE tenant = $1 AND video_id = $2`

	failCover = `
UPDATE video SET cover_tries = cover_tries + $3::bigint, cover_reason = $4,
    cover_due = CASE WHEN cover_tries + $3::bigint >= $5 THEN 0 ELSE $6::bigint END
WHERE tenant = $1 AND video_id = $2 AND NOT covered RETURNING cover_tries`

	selectCoverReason = `SELECT cover_reason, cover_due = 0 AND NOT covered FROM video WHERE tenant = $1 AND video_id = $2`
)

// DueCovers returns the keys of videos whose covers are due, and reschedules these
// covers.
func (s *Store) DueCovers(ctx context.Context, limit int) (out []storage.VideoKey, err error) {
	err = s.change(ctx, "take due covers", func(t *tx) error {
		out = nil
		b := t.batch()
		args := []any{max(limit, 0), int64(storage.CoverEvery), int64(sqlstore.MaxCoverWait), int64(storage.CoverShare(limit)), int64(sqlstore.CoverPause)}
		b.Queue(takeDueCovers, args...).Query(eachRow(func(row pgx.Rows) error {
			var k storage.VideoKey
			var taken bool
			err := row.Scan(&k.Tenant, &k.Number, &taken)
			if taken {
				out = append(out, k)
			}
			return err
		}))
		return t.send(b)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SetCover records that a video has a cover, and reports whether the video exists.
func (s *Store) SetCover(ctx context.Context, key storage.VideoKey) (bool, error) {
	if key.Validate() != nil {
		return false, nil //nolint:nilerr // there is no such video
	}
	var n int64
	err := s.change(ctx, "set cover", func(t *tx) error {
		b := t.batch()
		b.Queue(setCover, key.Tenant, key.Number).Exec(rowsAffected(&n))
		return t.send(b)
	})
	return n > 0, err
}

// FailCover records a failure to create a cover, and returns the number of failures so
// far for which CoverFailure.Counts was set.
func (s *Store) FailCover(ctx context.Context, key storage.VideoKey, f storage.CoverFailure) (tries int, err error) {
	if key.Validate() != nil {
		return 0, storage.ErrNotFound
	}
	err = s.change(ctx, "fail cover", func(t *tx) error {
		found := false
		b := t.batch()
		args := []any{key.Tenant, key.Number, sqlstore.BoolToInt(f.Counts), f.Text(), storage.MaxCoverTries, f.Due}
		b.Queue(failCover, args...).Query(eachRow(func(row pgx.Rows) error {
			found = true
			return row.Scan(&tries)
		}))
		if err := t.send(b); err != nil {
			return err
		}
		if !found {
			return storage.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return tries, nil
}

// CoverReason returns why a video has no cover, and whether the cover is dead-lettered.
func (s *Store) CoverReason(ctx context.Context, key storage.VideoKey) (reason string, deadLettered bool, err error) {
	if key.Validate() != nil {
		return "", false, nil //nolint:nilerr // there is no such video
	}
	err = s.read(ctx, "read reason of cover", selectCoverReason, []any{key.Tenant, key.Number}, func(row pgx.Rows) error {
		return row.Scan(&reason, &deadLettered)
	})
	return reason, deadLettered, err
}
