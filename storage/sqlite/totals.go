package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectAuthors = `
SELECT k.key, i.author, i.authored, i.like_count, i.deleted > 0 FROM jsonb_each(?) k CROSS JOIN interactive i
WHERE i.tenant = k.value ->> 0 AND i.biz = k.value ->> 1 AND i.biz_id = k.value ->> 2`

	// upsertAuthors inserts new rows with version 0; adjustCounts then gives them their
	// first version.
	upsertAuthors = `
INSERT INTO interactive AS i (tenant, biz, biz_id, author, authored, deleted,
    read_count, reader_count, like_count, dislike_count, collect_count, follower_count, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, 0, 0, 0, 0, 0, 0, 0 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET author = excluded.author, authored = excluded.authored, deleted = max(i.deleted, excluded.deleted)`

	upsertTotals = `
INSERT INTO user_totals AS t (tenant, user_id, likes, following, collections, works, likes_received)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET
    likes = t.likes + excluded.likes,
    following = t.following + excluded.following,
    collections = t.collections + excluded.collections,
    works = t.works + excluded.works,
    likes_received = t.likes_received + excluded.likes_received`

	upsertUserComments = `
INSERT INTO user_comments AS t (tenant, user_id, comments)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET comments = t.comments + excluded.comments`

	selectTotals = `
SELECT k.key, coalesce(t.likes, 0), coalesce(t.following, 0), coalesce(t.collections, 0), coalesce(c.comments, 0),
    coalesce(t.works, 0), coalesce(t.likes_received, 0),
    (SELECT coalesce(sum(f.item_count), 0) FROM folder f INDEXED BY folders_public
    WHERE f.tenant = k.value ->> 0 AND f.user_id = k.value ->> 1 AND f.public = 1)
FROM jsonb_each(?) k
LEFT JOIN user_totals t ON t.tenant = k.value ->> 0 AND t.user_id = k.value ->> 1
LEFT JOIN user_comments c ON c.tenant = k.value ->> 0 AND c.user_id = k.value ->> 1`

	selectWorks = `
SELECT authored, biz, biz_id FROM interactive
WHERE tenant = ? AND author = ? AND author <> '' AND (authored, biz, biz_id) < (?, ?, ?)
ORDER BY authored DESC, biz DESC, biz_id DESC LIMIT ?`
)

// declare applies actions of KindAuthor to the rows of the actions' subjects and to the
// tally.
func (t tx) declare(by sqlstore.Tally, actions []storage.Action) error {
	if len(actions) == 0 {
		return nil
	}
	var keys, rows tuples
	for i := range actions {
		s := &actions[i].Subject
		keys.add([]string{s.Tenant, s.Biz, s.BizID})
	}
	present := make(map[storage.Subject]sqlstore.Authored, len(actions))
	if err := t.query(selectAuthors, []any{keys.json()}, func(scan func(...any) error) error {
		var i int
		var a sqlstore.Authored
		err := scan(&i, &a.AuthorID, &a.Since, &a.Likes, &a.Deleted)
		present[actions[i].Subject] = a
		return err
	}); err != nil {
		return err
	}
	changed := by.Declare(actions, present)
	t.events.Declared(changed, present)
	for i := range changed {
		a := &changed[i]
		rows.add([]string{a.Subject.Tenant, a.Subject.Biz, a.Subject.BizID, a.Author}, a.Version, by.Deleted[a.Subject])
	}
	_, err := t.exec(upsertAuthors, rows.json())
	return err
}

// adjustTotals adjusts the totals of users.
func (t tx) adjustTotals(by map[storage.User]*storage.UserTotals) error {
	var totals, comments tuples
	sqlstore.UserRows(by, totals.add, comments.add)
	if len(totals.buf) > 0 {
		if _, err := t.exec(upsertTotals, totals.json()); err != nil {
			return err
		}
	}
	if len(comments.buf) == 0 {
		return nil
	}
	_, err := t.exec(upsertUserComments, comments.json())
	return err
}

// TotalsOf looks up totals in one snapshot.
func (s *Store) TotalsOf(ctx context.Context, users []storage.User) ([]storage.UserTotals, error) {
	out := make([]storage.UserTotals, len(users))
	people := make([]storage.Interactive, len(users))
	var keys tuples
	for i, u := range users {
		people[i].Subject = u.Subject()
		keys.add([]string{u.Tenant, u.UserID})
	}
	err := s.read(ctx, "read totals", func(t tx) error {
		if err := t.counts(people); err != nil {
			return err
		}
		return t.query(selectTotals, []any{keys.json()}, func(scan func(...any) error) error {
			var i int
			var of storage.UserTotals
			err := scan(&i, &of.Likes, &of.Following, &of.Collections, &of.Comments, &of.Works, &of.LikesReceived, &of.PublicCollections)
			out[i] = of
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Followers = people[i].FollowerCount
	}
	return out, nil
}

// Works lists the works of each user. A query that names a biz examines a bounded number
// of rows.
func (s *Store) Works(ctx context.Context, queries []storage.WorksQuery) ([]storage.ListPage[storage.Work], error) {
	return list(ctx, s, "list works", queries, func(t tx, q storage.WorksQuery) (out storage.ListPage[storage.Work], err error) {
		at, rows, limit := sqlstore.StartOf(q.Page), 0, max(q.First, 0)
		if q.Biz != "" {
			limit = q.MaxScan()
		}
		args := []any{q.User.Tenant, q.User.UserID, at.Version, at.Biz, at.ID, limit}
		err = t.query(selectWorks, args, func(scan func(...any) error) error {
			w := storage.Work{Subject: storage.Subject{Tenant: q.User.Tenant}}
			if err := scan(&w.Since, &w.Subject.Biz, &w.Subject.BizID); err != nil {
				return err
			}
			rows++
			at := storage.Position{Version: w.Since, Biz: w.Subject.Biz, ID: w.Subject.BizID}
			return addExamined(&out, q.Page, rows, q.Biz == "" || q.Biz == w.Subject.Biz, at, w)
		})
		return out, ignorePageFull(err)
	})
}
