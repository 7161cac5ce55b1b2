package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	videoColumns = `v.video_id, v.user_id, v.title, v.file, v.format, v.bytes, v.covered, v.created`

	selectVideo  = `SELECT ` + videoColumns + ` FROM video v WHERE v.tenant = ? AND v.video_id = ?`
	selectVideos = `
SELECT k.key, ` + videoColumns + ` FROM jsonb_each(?) k CROSS JOIN video v
WHERE v.tenant = k.value ->> 0 AND v.video_id = k.value ->> 1`

	selectFeed = `
SELECT ` + videoColumns + ` FROM video v WHERE v.tenant = ? AND v.video_id < ? ORDER BY v.video_id DESC LIMIT ?`
	selectUserVideos = `
SELECT ` + videoColumns + ` FROM video v INDEXED BY videos_of WHERE v.tenant = ? AND v.user_id = ? AND v.video_id < ? ORDER BY v.video_id DESC LIMIT ?`

	selectNamedFiles = `SELECT k.key FROM jsonb_each(?) k CROSS JOIN video v WHERE v.file = k.value ->> 0`
)

// scanVideo scans a row. The first columns are scanned into the elements of before, and
// the remaining columns into a video.
func scanVideo(tenant string, scan func(...any) error, before ...any) (*storage.Video, error) {
	v := new(storage.Video)
	v.Author.Tenant = tenant
	err := scan(append(before, &v.Number, &v.Author.UserID, &v.Title, &v.File, &v.Format, &v.Bytes, &v.Covered, &v.Created)...)
	return v, err
}

// VideosOf looks up videos in one snapshot.
func (s *Store) VideosOf(ctx context.Context, keys []storage.VideoKey) ([]*storage.Video, error) {
	out := make([]*storage.Video, len(keys))
	var rows tuples
	for _, k := range keys {
		rows.add([]string{k.Tenant}, k.Number)
	}
	err := s.read(ctx, "read videos", func(t tx) error {
		return t.query(selectVideos, []any{rows.json()}, func(scan func(...any) error) error {
			var i int
			v, err := scanVideo("", scan, &i)
			v.Author.Tenant = keys[i].Tenant
			out[i] = v
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Feed lists the videos of each tenant.
func (s *Store) Feed(ctx context.Context, queries []storage.FeedQuery) ([]storage.ListPage[storage.Video], error) {
	return list(ctx, s, "list videos", queries, func(t tx, q storage.FeedQuery) (storage.ListPage[storage.Video], error) {
		return t.videos(selectFeed, q.Tenant, q.Tenant, sqlstore.StartOfMessages(q.Page), max(q.First, 0))
	})
}

// UserVideos lists the videos of each user.
func (s *Store) UserVideos(ctx context.Context, queries []storage.UserVideosQuery) ([]storage.ListPage[storage.Video], error) {
	return list(ctx, s, "list videos of users", queries, func(t tx, q storage.UserVideosQuery) (storage.ListPage[storage.Video], error) {
		return t.videos(selectUserVideos, q.User.Tenant, q.User.Tenant, q.User.UserID, sqlstore.StartOfMessages(q.Page), max(q.First, 0))
	})
}

// videos returns one page of videos.
func (t tx) videos(query, tenant string, args ...any) (out storage.ListPage[storage.Video], err error) {
	err = t.query(query, args, func(scan func(...any) error) error {
		v, err := scanVideo(tenant, scan)
		out.Entries = append(out.Entries, *v)
		return err
	})
	return out, err
}

// NamedFiles reports for each file name whether a video has that file.
func (s *Store) NamedFiles(ctx context.Context, names []string) ([]bool, error) {
	return s.named(ctx, "look up files", selectNamedFiles, names, func(name string) string { return name })
}

// named reports for each file name whether a query finds it, in the form that stored
// returns.
func (s *Store) named(ctx context.Context, what, query string, names []string, stored func(name string) string) ([]bool, error) {
	out := make([]bool, len(names))
	var keys tuples
	for _, name := range names {
		keys.add([]string{stored(name)})
	}
	err := s.read(ctx, what, func(t tx) error {
		return t.query(query, []any{keys.json()}, func(scan func(...any) error) error {
			var i int
			err := scan(&i)
			out[i] = true
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const (
	takeVideoNumber = `
INSERT INTO video_number AS n (tenant, latest) VALUES (?, ?)
ON CONFLICT DO UPDATE SET latest = max(n.latest + 1, excluded.latest) RETURNING latest`

	insertVideo = `
INSERT INTO video (tenant, video_id, user_id, title, file, format, bytes, covered, cover_tries, cover_reason, cover_due, created, indexed)
VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, '', ?, ?, 1)`
)

// PublishVideo adds a video whose id is above all video ids that its tenant has ever had.
func (s *Store) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (out storage.PublishedVideo, outcome storage.Outcome, err error) {
	p, err := sqlstore.NewPublication(video)
	if err != nil {
		return out, outcome, err
	}
	err = s.write(ctx, "publish video", func(t tx) error {
		if err := t.refuseErased(video.Author); err != nil {
			return err
		}
		now := storage.Micros(s.now())
		if err := t.lookUpRequests(&p.RequestLog, now); err != nil {
			return err
		}
		number, err := p.Repeated()
		if err != nil {
			return err
		}
		if number != 0 {
			out.Repeated = true
			out.Video, err = t.video(p.Tenant(), number)
			if err == nil && out.Video == nil { // deleted since
				err = sqlstore.ErrRequestReuse
			}
			return err
		}
		if out.Video, err = t.publish(p, now); err != nil {
			return err
		}
		if outcome.Counts, err = t.applyTally(sqlstore.NewTally(), []storage.Action{sqlstore.PublishDeclaration(out.Video)}); err != nil {
			return err
		}
		return callMark(ctx, mark, outcome)
	})
	if err != nil {
		return storage.PublishedVideo{}, storage.Outcome{}, err
	}
	return out, outcome, nil
}

func (t tx) publish(p *sqlstore.Publication, now int64) (*storage.Video, error) {
	id := sqlstore.NewID{At: now}
	first := (now/1000 - sqlstore.IDEpoch) << sqlstore.IDShift
	err := t.query(takeVideoNumber, []any{p.Tenant(), first}, func(scan func(...any) error) error { return scan(&id.ID) })
	if err != nil {
		return nil, err
	}
	v := p.Publish(id)
	t.events.Video(storage.EventVideoPublished, v, v.Created)
	_, err = t.exec(insertVideo, v.Author.Tenant, v.Number, v.Author.UserID, v.Title, v.File, v.Format, v.Bytes,
		v.Created+storage.CoverEvery, v.Created)
	if err == nil {
		err = t.index(v.Author.Tenant, sqlstore.IndexedVideo, v.Number, v.Title)
	}
	if err != nil {
		return nil, err
	}
	return v, t.recordRequests(&p.RequestLog, now)
}

// video returns a video, or nil if there is none.
func (t tx) video(tenant string, number int64) (found *storage.Video, err error) {
	err = t.query(selectVideo, []any{tenant, number}, func(scan func(...any) error) (err error) {
		found, err = scanVideo(tenant, scan)
		return err
	})
	return found, err
}

const deleteVideo = `DELETE FROM video WHERE tenant = ? AND video_id = ?`

// DeleteVideo removes a video and deletes its subject, in one transaction.
func (s *Store) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (v *storage.Video, outcome storage.Outcome, err error) {
	key := deletion.Key
	err = s.write(ctx, "delete video", func(t tx) (err error) {
		if v, err = t.video(key.Tenant, key.Number); err != nil {
			return err
		}
		if !deletion.Allows(v) {
			return storage.ErrNotFound
		}
		if _, err := t.exec(deleteVideo, key.Tenant, key.Number); err != nil {
			return err
		}
		if err := t.unindex(key.Tenant, sqlstore.IndexedVideo, key.Number, v.Title); err != nil {
			return err
		}
		now, tally := storage.Micros(s.now()), sqlstore.NewTally()
		t.events.Video(storage.EventVideoDeleted, v, now)
		subject := key.Subject()
		tally.Deleted[subject] = now
		if err := t.queueDeleted([]storage.Subject{subject}, now); err != nil {
			return err
		}
		if outcome.Counts, err = t.applyTally(tally, []storage.Action{sqlstore.Withdraw(subject, now)}); err != nil {
			return err
		}
		return callMark(ctx, mark, outcome)
	})
	if err != nil {
		return nil, storage.Outcome{}, err
	}
	return v, outcome, nil
}
