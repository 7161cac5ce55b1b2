package storage

import "time"

// MaxDirectMessageRunes is the maximum length of a message, in code points.
const MaxDirectMessageRunes = 2000

// DirectMessage is a text that one user has sent to another.
//
// Number is the message's id: below MaxCommentID, and higher than the id of every earlier
// message that either user has sent or received. Sorted by Number, the messages in a
// conversation are in the order in which they were committed, and so are all messages
// that a user has sent or received. Messages that have no user in common may share a
// number.
type DirectMessage struct {
	From, To User // two different users of one tenant
	Number   int64
	Text     string
	Created  int64 // in microseconds since 1970
}

// At is when the message was sent.
func (m *DirectMessage) At() time.Time { return Time(m.Created) }

// Key is the message's key.
func (m *DirectMessage) Key() DirectMessageKey { return DirectMessageKey{m.From, m.To, m.Number} }

// Conversation returns the key of the conversation that the message belongs to, with the
// given user as the owner. This user must be the message's sender or receiver.
func (m *DirectMessage) Conversation(of User) ConversationKey {
	return DirectMessageKey{m.From, m.To, 0}.Conversation(of)
}

// DirectMessageKey identifies a message.
type DirectMessageKey struct {
	From, To User
	Number   int64
}

// Conversation returns the key of the conversation that the message belongs to, with the
// given user as the owner. This user must be the message's sender or receiver.
func (k DirectMessageKey) Conversation(of User) ConversationKey {
	if of == k.To {
		return ConversationKey{k.To, k.From}
	}
	return ConversationKey{k.From, k.To}
}

// Between reports whether the user is the sender or the receiver of the message.
func (k DirectMessageKey) Between(user User) bool { return k.From == user || k.To == user }

// ConversationKey identifies a conversation from the point of view of its owner. The
// other user owns a conversation with the same messages.
type ConversationKey struct{ Owner, With User }

// Validate returns an *InvalidError that names the first part of k that is out of
// bounds, or nil.
func (k ConversationKey) Validate() error {
	for _, u := range []User{k.Owner, k.With} {
		if err := ValidateTenant(u.Tenant); err != nil {
			return err
		}
		if err := ValidateUserID(u.UserID); err != nil {
			return err
		}
	}
	switch {
	case k.Owner.Tenant != k.With.Tenant:
		return &InvalidError{Field: "tenant", Reason: "must be the same for both users"}
	case k.Owner == k.With:
		return errSelf
	}
	return nil
}

var errSelf = &InvalidError{Field: "userId", Reason: "is your own; a conversation has two users"}

// Conversation is the exchange of messages between two users, from the point of view of
// one of them, the owner. It exists from the first message on.
type Conversation struct {
	Owner, With User
	Latest      DirectMessage
	// Unread is the number of messages after ReadTo that the owner has received.
	Unread int64
	// ReadTo is the number of the last message that was marked as read, or 0 if none was.
	ReadTo int64
}

// Key is the conversation's key.
func (c *Conversation) Key() ConversationKey { return ConversationKey{c.Owner, c.With} }

// NewDirectMessage is a message to send.
type NewDirectMessage struct {
	From, To User // of one tenant
	Text     string
	// RequestID makes it safe to repeat a request: a second message with the same sender
	// and RequestID within RequestAge is not sent. If RequestID is empty, every request
	// sends a message.
	RequestID string
}

// Key is the key of the conversation that the message's sender owns.
func (m NewDirectMessage) Key() ConversationKey { return ConversationKey{m.From, m.To} }

// Check returns the message with its text as it will be stored, or an *InvalidError.
func (m NewDirectMessage) Check() (NewDirectMessage, error) {
	if err := m.Key().Validate(); err != nil {
		return m, err
	}
	if err := ValidateRequestID(m.RequestID); err != nil {
		return m, err
	}
	var err error
	m.Text, err = CleanText("text", m.Text, MaxDirectMessageRunes)
	return m, err
}

// Fingerprint returns a hash that distinguishes m from other messages with the same
// request id.
func (m NewDirectMessage) Fingerprint() string { return fingerprint("message", m.To.UserID, m.Text) }

// AddedDirectMessage is the result of adding a NewDirectMessage.
type AddedDirectMessage struct {
	Message *DirectMessage // nil if there is an error
	// Repeated is true if the message was sent before with the same request id.
	Repeated bool
	Err      error
}

// The queries for lists of conversations and messages.
type (
	// ConversationsQuery lists a user's conversations. Those with the latest messages
	// come first.
	ConversationsQuery struct {
		Owner User
		Page
	}
	// DirectMessagesQuery lists the messages of a conversation, newest first.
	DirectMessagesQuery struct {
		Conversation ConversationKey
		Page
	}
	// MailboxQuery lists up to First messages that a user has sent or received, those
	// with the lowest numbers above After, in the order of numbers.
	MailboxQuery struct {
		User  User
		After int64
		First int // at least 1
	}
)

// Place is the conversation's position in a list.
func (c *Conversation) Place() Position { return c.Latest.Place() }

// Place is the message's position in a list.
func (m *DirectMessage) Place() Position { return Position{Version: m.Number} }
