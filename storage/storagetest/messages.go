package storagetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ovation/storage"
)

func messagesAreListed(w *world) {
	alice, bob := user("alice"), user("bob")
	first := w.send("alice", "bob", "hello")
	w.equal("the message sent", *first, storage.DirectMessage{From: alice, To: bob, Number: first.Number, Text: "hello", Created: first.Created})
	last := first
	for i := range 5 {
		from, to := "bob", "alice"
		if i%2 == 1 {
			from, to = to, from
		}
		next := w.send(from, to, strconv.Itoa(i))
		if next.Number <= last.Number || next.Number >= storage.MaxCommentID || next.Created < last.Created {
			w.Errorf("message %d was sent before %d, want rising numbers", last.Number, next.Number)
		}
		last = next
	}
	w.send("carol", "alice", "here")
	w.send("alice", "zed", "there")
	w.send("bob", "carol", "elsewhere")

	want := []string{"bob: 4", "alice: 3", "bob: 2", "alice: 1", "bob: 0", "alice: hello"}
	w.equal("the conversation, for alice", w.messageTexts(between("alice", "bob")), want)
	w.equal("the conversation, for bob", w.messageTexts(between("bob", "alice")), want)
	w.equal("conversations of alice", w.conversationsOf(alice), []string{"zed: there (0)", "carol: here (1)", "bob: 4 (3)"})
	w.equal("conversations of bob", w.conversationsOf(bob), []string{"carol: elsewhere (0)", "alice: 4 (3)"})
	w.equal("conversations of an unknown user", len(w.conversationsOf(user("nobody"))), 0)
	w.equal("messages between strangers", len(w.messageTexts(between("bob", "zed"))), 0)
	w.equal("the conversation of strangers", w.conversation(between("bob", "zed")), nil)
	w.equal("the mailbox of alice", textsOf(w.mailbox(w.s, alice, 0)), []string{"hello", "0", "1", "2", "3", "4", "here", "there"})
	w.equal("the mailbox of alice since then", textsOf(w.mailbox(w.s, alice, last.Number)), []string{"here", "there"})
	w.equal("messages since the latest one", len(w.mailbox(w.s, alice, w.latest(alice))), 0)
	w.equal("latest message of an unknown user", w.latest(user("nobody")), int64(0))

	keys := []storage.DirectMessageKey{last.Key(), {From: alice, To: bob, Number: 5}, first.Key(), {From: bob, To: alice, Number: first.Number}}
	got, err := w.s.MessagesOf(w.Context(), keys)
	w.must(err)
	w.equal("by key, in the order asked: a message, none, a message, none", []any{*got[0], got[1] == nil, *got[2], got[3] == nil}, []any{*last, true, *first, true})
	pages, err := w.s.ListMessages(w.Context(), []storage.DirectMessagesQuery{
		{Conversation: between("bob", "zed"), Page: storage.Page{First: 1}},
		{Conversation: between("alice", "zed"), Page: storage.Page{First: 1}},
		{Conversation: between("carol", "bob"), Page: storage.Page{First: 9}},
	})
	w.must(err)
	w.equal("lengths of several lists in one call", []int{len(pages[0].Entries), len(pages[1].Entries), len(pages[2].Entries)}, []int{0, 1, 1})
	both, err := w.s.ListConversations(w.Context(), []storage.ConversationsQuery{
		{Owner: user("nobody"), Page: storage.Page{First: 1}}, {Owner: alice, Page: storage.Page{First: 1}}, {Owner: bob, Page: storage.Page{First: 9}},
	})
	w.must(err)
	w.equal("conversations of several users", []int{len(both[0].Entries), len(both[1].Entries), len(both[2].Entries)}, []int{0, 1, 2})
	w.verified()
}

func messagesHoldTheirText(w *world) {
	alice, bob := user("alice"), user("bob")
	m := w.send("alice", "bob", "\u200fto be\r\nor \"not\" \\ <b>'; --\u2066 👩\u200d👩\u2069 \t")
	w.equal("text", m.Text, "\u200fto be\nor \"not\" \\ <b>'; --\u2066 👩\u200d👩\u2069")
	w.equal("the mailbox of bob", textsOf(w.mailbox(w.s, bob, 0)), []string{m.Text})
	w.equal("bytes of the longest text", len(w.send("bob", "alice", strings.Repeat("👩", storage.MaxDirectMessageRunes)).Text), 4*storage.MaxDirectMessageRunes)
	for name, bad := range map[string]storage.NewDirectMessage{
		"empty": {From: alice, To: bob}, "blank": {From: alice, To: bob, Text: " \n\u200e"}, "an override": {From: alice, To: bob, Text: "a\u202eb"},
		"long": {From: alice, To: bob, Text: strings.Repeat("x", storage.MaxDirectMessageRunes+1)}, "NUL": {From: alice, To: bob, Text: "a\x00b"},
		"anonymous": {From: user(""), To: bob, Text: "x"}, "to nobody": {From: alice, To: user(""), Text: "x"},
		"to oneself": {From: alice, To: alice, Text: "x"}, "of another tenant": {From: storage.User{Tenant: "other", UserID: "alice"}, To: bob, Text: "x"},
		"a bad request id": {From: alice, To: bob, Text: "x", RequestID: "é"},
	} {
		w.Log(name)
		w.refusedMessage(bad, storage.ErrInvalid)
	}
	out, err := w.s.AddMessages(w.Context(), []storage.NewDirectMessage{
		{From: alice, To: bob, Text: "one"}, {From: alice, To: bob}, {From: bob, To: alice, Text: "two"},
	})
	w.must(err)
	w.must(out[0].Err)
	w.wantError("a message without a text", out[1].Err, storage.ErrInvalid)
	w.must(out[2].Err)
	w.equal("the valid messages, the last one first", w.messageTexts(between("alice", "bob"))[:2], []string{"bob: two", "alice: one"})
	out, err = w.s.AddMessages(w.Context(), nil)
	w.must(err)
	w.equal("results for no messages", len(out), 0)
	w.verified()
}

func unreadMessagesAreCounted(w *world) {
	sent := make([]*storage.DirectMessage, 0, 5)
	for i := range 4 {
		sent = append(sent, w.send("alice", "bob", strconv.Itoa(i)))
	}
	mine := w.send("bob", "alice", "mine")
	sent = append(sent, w.send("alice", "bob", "4"))
	bob := between("bob", "alice")
	read := func(upTo, unread, readTo int64) {
		w.Helper()
		got, err := w.s.MarkRead(w.Context(), bob, upTo)
		w.must(err)
		w.equal("after MarkRead: unread, and read up to", []int64{got.Unread, got.ReadTo}, []int64{unread, readTo})
		w.equal("the conversation read again", *w.conversation(bob), *got)
		w.equal("the latest message of the conversation", got.Latest, *sent[4])
		w.verified()
	}
	w.equal("unread initially", w.conversation(bob).Unread, int64(5))
	read(sent[1].Number, 3, sent[1].Number)
	read(sent[0].Number, 3, sent[1].Number) // read messages stay read
	read(0, 3, sent[1].Number)
	read(-1, 3, sent[1].Number)
	read(sent[3].Number-1, 2, sent[3].Number-1) // no message has this number
	read(mine.Number, 1, mine.Number)
	read(storage.MaxCommentID-1, 0, sent[4].Number)
	read(sent[4].Number, 0, sent[4].Number)
	w.equal("unread messages of the other user", w.conversation(between("alice", "bob")).Unread, int64(1))
	sent[4] = w.send("alice", "bob", "5")
	w.equal("unread after another message", w.conversation(bob).Unread, int64(1))
	for _, none := range []storage.ConversationKey{
		between("bob", "carol"), {Owner: storage.User{Tenant: "other", UserID: "bob"}, With: storage.User{Tenant: "other", UserID: "alice"}},
	} {
		_, err := w.s.MarkRead(w.Context(), none, sent[4].Number)
		w.wantError(fmt.Sprintf("MarkRead(%+v)", none), err, storage.ErrNotFound)
	}
	w.verified()
}

func repeatedRequestSendsOnce(w *world) {
	m := storage.NewDirectMessage{From: user("alice"), To: user("bob"), Text: "once", RequestID: "r 1"}
	first := w.sent(m)
	again := w.sent(m)
	w.equal("the first repeated, the second repeated, and its message", []any{first.Repeated, again.Repeated, *again.Message}, []any{false, true, *first.Message})
	of := m
	of.From, of.To = m.To, m.From
	w.equal("the request id of another user is repeated", w.sent(of).Repeated, false)
	for _, other := range []storage.NewDirectMessage{
		{From: m.From, To: m.To, Text: "twice", RequestID: "r 1"}, {From: m.From, To: user("carol"), Text: "once", RequestID: "r 1"},
	} {
		w.refusedMessage(other, storage.ErrInvalid)
	}
	w.refusedComment(storage.NewComment{Subject: video("1"), User: m.From, Text: "once", RequestID: "r 1"}, storage.ErrInvalid)
	w.added(storage.NewComment{Subject: video("1"), User: m.From, Text: "once", RequestID: "r 2"})
	w.refusedMessage(storage.NewDirectMessage{From: m.From, To: m.To, Text: "once", RequestID: "r 2"}, storage.ErrInvalid)
	both, err := w.s.AddMessages(w.Context(), []storage.NewDirectMessage{
		{From: m.From, To: m.To, Text: "two", RequestID: "r 3"},
		{From: m.From, To: m.To, Text: "two", RequestID: "r 3"},
		{From: m.From, To: m.To, Text: "other", RequestID: "r 3"},
		{From: m.From, To: m.To, Text: "plain"},
		{From: m.From, To: m.To, Text: "plain"},
	})
	w.must(err)
	w.equal("in one call: the first repeated, the second repeated, and its message", []any{both[0].Repeated, both[1].Repeated, *both[1].Message}, []any{false, true, *both[0].Message})
	w.wantError("another message by the same request", both[2].Err, storage.ErrInvalid)
	w.equal("without a request id, two messages are added", both[3].Message.Number != both[4].Message.Number, true)
	w.equal("unread", w.conversation(between("bob", "alice")).Unread, int64(4))
	w.db.Edit(w.T, fmt.Sprintf(`UPDATE request SET at = at - %d WHERE request_id = 'r 1'`, storage.RequestAge.Microseconds()+1))
	w.equal("a day later, the request is repeated", w.sent(m).Repeated, false)
	w.equal("right afterwards, the request is repeated", w.sent(m).Repeated, true)
	w.verified()
}

// messageNumbersAreNotReused simulates a restored backup that lacks the latest messages.
// Clients have seen the numbers of these messages and continue from them. Each client
// must receive every later message once.
func messageNumbersAreNotReused(w *world) {
	w.send("alice", "bob", "kept")
	stored := w.latest(user("bob"))
	lost := make([]*storage.DirectMessage, 0, 20)
	for i := range 20 {
		lost = append(lost, w.send([]string{"alice", "bob"}[i%2], []string{"bob", "alice"}[i%2], fmt.Sprint("lost ", i)))
	}
	w.sent(storage.NewDirectMessage{From: user("alice"), To: user("bob"), Text: "lost as well", RequestID: "r"})
	read, err := w.s.MarkRead(w.Context(), between("bob", "alice"), lost[10].Number)
	w.must(err)
	w.equal("unread before", read.Unread, int64(5))
	for _, undo := range []string{
		`DELETE FROM message WHERE text LIKE 'lost%'`, `DELETE FROM request WHERE request_id = 'r'`,
		fmt.Sprintf(`UPDATE mailbox SET latest = %d`, stored),
		fmt.Sprintf(`UPDATE conversation SET latest = %d, read_to = 0, unread = CASE user_id WHEN 'bob' THEN 1 ELSE 0 END`, stored),
	} {
		w.db.Edit(w.T, undo)
	}

	again := w.sent(storage.NewDirectMessage{From: user("alice"), To: user("bob"), Text: "lost as well", RequestID: "r"})
	w.equal("the request of a lost message is repeated", again.Repeated, false) // the first message is lost
	w.send("bob", "alice", "new")
	for _, one := range append(lost, &storage.DirectMessage{Number: stored}) {
		for _, of := range []string{"alice", "bob"} {
			w.equal("messages after "+one.Text, textsOf(w.mailbox(w.s, user(of), one.Number)), []string{"lost as well", "new"})
		}
	}
	keys := make([]storage.DirectMessageKey, len(lost))
	for i, one := range lost {
		keys[i] = one.Key()
	}
	found, err := w.s.MessagesOf(w.Context(), keys)
	w.must(err)
	for i := range found {
		w.equal("the message with the number of a lost one", found[i], nil)
	}
	read, err = w.s.MarkRead(w.Context(), between("bob", "alice"), lost[19].Number) // the last message that bob's client shows
	w.must(err)
	w.equal("unread", read.Unread, int64(1))
	w.verified()
}

func messagesAreWalledOff(w *world) {
	theirs := storage.NewDirectMessage{
		From: storage.User{Tenant: "other", UserID: "alice"}, To: storage.User{Tenant: "other", UserID: "bob"}, Text: "theirs",
	}
	m := w.sent(theirs).Message
	key := m.Key()
	key.From.Tenant, key.To.Tenant = storage.DefaultTenant, storage.DefaultTenant
	got, err := w.s.MessagesOf(w.Context(), []storage.DirectMessageKey{key})
	w.must(err)
	w.equal("the message by its key in another tenant", got[0], nil)
	w.equal("the conversation in another tenant", w.conversation(between("alice", "bob")), nil)
	w.equal("conversations in another tenant", len(w.conversationsOf(user("alice"))), 0)
	w.equal("messages in another tenant", len(w.messageTexts(between("alice", "bob"))), 0)
	w.equal("messages in a mailbox of another tenant", len(w.mailbox(w.s, user("alice"), 0)), 0)
	w.equal("the latest message in another tenant", w.latest(user("bob")), int64(0))
	w.equal("the mailbox in its own tenant", textsOf(w.mailbox(w.s, theirs.To, 0)), []string{"theirs"})
}

// concurrentSendersAgree sends messages between users and marks messages as read,
// concurrently and through two stores, while readers follow the mailboxes of the users.
func concurrentSendersAgree(w *world) {
	const users, rounds = 5, 20
	stores := []storage.Store{w.s, w.open()}
	names := make([]storage.User, users)
	for i := range names {
		names[i] = user(fmt.Sprint("user", i))
	}
	var writing, following sync.WaitGroup
	done := make(chan struct{})
	followed := make([][]storage.DirectMessage, users)
	for i, of := range names {
		following.Go(func() { followed[i] = w.followMailbox(stores[i%2], of, done) })
		writing.Go(func() {
			for round := range rounds {
				to := names[(i+1+round%(users-1))%users]
				text := fmt.Sprint(i, "-", round)
				var out []storage.AddedDirectMessage
				err := UntilUnlocked(func() (err error) {
					out, err = stores[(i+round)%2].AddMessages(w.Context(), []storage.NewDirectMessage{
						{From: of, To: to, Text: text, RequestID: text}, {From: of, To: to, Text: text + " again"},
					})
					return err
				})
				if err != nil || out[0].Err != nil || out[1].Err != nil {
					w.Errorf("sending %s returned %s, %v, want two messages", text, Text(out), err)
					return
				}
				err = UntilUnlocked(func() error {
					_, err := stores[round%2].MarkRead(w.Context(), storage.ConversationKey{Owner: to, With: of}, out[0].Message.Number)
					return err
				})
				if err != nil {
					w.Errorf("MarkRead of %s: %v", text, err)
				}
			}
		})
	}
	writing.Wait()
	close(done)
	following.Wait()
	w.verified()
	for i, of := range names {
		all := w.mailbox(w.s, of, 0)
		w.equal("the mailbox as it was followed", textsOf(followed[i]), textsOf(all))
		w.equal("messages of "+of.UserID, len(all), 4*rounds)
		w.equal("the latest message of "+of.UserID, w.latest(of), all[len(all)-1].Number)
		for _, other := range names {
			if other == of {
				continue
			}
			key := storage.ConversationKey{Owner: of, With: other}
			var want []string
			for j := range all {
				if all[j].From == other || all[j].To == other {
					want = append(want, all[j].From.UserID+": "+all[j].Text)
				}
			}
			slices.Reverse(want)
			w.equal("the conversation of "+of.UserID+" with "+other.UserID, w.messageTexts(key), want)
		}
	}
}

func verifyRecountsMessages(w *world) {
	w.send("alice", "bob", "one")
	w.send("alice", "bob", "two")
	w.send("bob", "alice", "three")
	w.equal("counts compared: two for each user", w.compared(), int64(4))
	w.db.Edit(w.T, `UPDATE conversation SET unread = 7 WHERE user_id = 'bob'`)
	w.db.Edit(w.T, `UPDATE message SET low_sent = low_sent + 1`)
	w.db.Edit(w.T, `DELETE FROM conversation WHERE user_id = 'alice'`)
	w.repaired(
		storage.Difference{Conversation: between("alice", "bob"), Count: "unread", Counted: 1},
		storage.Difference{Conversation: between("bob", "alice"), Count: "unread", Stored: 7, Counted: 2},
		storage.Difference{Conversation: between("bob", "alice"), Count: "received", Stored: 3, Counted: 2},
	)
	w.equal("conversations of alice", w.conversationsOf(user("alice")), []string{"bob: three (1)"})
	w.equal("conversations of bob", w.conversationsOf(user("bob")), []string{"alice: three (2)"})

	// Erasing single messages by hand leaves numbers too high; a repair corrects them.
	first := w.mailbox(w.s, user("bob"), 0)[0]
	w.db.Edit(w.T, `DELETE FROM message WHERE text = 'two'`)
	w.db.Edit(w.T, `UPDATE conversation SET unread = 1 WHERE user_id = 'bob'`)
	last := w.send("alice", "bob", "four")
	_, err := w.s.Verify(w.Context(), true, func(d storage.Difference) error {
		w.equal("the difference after erasing a message", d, storage.Difference{Conversation: between("bob", "alice"), Count: "received", Stored: 3, Counted: 2})
		return nil
	})
	w.must(err)
	w.verified()
	read, err := w.s.MarkRead(w.Context(), between("bob", "alice"), first.Number)
	w.must(err)
	w.equal("unread after the first message is read", read.Unread, int64(1))
	read, err = w.s.MarkRead(w.Context(), between("bob", "alice"), last.Number)
	w.must(err)
	w.equal("unread after all are read", read.Unread, int64(0))
	w.verified()
}
