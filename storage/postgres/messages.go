package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// AddMessages adds messages in one transaction of three round trips: one to look up rows,
// one to write, and one to commit.
//
// It first locks the mailboxes of all users, so that the numbers of each user's messages
// are committed in order. It then locks requests, then conversations. It locks the rows
// of each table in the order of their keys.
func (s *Store) AddMessages(ctx context.Context, messages []storage.NewDirectMessage) (out []storage.AddedDirectMessage, err error) {
	err = retryRaced(func() error {
		return s.changeWithLockTimeout(ctx, "add messages", func(t *tx) error {
			b := sqlstore.NewMessageBatch(messages)
			out = b.Results
			if len(b.Users) == 0 {
				return nil
			}
			at, err := t.lookUpMessages(b)
			if err != nil {
				return err
			}
			b.Decide(at)
			return t.writeMessages(b)
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// lockMailboxes inserts missing rows and locks existing ones, except those of erased
// users. Its DO UPDATE changes nothing.
const lockMailboxes = `
INSERT INTO mailbox AS m (tenant, user_id, latest)
SELECT k.tenant, k.user_id, 0 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (tenant, user_id, ord)
WHERE ` + notErased + `
ORDER BY k.ord
ON CONFLICT (tenant, user_id) DO UPDATE SET latest = m.latest WHERE FALSE`

const selectMailboxes = `
SELECT k.ord, m.latest FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (tenant, user_id, ord)
CROSS JOIN LATERAL (SELECT latest FROM mailbox m WHERE m.tenant = k.tenant AND m.user_id = k.user_id LIMIT 1) m`

// selectClock reads the clock. It is sent after the statements that take the locks.
const selectClock = `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// lookUpMessages locks the mailboxes, fills in the existing rows that the batch needs,
// and returns the current time in microseconds since 1970.
func (t *tx) lookUpMessages(of *sqlstore.MessageBatch) (at int64, err error) {
	b := t.batch()
	keys := userKeys(of.Users)
	erased := lookUpErasedLocked(b, of.Users...)
	b.Queue(lockMailboxes, keys.args()...)
	b.Queue(selectMailboxes, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var latest int64
		err := row.Scan(&i, &latest)
		if err == nil {
			of.Latest[of.Users[i-1]] = latest
		}
		return err
	}))
	defer func() { of.Exclude(erased) }()
	b.Queue(selectClock).QueryRow(func(row pgx.Row) error { return row.Scan(&at) })
	lookUpRequests(b, &of.RequestLog)
	if err := t.send(b); err != nil {
		return 0, err
	}
	repeated := of.Repeated() // usually there are none
	if len(repeated) == 0 {
		return at, nil
	}
	b = t.batch()
	b.Queue(selectMessages, messageKeys(repeated).args()...).Query(eachRow(func(row pgx.Rows) error {
		_, m, err := scanMessageOf(repeated, row)
		if err == nil {
			of.Messages[m.Key()] = m
		}
		return err
	}))
	return at, t.send(b)
}

const (
	// insertMessages continues the running numbers of the latest message of each
	// conversation. If that message is not numbered, the new ones are not, either.
	insertMessages = `
INSERT INTO message (tenant, user_low, user_high, text, message_id, from_low, created, low_sent, high_sent)
SELECT k.tenant, k.user_low, k.user_high, k.text, k.message_id, k.from_low = 1, k.created,
    CASE WHEN m.low_sent + m.high_sent = 0 THEN 0 ELSE coalesce(m.low_sent, 0) + k.low_sent END,
    CASE WHEN m.low_sent + m.high_sent = 0 THEN 0 ELSE coalesce(m.high_sent, 0) + k.high_sent END
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
    WITH ORDINALITY AS k (tenant, user_low, user_high, text, message_id, from_low, created, low_sent, high_sent, ord)
LEFT JOIN LATERAL (SELECT low_sent, high_sent FROM message m
    WHERE m.tenant = k.tenant AND m.user_low = k.user_low AND m.user_high = k.user_high
    ORDER BY m.message_id DESC LIMIT 1) m ON TRUE
ORDER BY k.ord`

	upsertMailboxes = `
INSERT INTO mailbox (tenant, user_id, latest)
SELECT k.tenant, k.user_id, k.latest
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (tenant, user_id, latest, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id) DO UPDATE SET latest = excluded.latest`

	upsertConversations = `
INSERT INTO conversation AS c (tenant, user_id, peer_id, latest, unread, read_to)
SELECT k.tenant, k.user_id, k.peer_id, k.latest, k.unread, 0
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, peer_id, latest, unread, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, peer_id) DO UPDATE SET latest = excluded.latest, unread = c.unread + excluded.unread`
)

// writeMessages writes the rows that Decide has added to the batch.
func (t *tx) writeMessages(of *sqlstore.MessageBatch) error {
	if len(of.Added) == 0 {
		return nil
	}
	b := t.batch()
	raced := recordRequests(b, &of.RequestLog)
	rows := newColumns(4, 5, len(of.Added))
	for _, m := range of.Rows() {
		rows.add([]string{m.From.Tenant, m.Pair.Low.UserID, m.Pair.High.UserID, m.Text},
			m.Number, sqlstore.BoolToInt(m.Pair.FromLow(m.DirectMessage)), m.Created, m.LowSent, m.HighSent)
	}
	b.Queue(insertMessages, rows.args()...)
	mailboxes := newColumns(2, 1, len(of.Users))
	for _, u := range of.Users {
		mailboxes.add([]string{u.Tenant, u.UserID}, of.Latest[u])
	}
	b.Queue(upsertMailboxes, mailboxes.args()...)
	moved := of.Conversations()
	conversations := newColumns(3, 2, len(moved))
	for _, c := range moved {
		conversations.add([]string{c.Key.Owner.Tenant, c.Key.Owner.UserID, c.Key.With.UserID}, c.Latest, c.Unread)
	}
	b.Queue(upsertConversations, conversations.args()...)
	if err := t.send(b); err != nil {
		return err
	}
	return raced()
}

func userKeys(of []storage.User) columns {
	keys := newColumns(2, 0, len(of))
	for _, u := range of {
		keys.add([]string{u.Tenant, u.UserID})
	}
	return keys
}
