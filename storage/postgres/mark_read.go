package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	lockConversation = `SELECT FROM conversation WHERE tenant = $1 AND user_id = $2 AND peer_id = $3 FOR UPDATE`

	// updateRead sets the unread count to the difference between the running numbers of
	// two messages: the latest one, and the last one that is read. It counts no messages.
	// It changes nothing if these numbers are needed and the latest message has none.
	updateRead = `
UPDATE conversation c SET read_to = least($7::bigint, c.latest),
    unread = coalesce((` + selectReceived + `c.latest` + ofLast + `), 0) - coalesce((` + selectReceived + `least($7, c.latest)` + ofLast + `), 0)
WHERE c.tenant = $1 AND c.user_id = $2 AND c.peer_id = $3 AND c.read_to < least($7::bigint, c.latest)
    AND ($7 >= c.latest OR (SELECT m.low_sent + m.high_sent > 0` + fromConversation + `c.latest` + ofLast + `))`

	selectReceived   = `SELECT CASE WHEN $6 THEN m.low_sent ELSE m.high_sent END` + fromConversation
	fromConversation = ` FROM message m WHERE m.tenant = c.tenant AND m.user_low = $4 AND m.user_high = $5 AND m.message_id <= `
	ofLast           = ` ORDER BY m.message_id DESC LIMIT 1`
)

// errNotNumbered is returned if messages of a conversation have no running numbers.
var errNotNumbered = errors.New("messages are not numbered")

// MarkRead marks messages as read, with one round trip to write and one to commit. Its
// cost does not depend on the number of messages. An exception is the first call for a
// part of a conversation that was written before migration 00024, or by a process of the
// release before: it numbers the messages first, without locks that others wait for. If
// such processes keep adding messages meanwhile, the error is storage.ErrUnavailable.
func (s *Store) MarkRead(ctx context.Context, key storage.ConversationKey, upTo int64) (out *storage.Conversation, err error) {
	mark := func(t *tx) error {
		out, err = t.markRead(key, upTo)
		return err
	}
	for try := 1; ; try++ {
		err = s.changeWithLockTimeout(ctx, "mark messages as read", mark)
		switch {
		case err == nil:
			return out, nil
		case !errors.Is(err, errNotNumbered):
			return nil, err
		case try == maxTries:
			return nil, fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
		if err = s.resumeNumbering(ctx, sqlstore.PairOf(key)); err != nil {
			return nil, err
		}
	}
}

// markRead returns errNotNumbered if messages have to be numbered first. A separate
// statement locks the conversation, so that the next one finds the latest message.
func (t *tx) markRead(key storage.ConversationKey, upTo int64) (out *storage.Conversation, err error) {
	pair, keys := sqlstore.PairOf(key), []storage.ConversationKey{key}
	b := t.batch()
	b.Queue(lockConversation, key.Owner.Tenant, key.Owner.UserID, key.With.UserID)
	b.Queue(updateRead, key.Owner.Tenant, key.Owner.UserID, key.With.UserID,
		pair.Low.UserID, pair.High.UserID, pair.Low == key.With, upTo)
	b.Queue(selectConversations, conversationKeys(keys).args()...).Query(eachRow(func(row pgx.Rows) (err error) {
		_, out, err = scanConversationOf(keys, row)
		return err
	}))
	switch err := t.send(b); {
	case err != nil:
		return nil, err
	case out == nil:
		return nil, storage.ErrNotFound
	case out.ReadTo < min(upTo, out.Latest.Number):
		return nil, errNotNumbered
	}
	return out, nil
}

// numberingBatch is how many messages one statement numbers.
const numberingBatch = 1000

// numberMessages numbers the messages after $4 of one conversation. The parameters $5 and
// $6 are the numbers of the message $4. It inserts nothing, because the messages are
// locked; unlike an UPDATE, it always finds each message by its key.
const numberMessages = `
WITH part AS MATERIALIZED (
    SELECT message_id, from_low FROM message m
    WHERE m.tenant = $1 AND m.user_low = $2 AND m.user_high = $3 AND m.message_id > $4
    ORDER BY m.message_id LIMIT $7 FOR NO KEY UPDATE
), numbered AS MATERIALIZED (
    SELECT message_id, from_low, $5::bigint + count(*) FILTER (WHERE from_low) OVER w AS low_sent,
        $6::bigint + count(*) FILTER (WHERE NOT from_low) OVER w AS high_sent
    FROM part WINDOW w AS (ORDER BY message_id)
), written AS (
    INSERT INTO message AS m (tenant, user_low, user_high, message_id, from_low, text, created, low_sent, high_sent)
    SELECT $1, $2, $3, message_id, from_low, '', 0, low_sent, high_sent FROM numbered ORDER BY message_id
    ON CONFLICT (tenant, user_low, user_high, message_id) DO UPDATE SET low_sent = excluded.low_sent, high_sent = excluded.high_sent
    WHERE m.low_sent <> excluded.low_sent OR m.high_sent <> excluded.high_sent
)
SELECT count(*), coalesce(max(message_id), $4), coalesce(max(low_sent), $5), coalesce(max(high_sent), $6) FROM numbered`

// selectLastNumbered passes over the messages that are about to be numbered.
const selectLastNumbered = `
SELECT m.message_id, m.low_sent, m.high_sent FROM message m
WHERE m.tenant = $1 AND m.user_low = $2 AND m.user_high = $3 AND m.low_sent + m.high_sent > 0
ORDER BY m.message_id DESC LIMIT 1`

// numbering is the progress of numbering the messages of a conversation: the numbers of
// the message at.
type numbering struct{ at, low, high int64 }

// next numbers up to numberingBatch further messages, and reports whether there may be
// more.
func (n *numbering) next(t *tx, pair sqlstore.Pair) (more bool, err error) {
	var done int64
	b := t.batch()
	b.Queue(numberMessages, pair.Low.Tenant, pair.Low.UserID, pair.High.UserID, n.at, n.low, n.high, int64(numberingBatch)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&done, &n.at, &n.low, &n.high) })
	err = t.send(b)
	return done == numberingBatch, err
}

// resumeNumbering numbers the messages of a conversation that have no numbers yet. They
// are the last ones, because messages are numbered in order. If it fails, what it has
// numbered is kept.
func (s *Store) resumeNumbering(ctx context.Context, pair sqlstore.Pair) error {
	var from numbering
	args := []any{pair.Low.Tenant, pair.Low.UserID, pair.High.UserID}
	if err := s.read(ctx, "find numbered messages", selectLastNumbered, args, func(row pgx.Rows) error {
		return row.Scan(&from.at, &from.low, &from.high)
	}); err != nil {
		return err
	}
	return s.numberMessages(ctx, pair, from)
}

// numberMessages numbers the messages of a conversation after a given one, in
// transactions of numberingBatch messages. Other calls do not wait for these, because
// messages do not change. The last transaction locks the mailboxes of both users, so that
// the messages that are added afterwards are numbered as well.
func (s *Store) numberMessages(ctx context.Context, pair sqlstore.Pair, from numbering) error {
	for more := true; more; {
		to := from
		err := s.changeWithLockTimeout(ctx, "number messages", func(t *tx) (err error) {
			to = from // the transaction may be repeated
			more, err = to.next(t, pair)
			return err
		})
		if err != nil {
			return err
		}
		from = to
	}
	return s.changeWithLockTimeout(ctx, "number messages", func(t *tx) (err error) {
		b := t.batch()
		b.Queue(lockMailboxes, userKeys([]storage.User{pair.Low, pair.High}).args()...)
		err = t.send(b)
		for to, more := from, true; more && err == nil; {
			more, err = to.next(t, pair)
		}
		return err
	})
}
