package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// lockCounts inserts missing rows and locks existing ones. Its DO UPDATE changes nothing.
const lockCounts = `
INSERT INTO interactive AS i (tenant, biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, version)
SELECT k.tenant, k.biz, k.biz_id, 0, 0, 0, 0, 0, 0, 0
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
ORDER BY k.ord
ON CONFLICT (tenant, biz_id, biz) DO UPDATE SET version = i.version WHERE FALSE`

const selectAuthors = `
SELECT k.ord, i.author, i.authored, i.like_count, i.deleted > 0
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT author, authored, like_count, deleted FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = k.biz AND i.biz_id = k.biz_id LIMIT 1) i`

// declare applies declarations to the tally and returns the declarations that change
// something. It locks all subjects of the transaction in the order of their keys. A row
// that it inserts gets its first version when the counts are written.
func (t *tx) declare(by sqlstore.Tally, declared []storage.Action) ([]storage.Action, error) {
	if len(declared) == 0 {
		return nil, nil
	}
	locked := sqlstore.NewTally()
	for s := range by.Subjects {
		locked.Subjects[s] = nil
	}
	for i := range declared {
		locked.Subjects[declared[i].Subject] = nil
	}
	subjects := locked.Sorted()
	rows := make(map[storage.Subject]sqlstore.Authored, len(subjects))
	b := t.batch()
	b.Queue(lockCounts, subjectKeys(subjects).args()...)
	b.Queue(selectAuthors, subjectKeys(subjects).args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var a sqlstore.Authored
		if err := row.Scan(&i, &a.AuthorID, &a.Since, &a.Likes, &a.Deleted); err != nil {
			return err
		}
		rows[subjects[i-1]] = a
		return nil
	}))
	if err := t.send(b); err != nil {
		return nil, err
	}
	changed := by.Declare(declared, rows)
	t.events.Declared(changed, rows)
	return changed, nil
}

// upsertAuthors inserts nothing, because all the rows exist. Unlike an UPDATE, it always
// finds each row by its key.
const upsertAuthors = `
INSERT INTO interactive AS i (tenant, biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, version, author, authored, deleted)
SELECT k.tenant, k.biz, k.biz_id, 0, 0, 0, 0, 0, 0, 0, k.author, k.authored, k.deleted
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, author, authored, deleted, ord)
ORDER BY k.ord
ON CONFLICT (tenant, biz_id, biz) DO UPDATE SET author = excluded.author, authored = excluded.authored,
    deleted = greatest(i.deleted, excluded.deleted)`

// setAuthors queues a statement that writes declarations, and the marks of deleted
// subjects. The caller must have locked the subjects.
func setAuthors(b *pgx.Batch, declared []storage.Action, deleted map[storage.Subject]int64) {
	if len(declared) == 0 {
		return
	}
	rows := newColumns(4, 2, len(declared))
	for i := range declared {
		a := &declared[i]
		rows.add([]string{a.Subject.Tenant, a.Subject.Biz, a.Subject.BizID, a.Author}, a.Version, deleted[a.Subject])
	}
	b.Queue(upsertAuthors, rows.args()...)
}

// upsertTotals adjusts rows of user_totals, in the order of their keys. The authors of
// the given subjects receive the given likes; the transaction already holds the locks on
// these subjects. The condition on the author is outside the lookup, so that the lookup
// uses the key and not the index of works. Only the likes of the given subjects are
// summed by user, because the other arguments name each user only once.
const upsertTotals = `
INSERT INTO user_totals AS t (tenant, user_id, likes, following, collections, works, likes_received)
SELECT coalesce(k.tenant, r.tenant) COLLATE "C" AS tenant, coalesce(k.user_id, r.user_id) COLLATE "C" AS user_id,
    coalesce(k.likes, 0), coalesce(k.following, 0), coalesce(k.collections, 0), coalesce(k.works, 0),
    coalesce(k.received, 0) + coalesce(r.likes, 0)
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
    AS k (tenant, user_id, likes, following, collections, works, received)
FULL JOIN (
    SELECT l.tenant, i.author AS user_id, sum(l.likes)::bigint AS likes
    FROM unnest($8::text[], $9::text[], $10::text[], $11::bigint[]) AS l (tenant, biz, biz_id, likes)
    CROSS JOIN LATERAL (SELECT author FROM interactive i
        WHERE i.tenant = l.tenant AND i.biz = l.biz AND i.biz_id = l.biz_id LIMIT 1) i
    WHERE i.author <> '' GROUP BY l.tenant, i.author
) r ON r.tenant = k.tenant AND r.user_id = k.user_id COLLATE "C"
ORDER BY tenant, user_id
ON CONFLICT (tenant, user_id) DO UPDATE SET
    likes = t.likes + excluded.likes,
    following = t.following + excluded.following,
    collections = t.collections + excluded.collections,
    works = t.works + excluded.works,
    likes_received = t.likes_received + excluded.likes_received`

const upsertUserComments = `
INSERT INTO user_comments AS t (tenant, user_id, comments)
SELECT k.tenant, k.user_id, k.comments
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (tenant, user_id, comments, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id) DO UPDATE SET comments = t.comments + excluded.comments`

// adjustTotals queues statements that adjust the totals of users. The statements must be
// the last of the transaction.
func adjustTotals(b *pgx.Batch, by sqlstore.Tally) {
	users, likes, comments := newColumns(2, 5, len(by.Users)), newColumns(3, 1, 0), newColumns(2, 1, 0)
	sqlstore.UserRows(by.Users, users.add, comments.add)
	if by.LikesToAuthors {
		for s, c := range by.Subjects {
			if c.LikeCount != 0 {
				likes.add([]string{s.Tenant, s.Biz, s.BizID}, c.LikeCount)
			}
		}
	}
	if len(users.texts[0])+len(likes.texts[0]) > 0 {
		b.Queue(upsertTotals, users.args(likes.args()...)...)
	}
	if len(comments.texts[0]) > 0 {
		b.Queue(upsertUserComments, comments.args()...)
	}
}

const selectTotals = `
SELECT k.ord, coalesce(t.likes, 0), coalesce(t.following, 0), coalesce(i.follower_count, 0), coalesce(t.collections, 0),
    coalesce(c.comments, 0), coalesce(t.works, 0), coalesce(t.likes_received, 0), coalesce(f.items, 0)
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (tenant, user_id, ord)
LEFT JOIN LATERAL (SELECT likes, following, collections, works, likes_received FROM user_totals t
    WHERE t.tenant = k.tenant AND t.user_id = k.user_id LIMIT 1) t ON TRUE
LEFT JOIN LATERAL (SELECT sum(item_count)::bigint AS items FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.public) f ON TRUE
LEFT JOIN LATERAL (SELECT comments FROM user_comments c
    WHERE c.tenant = k.tenant AND c.user_id = k.user_id LIMIT 1) c ON TRUE
LEFT JOIN LATERAL (SELECT follower_count FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = 'user' AND i.biz_id = k.user_id LIMIT 1) i ON TRUE`

// TotalsOf looks up totals with one statement.
func (s *Store) TotalsOf(ctx context.Context, users []storage.User) ([]storage.UserTotals, error) {
	out := make([]storage.UserTotals, len(users))
	keys := newColumns(2, 0, len(users))
	for _, u := range users {
		keys.add([]string{u.Tenant, u.UserID})
	}
	err := s.read(ctx, "read totals", selectTotals, keys.args(), func(row pgx.Rows) error {
		var i int
		var of storage.UserTotals
		if err := row.Scan(&i, &of.Likes, &of.Following, &of.Followers, &of.Collections, &of.Comments, &of.Works, &of.LikesReceived, &of.PublicCollections); err != nil {
			return err
		}
		out[i-1] = of
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// selectWorks has the same form as the statements in lister.go.
const selectWorks = `
SELECT k.ord, l.authored, l.biz, l.biz_id, l.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, of_biz, biz, biz_id, version, entries, scan, ord)
CROSS JOIN LATERAL (
    SELECT authored, biz, biz_id, n
    FROM (SELECT authored, biz, biz_id, row_number() OVER (ORDER BY authored DESC, biz DESC, biz_id DESC) AS n
        FROM (SELECT authored, biz, biz_id FROM interactive s
            WHERE s.tenant = k.tenant AND s.author = k.user_id AND s.author <> ''
                AND (s.authored, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
            ORDER BY s.authored DESC, s.biz DESC, s.biz_id DESC LIMIT k.scan) examined) numbered
    WHERE k.of_biz = '' OR biz = k.of_biz OR n = k.scan
    ORDER BY authored DESC, biz DESC, biz_id DESC LIMIT k.entries) l`

// Works lists the works of each user.
func (s *Store) Works(ctx context.Context, queries []storage.WorksQuery) ([]storage.ListPage[storage.Work], error) {
	keys := newColumns(5, 3, len(queries))
	for _, q := range queries {
		addUserQuery(keys, q.User, q.Biz, q.Page)
	}
	return list(ctx, s, "list works", selectWorks, len(queries), keys, func(row pgx.Rows, to []storage.ListPage[storage.Work]) error {
		var i, n int
		var w storage.Work
		if err := row.Scan(&i, &w.Since, &w.Subject.Biz, &w.Subject.BizID, &n); err != nil {
			return err
		}
		q := &queries[i-1]
		w.Subject.Tenant = q.User.Tenant
		at := storage.Position{Version: w.Since, Biz: w.Subject.Biz, ID: w.Subject.BizID}
		addExamined(&to[i-1], q.Page, n, q.Biz == "" || q.Biz == at.Biz, at, w)
		return nil
	})
}
