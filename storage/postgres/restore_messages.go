package postgres

import (
	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	// selectLatestOf returns the number of the latest message, and whether the messages of
	// the conversation have running numbers.
	selectLatestOf = `
SELECT k.ord, m.message_id, m.low_sent + m.high_sent > 0
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_low, user_high, ord)
CROSS JOIN LATERAL (SELECT message_id, low_sent, high_sent FROM message m
    WHERE m.tenant = k.tenant AND m.user_low = k.user_low AND m.user_high = k.user_high
    ORDER BY m.message_id DESC LIMIT 1) m`

	selectMessageKeys = `
SELECT k.ord
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS k (tenant, user_low, user_high, message_id, ord)
CROSS JOIN LATERAL (SELECT FROM message m
    WHERE m.tenant = k.tenant AND m.user_low = k.user_low AND m.user_high = k.user_high AND m.message_id = k.message_id LIMIT 1) m`

	// recountConversations raises read marks, and sets the latest message and the number of
	// unread messages as updateRead does. A conversation without messages stays missing.
	recountConversations = `
INSERT INTO conversation AS c (tenant, user_id, peer_id, latest, unread, read_to)
SELECT s.tenant, s.user_id, s.peer_id, s.latest, s.received - coalesce((
    SELECT CASE WHEN s.from_low = 1 THEN m.low_sent ELSE m.high_sent END FROM message m
    WHERE m.tenant = s.tenant AND m.user_low = s.user_low AND m.user_high = s.user_high AND m.message_id <= s.read_to
    ORDER BY m.message_id DESC LIMIT 1), 0), s.read_to
FROM (
    SELECT k.tenant, k.user_id, k.peer_id, k.user_low, k.user_high, k.from_low, k.ord, m.message_id AS latest, CASE WHEN k.from_low = 1 THEN m.low_sent ELSE m.high_sent END AS received,
        least(m.message_id, greatest(k.up_to, coalesce(o.read_to, 0))) AS read_to
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
        WITH ORDINALITY AS k (tenant, user_id, peer_id, user_low, user_high, from_low, up_to, ord)
    CROSS JOIN LATERAL (SELECT message_id, low_sent, high_sent FROM message m
        WHERE m.tenant = k.tenant AND m.user_low = k.user_low AND m.user_high = k.user_high
        ORDER BY m.message_id DESC LIMIT 1) m
    LEFT JOIN LATERAL (SELECT read_to FROM conversation o
        WHERE o.tenant = k.tenant AND o.user_id = k.user_id AND o.peer_id = k.peer_id LIMIT 1) o ON TRUE) s
ORDER BY s.ord
ON CONFLICT (tenant, user_id, peer_id) DO UPDATE SET latest = excluded.latest, unread = excluded.unread, read_to = excluded.read_to`

	lockConversations = `
SELECT k.ord FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, peer_id, ord)
CROSS JOIN LATERAL (SELECT FROM conversation c
    WHERE c.tenant = k.tenant AND c.user_id = k.user_id AND c.peer_id = k.peer_id LIMIT 1 FOR UPDATE) c`
)

// restoreMessages restores messages and read marks. It locks the mailboxes of the users of
// all conversations, as AddMessages does, and then the conversations.
func (t *tx) restoreMessages(messages []storage.DirectMessage, marks []storage.ReadMark) error {
	if len(messages)+len(marks) == 0 {
		return nil
	}
	m := sqlstore.NewMessageMerge(messages, marks)
	renumber, err := t.lookUpMerged(m)
	if err != nil {
		return err
	}
	m.Merge()
	if err := t.writeMessages(&m.MessageBatch); err != nil {
		return err
	}
	for _, pair := range m.Renumber {
		renumber[pair] = true
	}
	for pair := range renumber {
		var from numbering
		for more := true; more; {
			if more, err = from.next(t, pair); err != nil {
				return err
			}
		}
	}
	rows, keys := newColumns(5, 2, len(marks)), []storage.ConversationKey{}
	for _, r := range m.Marks(marks) {
		key := r.Conversation
		pair := sqlstore.PairOf(key)
		keys = append(keys, key)
		rows.add([]string{key.Owner.Tenant, key.Owner.UserID, key.With.UserID, pair.Low.UserID, pair.High.UserID},
			sqlstore.BoolToInt(pair.Low == key.With), r.UpTo)
	}
	b := t.batch()
	b.Queue(lockConversations, conversationKeys(keys).args()...)
	b.Queue(recountConversations, rows.args()...)
	return t.send(b)
}

// lookUpMerged locks the mailboxes and fills in the existing rows that a merge needs. It
// returns the conversations whose messages have no running numbers yet.
func (t *tx) lookUpMerged(m *sqlstore.MessageMerge) (renumber map[sqlstore.Pair]bool, err error) {
	b := t.batch()
	users := userKeys(m.Users)
	b.Queue(lockMailboxes, users.args()...)
	b.Queue(selectMailboxes, users.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var latest int64
		err := row.Scan(&i, &latest)
		if err == nil {
			m.Latest[m.Users[i-1]] = latest
		}
		return err
	}))
	pairs, keys := newColumns(3, 0, len(m.Pairs)), newColumns(3, 1, len(m.Keys))
	for _, p := range m.Pairs {
		pairs.add([]string{p.Low.Tenant, p.Low.UserID, p.High.UserID})
	}
	for _, k := range m.Keys {
		keys.add([]string{k.Pair.Low.Tenant, k.Pair.Low.UserID, k.Pair.High.UserID}, k.Number)
	}
	renumber = map[sqlstore.Pair]bool{}
	b.Queue(selectLatestOf, pairs.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var latest int64
		var numbered bool
		err := row.Scan(&i, &latest, &numbered)
		if err == nil {
			m.LatestOf[m.Pairs[i-1]] = latest
		}
		if err == nil && !numbered {
			renumber[m.Pairs[i-1]] = true
		}
		return err
	}))
	b.Queue(selectMessageKeys, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		err := row.Scan(&i)
		if err == nil {
			m.Stored[m.Keys[i-1]] = true
		}
		return err
	}))
	return renumber, t.send(b)
}
