package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

const (
	videoColumns = `v.video_id, v.user_id, v.title, v.file, v.format, v.bytes, v.covered, v.created`

	selectVideo  = `SELECT ` + videoColumns + ` FROM video v WHERE v.tenant = $1 AND v.video_id = $2`
	selectVideos = `
SELECT k.ord, ` + videoColumns + `
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS k (tenant, video_id, ord)
CROSS JOIN LATERAL (SELECT video_id, user_id, title, file, format, bytes, covered, created FROM video v WHERE v.tenant = k.tenant AND v.video_id = k.video_id LIMIT 1) v`

	// selectFeed and selectUserVideos have the same form as the statements in lister.go.
	selectFeed = `
SELECT k.ord, ` + videoColumns + `
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS k (tenant, below, entries, ord)
CROSS JOIN LATERAL (SELECT video_id, user_id, title, file, format, bytes, covered, created FROM video v WHERE v.tenant = k.tenant AND v.video_id < k.below
    ORDER BY v.video_id DESC LIMIT k.entries) v`

	selectUserVideos = `
SELECT k.ord, ` + videoColumns + `
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS k (tenant, user_id, below, entries, ord)
CROSS JOIN LATERAL (SELECT video_id, user_id, title, file, format, bytes, covered, created FROM video v WHERE v.tenant = k.tenant AND v.user_id = k.user_id AND v.video_id < k.below
    ORDER BY v.video_id DESC LIMIT k.entries) v`

	selectNamedFiles = `
SELECT k.ord FROM unnest($1::text[]) WITH ORDINALITY AS k (file, ord)
CROSS JOIN LATERAL (SELECT FROM video v WHERE v.file = k.file LIMIT 1) v`
)

// scanVideo scans a row. The first columns are scanned into the elements of before, and
// the remaining columns into a video.
func scanVideo(tenant string, row pgx.Rows, before ...any) (*storage.Video, error) {
	v := new(storage.Video)
	v.Author.Tenant = tenant
	err := row.Scan(append(before, &v.Number, &v.Author.UserID, &v.Title, &v.File, &v.Format, &v.Bytes, &v.Covered, &v.Created)...)
	return v, err
}

// VideosOf looks up videos with one statement.
func (s *Store) VideosOf(ctx context.Context, keys []storage.VideoKey) ([]*storage.Video, error) {
	out := make([]*storage.Video, len(keys))
	rows := newColumns(1, 1, len(keys))
	for _, k := range keys {
		rows.add([]string{k.Tenant}, k.Number)
	}
	err := s.read(ctx, "read videos", selectVideos, rows.args(), func(row pgx.Rows) error {
		var i int
		v, err := scanVideo("", row, &i)
		if err == nil {
			v.Author.Tenant = keys[i-1].Tenant
			out[i-1] = v
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Feed lists the videos of each tenant.
func (s *Store) Feed(ctx context.Context, queries []storage.FeedQuery) ([]storage.ListPage[storage.Video], error) {
	keys := newColumns(1, 2, len(queries))
	for _, q := range queries {
		keys.add([]string{q.Tenant}, sqlstore.StartOfMessages(q.Page), int64(max(q.First, 0)))
	}
	return list(ctx, s, "list videos", selectFeed, len(queries), keys, addVideo(func(i int) string { return queries[i].Tenant }))
}

// UserVideos lists the videos of each user.
func (s *Store) UserVideos(ctx context.Context, queries []storage.UserVideosQuery) ([]storage.ListPage[storage.Video], error) {
	keys := newColumns(2, 2, len(queries))
	for _, q := range queries {
		keys.add([]string{q.User.Tenant, q.User.UserID}, sqlstore.StartOfMessages(q.Page), int64(max(q.First, 0)))
	}
	return list(ctx, s, "list videos of users", selectUserVideos, len(queries), keys, addVideo(func(i int) string { return queries[i].User.Tenant }))
}

// addVideo returns a function for the parameter add of list. The function tenantOf
// returns the tenant of the query with the given index.
func addVideo(tenantOf func(query int) string) func(pgx.Rows, []storage.ListPage[storage.Video]) error {
	return addEntry(func(row pgx.Rows) (i int, of storage.Video, err error) {
		v, err := scanVideo("", row, &i)
		if err == nil {
			v.Author.Tenant = tenantOf(i - 1)
		}
		return i, *v, err
	})
}

// NamedFiles reports, with one statement, for each file name whether a video has that
// file.
func (s *Store) NamedFiles(ctx context.Context, names []string) ([]bool, error) {
	return s.named(ctx, "look up files", selectNamedFiles, names, func(name string) string { return name })
}

// named reports for each file name whether a query finds it, in the form that stored
// returns.
func (s *Store) named(ctx context.Context, what, query string, names []string, stored func(name string) string) ([]bool, error) {
	out := make([]bool, len(names))
	keys := newColumns(1, 0, len(names))
	for _, name := range names {
		keys.add([]string{stored(name)})
	}
	err := s.read(ctx, what, query, keys.args(), func(row pgx.Rows) error {
		var i int
		err := row.Scan(&i)
		if err == nil {
			out[i-1] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const (
	selectVideoID = `
SELECT (t.at / 1000 - $1::bigint) * $2::bigint + nextval('video_number') % $2::bigint, t.at
FROM (SELECT ` + transactionTime + ` AS at) t`

	insertVideo = `
INSERT INTO video (tenant, video_id, user_id, title, file, format, bytes, covered, cover_tries, cover_reason, cover_due, created, indexed)
VALUES ($1, $2, $3, $4, $5, $6, $7, FALSE, 0, '', $8::bigint + $9, $8::bigint, TRUE)`
)

// PublishVideo adds a video in one transaction of five round trips: one to look up rows,
// one to write, two for the author, and one to commit. It locks requests, subjects and
// totals, in this order. No other transaction can hold a lock on the subject while it
// waits for a lock on a request, because the subject is new.
func (s *Store) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (out storage.PublishedVideo, outcome storage.Outcome, err error) {
	if _, err := video.Check(); err != nil {
		return out, outcome, err
	}
	err = retryRaced(func() error {
		return s.changeWithLockTimeout(ctx, "publish video", func(t *tx) error {
			p, err := sqlstore.NewPublication(video)
			if err != nil {
				return err
			}
			outcome = storage.Outcome{}
			out, err = t.publish(p, &outcome)
			if err != nil || out.Repeated {
				return err
			}
			return mirror.Mark(t.ctx, mark, &outcome)
		})
	})
	if err != nil {
		return storage.PublishedVideo{}, storage.Outcome{}, err
	}
	return out, outcome, nil
}

func (t *tx) publish(p *sqlstore.Publication, outcome *storage.Outcome) (out storage.PublishedVideo, err error) {
	b := t.batch()
	epoch := pinEpoch(b)
	var id sqlstore.NewID
	b.Queue(selectVideoID, int64(sqlstore.IDEpoch), int64(1<<sqlstore.IDShift)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&id.ID, &id.At) })
	lookUpRequests(b, &p.RequestLog)
	erased := lookUpErased(b, p.Author())
	if err := t.send(b); err != nil {
		return out, err
	}
	if err := erased.Refuse(p.Author()); err != nil {
		return out, err
	}
	if outcome.Epoch, err = epoch.Enter(); err != nil {
		return out, err
	}
	number, err := p.Repeated()
	if err != nil {
		return out, err
	}
	if number != 0 {
		out.Repeated = true
		out.Video, err = t.video(p.Tenant(), number)
		if err == nil && out.Video == nil { // deleted since
			err = sqlstore.ErrRequestReuse
		}
		return out, err
	}
	v := p.Publish(id)
	t.events.Video(storage.EventVideoPublished, v, v.Created)
	b = t.batch()
	raced := recordRequests(b, &p.RequestLog)
	b.Queue(insertVideo, v.Author.Tenant, v.Number, v.Author.UserID, v.Title, v.File, v.Format, v.Bytes, v.Created, int64(storage.CoverEvery))
	index(b, v.Author.Tenant, sqlstore.IndexedVideo, v.Number, v.Title)
	if err := t.send(b); err != nil {
		return out, err
	}
	if err := raced(); err != nil {
		return out, err
	}
	out.Video = v
	outcome.Counts, err = t.applyTally(sqlstore.NewTally(), []storage.Action{sqlstore.PublishDeclaration(v)}, nil)
	return out, err
}

// video returns a video, or nil if there is none.
func (t *tx) video(tenant string, number int64) (found *storage.Video, err error) {
	b := t.batch()
	b.Queue(selectVideo, tenant, number).Query(eachRow(func(row pgx.Rows) (err error) {
		found, err = scanVideo(tenant, row)
		return err
	}))
	return found, t.send(b)
}

const (
	lockVideo   = selectVideo + ` FOR UPDATE`
	deleteVideo = `DELETE FROM video WHERE tenant = $1 AND video_id = $2`
)

// DeleteVideo removes a video and deletes its subject, in one transaction.
func (s *Store) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (v *storage.Video, outcome storage.Outcome, err error) {
	key := deletion.Key
	if key.Validate() != nil {
		return nil, outcome, storage.ErrNotFound
	}
	err = s.changeWithLockTimeout(ctx, "delete video", func(t *tx) (err error) {
		v, outcome = nil, storage.Outcome{}
		var now int64
		b := t.batch()
		epoch := pinEpoch(b)
		b.Queue(lockVideo, key.Tenant, key.Number).Query(eachRow(func(row pgx.Rows) (err error) {
			v, err = scanVideo(key.Tenant, row)
			return err
		}))
		b.Queue(selectClock).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		if err := t.send(b); err != nil {
			return err
		}
		if outcome.Epoch, err = epoch.Enter(); err != nil {
			return err
		}
		if !deletion.Allows(v) {
			return storage.ErrNotFound
		}
		b = t.batch()
		b.Queue(deleteVideo, key.Tenant, key.Number)
		unindex(b, key.Tenant, sqlstore.IndexedVideo, key.Number, v.Title)
		if err := t.send(b); err != nil {
			return err
		}
		t.events.Video(storage.EventVideoDeleted, v, now)
		subject, tally := key.Subject(), sqlstore.NewTally()
		tally.Deleted[subject] = now
		outcome.Counts, err = t.applyTally(tally, []storage.Action{sqlstore.Withdraw(subject, now)}, nil,
			func(b *pgx.Batch) { queueDeleted(b, []storage.Subject{subject}, now) })
		if err != nil {
			return err
		}
		return mirror.Mark(t.ctx, mark, &outcome)
	})
	if err != nil {
		return nil, storage.Outcome{}, err
	}
	return v, outcome, nil
}
