package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectMessages = `
SELECT k.key, m.text, m.created FROM jsonb_each(?) k CROSS JOIN message m
WHERE m.tenant = k.value ->> 0 AND m.user_low = k.value ->> 1 AND m.user_high = k.value ->> 2
    AND m.message_id = k.value ->> 3 AND m.from_low = k.value ->> 4`

	// The join omits no conversation, because every conversation has a latest message.
	conversationColumns = `c.unread, c.read_to, m.message_id, m.from_low, m.text, m.created`
	joinLatest          = `CROSS JOIN message m WHERE m.tenant = c.tenant AND m.user_low = min(c.user_id, c.peer_id)
    AND m.user_high = max(c.user_id, c.peer_id) AND m.message_id = c.latest`

	selectConversations = `
SELECT k.key, ` + conversationColumns + ` FROM jsonb_each(?) k CROSS JOIN conversation c ` + joinLatest + `
    AND c.tenant = k.value ->> 0 AND c.user_id = k.value ->> 1 AND c.peer_id = k.value ->> 2`

	selectConversationList = `
SELECT c.peer_id, ` + conversationColumns + `
FROM (SELECT tenant, user_id, peer_id, latest, unread, read_to FROM conversation WHERE tenant = ? AND user_id = ? AND latest < ? ORDER BY latest DESC LIMIT ?) c ` + joinLatest + `
ORDER BY c.latest DESC`

	selectMessageList = `
SELECT message_id, from_low, text, created FROM message
WHERE tenant = ? AND user_low = ? AND user_high = ? AND message_id < ?
ORDER BY message_id DESC LIMIT ?`

	// The first part of selectMailbox selects the messages of conversations in which the
	// user has the lower id. The second part selects the messages of conversations in
	// which the user has the higher id. Each part has its own index.
	selectMailbox = `
SELECT user_low, user_high, message_id, from_low, text, created FROM message
WHERE tenant = ?1 AND user_low = ?2 AND message_id > ?3
UNION ALL
SELECT user_low, user_high, message_id, from_low, text, created FROM message
WHERE tenant = ?1 AND user_high = ?2 AND message_id > ?3
ORDER BY message_id LIMIT ?4`
)

// messages calls the function found with each message that exists, and the index of the
// message's key.
func (t tx) messages(keys []storage.DirectMessageKey, found func(int, *storage.DirectMessage)) error {
	if len(keys) == 0 {
		return nil
	}
	var rows tuples
	for _, k := range keys {
		pair := sqlstore.PairOf(k.Conversation(k.From))
		rows.add([]string{k.From.Tenant, pair.Low.UserID, pair.High.UserID}, k.Number, sqlstore.BoolToInt(pair.Low == k.From))
	}
	return t.query(selectMessages, []any{rows.json()}, func(scan func(...any) error) error {
		var i int
		m := new(storage.DirectMessage)
		err := scan(&i, &m.Text, &m.Created)
		m.From, m.To, m.Number = keys[i].From, keys[i].To, keys[i].Number
		found(i, m)
		return err
	})
}

// MessagesOf looks up messages in one snapshot.
func (s *Store) MessagesOf(ctx context.Context, keys []storage.DirectMessageKey) ([]*storage.DirectMessage, error) {
	out := make([]*storage.DirectMessage, len(keys))
	err := s.read(ctx, "read messages", func(t tx) error {
		return t.messages(keys, func(i int, m *storage.DirectMessage) { out[i] = m })
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// conversations calls the function found with each conversation that exists, and the
// index of the conversation's key.
func (t tx) conversations(keys []storage.ConversationKey, found func(int, *storage.Conversation)) error {
	var rows tuples
	for _, k := range keys {
		rows.add([]string{k.Owner.Tenant, k.Owner.UserID, k.With.UserID})
	}
	return t.query(selectConversations, []any{rows.json()}, func(scan func(...any) error) error {
		var i int
		var row sqlstore.ConversationRow
		err := scan(append([]any{&i}, row.Columns()...)...)
		found(i, row.Of(keys[i]))
		return err
	})
}

// ConversationsOf looks up conversations in one snapshot.
func (s *Store) ConversationsOf(ctx context.Context, keys []storage.ConversationKey) ([]*storage.Conversation, error) {
	out := make([]*storage.Conversation, len(keys))
	err := s.read(ctx, "read conversations", func(t tx) error {
		return t.conversations(keys, func(i int, c *storage.Conversation) { out[i] = c })
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// LatestMessages looks up the number of each user's latest message in one snapshot.
func (s *Store) LatestMessages(ctx context.Context, users []storage.User) ([]int64, error) {
	out := make([]int64, len(users))
	err := s.read(ctx, "read mailboxes", func(t tx) error {
		return t.mailboxes(users, func(i int, latest int64) { out[i] = latest })
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListConversations lists conversations.
func (s *Store) ListConversations(
	ctx context.Context, queries []storage.ConversationsQuery,
) ([]storage.ListPage[storage.Conversation], error) {
	return list(ctx, s, "list conversations", queries, func(t tx, q storage.ConversationsQuery) (out storage.ListPage[storage.Conversation], err error) {
		if err := t.mailboxes([]storage.User{q.Owner}, func(_ int, latest int64) { out.Version = latest }); err != nil {
			return out, err
		}
		args := []any{q.Owner.Tenant, q.Owner.UserID, sqlstore.StartOfMessages(q.Page), max(q.First, 0)}
		err = t.query(selectConversationList, args, func(scan func(...any) error) error {
			key := storage.ConversationKey{Owner: q.Owner, With: storage.User{Tenant: q.Owner.Tenant}}
			var row sqlstore.ConversationRow
			err := scan(append([]any{&key.With.UserID}, row.Columns()...)...)
			out.Entries = append(out.Entries, *row.Of(key))
			return err
		})
		return out, err
	})
}

// ListMessages lists the messages of conversations.
func (s *Store) ListMessages(ctx context.Context, queries []storage.DirectMessagesQuery) ([]storage.ListPage[storage.DirectMessage], error) {
	return list(ctx, s, "list messages", queries, func(t tx, q storage.DirectMessagesQuery) (out storage.ListPage[storage.DirectMessage], err error) {
		pair := sqlstore.PairOf(q.Conversation)
		args := []any{pair.Low.Tenant, pair.Low.UserID, pair.High.UserID, sqlstore.StartOfMessages(q.Page), max(q.First, 0)}
		err = t.query(selectMessageList, args, func(scan func(...any) error) error {
			var row sqlstore.MessageRow
			err := scan(row.Columns()...)
			out.Entries = append(out.Entries, row.Of(pair))
			return err
		})
		return out, err
	})
}

// MessagesAfter lists the messages that a user sent or received.
func (s *Store) MessagesAfter(ctx context.Context, q storage.MailboxQuery) (out []storage.DirectMessage, err error) {
	err = s.readList(ctx, "list messages of a mailbox", func(t tx) error {
		args := []any{q.User.Tenant, q.User.UserID, q.After, max(q.First, 0)}
		return t.query(selectMailbox, args, func(scan func(...any) error) error {
			pair := sqlstore.Pair{Low: storage.User{Tenant: q.User.Tenant}, High: storage.User{Tenant: q.User.Tenant}}
			var row sqlstore.MessageRow
			err := scan(append([]any{&pair.Low.UserID, &pair.High.UserID}, row.Columns()...)...)
			out = append(out, row.Of(pair))
			return err
		})
	})
	return out, err
}
