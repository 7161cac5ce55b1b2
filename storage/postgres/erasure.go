package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

const (
	// selectTraces returns a row if a table names the user.
	selectTraces = `
SELECT 1 WHERE EXISTS (SELECT FROM user_reaction WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM user_collection WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM user_follow WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM user_read WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM cleared_read WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM folder WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM deleted_folder WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM comment WHERE tenant = $1 AND user_id = $2 AND deleted = 0)
    OR EXISTS (SELECT FROM comment WHERE tenant = $1 AND edited_by = $2 AND edited_by <> '')
    OR EXISTS (SELECT FROM conversation WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM request WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM video WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM interactive WHERE tenant = $1 AND author = $2 AND author <> '')
    OR EXISTS (SELECT FROM interactive WHERE tenant = $1 AND biz = 'user' AND biz_id = $2)
    OR EXISTS (SELECT FROM comment_count WHERE tenant = $1 AND biz = 'user' AND biz_id = $2)
    OR EXISTS (SELECT FROM user_totals WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM user_comments WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM mailbox WHERE tenant = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM account WHERE tenant = $1 AND account_id = $3)
    OR EXISTS (SELECT FROM erased_user WHERE digest = $4)`

	insertErased = `INSERT INTO erased_user (digest, finished, revoked) VALUES ($1, 0, 0) ON CONFLICT (digest) DO UPDATE SET finished = 0`
	finishErased = `UPDATE erased_user SET finished = ` + transactionTime + ` WHERE digest = $1 AND finished = 0`
)

// BeginErase records that a user is erased, and waits until no transaction that may have
// missed it is in progress.
func (s *Store) BeginErase(ctx context.Context, user storage.User) error {
	if err := sqlstore.ValidateOwner(user); err != nil {
		return err
	}
	err := s.change(ctx, "begin to erase a user", func(t *tx) error {
		var traces int64
		id, _ := user.AccountKey() // no account has the key 0
		b := t.batch()
		b.Queue(selectTraces, user.Tenant, user.UserID, id, user.Digest()).Exec(rowsAffected(&traces))
		if err := t.send(b); err != nil {
			return err
		}
		if traces == 0 {
			return storage.ErrNotFound
		}
		b = t.batch()
		b.Queue(insertErased, user.Digest())
		return t.send(b)
	})
	if err != nil {
		return err
	}
	_, err = s.changeAccount(ctx, "close the account of an erased user", user, sqlstore.CloseAccount)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return s.clears.wait(ctx, s.erasureLockers)
}

// erasure is a transaction that erases a part of a user.
type erasure struct {
	*tx

	user    storage.User
	limit   int
	now     int64
	outcome *storage.Outcome
}

// EraseNext removes rows of the first of several kinds of which there are any. It takes
// locks in the order of SweepDeleted, and those of messages in the order of AddMessages.
func (s *Store) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (n int, outcome storage.Outcome, err error) {
	if err := sqlstore.ValidateOwner(user); err != nil {
		return n, outcome, err
	}
	err = s.changeReads(ctx, "erase a user", func(t *tx) (err error) {
		outcome = storage.Outcome{}
		e := &erasure{tx: t, user: user, limit: max(limit, 1), outcome: &outcome}
		if n, err = e.next(); err != nil {
			return err
		}
		return mirror.Mark(t.ctx, mark, &outcome)
	})
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, outcome, nil
}

// next erases rows of one kind, and returns their number. States are cleared before their rows are removed, and
// everything that refers to the user as a subject goes before the subject does.
func (e *erasure) next() (n int, err error) {
	videos := int64(0)
	b := e.batch()
	epoch := pinEpoch(b)
	b.Queue(selectClock).QueryRow(func(row pgx.Row) error { return row.Scan(&e.now) })
	b.Queue(`SELECT FROM video WHERE tenant = $1 AND user_id = $2 LIMIT 1`, e.user.Tenant, e.user.UserID).Exec(rowsAffected(&videos))
	if err := e.send(b); err != nil {
		return 0, err
	}
	if e.outcome.Epoch, err = epoch.Enter(); err != nil {
		return 0, err
	}
	if videos > 0 {
		return 0, storage.ErrVideosLeft
	}
	for _, one := range []func() (int, error){
		e.clearHistory, e.clear, e.removeMessages, e.removeStates, e.removeReads, e.forgetEditor, e.removeComments, e.removeRest,
	} {
		if n, err := one(); err != nil || n > 0 {
			return n, err
		}
	}
	b = e.batch()
	b.Queue(finishErased, e.user.Digest())
	return 0, e.send(b)
}

// clearHistory moves the user's reads to the anonymous users.
func (e *erasure) clearHistory() (int, error) {
	return e.clearReads(storage.ReadsClear{User: e.user, Until: math.MaxInt64}, e.limit, e.outcome)
}

const (
	selectReactionsBy = `
SELECT biz, biz_id FROM user_reaction WHERE tenant = $1 AND user_id = $2 AND state <> 0 ORDER BY biz, biz_id LIMIT $3`
	selectCollectionsBy = `
SELECT biz, biz_id FROM user_collection WHERE tenant = $1 AND user_id = $2 AND state <> '' ORDER BY biz, biz_id LIMIT $3`
	selectFollowsBy = `
SELECT biz, biz_id FROM user_follow WHERE tenant = $1 AND user_id = $2 AND state <> 0 ORDER BY biz, biz_id LIMIT $3`

	selectCommentsBy = `
SELECT ` + commentColumns + ` FROM comment
WHERE tenant = $1 AND user_id = $2 AND deleted = 0 ORDER BY comment_id DESC LIMIT $3`

	selectCommented = `SELECT FROM comment_count WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 AND comments > 0`

	selectWorksOf = `
SELECT authored, biz, biz_id FROM interactive
WHERE tenant = $1 AND author = $2 AND author <> '' ORDER BY authored DESC, biz DESC, biz_id DESC LIMIT $3`
)

// clear clears the user's states and those on the user, deletes the user's comments and
// those on the user, and withdraws the user from works.
func (e *erasure) clear() (int, error) {
	sweep := sqlstore.NewErasure(e.user, e.limit, e.now)
	if err := e.sweepCandidates(sweep); err != nil {
		return 0, err
	}
	b := e.batch()
	args := []any{e.user.Tenant, e.user.UserID, e.limit}
	for _, one := range []struct {
		query string
		to    *[]storage.StateKey
	}{{selectReactionsBy, &sweep.Reactions}, {selectCollectionsBy, &sweep.Collections}, {selectFollowsBy, &sweep.Follows}} {
		b.Queue(one.query, args...).Query(eachRow(func(row pgx.Rows) error {
			key := storage.StateKey{User: e.user, Subject: storage.Subject{Tenant: e.user.Tenant}}
			err := row.Scan(&key.Subject.Biz, &key.Subject.BizID)
			*one.to = append(*one.to, key)
			return err
		}))
	}
	b.Queue(selectCommentsBy, args...).Query(eachRow(func(row pgx.Rows) error {
		c, err := scanComment(e.user.Tenant, row)
		sweep.Comments = append(sweep.Comments, c)
		return err
	}))
	b.Queue(selectWorksOf, args...).Query(eachRow(func(row pgx.Rows) error {
		w := storage.Work{Subject: storage.Subject{Tenant: e.user.Tenant}}
		err := row.Scan(&w.Since, &w.Subject.Biz, &w.Subject.BizID)
		sweep.Withdraw(w)
		return err
	}))
	var commented int64
	b.Queue(selectCommented, e.user.Tenant, e.user.UserID).Exec(rowsAffected(&commented))
	if err := e.send(b); err != nil {
		return 0, err
	}
	n := sweep.Unique()
	if n == 0 && commented == 0 {
		return 0, nil
	}
	deletion, err := e.sweep(sweep, e.outcome)
	if err != nil {
		return 0, err
	}
	return max(n, len(deletion.Changed)), nil
}

const (
	selectPeer = `SELECT peer_id FROM conversation WHERE tenant = $1 AND user_id = $2 ORDER BY peer_id LIMIT 1`

	// deleteMessages removes the newest messages, so that the numbers of the others remain
	// right.
	deleteMessages = `
DELETE FROM message m USING (
    SELECT message_id FROM message WHERE tenant = $1 AND user_low = $2 AND user_high = $3 ORDER BY message_id DESC LIMIT $4) d
WHERE m.tenant = $1 AND m.user_low = $2 AND m.user_high = $3 AND m.message_id = d.message_id
RETURNING m.message_id, m.from_low`

	shortenConversation = `
UPDATE conversation c SET unread = c.unread - (SELECT count(*) FROM unnest($6::bigint[]) k WHERE k > c.read_to),
    latest = coalesce((SELECT max(message_id) FROM message WHERE tenant = $1 AND user_low = $4 AND user_high = $5), 0)
WHERE c.tenant = $1 AND c.user_id = $2 AND c.peer_id = $3`

	deleteConversation = `DELETE FROM conversation WHERE tenant = $1 AND user_id = $2 AND peer_id = $3 AND latest = 0`
)

// removeMessages removes messages of one of the user's conversations, and the conversation
// with the last message. It locks the mailboxes of both users first.
func (e *erasure) removeMessages() (int, error) {
	var peer string
	b := e.batch()
	b.Queue(selectPeer, e.user.Tenant, e.user.UserID).Query(eachRow(func(row pgx.Rows) error { return row.Scan(&peer) }))
	if err := e.send(b); err != nil || peer == "" {
		return 0, err
	}
	key := storage.ConversationKey{Owner: e.user, With: storage.User{Tenant: e.user.Tenant, UserID: peer}}
	gone := sqlstore.RemovedMessages{Pair: sqlstore.PairOf(key)}
	low, high := gone.Pair.Low.UserID, gone.Pair.High.UserID
	b = e.batch()
	b.Queue(lockMailboxes, userKeys([]storage.User{gone.Pair.Low, gone.Pair.High}).args()...)
	b.Queue(deleteMessages, e.user.Tenant, low, high, e.limit).Query(eachRow(func(row pgx.Rows) error { return gone.Scan(row.Scan) }))
	if err := e.send(b); err != nil {
		return 0, err
	}
	b, removed := e.batch(), [2]int64{}
	i := 0
	err := gone.Received(func(owner, of storage.User, numbers []int64) error {
		b.Queue(shortenConversation, owner.Tenant, owner.UserID, of.UserID, low, high, numbers)
		b.Queue(deleteConversation, owner.Tenant, owner.UserID, of.UserID).Exec(rowsAffected(&removed[i]))
		i++
		return nil
	})
	if err == nil {
		err = e.send(b)
	}
	return gone.Len() + int(removed[0]+removed[1]), err
}

// stateTables holds the statements that remove rows of states that are not set: those of a
// user, and those on a user.
var stateTables = []struct {
	kind   storage.Kind
	by, to string
}{
	{storage.KindReaction, deleteStatesBy("user_reaction", "state = 0"), deleteStatesTo("user_reaction", "state = 0")},
	{storage.KindCollection, deleteStatesBy("user_collection", "state = ''"), deleteStatesTo("user_collection", "state = ''")},
	{storage.KindFollow, deleteStatesBy("user_follow", "state = 0"), deleteStatesTo("user_follow", "state = 0")},
}

func deleteStatesBy(table, unset string) string {
	return `
DELETE FROM ` + table + ` s USING (SELECT tenant, user_id, biz, biz_id FROM ` + table + `
    WHERE tenant = $1 AND user_id = $2 AND ` + unset + ` ORDER BY biz, biz_id LIMIT $3 FOR UPDATE) d
WHERE s.tenant = d.tenant AND s.user_id = d.user_id AND s.biz = d.biz AND s.biz_id = d.biz_id
RETURNING s.user_id, s.biz, s.biz_id`
}

func deleteStatesTo(table, unset string) string {
	return `
DELETE FROM ` + table + ` s USING (SELECT tenant, user_id, biz, biz_id FROM ` + table + `
    WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 AND ` + unset + ` ORDER BY user_id LIMIT $3 FOR UPDATE) d
WHERE s.tenant = d.tenant AND s.user_id = d.user_id AND s.biz = d.biz AND s.biz_id = d.biz_id
RETURNING s.user_id, s.biz, s.biz_id`
}

// removeStates removes the rows of cleared states, of one table after the other.
func (e *erasure) removeStates() (int, error) {
	for _, table := range stateTables {
		for _, query := range []string{table.by, table.to} {
			b := e.batch()
			b.Queue(query, e.user.Tenant, e.user.UserID, e.limit).Query(eachRow(func(row pgx.Rows) error {
				user, subject := storage.User{Tenant: e.user.Tenant}, storage.Subject{Tenant: e.user.Tenant}
				err := row.Scan(&user.UserID, &subject.Biz, &subject.BizID)
				e.outcome.Applied = append(e.outcome.Applied, sqlstore.Removed(table.kind, user, subject))
				return err
			}))
			if err := e.send(b); err != nil {
				return 0, err
			}
			if n := len(e.outcome.Applied); n > 0 { // locks of a further list might be out of order
				return n, nil
			}
		}
	}
	return 0, nil
}

const deleteReadsOf = `
DELETE FROM user_read s USING (SELECT tenant, user_id, biz, biz_id FROM user_read
    WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 ORDER BY user_id LIMIT $3 FOR UPDATE) d
WHERE s.tenant = d.tenant AND s.user_id = d.user_id AND s.biz = d.biz AND s.biz_id = d.biz_id
RETURNING s.user_id, s.times`

// removeReads removes the reads of the user as a subject.
func (e *erasure) removeReads() (int, error) {
	n, reads, readers := 0, int64(0), int64(0)
	b := e.batch()
	b.Queue(deleteReadsOf, e.user.Tenant, e.user.UserID, e.limit).Query(eachRow(func(row pgx.Rows) error {
		var reader string
		var times int64
		err := row.Scan(&reader, &times)
		n, reads, readers = n+1, reads+times, readers+sqlstore.BoolToInt(reader != "")
		return err
	}))
	if err := e.send(b); err != nil || n == 0 {
		return 0, err
	}
	var err error
	e.outcome.Counts, err = e.applyTally(sqlstore.RemovedReads(e.user.Subject(), reads, readers), nil, nil)
	return n, err
}

const (
	selectEdited = `
SELECT ` + commentColumns + ` FROM comment WHERE tenant = $1 AND edited_by = $2 AND edited_by <> '' ORDER BY comment_id LIMIT $3`
	clearEditor = `UPDATE comment SET edited_by = '' WHERE tenant = $1 AND comment_id = $2 AND edited_by = $3`
)

// forgetEditor removes the user as the editor of comments. It locks the counts of the
// subjects, as every change to a comment does.
func (e *erasure) forgetEditor() (int, error) {
	var edited []*storage.Comment
	b := e.batch()
	b.Queue(selectEdited, e.user.Tenant, e.user.UserID, e.limit).Query(eachRow(func(row pgx.Rows) error {
		c, err := scanComment(e.user.Tenant, row)
		edited = append(edited, c)
		return err
	}))
	if err := e.send(b); err != nil || len(edited) == 0 {
		return 0, err
	}
	b = e.batch()
	b.Queue(lockCommentCounts, subjectKeys(sqlstore.SubjectsOf(edited)).args()...)
	for _, c := range edited {
		b.Queue(clearEditor, e.user.Tenant, c.Number, e.user.UserID)
	}
	return len(edited), e.send(b)
}

const deleteCommentsOn = `
DELETE FROM comment WHERE tenant = $1 AND biz_id = $2 AND comment_id IN (
    SELECT comment_id FROM comment WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 AND deleted > 0 ORDER BY comment_id LIMIT $3)`

// removeComments removes what is left of deleted comments on the user.
func (e *erasure) removeComments() (int, error) {
	var n int64
	b := e.batch()
	b.Queue(deleteCommentsOn, e.user.Tenant, e.user.UserID, e.limit).Exec(rowsAffected(&n))
	return int(n), e.send(b)
}

// removals are the statements that remove the rest, with the tenant, the user's id and the
// limit as their parameters.
var removals = []string{
	`DELETE FROM deleted_subject WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 AND $3 > 0`,
	`DELETE FROM folder WHERE tenant = $1 AND user_id = $2 AND $3 > 0`,
	`DELETE FROM deleted_folder WHERE tenant = $1 AND user_id = $2 AND folder_id IN (
    SELECT folder_id FROM deleted_folder WHERE tenant = $1 AND user_id = $2 LIMIT $3)`,
	`DELETE FROM cleared_read WHERE tenant = $1 AND user_id = $2 AND (biz, biz_id) IN (
    SELECT biz, biz_id FROM cleared_read WHERE tenant = $1 AND user_id = $2 LIMIT $3)`,
	`DELETE FROM cleared_read WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 AND $3 > 0`,
	`DELETE FROM request WHERE tenant = $1 AND user_id = $2 AND request_id IN (
    SELECT request_id FROM request WHERE tenant = $1 AND user_id = $2 LIMIT $3)`,
	`DELETE FROM comment_count WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 AND $3 > 0
    AND NOT EXISTS (SELECT FROM comment WHERE tenant = $1 AND biz = 'user' AND biz_id = $2)`,
	`DELETE FROM interactive WHERE tenant = $1 AND biz = 'user' AND biz_id = $2 AND $3 > 0`,
	`DELETE FROM trend_bucket WHERE "window" IN (1, 2, 3) AND tenant = $1 AND biz = 'user' AND biz_id = $2 AND $3 > 0`,
	`DELETE FROM trend_score WHERE "window" IN (1, 2, 3) AND tenant = $1 AND biz = 'user' AND biz_id = $2 AND $3 > 0`,
	`DELETE FROM mailbox WHERE tenant = $1 AND user_id = $2 AND $3 > 0`,
	`DELETE FROM user_totals WHERE tenant = $1 AND user_id = $2 AND $3 > 0`,
	`DELETE FROM user_comments WHERE tenant = $1 AND user_id = $2 AND $3 > 0`,
}

const (
	keepRevoked = `
UPDATE erased_user SET revoked = greatest(revoked, coalesce((SELECT revoked FROM account WHERE tenant = $1 AND account_id = $2), 0)) WHERE digest = $3`
	deleteNames = `
DELETE FROM account_name WHERE tenant = $1 AND account_id = $2
    AND name_key = (SELECT name_key FROM account WHERE tenant = $1 AND account_id = $2)`
	deleteAccount = `DELETE FROM account WHERE tenant = $1 AND account_id = $2`
)

// removeRest removes what is left of the user.
func (e *erasure) removeRest() (int, error) {
	removed := make([]int64, len(removals)+2)
	id, registered := e.user.AccountKey()
	var indexed string
	b := e.batch()
	if registered {
		b.Queue(lockAccount, e.user.Tenant, id)
		b.Queue(selectIndexed, e.user.Tenant, id).Query(eachRow(func(row pgx.Rows) error { return row.Scan(&indexed) }))
		if err := e.send(b); err != nil {
			return 0, fmt.Errorf("remove the rest: %w", err)
		}
		b = e.batch()
	}
	for i, removal := range removals {
		b.Queue(removal, e.user.Tenant, e.user.UserID, int64(e.limit)).Exec(rowsAffected(&removed[i]))
	}
	if registered {
		unindex(b, e.user.Tenant, sqlstore.IndexedUser, id, indexed) // an earlier release may have left it
		b.Queue(keepRevoked, e.user.Tenant, id, e.user.Digest())
		for i, removal := range []string{deleteNames, deleteAccount} {
			b.Queue(removal, e.user.Tenant, id).Exec(rowsAffected(&removed[len(removals)+i]))
		}
	}
	if err := e.send(b); err != nil {
		return 0, fmt.Errorf("remove the rest: %w", err)
	}
	total := 0
	for _, n := range removed {
		total += int(n)
	}
	return total, nil
}
