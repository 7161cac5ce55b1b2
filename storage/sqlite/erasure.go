package sqlite

import (
	"context"
	"errors"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	// selectTraces returns a row for each table that names the user.
	selectTraces = `
SELECT 1 WHERE EXISTS (SELECT 1 FROM user_reaction WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM user_collection WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM user_follow WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM user_read WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM cleared_read WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM folder WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM deleted_folder WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM comment WHERE tenant = ?1 AND user_id = ?2 AND deleted = 0)
    OR EXISTS (SELECT 1 FROM comment WHERE tenant = ?1 AND edited_by = ?2 AND edited_by <> '')
    OR EXISTS (SELECT 1 FROM conversation WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM request WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM video INDEXED BY videos_of WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM interactive WHERE tenant = ?1 AND author = ?2 AND author <> '')
    OR EXISTS (SELECT 1 FROM interactive WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2)
    OR EXISTS (SELECT 1 FROM comment_count WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2)
    OR EXISTS (SELECT 1 FROM user_totals WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM user_comments WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM mailbox WHERE tenant = ?1 AND user_id = ?2)
    OR EXISTS (SELECT 1 FROM account WHERE tenant = ?1 AND account_id = ?3)
    OR EXISTS (SELECT 1 FROM erased_user WHERE digest = ?4)`

	insertErased = `INSERT INTO erased_user (digest, finished, revoked) VALUES (?, 0, 0) ON CONFLICT DO UPDATE SET finished = 0`
	finishErased = `UPDATE erased_user SET finished = ? WHERE digest = ? AND finished = 0`
)

// BeginErase records that a user is erased.
func (s *Store) BeginErase(ctx context.Context, user storage.User) error {
	if err := sqlstore.ValidateOwner(user); err != nil {
		return err
	}
	return s.write(ctx, "begin to erase a user", func(t tx) error {
		known := false
		id, _ := user.AccountKey() // no account has the key 0
		err := t.query(selectTraces, []any{user.Tenant, user.UserID, id, user.Digest()}, func(func(...any) error) error {
			known = true
			return nil
		})
		if err != nil {
			return err
		}
		if !known {
			return storage.ErrNotFound
		}
		if _, err := t.exec(insertErased, user.Digest()); err != nil {
			return err
		}
		if _, err := t.changeAccount(user, storage.Micros(s.now()), sqlstore.CloseAccount); !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		return nil
	})
}

// erasure is a transaction that erases a part of a user.
type erasure struct {
	tx

	user    storage.User
	limit   int
	now     int64
	outcome *storage.Outcome
}

// EraseNext removes rows of the first of several kinds of which there are any.
func (s *Store) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (n int, outcome storage.Outcome, err error) {
	if err := sqlstore.ValidateOwner(user); err != nil {
		return n, outcome, err
	}
	err = s.write(ctx, "erase a user", func(t tx) (err error) {
		n, outcome = 0, storage.Outcome{}
		e := &erasure{t, user, max(limit, 1), storage.Micros(s.now()), &outcome}
		if n, err = e.next(); err != nil {
			return err
		}
		return callMark(ctx, mark, outcome)
	})
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, outcome, nil
}

// next erases rows of one kind, and returns their number. States are cleared before their rows are removed, and
// everything that refers to the user as a subject goes before the subject does.
func (e *erasure) next() (int, error) {
	for _, one := range []func() (int, error){
		e.checkVideos, e.clearHistory, e.clear, e.removeMessages, e.removeStates, e.removeReads, e.forgetEditor, e.removeRest,
	} {
		if n, err := one(); err != nil || n > 0 {
			return n, err
		}
	}
	_, err := e.exec(finishErased, e.now, e.user.Digest())
	return 0, err
}

func (e *erasure) checkVideos() (int, error) {
	left, err := e.videos(selectUserVideos, e.user.Tenant, e.user.Tenant, e.user.UserID, storage.MaxCommentID, 1)
	if err == nil && len(left.Entries) > 0 {
		err = storage.ErrVideosLeft
	}
	return 0, err
}

// clearHistory moves the user's reads to the anonymous users.
func (e *erasure) clearHistory() (int, error) {
	return e.clearReads(storage.ReadsClear{User: e.user, Until: maxVersion}, e.limit, e.outcome)
}

const (
	maxVersion = 1<<63 - 1

	selectReactionsOf   = `SELECT biz, biz_id FROM user_reaction WHERE tenant = ? AND user_id = ? AND state <> 0 ORDER BY biz, biz_id LIMIT ?`
	selectCollectionsBy = `SELECT biz, biz_id FROM user_collection WHERE tenant = ? AND user_id = ? AND state <> '' ORDER BY biz, biz_id LIMIT ?`
	selectFollowsBy     = `SELECT biz, biz_id FROM user_follow WHERE tenant = ? AND user_id = ? AND state <> 0 ORDER BY biz, biz_id LIMIT ?`

	selectCommentsBy = `
SELECT ` + commentColumns + ` FROM comment c INDEXED BY comments_of
WHERE c.tenant = ? AND c.user_id = ? AND c.deleted = 0 ORDER BY c.comment_id DESC LIMIT ?`
)

// clear clears the user's states and those on the user, deletes the user's comments and
// those on the user, and withdraws the user from works.
func (e *erasure) clear() (int, error) {
	sweep := sqlstore.NewErasure(e.user, e.limit, e.now)
	if err := e.sweepCandidates(sweep); err != nil {
		return 0, err
	}
	for _, one := range []struct {
		query string
		to    *[]storage.StateKey
	}{{selectReactionsOf, &sweep.Reactions}, {selectCollectionsBy, &sweep.Collections}, {selectFollowsBy, &sweep.Follows}} {
		if err := e.query(one.query, []any{e.user.Tenant, e.user.UserID, e.limit}, func(scan func(...any) error) error {
			key := storage.StateKey{User: e.user, Subject: storage.Subject{Tenant: e.user.Tenant}}
			err := scan(&key.Subject.Biz, &key.Subject.BizID)
			*one.to = append(*one.to, key)
			return err
		}); err != nil {
			return 0, err
		}
	}
	if err := e.query(selectCommentsBy, []any{e.user.Tenant, e.user.UserID, e.limit}, func(scan func(...any) error) error {
		c, err := scanComment(e.user.Tenant, scan)
		sweep.Comments = append(sweep.Comments, c)
		return err
	}); err != nil {
		return 0, err
	}
	first := sqlstore.StartOf(storage.Page{})
	if err := e.query(selectWorks, []any{e.user.Tenant, e.user.UserID, first.Version, first.Biz, first.ID, e.limit}, func(scan func(...any) error) error {
		w := storage.Work{Subject: storage.Subject{Tenant: e.user.Tenant}}
		err := scan(&w.Since, &w.Subject.Biz, &w.Subject.BizID)
		sweep.Withdraw(w)
		return err
	}); err != nil {
		return 0, err
	}
	n := sweep.Unique()
	if n == 0 {
		return 0, nil
	}
	_, err := e.sweep(sweep, e.outcome)
	return n, err
}

const (
	selectPeer = `SELECT peer_id FROM conversation WHERE tenant = ? AND user_id = ? ORDER BY peer_id LIMIT 1`

	// deleteMessages removes the newest messages, so that the numbers of the others remain
	// right.
	deleteMessages = `
DELETE FROM message WHERE tenant = ?1 AND user_low = ?2 AND user_high = ?3 AND message_id IN (
    SELECT message_id FROM message WHERE tenant = ?1 AND user_low = ?2 AND user_high = ?3 ORDER BY message_id DESC LIMIT ?4)
RETURNING message_id, from_low`

	shortenConversation = `
UPDATE conversation AS c SET unread = c.unread - (SELECT count(*) FROM jsonb_each(?6) k WHERE k.value ->> 0 > c.read_to),
    latest = coalesce((SELECT max(message_id) FROM message WHERE tenant = ?1 AND user_low = ?4 AND user_high = ?5), 0)
WHERE tenant = ?1 AND user_id = ?2 AND peer_id = ?3`

	deleteConversation = `DELETE FROM conversation WHERE tenant = ? AND user_id = ? AND peer_id = ? AND latest = 0`
)

// removeMessages removes messages of one of the user's conversations, and the conversation
// with the last message.
func (e *erasure) removeMessages() (int, error) {
	var peer string
	err := e.query(selectPeer, []any{e.user.Tenant, e.user.UserID}, func(scan func(...any) error) error { return scan(&peer) })
	if err != nil || peer == "" {
		return 0, err
	}
	key := storage.ConversationKey{Owner: e.user, With: storage.User{Tenant: e.user.Tenant, UserID: peer}}
	gone := sqlstore.RemovedMessages{Pair: sqlstore.PairOf(key)}
	low, high := gone.Pair.Low.UserID, gone.Pair.High.UserID
	if err := e.query(deleteMessages, []any{e.user.Tenant, low, high, e.limit}, gone.Scan); err != nil {
		return 0, err
	}
	n := int64(gone.Len())
	err = gone.Received(func(owner, of storage.User, numbers []int64) error {
		var rows tuples
		for _, number := range numbers {
			rows.add(nil, number)
		}
		if _, err := e.exec(shortenConversation, owner.Tenant, owner.UserID, of.UserID, low, high, rows.json()); err != nil {
			return err
		}
		removed, err := e.exec(deleteConversation, owner.Tenant, owner.UserID, of.UserID)
		n += removed
		return err
	})
	return int(n), err
}

// stateTables names the tables of states, and the condition for a state that is not set.
var stateTables = []struct {
	kind         storage.Kind
	by, toPerson string
}{
	{storage.KindReaction, deleteStates("user_reaction", "state = 0"), deleteStatesTo("user_reaction", "state = 0")},
	{storage.KindCollection, deleteStates("user_collection", "state = ''"), deleteStatesTo("user_collection", "state = ''")},
	{storage.KindFollow, deleteStates("user_follow", "state = 0"), deleteStatesTo("user_follow", "state = 0")},
}

func deleteStates(table, unset string) string {
	return `
DELETE FROM ` + table + ` WHERE tenant = ?1 AND user_id = ?2 AND (biz, biz_id) IN (
    SELECT biz, biz_id FROM ` + table + ` WHERE tenant = ?1 AND user_id = ?2 AND ` + unset + ` ORDER BY biz, biz_id LIMIT ?3)
RETURNING user_id, biz, biz_id`
}

func deleteStatesTo(table, unset string) string {
	return `
DELETE FROM ` + table + ` WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2 AND user_id IN (
    SELECT user_id FROM ` + table + ` WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2 AND ` + unset + ` ORDER BY user_id LIMIT ?3)
RETURNING user_id, biz, biz_id`
}

// removeStates removes the rows of cleared states.
func (e *erasure) removeStates() (int, error) {
	for _, table := range stateTables {
		for _, query := range []string{table.by, table.toPerson} {
			if err := e.query(query, []any{e.user.Tenant, e.user.UserID, e.limit}, func(scan func(...any) error) error {
				user, subject := storage.User{Tenant: e.user.Tenant}, storage.Subject{Tenant: e.user.Tenant}
				err := scan(&user.UserID, &subject.Biz, &subject.BizID)
				e.outcome.Applied = append(e.outcome.Applied, sqlstore.Removed(table.kind, user, subject))
				return err
			}); err != nil {
				return 0, err
			}
		}
	}
	return len(e.outcome.Applied), nil
}

const deleteReadsOf = `
DELETE FROM user_read WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2 AND user_id IN (
    SELECT user_id FROM user_read WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2 ORDER BY user_id LIMIT ?3)
RETURNING user_id, times`

// removeReads removes the reads of the user as a subject.
func (e *erasure) removeReads() (int, error) {
	n, reads, readers := 0, int64(0), int64(0)
	err := e.query(deleteReadsOf, []any{e.user.Tenant, e.user.UserID, e.limit}, func(scan func(...any) error) error {
		var reader string
		var times int64
		err := scan(&reader, &times)
		n, reads, readers = n+1, reads+times, readers+sqlstore.BoolToInt(reader != "")
		return err
	})
	if err != nil || n == 0 {
		return 0, err
	}
	e.outcome.Counts, err = e.applyTally(sqlstore.RemovedReads(e.user.Subject(), reads, readers), nil)
	return n, err
}

const clearEditor = `
UPDATE comment SET edited_by = '' WHERE tenant = ?1 AND comment_id IN (
    SELECT comment_id FROM comment WHERE tenant = ?1 AND edited_by = ?2 AND edited_by <> '' ORDER BY comment_id LIMIT ?3)`

// forgetEditor removes the user as the editor of comments.
func (e *erasure) forgetEditor() (int, error) {
	n, err := e.exec(clearEditor, e.user.Tenant, e.user.UserID, e.limit)
	return int(n), err
}

// removals are the statements that remove the rest, with the tenant, the user's id and the
// limit as their parameters.
var removals = []string{
	`DELETE FROM deleted_subject WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2`,
	`DELETE FROM folder WHERE tenant = ?1 AND user_id = ?2`,
	`DELETE FROM deleted_folder WHERE tenant = ?1 AND user_id = ?2 AND folder_id IN (
    SELECT folder_id FROM deleted_folder WHERE tenant = ?1 AND user_id = ?2 LIMIT ?3)`,
	`DELETE FROM cleared_read WHERE tenant = ?1 AND user_id = ?2 AND (biz, biz_id) IN (
    SELECT biz, biz_id FROM cleared_read WHERE tenant = ?1 AND user_id = ?2 LIMIT ?3)`,
	`DELETE FROM cleared_read WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2`,
	`DELETE FROM comment WHERE tenant = ?1 AND comment_id IN (
    SELECT comment_id FROM comment WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2 AND deleted > 0 LIMIT ?3)`,
	`DELETE FROM comment_count WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2
    AND NOT EXISTS (SELECT 1 FROM comment WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2)`,
	`DELETE FROM interactive WHERE tenant = ?1 AND biz = 'user' AND biz_id = ?2`,
	`DELETE FROM trend_bucket WHERE "window" IN (1, 2, 3) AND tenant = ?1 AND biz = 'user' AND biz_id = ?2`,
	`DELETE FROM trend_score WHERE "window" IN (1, 2, 3) AND tenant = ?1 AND biz = 'user' AND biz_id = ?2`,
	`DELETE FROM request WHERE tenant = ?1 AND user_id = ?2 AND request_id IN (
    SELECT request_id FROM request WHERE tenant = ?1 AND user_id = ?2 LIMIT ?3)`,
	`DELETE FROM mailbox WHERE tenant = ?1 AND user_id = ?2`,
	`DELETE FROM user_totals WHERE tenant = ?1 AND user_id = ?2`,
	`DELETE FROM user_comments WHERE tenant = ?1 AND user_id = ?2`,
}

const (
	keepRevoked = `
UPDATE erased_user SET revoked = max(revoked, coalesce((SELECT revoked FROM account WHERE tenant = ?1 AND account_id = ?2), 0)) WHERE digest = ?3`
	deleteNames = `
DELETE FROM account_name WHERE tenant = ?1 AND account_id = ?2
    AND name_key = (SELECT name_key FROM account WHERE tenant = ?1 AND account_id = ?2)`
	deleteAccount = `DELETE FROM account WHERE tenant = ? AND account_id = ?`
)

// removeRest removes what is left of the user.
func (e *erasure) removeRest() (int, error) {
	total := int64(0)
	for _, removal := range removals {
		n, err := e.exec(removal, e.user.Tenant, e.user.UserID, e.limit)
		if total += n; err != nil {
			return 0, err
		}
	}
	if id, ok := e.user.AccountKey(); ok {
		if _, err := e.exec(keepRevoked, e.user.Tenant, id, e.user.Digest()); err != nil {
			return 0, err
		}
		if err := e.reindexAccount(e.user.Tenant, id, ""); err != nil { // an earlier release may have left it
			return 0, err
		}
		for _, removal := range []string{deleteNames, deleteAccount} {
			n, err := e.exec(removal, e.user.Tenant, id)
			if total += n; err != nil {
				return 0, err
			}
		}
	}
	return int(total), nil
}

// Compact rewrites the file without the free space in which SQLite leaves what was
// removed, and empties the write-ahead log. Other writers wait meanwhile.
func (s *Store) Compact(ctx context.Context) error {
	if !s.acquire() {
		return storage.ErrUnavailable
	}
	defer s.calls.Done()
	for _, statement := range []string{`VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return wrap(ctx, "compact the file", err)
		}
	}
	return nil
}
