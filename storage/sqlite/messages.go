package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// AddMessages adds messages in one transaction. The number of statements does not depend
// on the number of messages.
func (s *Store) AddMessages(ctx context.Context, messages []storage.NewDirectMessage) ([]storage.AddedDirectMessage, error) {
	b := sqlstore.NewMessageBatch(messages)
	if len(b.Users) == 0 {
		return b.Results, nil
	}
	err := s.write(ctx, "add messages", func(t tx) error {
		now := storage.Micros(s.now())
		erased, err := t.erased(b.Users...)
		if err != nil {
			return err
		}
		b.Exclude(erased)
		if err := t.mailboxes(b.Users, func(i int, latest int64) { b.Latest[b.Users[i]] = latest }); err != nil {
			return err
		}
		if err := t.lookUpRequests(&b.RequestLog, now); err != nil {
			return err
		}
		if err := t.messages(b.Repeated(), func(_ int, m *storage.DirectMessage) { b.Messages[m.Key()] = m }); err != nil {
			return err
		}
		b.Decide(now)
		return t.writeMessages(b, now)
	})
	if err != nil {
		return nil, err
	}
	return b.Results, nil
}

const (
	selectMailboxes = `
SELECT k.key, m.latest FROM jsonb_each(?) k CROSS JOIN mailbox m WHERE m.tenant = k.value ->> 0 AND m.user_id = k.value ->> 1`

	upsertMailboxes = `
INSERT INTO mailbox (tenant, user_id, latest) SELECT value ->> 0, value ->> 1, value ->> 2 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET latest = excluded.latest`

	insertMessages = `
INSERT INTO message (tenant, user_low, user_high, text, message_id, from_low, created, low_sent, high_sent)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    (value ->> 7) + coalesce(m.low_sent, 0), (value ->> 8) + coalesce(m.high_sent, 0)
FROM jsonb_each(?) LEFT JOIN message m ON m.tenant = value ->> 0 AND m.user_low = value ->> 1 AND m.user_high = value ->> 2
    AND m.message_id = (SELECT max(message_id) FROM message WHERE tenant = value ->> 0 AND user_low = value ->> 1 AND user_high = value ->> 2)`

	upsertConversations = `
INSERT INTO conversation AS c (tenant, user_id, peer_id, latest, unread, read_to)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, 0 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET latest = excluded.latest, unread = c.unread + excluded.unread`
)

// mailboxes looks up the number of each user's latest message.
func (t tx) mailboxes(users []storage.User, found func(i int, latest int64)) error {
	return t.query(selectMailboxes, []any{userKeys(users).json()}, func(scan func(...any) error) error {
		var i int
		var latest int64
		err := scan(&i, &latest)
		found(i, latest)
		return err
	})
}

func userKeys(users []storage.User) *tuples {
	keys := new(tuples)
	for _, u := range users {
		keys.add([]string{u.Tenant, u.UserID})
	}
	return keys
}

// writeMessages writes the rows that Decide has added to the batch.
func (t tx) writeMessages(b *sqlstore.MessageBatch, now int64) error {
	if len(b.Added) == 0 {
		return nil
	}
	var added, mailboxes, conversations tuples
	for _, m := range b.Rows() {
		added.add([]string{m.From.Tenant, m.Pair.Low.UserID, m.Pair.High.UserID, m.Text},
			m.Number, sqlstore.BoolToInt(m.Pair.FromLow(m.DirectMessage)), m.Created, m.LowSent, m.HighSent)
	}
	for _, u := range b.Users {
		if latest := b.Latest[u]; latest > 0 {
			mailboxes.add([]string{u.Tenant, u.UserID}, latest)
		}
	}
	for _, c := range b.Conversations() {
		conversations.add([]string{c.Key.Owner.Tenant, c.Key.Owner.UserID, c.Key.With.UserID}, c.Latest, c.Unread)
	}
	for _, write := range []struct {
		query string
		rows  tuples
	}{{insertMessages, added}, {upsertMailboxes, mailboxes}, {upsertConversations, conversations}} {
		if _, err := t.exec(write.query, write.rows.json()); err != nil {
			return err
		}
	}
	return t.recordRequests(&b.RequestLog, now)
}

// updateRead sets the unread count to the difference between the running numbers of two
// messages: the latest one, and the last one that is read. No messages are counted.
const updateRead = `
UPDATE conversation SET read_to = ?6, unread = (
    SELECT CASE WHEN ?5 THEN m.low_sent ELSE m.high_sent END FROM message m
    WHERE m.tenant = ?1 AND m.user_low = ?3 AND m.user_high = ?4 AND m.message_id = conversation.latest
) - coalesce((
    SELECT CASE WHEN ?5 THEN m.low_sent ELSE m.high_sent END FROM message m
    WHERE m.tenant = ?1 AND m.user_low = ?3 AND m.user_high = ?4 AND m.message_id <= min(?6, conversation.latest) ORDER BY m.message_id DESC LIMIT 1
), 0)
WHERE tenant = ?1 AND user_id = ?2 AND peer_id = CASE WHEN ?5 THEN ?3 ELSE ?4 END
RETURNING unread`

// MarkRead marks messages as read. Its cost does not depend on the number of messages.
func (s *Store) MarkRead(ctx context.Context, key storage.ConversationKey, upTo int64) (c *storage.Conversation, err error) {
	err = s.write(ctx, "mark messages as read", func(t tx) error {
		if err := t.conversations([]storage.ConversationKey{key}, func(_ int, found *storage.Conversation) { c = found }); err != nil {
			return err
		}
		if c == nil {
			return storage.ErrNotFound
		}
		if upTo = min(upTo, c.Latest.Number); upTo <= c.ReadTo {
			return nil
		}
		c.ReadTo = upTo
		pair := sqlstore.PairOf(key)
		args := []any{key.Owner.Tenant, key.Owner.UserID, pair.Low.UserID, pair.High.UserID, sqlstore.BoolToInt(pair.Low == key.With), upTo}
		return t.query(updateRead, args, func(scan func(...any) error) error { return scan(&c.Unread) })
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

const (
	selectRequests = `
SELECT k.key, r.result_id, r.fingerprint FROM jsonb_each(?1) k CROSS JOIN request r
WHERE r.tenant = k.value ->> 0 AND r.user_id = k.value ->> 1 AND r.request_id = k.value ->> 2 AND r.at >= ?2`

	insertRequests = `
INSERT INTO request (tenant, user_id, request_id, fingerprint, result_id, at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, ?2 FROM jsonb_each(?1) WHERE true
ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint, result_id = excluded.result_id, at = excluded.at`
)

// lookUpRequests fills in l.Before with the requests that were recorded within
// storage.RequestAge.
func (t tx) lookUpRequests(l *sqlstore.RequestLog, now int64) error {
	if len(l.Requests) == 0 {
		return nil
	}
	var keys tuples
	for _, k := range l.Requests {
		keys.add([]string{k.User.Tenant, k.User.UserID, k.RequestID})
	}
	args := []any{keys.json(), now - storage.RequestAge.Microseconds()}
	return t.query(selectRequests, args, func(scan func(...any) error) error {
		var i int
		var r sqlstore.Request
		err := scan(&i, &r.ResultID, &r.Fingerprint)
		r.Key = l.Requests[i]
		l.Before[r.Key] = r
		return err
	})
}

// recordRequests writes l.New.
func (t tx) recordRequests(l *sqlstore.RequestLog, now int64) error {
	if len(l.New) == 0 {
		return nil
	}
	var noted tuples
	for _, r := range l.New {
		noted.add([]string{r.Key.User.Tenant, r.Key.User.UserID, r.Key.RequestID, r.Fingerprint}, r.ResultID)
	}
	_, err := t.exec(insertRequests, noted.json(), now)
	return err
}
