package sqlite

import (
	"context"
	"maps"
	"slices"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// AddComments adds comments in one transaction. The number of statements depends on the
// number of tenants, but not on the number of comments.
func (s *Store) AddComments(ctx context.Context, comments []storage.NewComment) ([]storage.AddedComment, error) {
	b := sqlstore.NewCommentBatch(comments)
	if b.Size() == 0 {
		return b.Results, nil
	}
	err := s.write(ctx, "add comments", func(t tx) error {
		now := storage.Micros(s.now())
		if err := t.lookUpComments(b, now); err != nil {
			return err
		}
		ids, err := t.commentIDs(b, now)
		if err != nil {
			return err
		}
		b.Decide(ids)
		t.events.Comments(storage.EventCommented, b.Added, 0)
		if err := t.writeComments(b, now); err != nil {
			return err
		}
		return t.adjustTotals(sqlstore.CommentTotals(b.CommentsByUser))
	})
	if err != nil {
		return nil, err
	}
	return b.Results, nil
}

const (
	selectCommentCounts = `
SELECT k.key, c.comments, c.version FROM jsonb_each(?) k CROSS JOIN comment_count c
WHERE c.tenant = k.value ->> 0 AND c.biz = k.value ->> 1 AND c.biz_id = k.value ->> 2`

	selectLastComment = `SELECT coalesce(max(comment_id), 0) FROM comment WHERE tenant = ?`
)

// lookUpComments fills in the existing rows that a batch needs.
func (t tx) lookUpComments(b *sqlstore.CommentBatch, now int64) error {
	b.Now = now
	err := t.commentCounts(b.Subjects, func(i int, c storage.CommentCount) { b.Counts[b.Subjects[i]] = c })
	if err != nil {
		return err
	}
	if err := t.deleted(b.Subjects, func(i int) { b.Deleted[b.Subjects[i]] = true }); err != nil {
		return err
	}
	if b.Erased, err = t.erased(b.Users()...); err != nil {
		return err
	}
	if err := t.lookUpRequests(&b.RequestLog, now); err != nil {
		return err
	}
	return t.comments(append(b.Repeated(), b.Parents...), func(_ int, c *storage.Comment) { b.Comments[c.Key()] = c })
}

// commentIDs returns as many ids as the batch needs. They are above all existing comment
// ids of the batch's tenants.
func (t tx) commentIDs(b *sqlstore.CommentBatch, now int64) ([]sqlstore.NewID, error) {
	next, tenant := (now/1000-sqlstore.IDEpoch)<<sqlstore.IDShift, ""
	for _, s := range b.Subjects { // sorted by tenant
		if s.Tenant == tenant {
			continue
		}
		tenant = s.Tenant
		if err := t.query(selectLastComment, []any{tenant}, func(scan func(...any) error) error {
			var last int64
			err := scan(&last)
			next = max(next, last+1)
			return err
		}); err != nil {
			return nil, err
		}
	}
	ids := make([]sqlstore.NewID, b.Size())
	for i := range ids {
		ids[i] = sqlstore.NewID{ID: next + int64(i), At: now}
	}
	return ids, nil
}

const (
	insertComments = `
INSERT INTO comment (tenant, biz, biz_id, user_id, text, edited_by, comment_id, reply_to, created, version,
    edited, deleted, listed, reply_count, like_count)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9,
    value ->> 10, value ->> 11, value ->> 12, value ->> 13,
    coalesce((SELECT like_count FROM interactive WHERE tenant = value ->> 0 AND biz = 'comment' AND biz_id = CAST(value ->> 6 AS TEXT)), 0)
FROM jsonb_each(?)`

	updateReplyCounts = `
UPDATE comment SET reply_count = reply_count + (k.value ->> 2), listed = deleted = 0 OR reply_count + (k.value ->> 2) > 0
FROM jsonb_each(?) k WHERE tenant = k.value ->> 0 AND comment_id = k.value ->> 1`

	upsertCommentCounts = `
INSERT INTO comment_count (tenant, biz, biz_id, comments, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET comments = excluded.comments, version = excluded.version`
)

// writeComments writes the rows that Decide has added to the batch, except the totals.
func (t tx) writeComments(b *sqlstore.CommentBatch, now int64) error {
	if len(b.Added) == 0 {
		return nil
	}
	var added tuples
	for _, c := range b.Added {
		added.add([]string{c.Subject.Tenant, c.Subject.Biz, c.Subject.BizID, c.User.UserID, c.Text, c.EditorID},
			c.Number, c.ParentID, c.Created, c.Version, c.Edited, c.DeletedAt, sqlstore.BoolToInt(c.Listed()), c.ReplyCount)
	}
	if _, err := t.exec(insertComments, added.json()); err != nil {
		return err
	}
	if err := t.recordRequests(&b.RequestLog, now); err != nil {
		return err
	}
	if err := t.adjustReplyCounts(b.Replies); err != nil {
		return err
	}
	return t.setCommentCounts(b.CountChanges)
}

// adjustReplyCounts adjusts reply counts, and then lists or unlists the comments
// accordingly.
func (t tx) adjustReplyCounts(by map[storage.CommentKey]int64) error {
	if len(by) == 0 {
		return nil
	}
	var rows tuples
	for key, n := range by {
		rows.add([]string{key.Tenant}, key.CommentID, n)
	}
	_, err := t.exec(updateReplyCounts, rows.json())
	return err
}

func (t tx) setCommentCounts(to map[storage.Subject]storage.CommentCount) error {
	var rows tuples
	for _, s := range slices.SortedFunc(maps.Keys(to), sqlstore.CompareSubjects) {
		rows.add([]string{s.Tenant, s.Biz, s.BizID}, to[s].Comments, to[s].Version)
	}
	_, err := t.exec(upsertCommentCounts, rows.json())
	return err
}

// EditComment changes the text of a comment.
func (s *Store) EditComment(ctx context.Context, change storage.CommentChange, text string) (*storage.Comment, error) {
	text, err := storage.CleanText("text", text, storage.MaxCommentRunes)
	if err != nil {
		return nil, err
	}
	return s.changeComment(ctx, "edit comment", change, func(e *sqlstore.CommentEdit) (bool, error) {
		return e.Edit(change, text, storage.Micros(s.now()))
	})
}

// DeleteComment removes the text and the author of a comment.
func (s *Store) DeleteComment(ctx context.Context, change storage.CommentChange) (*storage.Comment, error) {
	return s.changeComment(ctx, "delete comment", change, func(e *sqlstore.CommentEdit) (bool, error) {
		return true, e.Delete(change, storage.Micros(s.now()))
	})
}

// changeComment looks up a comment and calls the function do, which may change it. If do
// reports a change, changeComment writes the comment, its parent, and the counts. Errors:
// storage.ErrNotFound, storage.ErrErased.
func (s *Store) changeComment(
	ctx context.Context, what string, change storage.CommentChange, do func(*sqlstore.CommentEdit) (bool, error),
) (*storage.Comment, error) {
	var e sqlstore.CommentEdit
	err := s.write(ctx, what, func(t tx) error {
		if err := t.refuseErased(change.By); err != nil {
			return err
		}
		if err := t.comments([]storage.CommentKey{change.Key}, func(_ int, c *storage.Comment) { e.Comment = c }); err != nil {
			return err
		}
		if e.Comment == nil {
			return storage.ErrNotFound
		}
		subject := e.Comment.Subject
		if err := t.commentCounts([]storage.Subject{subject}, func(_ int, c storage.CommentCount) { e.Counts = c }); err != nil {
			return err
		}
		parent := []storage.CommentKey{e.Comment.ParentKey()} // the parent is not found if its number is 0
		if err := t.comments(parent, func(_ int, c *storage.Comment) { e.Parent = c }); err != nil {
			return err
		}
		before := *e.Comment
		if changed, err := do(&e); err != nil || !changed {
			return err
		}
		t.events.CommentChange(&before, e.Comment)
		for _, c := range []*storage.Comment{e.Comment, e.Parent} {
			if err := t.updateComment(c); err != nil {
				return err
			}
		}
		if err := t.setCommentCounts(map[storage.Subject]storage.CommentCount{subject: e.Counts}); err != nil {
			return err
		}
		if e.Comment.Deleted() {
			if err := t.queueDeleted([]storage.Subject{e.Comment.Key().Subject()}, e.Comment.DeletedAt); err != nil {
				return err
			}
		}
		return t.adjustTotals(sqlstore.CommentTotals(e.CommentsByUser))
	})
	if err != nil {
		return nil, err
	}
	return e.Comment, nil
}

const updateComment = `
UPDATE comment SET user_id = ?, text = ?, edited = ?, deleted = ?, listed = ?, reply_count = ?, version = ?, edited_by = ?
WHERE tenant = ? AND comment_id = ?`

func (t tx) updateComment(c *storage.Comment) error {
	if c == nil {
		return nil
	}
	_, err := t.exec(updateComment, c.User.UserID, c.Text, c.Edited, c.DeletedAt, c.Listed(), c.ReplyCount, c.Version, c.EditorID,
		c.Subject.Tenant, c.Number)
	return err
}

const updateCommentLikes = `
UPDATE comment SET like_count = coalesce((SELECT i.like_count FROM interactive i
    WHERE i.tenant = k.value ->> 0 AND i.biz = 'comment' AND i.biz_id = CAST(k.value ->> 1 AS TEXT)), 0)
FROM jsonb_each(?) k WHERE tenant = k.value ->> 0 AND comment_id = k.value ->> 1`

// setCommentLikes copies the like count of each subject that is a comment to the
// comment's row.
func (t tx) setCommentLikes(subjects []storage.Subject) error {
	keys := sqlstore.CommentsAmong(subjects)
	if len(keys) == 0 {
		return nil
	}
	var rows tuples
	for _, key := range keys {
		rows.add([]string{key.Tenant}, key.CommentID)
	}
	_, err := t.exec(updateCommentLikes, rows.json())
	return err
}
