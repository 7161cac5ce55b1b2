package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const commentColumns = `biz, biz_id, comment_id, reply_to, user_id, text, created, edited, edited_by, deleted, like_count, reply_count, version`

func scanComment(tenant string, row pgx.Rows, more ...any) (*storage.Comment, error) {
	c := &storage.Comment{Subject: storage.Subject{Tenant: tenant}, User: storage.User{Tenant: tenant}}
	err := row.Scan(append(more, &c.Subject.Biz, &c.Subject.BizID, &c.Number, &c.ParentID, &c.User.UserID, &c.Text,
		&c.Created, &c.Edited, &c.EditorID, &c.DeletedAt, &c.LikeCount, &c.ReplyCount, &c.Version)...)
	return c, err
}

const selectComments = `
SELECT k.ord, c.* FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS k (tenant, comment_id, ord)
CROSS JOIN LATERAL (SELECT ` + commentColumns + ` FROM comment c
    WHERE c.tenant = k.tenant AND c.comment_id = k.comment_id LIMIT 1) c`

func commentKeys(of []storage.CommentKey) columns {
	keys := newColumns(1, 1, len(of))
	for _, k := range of {
		keys.add([]string{k.Tenant}, k.CommentID)
	}
	return keys
}

// lookUpCommentsOf queues a lookup of comments, listed or not. The parameter into is a
// map, to which the lookup adds the comments that exist.
func lookUpCommentsOf(b *pgx.Batch, keys []storage.CommentKey, into map[storage.CommentKey]*storage.Comment) {
	b.Queue(selectComments, commentKeys(keys).args()...).Query(eachRow(func(row pgx.Rows) error {
		c, err := scanCommentOf(keys, row)
		if err == nil {
			into[c.Key()] = c
		}
		return err
	}))
}

// scanCommentOf scans a row that selectComments returns.
func scanCommentOf(keys []storage.CommentKey, row pgx.Rows, more ...any) (*storage.Comment, error) {
	var i int
	c, err := scanComment("", row, append(more, &i)...)
	if err == nil {
		c.Subject.Tenant, c.User.Tenant = keys[i-1].Tenant, keys[i-1].Tenant
	}
	return c, err
}

// CommentsOf looks up comments with one statement.
func (s *Store) CommentsOf(ctx context.Context, keys []storage.CommentKey) ([]*storage.Comment, error) {
	out, at := make([]*storage.Comment, len(keys)), make(map[storage.CommentKey]*storage.Comment, len(keys))
	err := s.read(ctx, "read comments", selectComments, commentKeys(keys).args(), func(row pgx.Rows) error {
		c, err := scanCommentOf(keys, row)
		if err == nil && c.Listed() {
			at[c.Key()] = c
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		out[i] = at[key]
	}
	return out, nil
}

// CommentCounts looks up comment counts with one statement.
func (s *Store) CommentCounts(ctx context.Context, subjects []storage.Subject) ([]storage.CommentCount, error) {
	out := make([]storage.CommentCount, len(subjects))
	err := s.read(ctx, "read comment counts", selectCommentCounts, subjectKeys(subjects).args(), func(row pgx.Rows) error {
		var i int
		var c storage.CommentCount
		err := row.Scan(&i, &c.Comments, &c.Version)
		if err == nil {
			out[i-1] = c
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// In selectCommentLists, each order has its own number (see sortOf) and its own branch,
// which uses an index. For a page without entries, the statement returns one row, which
// holds only the version.
const (
	selectCommentLists = `
SELECT k.ord, coalesce(v.version, 0), l.comment_id IS NOT NULL, coalesce(l.biz, ''), coalesce(l.biz_id, ''), coalesce(l.comment_id, 0),
    coalesce(l.reply_to, 0), coalesce(l.user_id, ''), coalesce(l.text, ''), coalesce(l.created, 0), coalesce(l.edited, 0),
    coalesce(l.edited_by, ''), coalesce(l.deleted, 0), coalesce(l.like_count, 0), coalesce(l.reply_count, 0), coalesce(l.version, 0)
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, reply_to, sort, likes, id, entries, ord)
LEFT JOIN LATERAL (SELECT version FROM comment_count v
    WHERE v.tenant = k.tenant AND v.biz = k.biz AND v.biz_id = k.biz_id LIMIT 1) v ON TRUE
LEFT JOIN LATERAL (
    (SELECT ` + commentColumns + ` FROM comment c
    WHERE k.sort = 1 AND c.tenant = k.tenant AND c.biz = k.biz AND c.biz_id = k.biz_id AND c.reply_to = k.reply_to AND c.listed AND c.comment_id < k.id
    ORDER BY c.comment_id DESC LIMIT k.entries)
    UNION ALL
    (SELECT ` + commentColumns + ` FROM comment c
    WHERE k.sort = 2 AND c.tenant = k.tenant AND c.biz = k.biz AND c.biz_id = k.biz_id AND c.reply_to = k.reply_to AND c.listed AND c.comment_id > k.id
    ORDER BY c.comment_id LIMIT k.entries)
    UNION ALL
    (SELECT ` + commentColumns + ` FROM comment c
    WHERE k.sort = 3 AND c.tenant = k.tenant AND c.biz = k.biz AND c.biz_id = k.biz_id AND c.reply_to = k.reply_to AND c.listed
        AND (c.like_count, c.comment_id) < (k.likes, k.id)
    ORDER BY c.like_count DESC, c.comment_id DESC LIMIT k.entries)) l ON TRUE`

	selectUserComments = `
SELECT k.ord, c.* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS k (tenant, user_id, below, entries, ord)
CROSS JOIN LATERAL (SELECT ` + commentColumns + ` FROM comment c
    WHERE c.tenant = k.tenant AND c.user_id = k.user_id AND c.deleted = 0 AND c.comment_id < k.below
    ORDER BY c.comment_id DESC LIMIT k.entries) c`

	selectCommentChanges = `
SELECT ` + commentColumns + ` FROM comment c
WHERE c.tenant = $1 AND c.biz = $2 AND c.biz_id = $3 AND c.version > $4 ORDER BY c.version LIMIT $5`
)

var sortOf = map[storage.CommentOrder]int64{storage.Newest: 1, storage.Oldest: 2, storage.Top: 3}

// ListComments lists comments with one statement.
func (s *Store) ListComments(ctx context.Context, queries []storage.CommentsQuery) ([]storage.ListPage[storage.Comment], error) {
	keys := newColumns(3, 5, len(queries))
	for _, q := range queries {
		likes, id, err := sqlstore.StartOfComments(q)
		if err != nil {
			return nil, err
		}
		keys.add([]string{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID}, q.Parent, sortOf[q.Order], likes, id, int64(max(q.First, 0)))
	}
	return list(ctx, s, "list comments", selectCommentLists, len(queries), keys, func(row pgx.Rows, to []storage.ListPage[storage.Comment]) error {
		var i int
		var version int64
		var is bool
		c, err := scanComment("", row, &i, &version, &is)
		if err != nil {
			return err
		}
		page := &to[i-1]
		if page.Version = version; is {
			c.Subject.Tenant, c.User.Tenant = queries[i-1].Subject.Tenant, queries[i-1].Subject.Tenant
			page.Entries = append(page.Entries, *c)
		}
		return nil
	})
}

// UserComments lists the comments of users with one statement.
func (s *Store) UserComments(ctx context.Context, queries []storage.UserCommentsQuery) ([]storage.ListPage[storage.Comment], error) {
	keys := newColumns(2, 2, len(queries))
	for _, q := range queries {
		keys.add([]string{q.User.Tenant, q.User.UserID}, sqlstore.StartOfMessages(q.Page), int64(max(q.First, 0)))
	}
	return list(ctx, s, "list comments of users", selectUserComments, len(queries), keys, addEntry(func(row pgx.Rows) (int, storage.Comment, error) {
		var i int
		c, err := scanComment("", row, &i)
		if err == nil {
			c.Subject.Tenant, c.User.Tenant = queries[i-1].User.Tenant, queries[i-1].User.Tenant
		}
		return i, *c, err
	}))
}

// CommentChanges lists changed comments with one statement.
func (s *Store) CommentChanges(ctx context.Context, q storage.CommentChangesQuery) (out []storage.Comment, err error) {
	of := q.Subject
	if !storable(of.BizID) {
		return nil, nil
	}
	args := []any{of.Tenant, of.Biz, of.BizID, q.Version, max(q.First, 0)}
	err = s.read(ctx, "list changes of comments", selectCommentChanges, args, func(row pgx.Rows) error {
		c, err := scanComment(of.Tenant, row)
		out = append(out, *c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
