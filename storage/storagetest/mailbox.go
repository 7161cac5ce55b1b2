package storagetest

import (
	"fmt"

	"ovation/storage"
)

func between(owner, with string) storage.ConversationKey {
	return storage.ConversationKey{Owner: user(owner), With: user(with)}
}

func (w *world) send(from, to, text string) *storage.DirectMessage {
	w.Helper()
	return w.sent(storage.NewDirectMessage{From: user(from), To: user(to), Text: text}).Message
}

func (w *world) sent(m storage.NewDirectMessage) storage.AddedDirectMessage {
	w.Helper()
	out, err := w.s.AddMessages(w.Context(), []storage.NewDirectMessage{m})
	w.must(err)
	w.must(out[0].Err)
	return out[0]
}

func (w *world) refusedMessage(m storage.NewDirectMessage, want error) {
	w.Helper()
	out, err := w.s.AddMessages(w.Context(), []storage.NewDirectMessage{m})
	w.must(err)
	w.wantError(fmt.Sprintf("adding %+v", m), out[0].Err, want)
	w.equal("the message returned with an error", out[0].Message, nil)
}

// conversation returns a conversation, or nil if there is none.
func (w *world) conversation(key storage.ConversationKey) *storage.Conversation {
	w.Helper()
	got, err := w.s.ConversationsOf(w.Context(), []storage.ConversationKey{key})
	w.must(err)
	return got[0]
}

// conversationsOf returns a line for each conversation of a user, with the other user,
// the latest text and the number of unread messages. It reads the conversations in pages.
func (w *world) conversationsOf(of storage.User) (out []string) {
	w.Helper()
	for q := (storage.ConversationsQuery{Owner: of, Page: storage.Page{First: 2}}); ; {
		got, err := w.s.ListConversations(w.Context(), []storage.ConversationsQuery{q})
		w.must(err)
		page := got[0].Entries
		w.equal("the version of a page", got[0].Version, w.latest(of))
		for i := range page {
			w.equal("a listed conversation", page[i], *w.conversation(page[i].Key()))
			out = append(out, fmt.Sprintf("%s: %s (%d)", page[i].With.UserID, page[i].Latest.Text, page[i].Unread))
		}
		if len(page) < q.First {
			return out
		}
		q.After = page[len(page)-1].Place()
	}
}

func (w *world) latest(of storage.User) int64 {
	w.Helper()
	got, err := w.s.LatestMessages(w.Context(), []storage.User{of})
	w.must(err)
	return got[0]
}

// messageTexts returns the senders and texts of the messages in a conversation, newest
// first. It reads the messages in pages.
func (w *world) messageTexts(key storage.ConversationKey) (out []string) {
	w.Helper()
	for q := (storage.DirectMessagesQuery{Conversation: key, Page: storage.Page{First: 2}}); ; {
		got, err := w.s.ListMessages(w.Context(), []storage.DirectMessagesQuery{q})
		w.must(err)
		page := got[0].Entries
		for i := range page {
			out = append(out, page[i].From.UserID+": "+page[i].Text)
		}
		if len(page) < q.First {
			return out
		}
		q.After = page[len(page)-1].Place()
	}
}

// mailbox returns the messages that a user has sent or received, but only those whose
// numbers are above the given one.
func (w *world) mailbox(s storage.Store, of storage.User, after int64) (out []storage.DirectMessage) {
	w.Helper()
	for {
		got, err := s.MessagesAfter(w.Context(), storage.MailboxQuery{User: of, After: after, First: 3})
		w.must(err)
		for i := range got {
			if got[i].Number <= after {
				w.Fatalf("message %d follows %d, want a higher number", got[i].Number, after)
			}
			after = got[i].Number
			out = append(out, got[i])
		}
		if len(got) < 3 {
			return out
		}
	}
}

func textsOf(messages []storage.DirectMessage) (out []string) {
	for i := range messages {
		out = append(out, messages[i].Text)
	}
	return out
}

// followMailbox reads a mailbox until done is closed, and then once more.
func (w *world) followMailbox(s storage.Store, of storage.User, done <-chan struct{}) (out []storage.DirectMessage) {
	for last, after := false, int64(0); ; {
		got, err := s.MessagesAfter(w.Context(), storage.MailboxQuery{User: of, After: after, First: 7})
		if err != nil {
			w.Errorf("MessagesAfter(%d): %v", after, err)
			return out
		}
		if len(got) > 0 {
			out, after = append(out, got...), got[len(got)-1].Number
			continue
		}
		if last {
			return out
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}
