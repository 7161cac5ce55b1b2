package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// ErrRepairInProgress is returned if another repair, a VACUUM or an ANALYZE holds the
// repair lock for more than three seconds. Two concurrent repairs would correct the same
// count twice.
var ErrRepairInProgress = errors.New("another repair of this database, or a VACUUM or ANALYZE of its table secret, is in progress; wait for it to end")

// Verify recounts on a snapshot, while other transactions may read and write.
//
// A count that is wrong in the snapshot remains wrong by the same amount even if it is
// changed later, because every transaction adjusts counts by the amounts of its own
// changes. A repair therefore corrects each wrong count by adding the difference, in
// transactions of bounded size. It locks only the rows that it repairs, the owners of
// repaired or missing folders, the comment counts of subjects with repaired replies, and
// the counts of comments whose copy of the like count is repaired. Repairs that were made
// before an error are kept. Only one repair runs at a time. A second repair waits for up
// to three seconds and then fails with ErrRepairInProgress.
func (s *Store) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	now := storage.Micros(s.now())
	v := sqlstore.Recount{Report: report, Repair: func(*sqlstore.Discrepancies) error { return nil }}
	if repair {
		v.Repair = func(d *sqlstore.Discrepancies) error { return s.repair(ctx, d) }
	}
	// A missing default folder is created. The items of any other missing folder move
	// into the default folder.
	v.NoteFolder = func(d *sqlstore.Discrepancies, folder storage.FolderKey, delta int64, exists bool) {
		if !exists && folder.FolderID != storage.DefaultFolderID {
			d.MissingFolders = append(d.MissingFolders, folder)
			return
		}
		d.Owners[folder.Owner], d.Folders[folder] = now, delta
	}
	err := s.transact(ctx, ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(t *tx) error {
		b := t.batch()
		for _, setting := range []string{
			"statement_timeout = 0", "idle_in_transaction_session_timeout = 0",
			"enable_seqscan = on", "enable_bitmapscan = on", "work_mem = '64MB'",
		} {
			b.Queue("SET LOCAL " + setting)
		}
		if repair {
			// The lock is taken before the first statement that reads, because the
			// snapshot begins with that statement. Writers do not take this lock. VACUUM
			// and ANALYZE take it briefly.
			b.Queue(repairLockTimeout)
			b.Queue(`LOCK TABLE secret IN SHARE UPDATE EXCLUSIVE MODE`)
			b.Queue(`SET LOCAL lock_timeout TO DEFAULT`)
		}
		if err := t.send(b); err != nil {
			if hasCode(err, lockTimeout) {
				return ErrRepairInProgress
			}
			return err
		}
		if err := t.stream(recountSubjects, v.Subject); err != nil {
			return err
		}
		if err := t.stream(recountFolders, v.Folder); err != nil {
			return err
		}
		if err := t.stream(recountComments, v.Comments); err != nil {
			return err
		}
		if err := t.stream(recountReplies, v.Comment); err != nil {
			return err
		}
		if err := t.stream(recountTotals, v.Totals); err != nil {
			return err
		}
		if err := t.stream(recountUnread, v.Conversation); err != nil {
			return err
		}
		if err := t.stream(recountUnswept, v.Unswept); err != nil {
			return err
		}
		return v.Finish()
	})
	if err != nil {
		return v.Compared, fmt.Errorf("verify: %w", err)
	}
	return v.Compared, nil
}

// repairLockTimeout is longer than deadlock_timeout, which is one second by default.
// After deadlock_timeout, Postgres cancels an autovacuum that holds a lock for which
// another transaction waits.
const repairLockTimeout = `SET LOCAL lock_timeout = '3s'`

// stream runs one statement. It calls row for each row of the result, without buffering
// the rows.
func (t *tx) stream(query string, row func(scan func(...any) error) error, args ...any) error {
	var ours error // an error of row, not of the server
	rows, err := t.begun.Query(t.ctx, query, args...)
	if err == nil {
		err = eachRow(func(rows pgx.Rows) error {
			ours = row(rows.Scan)
			return ours
		})(rows)
	}
	if ours != nil {
		return ours
	}
	return storageError(t.ctx, err, t.conn)
}

const recountSubjects = `
SELECT tenant, biz, biz_id,
    sum(read_count)::bigint, sum(times)::bigint, sum(reader_count)::bigint, sum(readers)::bigint, sum(like_count)::bigint, sum(likes)::bigint,
    sum(dislike_count)::bigint, sum(dislikes)::bigint, sum(collect_count)::bigint, sum(collected)::bigint,
    sum(follower_count)::bigint, sum(followers)::bigint
FROM (
    SELECT tenant, biz, biz_id, read_count, 0 AS times, reader_count, 0 AS readers, like_count, 0 AS likes,
        dislike_count, 0 AS dislikes, collect_count, 0 AS collected, follower_count, 0 AS followers FROM interactive
    UNION ALL
    SELECT tenant, biz, biz_id, 0, sum(times), 0, count(*) FILTER (WHERE user_id <> ''), 0, 0, 0, 0, 0, 0, 0, 0
    FROM user_read GROUP BY tenant, biz, biz_id
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, count(*) FILTER (WHERE state = 1), 0, count(*) FILTER (WHERE state = 2), 0, 0, 0, 0
    FROM user_reaction WHERE state <> 0 GROUP BY tenant, biz, biz_id
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, count(*), 0, 0 FROM user_collection
    WHERE state <> '' GROUP BY tenant, biz, biz_id
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, count(*) FROM user_follow
    WHERE state = 1 GROUP BY tenant, biz, biz_id
) s
GROUP BY tenant, biz, biz_id ORDER BY tenant, biz, biz_id`

const recountFolders = `
SELECT tenant, user_id, folder_id, sum(made)::bigint, sum(stored)::bigint, sum(counted)::bigint
FROM (
    SELECT tenant, user_id, folder_id, 1 AS made, item_count AS stored, 0 AS counted FROM folder
    UNION ALL
    SELECT tenant, user_id, state, 0, 0, count(*) FROM user_collection
    WHERE state <> '' GROUP BY tenant, user_id, state
) s
GROUP BY tenant, user_id, folder_id ORDER BY tenant, user_id, folder_id`

const recountComments = `
SELECT tenant, biz, biz_id, sum(stored)::bigint, sum(counted)::bigint, max(version), max(latest)
FROM (
    SELECT tenant, biz, biz_id, comments AS stored, 0 AS counted, version, 0 AS latest FROM comment_count
    UNION ALL
    SELECT tenant, biz, biz_id, 0, count(*) FILTER (WHERE deleted = 0), 0, max(version) FROM comment GROUP BY tenant, biz, biz_id
) s
GROUP BY tenant, biz, biz_id ORDER BY tenant, biz, biz_id`

const recountReplies = `
SELECT c.tenant, c.comment_id, c.reply_count, coalesce(r.replies, 0), c.like_count, coalesce(i.like_count, 0),
    c.listed::int, (c.deleted = 0 OR coalesce(r.replies, 0) > 0)::int
FROM comment c
LEFT JOIN (SELECT tenant, reply_to, count(*) AS replies FROM comment WHERE reply_to <> 0 AND deleted = 0 GROUP BY tenant, reply_to) r
    ON r.tenant = c.tenant AND r.reply_to = c.comment_id
LEFT JOIN interactive i ON i.tenant = c.tenant AND i.biz = 'comment' AND i.biz_id = c.comment_id::text
ORDER BY c.tenant, c.comment_id`

const recountTotals = `
SELECT tenant, user_id, sum(likes)::bigint, sum(liked)::bigint, sum(following)::bigint, sum(followed)::bigint,
    sum(collections)::bigint, sum(collected)::bigint, sum(comments)::bigint, sum(written)::bigint,
    sum(works)::bigint, sum(authored)::bigint, sum(likes_received)::bigint, sum(received)::bigint
FROM (
    SELECT tenant, user_id, likes, 0 AS liked, following, 0 AS followed, collections, 0 AS collected,
        0 AS comments, 0 AS written, works, 0 AS authored, likes_received, 0 AS received FROM user_totals
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, 0, 0, 0, comments, 0, 0, 0, 0, 0 FROM user_comments
    UNION ALL
    SELECT tenant, user_id, 0, count(*), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM user_reaction WHERE state = 1 GROUP BY tenant, user_id
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, count(*), 0, 0, 0, 0, 0, 0, 0, 0 FROM user_follow WHERE state = 1 GROUP BY tenant, user_id
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, 0, 0, count(*), 0, 0, 0, 0, 0, 0 FROM user_collection WHERE state <> '' GROUP BY tenant, user_id
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, 0, 0, 0, 0, count(*), 0, 0, 0, 0 FROM comment WHERE deleted = 0 GROUP BY tenant, user_id
    UNION ALL
    SELECT i.tenant, i.author, 0, 0, 0, 0, 0, 0, 0, 0, 0, count(*), 0, sum(coalesce(r.likes, 0))
    FROM interactive i
    LEFT JOIN (SELECT tenant, biz, biz_id, count(*) AS likes FROM user_reaction WHERE state = 1 GROUP BY tenant, biz, biz_id) r
        ON r.tenant = i.tenant AND r.biz = i.biz AND r.biz_id = i.biz_id
    WHERE i.author <> '' GROUP BY i.tenant, i.author
) s
GROUP BY tenant, user_id ORDER BY tenant, user_id`

// recountUnread takes the numbers of messages that are not numbered yet as right.
const recountUnread = `
SELECT tenant, user_id, peer_id, sum(stored)::bigint, sum(counted)::bigint, sum(numbered)::bigint, sum(received)::bigint
FROM (
    SELECT tenant, user_id, peer_id, unread AS stored, 0 AS counted, 0 AS numbered, 0 AS received FROM conversation
    UNION ALL
    SELECT m.tenant, m.user_id, m.peer_id, 0, count(*) FILTER (WHERE m.message_id > coalesce(c.read_to, 0)),
        CASE WHEN min(m.number) = 0 THEN count(*) ELSE max(m.number) END, count(*)
    FROM (SELECT tenant, message_id, CASE WHEN from_low THEN low_sent ELSE high_sent END AS number,
            CASE WHEN from_low THEN user_high ELSE user_low END AS user_id,
            CASE WHEN from_low THEN user_low ELSE user_high END AS peer_id FROM message) m
    LEFT JOIN conversation c ON c.tenant = m.tenant AND c.user_id = m.user_id AND c.peer_id = m.peer_id
    GROUP BY m.tenant, m.user_id, m.peer_id
) s
GROUP BY tenant, user_id, peer_id ORDER BY tenant, user_id, peer_id`

const recountUnswept = `
SELECT tenant, biz, biz_id FROM (
    SELECT c.tenant, 'comment' AS biz, c.comment_id::text AS biz_id FROM comment c
    LEFT JOIN interactive i ON i.tenant = c.tenant AND i.biz = 'comment' AND i.biz_id = c.comment_id::text
    WHERE c.deleted > 0 AND coalesce(i.deleted, 0) = 0
    UNION
    SELECT i.tenant, i.biz, i.biz_id FROM interactive i
    LEFT JOIN comment_count c ON c.tenant = i.tenant AND c.biz = i.biz AND c.biz_id = i.biz_id
    WHERE i.deleted > 0 AND (i.author <> '' OR i.like_count <> 0 OR i.dislike_count <> 0
        OR i.collect_count <> 0 OR i.follower_count <> 0 OR coalesce(c.comments, 0) <> 0)
) s
WHERE NOT EXISTS (SELECT 1 FROM deleted_subject d WHERE d.tenant = s.tenant AND d.biz = s.biz AND d.biz_id = s.biz_id)
ORDER BY tenant, biz, biz_id`

// repair corrects the counts, and moves the items of missing folders into their owners'
// default folders.
func (s *Store) repair(ctx context.Context, d *sqlstore.Discrepancies) error {
	err := s.change(ctx, "repair counts", func(t *tx) error {
		if err := t.beginRepair(d.Owners); err != nil {
			return err
		}
		_, err := t.applyTally(d.Tally, nil, nil)
		return err
	})
	if err == nil {
		err = s.repairComments(ctx, d)
	}
	if err == nil {
		err = s.repairUnread(ctx, d)
	}
	for pair := range d.Numbers {
		if err == nil {
			err = s.numberMessages(ctx, pair, numbering{})
		}
	}
	if err == nil {
		err = s.requeueDeleted(ctx, d.Unswept)
	}
	for _, key := range d.MissingFolders {
		for n := sqlstore.RepairBatch; err == nil && n == sqlstore.RepairBatch; {
			err = s.change(ctx, "move items of a folder that does not exist", func(t *tx) error {
				if err := t.beginRepair(map[storage.User]int64{key.Owner: storage.Micros(s.now())}); err != nil {
					return err
				}
				moved, err := t.moveItems(key, storage.DefaultFolderID, storage.Micros(s.now()), sqlstore.RepairBatch)
				n = len(moved.Applied)
				return err
			})
		}
	}
	return err
}

const (
	repairCommentCounts = `
INSERT INTO comment_count AS c (tenant, biz, biz_id, comments, version)
SELECT k.tenant, k.biz, k.biz_id, k.comments, greatest(k.version + 1, ` + transactionTime + `)
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, comments, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, biz_id, biz) DO UPDATE SET
    comments = c.comments + excluded.comments, version = greatest(c.version + 1, excluded.version)`

	lockLikes = `
SELECT k.ord
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = k.biz AND i.biz_id = k.biz_id LIMIT 1 FOR UPDATE) i`
)

// repairComments corrects the counts of comments and of replies. It copies like counts to
// comments in a separate transaction, which takes locks in the same order as a
// transaction that persists a like.
func (s *Store) repairComments(ctx context.Context, d *sqlstore.Discrepancies) error {
	if len(d.Comments)+len(d.Replies) > 0 {
		err := s.change(ctx, "repair counts of comments", func(t *tx) error {
			if err := t.lockDamaged(d); err != nil {
				return err
			}
			b := t.batch()
			rows := newColumns(3, 2, len(d.Comments))
			for _, subject := range slices.SortedFunc(maps.Keys(d.Comments), sqlstore.CompareSubjects) {
				c := d.Comments[subject]
				rows.add([]string{subject.Tenant, subject.Biz, subject.BizID}, c.Comments, c.Version)
			}
			b.Queue(repairCommentCounts, rows.args()...)
			adjustReplyCounts(b, d.Replies)
			return t.send(b)
		})
		if err != nil {
			return err
		}
	}
	if len(d.Likes) == 0 {
		return nil
	}
	return s.change(ctx, "repair likes of comments", func(t *tx) error {
		subjects := make([]storage.Subject, len(d.Likes))
		for i, key := range d.Likes {
			subjects[i] = key.Subject()
		}
		slices.SortFunc(subjects, sqlstore.CompareSubjects)
		b := t.batch()
		b.Queue(lockLikes, subjectKeys(subjects).args()...)
		setCommentLikes(b, subjects)
		return t.send(b)
	})
}

// lockDamaged locks the comment counts of each subject for which a number of comments or
// replies is repaired. Every change to a subject's comments takes the same lock. Without
// it, a deletion that read a reply count before the repair would overwrite the repaired
// count.
func (t *tx) lockDamaged(d *sqlstore.Discrepancies) error {
	subjects := maps.Clone(d.Comments)
	if len(d.Replies) > 0 { // the subject of a comment never changes
		found := make(map[storage.CommentKey]*storage.Comment, len(d.Replies))
		b := t.batch()
		lookUpCommentsOf(b, slices.SortedFunc(maps.Keys(d.Replies), sqlstore.CompareComments), found)
		if err := t.send(b); err != nil {
			return err
		}
		for _, c := range found {
			subjects[c.Subject] = storage.CommentCount{}
		}
	}
	b := t.batch()
	b.Queue(lockCommentCounts, subjectKeys(slices.SortedFunc(maps.Keys(subjects), sqlstore.CompareSubjects)).args()...)
	return t.send(b)
}

// repairUnread corrects unread counts, and recreates missing conversations.
const repairUnread = `
INSERT INTO conversation AS c (tenant, user_id, peer_id, latest, unread, read_to)
SELECT k.tenant, k.user_id, k.peer_id, coalesce((SELECT max(message_id) FROM message m
    WHERE m.tenant = k.tenant AND m.user_low = k.user_low AND m.user_high = k.user_high), 0), k.unread, 0
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, peer_id, user_low, user_high, unread, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, peer_id) DO UPDATE SET unread = c.unread + excluded.unread`

// repairUnread corrects the counts of unread messages.
func (s *Store) repairUnread(ctx context.Context, d *sqlstore.Discrepancies) error {
	if len(d.Unread) == 0 {
		return nil
	}
	rows := newColumns(5, 1, len(d.Unread))
	for _, key := range slices.SortedFunc(maps.Keys(d.Unread), sqlstore.CompareConversations) {
		pair := sqlstore.PairOf(key)
		rows.add([]string{key.Owner.Tenant, key.Owner.UserID, key.With.UserID, pair.Low.UserID, pair.High.UserID}, d.Unread[key])
	}
	return s.change(ctx, "repair counts of unread messages", func(t *tx) error {
		b := t.batch()
		b.Queue(repairUnread, rows.args()...)
		return t.send(b)
	})
}

// beginRepair pins the epoch and locks the owners.
func (t *tx) beginRepair(owners map[storage.User]int64) error {
	b := t.batch()
	epoch := pinEpoch(b)
	lockOwners(b, owners)
	if err := t.send(b); err != nil {
		return err
	}
	_, err := epoch.Enter()
	return err
}
