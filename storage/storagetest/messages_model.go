package storagetest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"ovation/storage"
)

// messageState is a store together with a list of the messages that the store must hold.
// Each run has a tenant of its own, so that all runs can share one database.
type messageState struct {
	*rapid.T

	w        *world
	tenant   string
	messages []storage.DirectMessage // in the order in which they were added
	readTo   map[storage.ConversationKey]int64
	requests map[string]storage.NewDirectMessage
	sent     map[string]storage.DirectMessage // by request
}

// messagesModel applies the same random changes to the store and to the model.
func messagesModel(w *world) {
	run := 0
	rapid.Check(w.T, func(t *rapid.T) {
		run++
		m := &messageState{
			T: t, w: w, tenant: fmt.Sprintf("mail%d", run), readTo: map[storage.ConversationKey]int64{},
			requests: map[string]storage.NewDirectMessage{}, sent: map[string]storage.DirectMessage{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(*rapid.T) { m.send() },
			"read": func(*rapid.T) { m.read() },
			"":     func(*rapid.T) { m.compare() },
		})
	})
	w.verified()
}

func (m *messageState) users() (out []storage.User) {
	for _, id := range []string{"alice", "bob", "carol"} {
		out = append(out, storage.User{Tenant: m.tenant, UserID: id})
	}
	return out
}

func (m *messageState) user(label string) storage.User {
	return rapid.SampledFrom(m.users()).Draw(m.T, label)
}

// send sends some messages in one call. A few have a request id that was used before, or
// are addressed to their sender.
func (m *messageState) send() {
	asked := make([]storage.NewDirectMessage, rapid.IntRange(1, 4).Draw(m.T, "messages"))
	for i := range asked {
		one := storage.NewDirectMessage{From: m.user("from"), To: m.user("to"), Text: fmt.Sprint("text ", len(m.messages), i)}
		if rapid.Bool().Draw(m.T, "repeatable") {
			one.RequestID = strconv.Itoa(rapid.IntRange(0, 9).Draw(m.T, "request"))
			if before, ok := m.requests[one.From.UserID+one.RequestID]; ok && rapid.Bool().Draw(m.T, "again") {
				one = before
			}
		}
		asked[i] = one
	}
	got, err := m.w.s.AddMessages(m.w.Context(), asked)
	if err != nil {
		m.Fatal(err)
	}
	for i, one := range asked {
		m.checkResult(one, got[i])
	}
}

// checkResult checks the result for one message and records it.
func (m *messageState) checkResult(one storage.NewDirectMessage, got storage.AddedDirectMessage) {
	request := one.From.UserID + one.RequestID
	before, used := m.requests[request]
	switch {
	case one.From == one.To, one.RequestID != "" && used && before != one:
		if !errors.Is(got.Err, storage.ErrInvalid) || got.Message != nil {
			m.Fatalf("adding %+v returned %+v, %v, want no message, %v", one, got.Message, got.Err, storage.ErrInvalid)
		}
	case one.RequestID != "" && used:
		if got.Err != nil || !got.Repeated || *got.Message != m.sent[request] {
			m.Fatalf("repeating %+v returned %s, %v, want %s, repeated", one, Text(got), got.Err, Text(m.sent[request]))
		}
	default:
		if got.Err != nil || got.Repeated {
			m.Fatalf("adding %+v returned %s, %v, want a new message", one, Text(got), got.Err)
		}
		sent := *got.Message
		if want := (storage.DirectMessage{From: one.From, To: one.To, Number: sent.Number, Text: one.Text, Created: sent.Created}); sent != want {
			m.Fatalf("adding %+v returned %+v, want %+v", one, sent, want)
		}
		m.messages = append(m.messages, sent)
		if one.RequestID != "" {
			m.requests[request], m.sent[request] = one, sent
		}
	}
}

// of returns the messages that a user has sent or received, in order. If another user is
// given, it returns only the messages between the two.
func (m *messageState) of(user storage.User, with ...storage.User) (out []storage.DirectMessage) {
	for _, one := range m.messages {
		if one.Key().Between(user) && (len(with) == 0 || one.Key().Between(with[0])) {
			out = append(out, one)
		}
	}
	return out
}

// read marks messages between two users as read, up to the number of one of the messages,
// to a number next to it, or to the end.
func (m *messageState) read() {
	key := storage.ConversationKey{Owner: m.user("owner"), With: m.user("with")}
	if key.Owner == key.With {
		return
	}
	all, upTo := m.of(key.Owner, key.With), int64(storage.MaxCommentID)
	if len(all) > 0 && rapid.IntRange(0, 4).Draw(m.T, "all") > 0 {
		upTo = rapid.SampledFrom(all).Draw(m.T, "up to").Number + rapid.Int64Range(-1, 1).Draw(m.T, "beside")
	}
	got, err := m.w.s.MarkRead(m.w.Context(), key, upTo)
	if len(all) == 0 {
		if !errors.Is(err, storage.ErrNotFound) {
			m.Fatalf("MarkRead of a conversation without messages: got %v, want %v", err, storage.ErrNotFound)
		}
		return
	}
	m.readTo[key] = max(m.readTo[key], min(upTo, all[len(all)-1].Number))
	if want := m.conversation(key); err != nil || !reflect.DeepEqual(got, want) {
		m.Fatalf("MarkRead up to %d: got %s, %v, want %s", upTo, Text(got), err, Text(want))
	}
}

// conversation returns the conversation that the store must hold, or nil if there must be
// none.
func (m *messageState) conversation(key storage.ConversationKey) *storage.Conversation {
	all := m.of(key.Owner, key.With)
	if len(all) == 0 {
		return nil
	}
	c := &storage.Conversation{Owner: key.Owner, With: key.With, Latest: all[len(all)-1], ReadTo: m.readTo[key]}
	for _, one := range all {
		if one.To == key.Owner && one.Number > c.ReadTo {
			c.Unread++
		}
	}
	return c
}

// compare reads everything and compares it with the model.
func (m *messageState) compare() {
	for _, owner := range m.users() {
		var want []storage.Conversation
		for _, with := range m.users() {
			if with == owner {
				continue
			}
			key := storage.ConversationKey{Owner: owner, With: with}
			if c := m.conversation(key); c != nil {
				want = append(want, *c)
			}
			said := m.of(owner, with)
			slices.Reverse(said)
			got, err := m.w.s.ListMessages(m.w.Context(), []storage.DirectMessagesQuery{{Conversation: key, Page: storage.Page{First: 1000}}})
			m.equal("messages", err, got[0].Entries, said)
		}
		slices.SortFunc(want, func(a, b storage.Conversation) int { return cmp.Compare(b.Latest.Number, a.Latest.Number) })
		got, err := m.w.s.ListConversations(m.w.Context(), []storage.ConversationsQuery{{Owner: owner, Page: storage.Page{First: 100}}})
		m.equal("conversations", err, got[0].Entries, want)
		all, err := m.w.s.MessagesAfter(m.w.Context(), storage.MailboxQuery{User: owner, First: 1000})
		m.equal("mailbox", err, all, m.of(owner))
	}
}

func (m *messageState) equal(what string, err error, got, want any) {
	if err != nil || reflect.ValueOf(got).Len()+reflect.ValueOf(want).Len() > 0 && !reflect.DeepEqual(got, want) {
		m.Fatalf("%s: got %s, %v, want %s", what, Text(got), err, Text(want))
	}
}
