package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectMessages = `
SELECT k.ord, m.message_id, m.from_low, m.text, m.created
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    WITH ORDINALITY AS k (tenant, user_low, user_high, message_id, from_low, ord)
CROSS JOIN LATERAL (SELECT message_id, from_low, text, created FROM message m
    WHERE m.tenant = k.tenant AND m.user_low = k.user_low AND m.user_high = k.user_high
        AND m.message_id = k.message_id AND m.from_low = (k.from_low = 1) LIMIT 1) m`

	// joinLatest omits no conversation, because every conversation has a latest message.
	joinLatest = `
    CROSS JOIN LATERAL (SELECT message_id, from_low, text, created FROM message m
        WHERE m.tenant = c.tenant AND m.user_low = least(c.user_id, c.peer_id) AND m.user_high = greatest(c.user_id, c.peer_id)
            AND m.message_id = c.latest LIMIT 1) m`

	selectConversations = `
SELECT k.ord, c.unread, c.read_to, m.message_id, m.from_low, m.text, m.created
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, peer_id, ord)
CROSS JOIN LATERAL (SELECT tenant, user_id, peer_id, latest, unread, read_to FROM conversation c
    WHERE c.tenant = k.tenant AND c.user_id = k.user_id AND c.peer_id = k.peer_id LIMIT 1) c` + joinLatest

	// For a page without entries, selectConversationLists returns one row, which holds
	// only the version.
	selectConversationLists = `
SELECT k.ord, coalesce(v.latest, 0), l.peer_id IS NOT NULL, coalesce(l.peer_id, ''), coalesce(l.unread, 0), coalesce(l.read_to, 0),
    coalesce(l.message_id, 0), coalesce(l.from_low, FALSE), coalesce(l.text, ''), coalesce(l.created, 0)
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS k (tenant, user_id, below, entries, ord)
LEFT JOIN LATERAL (SELECT latest FROM mailbox v
    WHERE v.tenant = k.tenant AND v.user_id = k.user_id LIMIT 1) v ON TRUE
LEFT JOIN LATERAL (
    SELECT c.peer_id, c.unread, c.read_to, m.message_id, m.from_low, m.text, m.created
    FROM (SELECT tenant, user_id, peer_id, latest, unread, read_to FROM conversation c
        WHERE c.tenant = k.tenant AND c.user_id = k.user_id AND c.latest < k.below
        ORDER BY c.latest DESC LIMIT k.entries) c` + joinLatest + `) l ON TRUE`

	selectMessageLists = `
SELECT k.ord, l.message_id, l.from_low, l.text, l.created
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    WITH ORDINALITY AS k (tenant, user_low, user_high, below, entries, ord)
CROSS JOIN LATERAL (SELECT message_id, from_low, text, created FROM message m
    WHERE m.tenant = k.tenant AND m.user_low = k.user_low AND m.user_high = k.user_high AND m.message_id < k.below
    ORDER BY m.message_id DESC LIMIT k.entries) l`

	// The first part of selectMailbox selects the messages of conversations in which the
	// user has the lower id. The second part selects the messages of conversations in
	// which the user has the higher id. Each part has its own partial index, and repeats
	// the condition of the index (message_id > 0).
	selectMailbox = `
(SELECT user_low, user_high, message_id, from_low, text, created FROM message m
WHERE m.tenant = $1 AND m.user_low = $2 AND m.message_id > $3 AND m.message_id > 0 ORDER BY m.message_id LIMIT $4)
UNION ALL
(SELECT user_low, user_high, message_id, from_low, text, created FROM message m
WHERE m.tenant = $1 AND m.user_high = $2 AND m.message_id > $3 AND m.message_id > 0 ORDER BY m.message_id LIMIT $4)
ORDER BY message_id LIMIT $4`
)

func messageKeys(of []storage.DirectMessageKey) columns {
	keys := newColumns(3, 2, len(of))
	for _, k := range of {
		pair := sqlstore.PairOf(k.Conversation(k.From))
		keys.add([]string{k.From.Tenant, pair.Low.UserID, pair.High.UserID}, k.Number, sqlstore.BoolToInt(pair.Low == k.From))
	}
	return keys
}

func conversationKeys(of []storage.ConversationKey) columns {
	keys := newColumns(3, 0, len(of))
	for _, k := range of {
		keys.add([]string{k.Owner.Tenant, k.Owner.UserID, k.With.UserID})
	}
	return keys
}

// scanMessageOf scans a row of selectMessages, and returns the index of the key and the
// message.
func scanMessageOf(keys []storage.DirectMessageKey, rows pgx.Rows) (int, *storage.DirectMessage, error) {
	var i int
	var row sqlstore.MessageRow
	if err := rows.Scan(append([]any{&i}, row.Columns()...)...); err != nil {
		return 0, nil, err
	}
	m := row.Of(sqlstore.PairOf(keys[i-1].Conversation(keys[i-1].From)))
	return i - 1, &m, nil
}

// scanConversationOf scans a row of selectConversations, and returns the index of the key
// and the conversation.
func scanConversationOf(keys []storage.ConversationKey, rows pgx.Rows) (int, *storage.Conversation, error) {
	var i int
	var row sqlstore.ConversationRow
	if err := rows.Scan(append([]any{&i}, row.Columns()...)...); err != nil {
		return 0, nil, err
	}
	return i - 1, row.Of(keys[i-1]), nil
}

// ConversationsOf looks up conversations with one statement.
func (s *Store) ConversationsOf(ctx context.Context, keys []storage.ConversationKey) ([]*storage.Conversation, error) {
	out := make([]*storage.Conversation, len(keys))
	err := s.read(ctx, "read conversations", selectConversations, conversationKeys(keys).args(), func(row pgx.Rows) error {
		i, c, err := scanConversationOf(keys, row)
		if err == nil {
			out[i] = c
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// MessagesOf looks up messages with one statement.
func (s *Store) MessagesOf(ctx context.Context, keys []storage.DirectMessageKey) ([]*storage.DirectMessage, error) {
	out := make([]*storage.DirectMessage, len(keys))
	err := s.read(ctx, "read messages", selectMessages, messageKeys(keys).args(), func(row pgx.Rows) error {
		i, m, err := scanMessageOf(keys, row)
		if err == nil {
			out[i] = m
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// LatestMessages looks up the number of each user's latest message with one statement.
func (s *Store) LatestMessages(ctx context.Context, users []storage.User) ([]int64, error) {
	out := make([]int64, len(users))
	err := s.read(ctx, "read mailboxes", selectMailboxes, userKeys(users).args(), func(row pgx.Rows) error {
		var i int
		var latest int64
		err := row.Scan(&i, &latest)
		if err == nil {
			out[i-1] = latest
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListConversations lists conversations with one statement.
func (s *Store) ListConversations(
	ctx context.Context, queries []storage.ConversationsQuery,
) ([]storage.ListPage[storage.Conversation], error) {
	keys := newColumns(2, 2, len(queries))
	for _, q := range queries {
		keys.add([]string{q.Owner.Tenant, q.Owner.UserID}, sqlstore.StartOfMessages(q.Page), int64(max(q.First, 0)))
	}
	return list(ctx, s, "list conversations", selectConversationLists, len(queries), keys, func(rows pgx.Rows, to []storage.ListPage[storage.Conversation]) error {
		var i int
		var version int64
		var is bool
		var with string
		var row sqlstore.ConversationRow
		if err := rows.Scan(append([]any{&i, &version, &is, &with}, row.Columns()...)...); err != nil {
			return err
		}
		page, owner := &to[i-1], queries[i-1].Owner
		if page.Version = version; is {
			key := storage.ConversationKey{Owner: owner, With: storage.User{Tenant: owner.Tenant, UserID: with}}
			page.Entries = append(page.Entries, *row.Of(key))
		}
		return nil
	})
}

// ListMessages lists the messages of conversations with one statement.
func (s *Store) ListMessages(ctx context.Context, queries []storage.DirectMessagesQuery) ([]storage.ListPage[storage.DirectMessage], error) {
	keys := newColumns(3, 2, len(queries))
	for _, q := range queries {
		pair := sqlstore.PairOf(q.Conversation)
		keys.add([]string{pair.Low.Tenant, pair.Low.UserID, pair.High.UserID}, sqlstore.StartOfMessages(q.Page), int64(max(q.First, 0)))
	}
	return list(ctx, s, "list messages", selectMessageLists, len(queries), keys, func(rows pgx.Rows, to []storage.ListPage[storage.DirectMessage]) error {
		var i int
		var row sqlstore.MessageRow
		if err := rows.Scan(append([]any{&i}, row.Columns()...)...); err != nil {
			return err
		}
		to[i-1].Entries = append(to[i-1].Entries, row.Of(sqlstore.PairOf(queries[i-1].Conversation)))
		return nil
	})
}

// MessagesAfter lists, with one statement, the messages that a user sent or received.
func (s *Store) MessagesAfter(ctx context.Context, q storage.MailboxQuery) (out []storage.DirectMessage, err error) {
	if !storable(q.User.UserID) {
		return nil, nil
	}
	args := []any{q.User.Tenant, q.User.UserID, q.After, max(q.First, 0)}
	err = s.read(ctx, "list messages of a mailbox", selectMailbox, args, func(rows pgx.Rows) error {
		pair := sqlstore.Pair{Low: storage.User{Tenant: q.User.Tenant}, High: storage.User{Tenant: q.User.Tenant}}
		var row sqlstore.MessageRow
		err := rows.Scan(append([]any{&pair.Low.UserID, &pair.High.UserID}, row.Columns()...)...)
		out = append(out, row.Of(pair))
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
