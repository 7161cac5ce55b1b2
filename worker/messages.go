package worker

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"ovation/storage"
)

// MessagesOptions configure Messages. The zero value is a good choice.
type MessagesOptions struct {
	// Changed is called with the subjects (storage.User.Subject) of the senders and
	// receivers of messages, after the commit. It may be nil.
	Changed func(users []storage.Subject)
	// Timeout bounds a transaction, the retries after a lock conflict, and the wait of a
	// separate call for its turn; 3 s if 0.
	Timeout time.Duration
	// Logger logs when the breaker opens and when it closes; slog.Default() if nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// Messages sends messages, and is safe for concurrent use. Messages are written directly
// to the database; concurrent messages share a transaction.
type Messages struct {
	store storage.DirectMessages
	opts  MessagesOptions
	adds  *groupCommit[storage.NewDirectMessage, storage.AddedDirectMessage]
}

// NewMessages returns a Messages that writes to the store. Call Close when the Messages
// is no longer needed.
func NewMessages(store storage.DirectMessages, opts MessagesOptions) *Messages {
	opts.Logger, opts.Metrics = cmp.Or(opts.Logger, slog.Default()), cmp.Or(opts.Metrics, noMetrics)
	opts.Timeout = cmp.Or(opts.Timeout, groupTimeout)
	m := &Messages{store: store, opts: opts}
	m.adds = &groupCommit[storage.NewDirectMessage, storage.AddedDirectMessage]{
		name: "send message", commit: m.commit,
		lockKey:  func(one storage.NewDirectMessage) any { return storage.ConversationKey{Owner: one.From, With: one.To} },
		breaker:  FallbackOptions{Logger: opts.Logger}.breaker("messages", opts.Timeout, 0),
		timeout:  opts.Timeout,
		sizes:    func(n int) { opts.Metrics.groupSizes.WithLabelValues("messages").Observe(float64(n)) },
		separate: make(semaphore, maxSeparate),
	}
	return m
}

// Send sends a message and returns it once it is committed. Errors: storage.ErrInvalid,
// as documented for storage.DirectMessages; storage.ErrUnavailable; storage.ErrLocked;
// ErrClosed; context.Canceled.
//
// After storage.ErrLocked, the message has not been sent: a mailbox of its conversation
// is locked, or too many mailboxes of other messages in the same transaction are locked.
// After any other storage.ErrUnavailable, the message may or may not be sent. Only a
// message with a request id can then be retried safely.
func (m *Messages) Send(ctx context.Context, message storage.NewDirectMessage) (*storage.DirectMessage, error) {
	message, err := message.Check()
	if err != nil {
		return nil, err
	}
	added, err := m.adds.do(ctx, message)
	return added.Message, cmp.Or(err, added.Err)
}

func (m *Messages) commit(ctx context.Context, messages []storage.NewDirectMessage) ([]storage.AddedDirectMessage, error) {
	out, err := m.store.AddMessages(ctx, messages)
	if err != nil {
		return nil, err
	}
	changed := make(map[storage.Subject]bool, 2*len(out))
	users := make([]storage.Subject, 0, 2*len(out))
	for i := range out {
		if out[i].Err != nil || out[i].Repeated {
			continue
		}
		for _, user := range []storage.Subject{messages[i].From.Subject(), messages[i].To.Subject()} {
			if !changed[user] {
				changed[user] = true
				users = append(users, user)
			}
		}
	}
	if m.opts.Changed != nil && len(users) > 0 {
		m.opts.Changed(users)
	}
	return out, nil
}

// MarkRead marks messages as read. Errors: as documented for storage.DirectMessages;
// ErrClosed; context.Canceled.
func (m *Messages) MarkRead(ctx context.Context, key storage.ConversationKey, upTo int64) (*storage.Conversation, error) {
	return runSeparately(ctx, m.adds, "mark messages as read", func(ctx context.Context) (*storage.Conversation, error) {
		return m.store.MarkRead(ctx, key, upTo)
	})
}

// Close rejects new calls with ErrClosed and waits until every accepted call to Send or
// MarkRead has ended. It returns an error if the context ends first. It may be called
// twice.
func (m *Messages) Close(ctx context.Context) error { return m.adds.close(ctx, m.adds.name) }
