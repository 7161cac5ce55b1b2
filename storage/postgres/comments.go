package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// AddComments adds comments in one transaction of three round trips: one to look up rows,
// one to write, and one to commit.
//
// Every change to the comments of a subject first locks the subject's comment counts.
// Rows that are looked up afterwards therefore do not change, and versions are committed
// in order. AddComments locks comment counts, requests, comments and totals, in this
// order, and the rows of each table in the order of their keys. A transaction that copies
// like counts to comments locks nothing after the comments except totals.
func (s *Store) AddComments(ctx context.Context, comments []storage.NewComment) (out []storage.AddedComment, err error) {
	err = retryRaced(func() error {
		return s.changeWithLockTimeout(ctx, "add comments", func(t *tx) error {
			b := sqlstore.NewCommentBatch(comments)
			out = b.Results
			if b.Size() == 0 {
				return nil
			}
			ids, err := t.lookUpComments(b)
			if err != nil {
				return err
			}
			b.Decide(ids)
			return t.writeComments(b)
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// lockCommentCounts inserts missing rows and locks existing ones. Its DO UPDATE changes
// nothing.
const lockCommentCounts = `
INSERT INTO comment_count AS c (tenant, biz, biz_id, comments, version)
SELECT k.tenant, k.biz, k.biz_id, 0, 0
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
ORDER BY k.ord
ON CONFLICT (tenant, biz_id, biz) DO UPDATE SET comments = c.comments WHERE FALSE`

const selectCommentCounts = `
SELECT k.ord, c.comments, c.version
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT comments, version FROM comment_count c
    WHERE c.tenant = k.tenant AND c.biz = k.biz AND c.biz_id = k.biz_id LIMIT 1) c`

// selectDeletedAmong returns the subjects that are marked as deleted.
const selectDeletedAmong = `
SELECT k.ord FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT deleted FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = k.biz AND i.biz_id = k.biz_id LIMIT 1) i
WHERE i.deleted > 0`

// selectCommentIDs returns ids for new comments. It reads the clock for each id, after
// the locks have been taken.
const selectCommentIDs = `
SELECT (t.at / 1000 - $2::bigint) * $3::bigint + nextval('comment_number') % $3::bigint, t.at
FROM generate_series(1, $1::bigint) AS k (n)
CROSS JOIN LATERAL (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at WHERE k.n > 0) t`

// lookUpComments locks the comment counts of the subjects, fills in the existing rows
// that the batch needs, and returns ids for new comments in ascending order.
func (t *tx) lookUpComments(of *sqlstore.CommentBatch) (ids []sqlstore.NewID, err error) {
	b := t.batch()
	queueCommentLookups(b, of)
	b.Queue(selectCommentIDs, int64(of.Size()), int64(sqlstore.IDEpoch), int64(1<<sqlstore.IDShift)).Query(eachRow(func(row pgx.Rows) error {
		var id sqlstore.NewID
		err := row.Scan(&id.ID, &id.At)
		ids, of.Now = append(ids, id), max(of.Now, id.At)
		return err
	}))
	lookUpRequests(b, &of.RequestLog)
	of.Erased = lookUpErasedLocked(b, of.Users()...)
	if err := t.send(b); err != nil {
		return nil, err
	}
	if err := t.dropUnused(of); err != nil {
		return nil, err
	}
	slices.SortFunc(ids, func(x, y sqlstore.NewID) int { return cmp.Compare(x.ID, y.ID) })
	return ids, t.lookUpRepeated(of)
}

// queueCommentLookups queues statements that lock the comment counts of the subjects, and
// fill in counts, parents and deleted subjects.
func queueCommentLookups(b *pgx.Batch, of *sqlstore.CommentBatch) {
	keys := subjectKeys(of.Subjects)
	b.Queue(lockCommentCounts, keys.args()...)
	b.Queue(selectCommentCounts, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var c storage.CommentCount
		err := row.Scan(&i, &c.Comments, &c.Version)
		if err == nil {
			of.Counts[of.Subjects[i-1]] = c
		}
		return err
	}))
	queueDeletedAmong(b, of.Subjects, of.Deleted)
	if len(of.Parents) > 0 {
		lookUpCommentsOf(b, of.Parents, of.Comments)
	}
}

// queueDeletedAmong queues a lookup that adds those of the subjects that are marked as
// deleted to a set.
func queueDeletedAmong(b *pgx.Batch, subjects []storage.Subject, into sqlstore.DeletedSubjects) {
	b.Queue(selectDeletedAmong, subjectKeys(subjects).args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		err := row.Scan(&i)
		if err == nil {
			into[subjects[i-1]] = true
		}
		return err
	}))
}

const deleteUnusedCounts = `
DELETE FROM comment_count c USING unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, biz, biz_id)
WHERE c.tenant = k.tenant AND c.biz = k.biz AND c.biz_id = k.biz_id AND c.comments = 0 AND c.version = 0`

// dropUnused removes the rows of comment counts that lockCommentCounts has inserted for
// erased users.
func (t *tx) dropUnused(of *sqlstore.CommentBatch) error {
	unused := of.ErasedSubjects()
	if len(unused) == 0 {
		return nil
	}
	b := t.batch()
	b.Queue(deleteUnusedCounts, subjectKeys(unused).args()...)
	return t.send(b)
}

// lookUpRepeated looks up the comments that were added by earlier requests with the same
// request ids. Usually there are none.
func (t *tx) lookUpRepeated(of *sqlstore.CommentBatch) error {
	repeated := of.Repeated()
	if len(repeated) == 0 {
		return nil
	}
	b := t.batch()
	lookUpCommentsOf(b, repeated, of.Comments)
	return t.send(b)
}

const (
	insertComments = `
INSERT INTO comment (tenant, biz, biz_id, user_id, text, edited_by, comment_id, reply_to, created, version,
    edited, deleted, listed, reply_count, like_count)
SELECT k.tenant, k.biz, k.biz_id, k.user_id, k.text, k.edited_by, k.comment_id, k.reply_to, k.created, k.version,
    k.edited, k.deleted, k.listed = 1, k.reply_count, coalesce(i.like_count, 0)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, user_id, text, edited_by, comment_id, reply_to, created, version, edited, deleted, listed, reply_count, ord)
LEFT JOIN LATERAL (SELECT like_count FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = 'comment' AND i.biz_id = k.comment_id::text LIMIT 1) i ON TRUE
ORDER BY k.ord`

	// updateReplyCounts inserts nothing, because all the comments exist. Unlike an
	// UPDATE, it always finds each comment by its key.
	updateReplyCounts = `
INSERT INTO comment AS c (tenant, biz, biz_id, comment_id, reply_to, user_id, text, created, edited, deleted, listed, like_count, reply_count, version)
SELECT o.tenant, '', o.biz_id, o.comment_id, 0, '', '', 0, 0, 0, FALSE, 0, k.replies, 0
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS k (tenant, comment_id, replies, ord)
CROSS JOIN LATERAL (SELECT tenant, comment_id, biz_id FROM comment o
    WHERE o.tenant = k.tenant AND o.comment_id = k.comment_id LIMIT 1) o
ORDER BY k.ord
ON CONFLICT (tenant, comment_id, biz_id) DO UPDATE SET
    reply_count = c.reply_count + excluded.reply_count, listed = c.deleted = 0 OR c.reply_count + excluded.reply_count > 0`

	upsertCommentCounts = `
INSERT INTO comment_count (tenant, biz, biz_id, comments, version)
SELECT k.tenant, k.biz, k.biz_id, k.comments, k.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, comments, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, biz_id, biz) DO UPDATE SET comments = excluded.comments, version = excluded.version`
)

// writeComments writes the rows that Decide has added to the batch, and adjusts the
// totals.
func (t *tx) writeComments(of *sqlstore.CommentBatch) error {
	if len(of.Added) == 0 {
		return nil
	}
	t.events.Comments(storage.EventCommented, of.Added, 0)
	b := t.batch()
	raced := recordRequests(b, &of.RequestLog)
	queueComments(b, of)
	queueEvents(b, t.events)
	adjustTotals(b, sqlstore.Tally{Users: sqlstore.CommentTotals(of.CommentsByUser)})
	if err := t.send(b); err != nil {
		return err
	}
	return raced()
}

// queueComments queues statements that write the results of Decide, except requests and
// totals.
func queueComments(b *pgx.Batch, of *sqlstore.CommentBatch) {
	rows := newColumns(6, 8, len(of.Added))
	for _, c := range of.Added {
		rows.add([]string{c.Subject.Tenant, c.Subject.Biz, c.Subject.BizID, c.User.UserID, c.Text, c.EditorID},
			c.Number, c.ParentID, c.Created, c.Version, c.Edited, c.DeletedAt, sqlstore.BoolToInt(c.Listed()), c.ReplyCount)
	}
	b.Queue(insertComments, rows.args()...)
	adjustReplyCounts(b, of.Replies)
	setCommentCounts(b, of.CountChanges)
}

// adjustReplyCounts queues a statement that adjusts reply counts, and lists or unlists
// the comments accordingly.
func adjustReplyCounts(b *pgx.Batch, by map[storage.CommentKey]int64) {
	if len(by) == 0 {
		return
	}
	rows := newColumns(1, 2, len(by))
	for _, key := range slices.SortedFunc(maps.Keys(by), sqlstore.CompareComments) {
		rows.add([]string{key.Tenant}, key.CommentID, by[key])
	}
	b.Queue(updateReplyCounts, rows.args()...)
}

func setCommentCounts(b *pgx.Batch, to map[storage.Subject]storage.CommentCount) {
	rows := newColumns(3, 2, len(to))
	for _, s := range slices.SortedFunc(maps.Keys(to), sqlstore.CompareSubjects) {
		rows.add([]string{s.Tenant, s.Biz, s.BizID}, to[s].Comments, to[s].Version)
	}
	b.Queue(upsertCommentCounts, rows.args()...)
}

// EditComment changes the text of a comment.
func (s *Store) EditComment(ctx context.Context, change storage.CommentChange, text string) (*storage.Comment, error) {
	text, err := storage.CleanText("text", text, storage.MaxCommentRunes)
	if err != nil {
		return nil, err
	}
	return s.changeComment(ctx, "edit comment", change, func(e *sqlstore.CommentEdit, at int64) (bool, error) {
		return e.Edit(change, text, at)
	})
}

// DeleteComment removes the text and the author of a comment.
func (s *Store) DeleteComment(ctx context.Context, change storage.CommentChange) (*storage.Comment, error) {
	return s.changeComment(ctx, "delete comment", change, func(e *sqlstore.CommentEdit, at int64) (bool, error) {
		return true, e.Delete(change, at)
	})
}

const updateComment = `
UPDATE comment SET user_id = $3, text = $4, edited = $5, deleted = $6, listed = $7, reply_count = $8, version = $9, edited_by = $10
WHERE tenant = $1 AND comment_id = $2`

// changeComment calls the function do, which may change a comment. If do reports a
// change, changeComment writes the comment, its parent, and the counts. The subject and
// the parent of a comment never change, so changeComment looks them up before it locks
// the counts. It then reads both comments again. Errors: storage.ErrNotFound,
// storage.ErrErased.
func (s *Store) changeComment(
	ctx context.Context, what string, change storage.CommentChange, do func(e *sqlstore.CommentEdit, at int64) (bool, error),
) (*storage.Comment, error) {
	var e sqlstore.CommentEdit
	err := s.changeWithLockTimeout(ctx, what, func(t *tx) error {
		var at int64
		if err := t.lockComment(&e, &at, change); err != nil {
			return err
		}
		if e.Comment == nil {
			return storage.ErrNotFound
		}
		before := *e.Comment
		if changed, err := do(&e, at); err != nil || !changed {
			return err
		}
		t.events.CommentChange(&before, e.Comment)
		b := t.batch()
		written := []*storage.Comment{e.Comment}
		if e.Parent != nil {
			written = append(written, e.Parent)
		}
		slices.SortFunc(written, func(x, y *storage.Comment) int { return cmp.Compare(x.Number, y.Number) })
		updateComments(b, written)
		setCommentCounts(b, map[storage.Subject]storage.CommentCount{e.Comment.Subject: e.Counts})
		if e.Comment.Deleted() {
			queueDeleted(b, []storage.Subject{e.Comment.Key().Subject()}, at)
		}
		queueEvents(b, t.events)
		adjustTotals(b, sqlstore.Tally{Users: sqlstore.CommentTotals(e.CommentsByUser)})
		return t.send(b)
	})
	if err != nil {
		return nil, err
	}
	return e.Comment, nil
}

// updateComments queues statements that write comments, which are in the order of their
// keys.
func updateComments(b *pgx.Batch, comments []*storage.Comment) {
	for _, c := range comments {
		b.Queue(updateComment, c.Subject.Tenant, c.Number,
			c.User.UserID, c.Text, c.Edited, c.DeletedAt, c.Listed(), c.ReplyCount, c.Version, c.EditorID)
	}
}

// lockComment locks the comment counts of a comment's subject. It fills e with these
// counts, the comment and the comment's parent, and sets *at to the time at which the
// transaction began.
func (t *tx) lockComment(e *sqlstore.CommentEdit, at *int64, change storage.CommentChange) error {
	key, found := change.Key, make(map[storage.CommentKey]*storage.Comment, 2)
	b := t.batch()
	lookUpCommentsOf(b, []storage.CommentKey{key}, found)
	erased := lookUpErasedLocked(b, change.By)
	if err := t.send(b); err != nil {
		return err
	}
	if err := erased.Refuse(change.By); err != nil {
		return err
	}
	first := found[key]
	if first == nil {
		return storage.ErrNotFound
	}
	b = t.batch()
	subject := subjectKeys([]storage.Subject{first.Subject})
	b.Queue(lockCommentCounts, subject.args()...)
	b.Queue(selectCommentCounts, subject.args()...).QueryRow(func(row pgx.Row) error {
		return row.Scan(nil, &e.Counts.Comments, &e.Counts.Version)
	})
	b.Queue(`SELECT ` + transactionTime).QueryRow(func(row pgx.Row) error { return row.Scan(at) })
	lookUpCommentsOf(b, []storage.CommentKey{key, first.ParentKey()}, found) // the parent is not found if its number is 0
	if err := t.send(b); err != nil {
		return err
	}
	e.Comment, e.Parent = found[key], found[first.ParentKey()]
	return nil
}

const updateCommentLikes = `
INSERT INTO comment AS c (tenant, biz, biz_id, comment_id, reply_to, user_id, text, created, edited, deleted, listed, like_count, reply_count, version)
SELECT o.tenant, '', o.biz_id, o.comment_id, 0, '', '', 0, 0, 0, FALSE, coalesce(i.like_count, 0), 0, 0
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS k (tenant, comment_id, ord)
CROSS JOIN LATERAL (SELECT tenant, comment_id, biz_id FROM comment o
    WHERE o.tenant = k.tenant AND o.comment_id = k.comment_id LIMIT 1) o
LEFT JOIN LATERAL (SELECT like_count FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = 'comment' AND i.biz_id = k.comment_id::text LIMIT 1) i ON TRUE
ORDER BY k.ord
ON CONFLICT (tenant, comment_id, biz_id) DO UPDATE SET like_count = excluded.like_count
WHERE c.like_count <> excluded.like_count`

// setCommentLikes copies the like count of each subject that is a comment to the
// comment's row. The caller must hold the locks on the subjects' counts.
func setCommentLikes(b *pgx.Batch, subjects []storage.Subject) {
	keys := sqlstore.CommentsAmong(subjects)
	if len(keys) > 0 {
		b.Queue(updateCommentLikes, commentKeys(keys).args()...)
	}
}

func subjectKeys(of []storage.Subject) columns {
	keys := newColumns(3, 0, len(of))
	for _, s := range of {
		keys.add([]string{s.Tenant, s.Biz, s.BizID})
	}
	return keys
}
