package sqlstore

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ovation/storage"
)

// Pair holds the two users of a conversation. Low is the user with the lower id, as in
// the rows of the table message.
type Pair struct{ Low, High storage.User }

// PairOf returns the users of a conversation as a Pair.
func PairOf(key storage.ConversationKey) Pair {
	if key.With.UserID < key.Owner.UserID {
		return Pair{key.With, key.Owner}
	}
	return Pair{key.Owner, key.With}
}

// FromLow reports whether p.Low sent the message.
func (p Pair) FromLow(m *storage.DirectMessage) bool { return m.From == p.Low }

// MessageRow is a row of the table message without the columns that name the two users.
type MessageRow struct {
	message storage.DirectMessage
	fromLow bool
}

// Columns returns the destinations for scanning message_id, from_low, text and created.
func (r *MessageRow) Columns() []any {
	return []any{&r.message.Number, &r.fromLow, &r.message.Text, &r.message.Created}
}

// Of returns the row's message, given the two users of the conversation.
func (r *MessageRow) Of(pair Pair) storage.DirectMessage {
	m := r.message
	if m.From, m.To = pair.High, pair.Low; r.fromLow {
		m.From, m.To = pair.Low, pair.High
	}
	return m
}

// ConversationRow is a row of the table conversation without its key, joined with the
// latest message.
type ConversationRow struct {
	unread, readTo int64
	latest         MessageRow
}

// Columns returns the destinations for scanning unread, read_to and the columns of the
// latest message.
func (r *ConversationRow) Columns() []any {
	return append([]any{&r.unread, &r.readTo}, r.latest.Columns()...)
}

// Of returns the row's conversation, given the conversation's key.
func (r *ConversationRow) Of(key storage.ConversationKey) *storage.Conversation {
	return &storage.Conversation{
		Owner: key.Owner, With: key.With, Latest: r.latest.Of(PairOf(key)), Unread: r.unread, ReadTo: r.readTo,
	}
}

// MessageBatch computes the results of adding several messages in one transaction. A
// store locks the mailboxes of Users, fills in Latest, Messages and Before, calls Decide,
// and writes the rows that Decide has added to the batch.
type MessageBatch struct {
	// Results holds the results of AddMessages. NewMessageBatch sets the results of
	// invalid messages, and Decide sets all others.
	Results []storage.AddedDirectMessage
	RequestLog

	// Users holds the users whose mailboxes the store must lock, sorted and without
	// duplicates.
	Users []storage.User

	// The store fills in Latest and Messages. Latest holds the number of each user's
	// latest message; Decide increases these numbers. Messages holds the messages that
	// were added by earlier requests with the same request ids.
	Latest   map[storage.User]int64
	Messages map[storage.DirectMessageKey]*storage.DirectMessage

	// Added holds the messages to write, in the order in which they were given.
	Added []*storage.DirectMessage

	messages []storage.NewDirectMessage
	erased   ErasedUsers
}

// Exclude makes Decide refuse the messages from and to erased users, and removes these
// users from Users.
func (b *MessageBatch) Exclude(erased ErasedUsers) {
	b.erased = erased
	b.Users = slices.DeleteFunc(b.Users, func(u storage.User) bool { return erased[u] })
}

// NewMessageBatch validates messages and returns a batch that adds them.
func NewMessageBatch(messages []storage.NewDirectMessage) *MessageBatch {
	b := &MessageBatch{
		Results: make([]storage.AddedDirectMessage, len(messages)), messages: slices.Clone(messages),
		Latest: map[storage.User]int64{}, Messages: map[storage.DirectMessageKey]*storage.DirectMessage{},
	}
	users, requests := map[storage.User]bool{}, map[RequestKey]bool{}
	for i := range b.messages {
		m := &b.messages[i]
		if *m, b.Results[i].Err = m.Check(); b.Results[i].Err != nil {
			continue
		}
		users[m.From], users[m.To] = true, true
		requests[requestKey(m.From, m.RequestID)] = true
	}
	b.Users = slices.SortedFunc(maps.Keys(users), CompareUsers)
	b.RequestLog = newRequestLog(requests)
	return b
}

// Repeated returns the keys of the messages that the requests in Before may have added.
// For a request id that was used for something else, Repeated returns a key that may
// belong to no message.
func (b *MessageBatch) Repeated() []storage.DirectMessageKey {
	if len(b.Before) == 0 {
		return nil
	}
	keys := map[storage.DirectMessageKey]bool{}
	for i := range b.messages {
		if key, known := b.before(i); known {
			keys[key] = true
		}
	}
	return slices.SortedFunc(maps.Keys(keys), CompareMessages)
}

// before reports whether message i is valid and its request is in Before. If so, it
// returns the key of the message that the earlier request added. If the earlier request
// was for something else, there may be no message with this key; Decide therefore also
// compares the fingerprints.
func (b *MessageBatch) before(i int) (storage.DirectMessageKey, bool) {
	m := &b.messages[i]
	before, known := b.Before[requestKey(m.From, m.RequestID)]
	return storage.DirectMessageKey{From: m.From, To: m.To, Number: before.ResultID}, known && b.Results[i].Err == nil
}

// Decide determines the results and the rows to write. The parameter at is the current
// time, in microseconds since 1970. Message numbers increase with time, and each is
// higher than the numbers of all earlier messages to or from either user.
func (b *MessageBatch) Decide(at int64) {
	for i := range b.messages {
		result, m := &b.Results[i], &b.messages[i]
		if result.Err == nil {
			result.Err = b.erased.Refuse(m.From, m.To)
		}
		if result.Err != nil {
			continue
		}
		if key, known := b.before(i); known {
			result.Message = b.Messages[key]
			if result.Repeated = true; result.Message == nil || b.Before[requestKey(m.From, m.RequestID)].Fingerprint != m.Fingerprint() {
				*result = storage.AddedDirectMessage{Err: ErrRequestReuse}
			}
			continue
		}
		number := max((at/1000-IDEpoch)<<IDShift, b.Latest[m.From]+1, b.Latest[m.To]+1)
		b.Latest[m.From], b.Latest[m.To] = number, number
		added := &storage.DirectMessage{From: m.From, To: m.To, Number: number, Text: m.Text, Created: at}
		b.Added = append(b.Added, added)
		b.Messages[added.Key()], result.Message = added, added
		b.record(requestKey(m.From, m.RequestID), number, m.Fingerprint())
	}
	b.sort()
}

// AddedMessage is a message to write.
type AddedMessage struct {
	*storage.DirectMessage

	Pair Pair
	// LowSent and HighSent are how many messages of the batch the two users have sent each
	// other, up to and including this one.
	LowSent, HighSent int64
}

// Rows returns the messages of Added as rows to write.
func (b *MessageBatch) Rows() []AddedMessage {
	rows, last := make([]AddedMessage, len(b.Added)), make(map[Pair]*AddedMessage, len(b.Added))
	for i, m := range b.Added {
		row := &rows[i]
		row.DirectMessage, row.Pair = m, PairOf(m.Conversation(m.From))
		if before := last[row.Pair]; before != nil {
			row.LowSent, row.HighSent = before.LowSent, before.HighSent
		}
		if row.Pair.FromLow(m) {
			row.LowSent++
		} else {
			row.HighSent++
		}
		last[row.Pair] = row
	}
	return rows
}

// ConversationChange is a change to one user's conversation.
type ConversationChange struct {
	Key    storage.ConversationKey
	Latest int64 // number of the latest message
	Unread int64 // number of added unread messages
}

// Conversations returns the changes to conversations that result from the added messages,
// sorted by key.
func (b *MessageBatch) Conversations() []ConversationChange {
	moved := map[storage.ConversationKey]ConversationChange{}
	for _, m := range b.Added {
		for _, user := range []storage.User{m.From, m.To} {
			one := moved[m.Conversation(user)]
			if one.Key, one.Latest = m.Conversation(user), m.Number; user == m.To {
				one.Unread++
			}
			moved[one.Key] = one
		}
	}
	return slices.SortedFunc(maps.Values(moved), func(x, y ConversationChange) int { return CompareConversations(x.Key, y.Key) })
}

// CompareConversations orders conversations by owner, then by the other user.
func CompareConversations(a, b storage.ConversationKey) int {
	return cmp.Or(CompareUsers(a.Owner, b.Owner), CompareUsers(a.With, b.With))
}

// CompareMessages orders messages by sender, receiver and number.
func CompareMessages(a, b storage.DirectMessageKey) int {
	return cmp.Or(CompareUsers(a.From, b.From), strings.Compare(a.To.UserID, b.To.UserID), cmp.Compare(a.Number, b.Number))
}

// StartOfMessages returns the number below which a page of messages, conversations,
// videos or a user's comments begins.
func StartOfMessages(page storage.Page) int64 {
	if page.After == (storage.Position{}) {
		return storage.MaxCommentID
	}
	return page.After.Version
}
