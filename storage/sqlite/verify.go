package sqlite

import (
	"context"
	"errors"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// Verify recounts on a snapshot. If repair is false, it blocks no other call. If repair
// is true and there is a difference, Verify recounts under the write lock, so that the
// counts cannot change before the repair. It repairs everything in one transaction; if
// that transaction fails, nothing is repaired.
func (s *Store) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (compared int64, err error) {
	recount := func(mend func(*sqlstore.Discrepancies) error) error {
		return s.read(ctx, "recount", func(t tx) error {
			v := sqlstore.Recount{Report: report, Repair: mend, NoteFolder: countInDefaultFolder}
			if err := t.query(recountSubjects, nil, v.Subject); err != nil {
				return err
			}
			if err := t.query(recountFolders, nil, v.Folder); err != nil {
				return err
			}
			if err := t.query(recountComments, nil, v.Comments); err != nil {
				return err
			}
			if err := t.query(recountReplies, nil, v.Comment); err != nil {
				return err
			}
			if err := t.query(recountTotals, nil, v.Totals); err != nil {
				return err
			}
			if err := t.query(recountUnread, nil, v.Conversation); err != nil {
				return err
			}
			if err := t.query(recountUnswept, nil, v.Unswept); err != nil {
				return err
			}
			compared = v.Compared
			return v.Finish()
		})
	}
	if !repair {
		err = recount(func(*sqlstore.Discrepancies) error { return nil })
		return compared, err
	}
	sound, err := s.comparedIfSound(ctx)
	if err != nil || sound > 0 {
		return sound, err
	}
	err = s.write(ctx, "repair", func(t tx) error {
		return recount(func(d *sqlstore.Discrepancies) error { return t.repair(d, storage.Micros(s.now())) })
	})
	return compared, err
}

// errDamaged stops a recount at the first difference.
var errDamaged = errors.New("damaged")

// comparedIfSound returns the number of counts that were compared if every count is
// correct, and 0 otherwise.
func (s *Store) comparedIfSound(ctx context.Context) (compared int64, err error) {
	compared, err = s.Verify(ctx, false, func(storage.Difference) error { return errDamaged })
	if errors.Is(err, errDamaged) {
		return 0, nil
	}
	return compared, err
}

// countInDefaultFolder records a wrong item count. It adds the items of a missing folder
// to the count of the default folder, because the repair moves them there.
func countInDefaultFolder(d *sqlstore.Discrepancies, folder storage.FolderKey, delta int64, exists bool) {
	if !exists {
		d.MissingFolders = append(d.MissingFolders, folder)
		folder.FolderID = storage.DefaultFolderID
	}
	d.Folders[folder] += delta
}

const recountSubjects = `
SELECT tenant, biz, biz_id,
    sum(read_count), sum(times), sum(reader_count), sum(readers), sum(like_count), sum(likes),
    sum(dislike_count), sum(dislikes), sum(collect_count), sum(collected), sum(follower_count), sum(followers)
FROM (
    SELECT tenant, biz, biz_id, read_count, 0 AS times, reader_count, 0 AS readers, like_count, 0 AS likes,
        dislike_count, 0 AS dislikes, collect_count, 0 AS collected, follower_count, 0 AS followers FROM interactive
    UNION ALL
    SELECT tenant, biz, biz_id, 0, times, 0, user_id <> '', 0, 0, 0, 0, 0, 0, 0, 0 FROM user_read
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, state = 1, 0, state = 2, 0, 0, 0, 0 FROM user_reaction WHERE state <> 0
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0 FROM user_collection WHERE state <> ''
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 FROM user_follow WHERE state = 1
)
GROUP BY tenant, biz, biz_id ORDER BY tenant, biz, biz_id`

const recountFolders = `
SELECT tenant, user_id, folder_id, sum(made), sum(stored), sum(counted)
FROM (
    SELECT tenant, user_id, folder_id, 1 AS made, item_count AS stored, 0 AS counted FROM folder
    UNION ALL
    SELECT tenant, user_id, state, 0, 0, count(*) FROM user_collection
    WHERE state <> '' GROUP BY tenant, user_id, state
)
GROUP BY tenant, user_id, folder_id ORDER BY tenant, user_id, folder_id`

const recountComments = `
SELECT tenant, biz, biz_id, sum(stored), sum(counted), max(version), max(latest)
FROM (
    SELECT tenant, biz, biz_id, comments AS stored, 0 AS counted, version, 0 AS latest FROM comment_count
    UNION ALL
    SELECT tenant, biz, biz_id, 0, sum(deleted = 0), 0, max(version) FROM comment GROUP BY tenant, biz_id, biz
)
GROUP BY tenant, biz, biz_id ORDER BY tenant, biz, biz_id`

const recountReplies = `
SELECT c.tenant, c.comment_id, c.reply_count, coalesce(r.replies, 0), c.like_count, coalesce(i.like_count, 0),
    c.listed, c.deleted = 0 OR coalesce(r.replies, 0) > 0
FROM comment c
LEFT JOIN (SELECT tenant, reply_to, count(*) AS replies FROM comment WHERE reply_to <> 0 AND deleted = 0 GROUP BY tenant, reply_to) r
    ON r.tenant = c.tenant AND r.reply_to = c.comment_id
LEFT JOIN interactive i ON i.tenant = c.tenant AND i.biz = 'comment' AND i.biz_id = CAST(c.comment_id AS TEXT)
ORDER BY c.tenant, c.comment_id`

const recountTotals = `
SELECT tenant, user_id, sum(likes), sum(liked), sum(following), sum(followed), sum(collections), sum(collected),
    sum(comments), sum(written), sum(works), sum(authored), sum(likes_received), sum(received)
FROM (
    SELECT tenant, user_id, likes, 0 AS liked, following, 0 AS followed, collections, 0 AS collected,
        0 AS comments, 0 AS written, works, 0 AS authored, likes_received, 0 AS received FROM user_totals
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, 0, 0, 0, comments, 0, 0, 0, 0, 0 FROM user_comments
    UNION ALL
    SELECT tenant, user_id, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM user_reaction WHERE state = 1
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0 FROM user_follow WHERE state = 1
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 FROM user_collection WHERE state <> ''
    UNION ALL
    SELECT tenant, user_id, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 FROM comment WHERE deleted = 0
    UNION ALL
    SELECT i.tenant, i.author, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, (SELECT count(*) FROM user_reaction r
        WHERE r.tenant = i.tenant AND r.biz = i.biz AND r.biz_id = i.biz_id AND r.state = 1)
    FROM interactive i WHERE i.author <> ''
)
GROUP BY tenant, user_id ORDER BY tenant, user_id`

const recountUnread = `
SELECT tenant, user_id, peer_id, sum(stored), sum(counted), max(number), sum(received)
FROM (
    SELECT tenant, user_id, peer_id, unread AS stored, 0 AS counted, 0 AS number, 0 AS received FROM conversation
    UNION ALL
    SELECT m.tenant, iif(m.from_low, m.user_high, m.user_low), iif(m.from_low, m.user_low, m.user_high),
        0, m.message_id > coalesce(c.read_to, 0), iif(m.from_low, m.low_sent, m.high_sent), 1
    FROM message m
    LEFT JOIN conversation c ON c.tenant = m.tenant
        AND c.user_id = iif(m.from_low, m.user_high, m.user_low) AND c.peer_id = iif(m.from_low, m.user_low, m.user_high)
)
GROUP BY tenant, user_id, peer_id ORDER BY tenant, user_id, peer_id`

const recountUnswept = `
SELECT tenant, biz, biz_id FROM (
    SELECT c.tenant, 'comment' AS biz, CAST(c.comment_id AS TEXT) AS biz_id FROM comment c
    LEFT JOIN interactive i ON i.tenant = c.tenant AND i.biz = 'comment' AND i.biz_id = CAST(c.comment_id AS TEXT)
    WHERE c.deleted > 0 AND coalesce(i.deleted, 0) = 0
    UNION
    SELECT i.tenant, i.biz, i.biz_id FROM interactive i
    LEFT JOIN comment_count c ON c.tenant = i.tenant AND c.biz = i.biz AND c.biz_id = i.biz_id
    WHERE i.deleted > 0 AND (i.author <> '' OR i.like_count <> 0 OR i.dislike_count <> 0
        OR i.collect_count <> 0 OR i.follower_count <> 0 OR coalesce(c.comments, 0) <> 0)
) s
WHERE NOT EXISTS (SELECT 1 FROM deleted_subject d WHERE d.tenant = s.tenant AND d.biz = s.biz AND d.biz_id = s.biz_id)
ORDER BY tenant, biz, biz_id`

const moveItemsToDefault = `
UPDATE user_collection AS s SET prev_state = s.state, state = ?2, version = s.version + 1 FROM jsonb_each(?1) k
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.state = k.value ->> 2 AND s.state <> ''`

// repair moves the items of missing folders into the default folders and corrects the
// counts.
func (t tx) repair(d *sqlstore.Discrepancies, now int64) error {
	owners := make(map[storage.User]int64)
	var homeless tuples
	for _, key := range d.MissingFolders {
		owners[key.Owner] = now
		homeless.add([]string{key.Owner.Tenant, key.Owner.UserID, key.FolderID})
	}
	if len(owners) > 0 {
		if err := t.createDefaultFolders(owners); err != nil {
			return err
		}
		if _, err := t.exec(moveItemsToDefault, homeless.json(), storage.DefaultFolderID); err != nil {
			return err
		}
	}
	// If counts were deleted by hand, their version is unknown. The current time is
	// higher than any number of changes.
	d.FirstVersion = now
	if _, err := t.applyTally(d.Tally, nil); err != nil {
		return err
	}
	if err := t.repairComments(d, now); err != nil {
		return err
	}
	if err := t.repairNumbers(d); err != nil {
		return err
	}
	if err := t.queueDeleted(d.Unswept, now); err != nil {
		return err
	}
	return t.repairUnread(d)
}

// repairUnread corrects unread counts, and recreates missing conversations.
const repairUnread = `
INSERT INTO conversation AS c (tenant, user_id, peer_id, latest, unread, read_to)
SELECT value ->> 0, value ->> 1, value ->> 2, coalesce((SELECT max(message_id) FROM message m
    WHERE m.tenant = value ->> 0 AND m.user_low = value ->> 3 AND m.user_high = value ->> 4), 0), value ->> 5, 0
FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET unread = c.unread + excluded.unread`

func (t tx) repairUnread(d *sqlstore.Discrepancies) error {
	if len(d.Unread) == 0 {
		return nil
	}
	var rows tuples
	for key, by := range d.Unread {
		pair := sqlstore.PairOf(key)
		rows.add([]string{key.Owner.Tenant, key.Owner.UserID, key.With.UserID, pair.Low.UserID, pair.High.UserID}, by)
	}
	_, err := t.exec(repairUnread, rows.json())
	return err
}

// numberMessages numbers the messages of one conversation.
const numberMessages = `
INSERT INTO message (tenant, user_low, user_high, message_id, from_low, text, created, low_sent, high_sent)
SELECT tenant, user_low, user_high, message_id, from_low, '', 0, sum(from_low) OVER w, sum(1 - from_low) OVER w
FROM message WHERE tenant = ? AND user_low = ? AND user_high = ?
WINDOW w AS (ORDER BY message_id)
ON CONFLICT DO UPDATE SET low_sent = excluded.low_sent, high_sent = excluded.high_sent`

func (t tx) repairNumbers(d *sqlstore.Discrepancies) error {
	for pair := range d.Numbers {
		if _, err := t.exec(numberMessages, pair.Low.Tenant, pair.Low.UserID, pair.High.UserID); err != nil {
			return err
		}
	}
	return nil
}

const repairCommentCounts = `
INSERT INTO comment_count AS c (tenant, biz, biz_id, comments, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, max((value ->> 4) + 1, ?2) FROM jsonb_each(?1) WHERE true
ON CONFLICT DO UPDATE SET comments = c.comments + excluded.comments, version = max(c.version + 1, excluded.version)`

func (t tx) repairComments(d *sqlstore.Discrepancies, now int64) error {
	if len(d.Comments) > 0 {
		var rows tuples
		for s, c := range d.Comments {
			rows.add([]string{s.Tenant, s.Biz, s.BizID}, c.Comments, c.Version)
		}
		if _, err := t.exec(repairCommentCounts, rows.json(), now); err != nil {
			return err
		}
	}
	if err := t.adjustReplyCounts(d.Replies); err != nil {
		return err
	}
	liked := make([]storage.Subject, len(d.Likes))
	for i, key := range d.Likes {
		liked[i] = key.Subject()
	}
	return t.setCommentLikes(liked)
}
