package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const commentColumns = `biz, biz_id, comment_id, reply_to, user_id, text, created, edited, edited_by, deleted, like_count, reply_count, version`

func scanComment(tenant string, scan func(...any) error, more ...any) (*storage.Comment, error) {
	c := &storage.Comment{Subject: storage.Subject{Tenant: tenant}, User: storage.User{Tenant: tenant}}
	err := scan(append(more, &c.Subject.Biz, &c.Subject.BizID, &c.Number, &c.ParentID, &c.User.UserID, &c.Text,
		&c.Created, &c.Edited, &c.EditorID, &c.DeletedAt, &c.LikeCount, &c.ReplyCount, &c.Version)...)
	return c, err
}

const selectComments = `
SELECT k.key, ` + commentColumns + ` FROM jsonb_each(?) k CROSS JOIN comment c
WHERE c.tenant = k.value ->> 0 AND c.comment_id = k.value ->> 1`

// comments calls the function found with each comment that exists, listed or not, and the
// index of the comment's key.
func (t tx) comments(keys []storage.CommentKey, found func(int, *storage.Comment)) error {
	if len(keys) == 0 {
		return nil
	}
	var rows tuples
	for _, key := range keys {
		rows.add([]string{key.Tenant}, key.CommentID)
	}
	var i int
	return t.query(selectComments, []any{rows.json()}, func(scan func(...any) error) error {
		c, err := scanComment("", scan, &i)
		c.Subject.Tenant, c.User.Tenant = keys[i].Tenant, keys[i].Tenant
		found(i, c)
		return err
	})
}

// CommentsOf looks up comments in one snapshot.
func (s *Store) CommentsOf(ctx context.Context, keys []storage.CommentKey) ([]*storage.Comment, error) {
	out := make([]*storage.Comment, len(keys))
	err := s.read(ctx, "read comments", func(t tx) error {
		return t.comments(keys, func(i int, c *storage.Comment) {
			if c.Listed() {
				out[i] = c
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t tx) commentCounts(of []storage.Subject, found func(int, storage.CommentCount)) error {
	var keys tuples
	for _, s := range of {
		keys.add([]string{s.Tenant, s.Biz, s.BizID})
	}
	return t.query(selectCommentCounts, []any{keys.json()}, func(scan func(...any) error) error {
		var i int
		var c storage.CommentCount
		err := scan(&i, &c.Comments, &c.Version)
		found(i, c)
		return err
	})
}

// CommentCounts looks up comment counts in one snapshot.
func (s *Store) CommentCounts(ctx context.Context, subjects []storage.Subject) ([]storage.CommentCount, error) {
	out := make([]storage.CommentCount, len(subjects))
	err := s.read(ctx, "read comment counts", func(t tx) error {
		return t.commentCounts(subjects, func(i int, c storage.CommentCount) { out[i] = c })
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// The lists name their indexes: without statistics, SQLite would read a list in the order
// of the primary key, past the comments on all other subjects.
const (
	selectNewestComments = `
SELECT ` + commentColumns + ` FROM comment INDEXED BY comments
WHERE tenant = ? AND biz = ? AND biz_id = ? AND reply_to = ? AND listed = 1 AND comment_id < ?
ORDER BY comment_id DESC LIMIT ?`

	selectOldestComments = `
SELECT ` + commentColumns + ` FROM comment INDEXED BY comments
WHERE tenant = ? AND biz = ? AND biz_id = ? AND reply_to = ? AND listed = 1 AND comment_id > ?
ORDER BY comment_id LIMIT ?`

	selectTopComments = `
SELECT ` + commentColumns + ` FROM comment INDEXED BY comments_top
WHERE tenant = ? AND biz = ? AND biz_id = ? AND reply_to = ? AND listed = 1 AND (like_count, comment_id) < (?, ?)
ORDER BY like_count DESC, comment_id DESC LIMIT ?`

	selectUserComments = `
SELECT ` + commentColumns + ` FROM comment INDEXED BY comments_of
WHERE tenant = ? AND user_id = ? AND deleted = 0 AND comment_id < ?
ORDER BY comment_id DESC LIMIT ?`

	selectCommentChanges = `
SELECT ` + commentColumns + ` FROM comment INDEXED BY comment_changes
WHERE tenant = ? AND biz = ? AND biz_id = ? AND version > ? ORDER BY version LIMIT ?`
)

// ListComments lists comments.
func (s *Store) ListComments(ctx context.Context, queries []storage.CommentsQuery) ([]storage.ListPage[storage.Comment], error) {
	return list(ctx, s, "list comments", queries, func(t tx, q storage.CommentsQuery) (out storage.ListPage[storage.Comment], err error) {
		likes, id, err := sqlstore.StartOfComments(q)
		if err != nil {
			return out, err
		}
		of := q.Subject
		if err := t.commentCounts([]storage.Subject{of}, func(_ int, c storage.CommentCount) { out.Version = c.Version }); err != nil {
			return out, err
		}
		query, args := selectNewestComments, []any{of.Tenant, of.Biz, of.BizID, q.Parent, id, max(q.First, 0)}
		switch q.Order {
		case storage.Oldest:
			query = selectOldestComments
		case storage.Top:
			query, args = selectTopComments, []any{of.Tenant, of.Biz, of.BizID, q.Parent, likes, id, max(q.First, 0)}
		case storage.Newest:
		}
		err = t.query(query, args, func(scan func(...any) error) error {
			c, err := scanComment(of.Tenant, scan)
			out.Entries = append(out.Entries, *c)
			return err
		})
		return out, err
	})
}

// UserComments lists the comments of each user.
func (s *Store) UserComments(ctx context.Context, queries []storage.UserCommentsQuery) ([]storage.ListPage[storage.Comment], error) {
	return list(ctx, s, "list comments of users", queries, func(t tx, q storage.UserCommentsQuery) (out storage.ListPage[storage.Comment], err error) {
		args := []any{q.User.Tenant, q.User.UserID, sqlstore.StartOfMessages(q.Page), max(q.First, 0)}
		err = t.query(selectUserComments, args, func(scan func(...any) error) error {
			c, err := scanComment(q.User.Tenant, scan)
			out.Entries = append(out.Entries, *c)
			return err
		})
		return out, err
	})
}

// CommentChanges lists changed comments.
func (s *Store) CommentChanges(ctx context.Context, q storage.CommentChangesQuery) (out []storage.Comment, err error) {
	err = s.readList(ctx, "list changes of comments", func(t tx) error {
		args := []any{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID, q.Version, max(q.First, 0)}
		return t.query(selectCommentChanges, args, func(scan func(...any) error) error {
			c, err := scanComment(q.Subject.Tenant, scan)
			out = append(out, *c)
			return err
		})
	})
	return out, err
}
