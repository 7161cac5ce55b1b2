package resolvers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ovation/api/rate"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
)

const send = `mutation($to: ID!, $t: String = "text", $q: String) { sendMessage(input: {to: $to, text: $t, requestId: $q}) { message { id text from { userId } to { userId } at } } }`

// sends posts a message from one user to another, and returns the message's id.
func (s *service) sends(t *testing.T, from, to, text string) string {
	t.Helper()
	return dig(t, s.ok(t, from, send, "to", to, "t", text), "sendMessage", "message", "id").(string)
}

func TestMessagesAreSentAndRead(t *testing.T) {
	s := start(t)
	sent := dig(t, s.ok(t, "alice", send, "to", "bob", "t", " hello\u200f\nbob ", "q", "r1"), "sendMessage", "message").(map[string]any)
	first := sent["id"]
	delete(sent, "id")
	delete(sent, "at")
	same(t, sent, `{"text":"hello\u200f\nbob","from":{"userId":"alice"},"to":{"userId":"bob"}}`)
	same(t, dig(t, s.ok(t, "alice", send, "to", "bob", "t", "hello\u200f\nbob", "q", "r1"), "sendMessage", "message", "id"), fmt.Sprintf("%q", first))
	s.sends(t, "bob", "alice", "hi")
	last := s.sends(t, "alice", "bob", "how are you?")
	s.sends(t, "carol", "bob", "me too")

	const mine = `{ conversations { edges { node { with { userId } latest { text from { userId } } unread messages { edges { node { text from { userId } } } } } } } }`
	same(t, s.ok(t, "bob", mine), `{"conversations":{"edges":[
		{"node":{"with":{"userId":"carol"},"latest":{"text":"me too","from":{"userId":"carol"}},"unread":1,"messages":{"edges":[{"node":{"text":"me too","from":{"userId":"carol"}}}]}}},
		{"node":{"with":{"userId":"alice"},"latest":{"text":"how are you?","from":{"userId":"alice"}},"unread":2,"messages":{"edges":[
			{"node":{"text":"how are you?","from":{"userId":"alice"}}},{"node":{"text":"hi","from":{"userId":"bob"}}},{"node":{"text":"hello\u200f\nbob","from":{"userId":"alice"}}}]}}}]}}`)
	const read = `mutation($w: ID!, $u: ID) { markRead(input: {with: $w, upTo: $u}) { conversation { unread with { userId } latest { id } messages(first: 1) { edges { node { id } } } } } }`
	same(t, s.ok(t, "bob", read, "w", "alice", "u", first),
		fmt.Sprintf(`{"markRead":{"conversation":{"unread":1,"with":{"userId":"alice"},"latest":{"id":%[1]q},"messages":{"edges":[{"node":{"id":%[1]q}}]}}}}`, last))
	same(t, dig(t, s.ok(t, "bob", read, "w", "alice"), "markRead", "conversation", "unread"), `0`)
	same(t, dig(t, s.ok(t, "bob", read, "w", "alice", "u", first), "markRead", "conversation", "unread"), `0`)
	same(t, s.ok(t, "alice", `{ conversation(with: "bob") { unread } none: conversation(with: "carol") { unread } }`), `{"conversation":{"unread":1},"none":null}`)

	same(t, s.ok(t, "bob", `query($id: ID!) { node(id: $id) { ... on Message { text to { userId } } } }`, "id", last), `{"node":{"text":"how are you?","to":{"userId":"bob"}}}`)
	id := dig(t, s.ok(t, "bob", `{ conversation(with: "alice") { id } }`), "conversation", "id")
	same(t, s.ok(t, "bob", `query($id: ID!) { node(id: $id) { ... on Conversation { with { userId } latest { text } } } }`, "id", id),
		`{"node":{"with":{"userId":"alice"},"latest":{"text":"how are you?"}}}`)
}

func TestConversationsArePaged(t *testing.T) {
	s := start(t)
	for i := range 5 {
		s.sends(t, "alice", fmt.Sprint("user", i), fmt.Sprint(i))
		s.sends(t, "alice", "bob", fmt.Sprint("bob ", i))
	}
	if got := strings.Join(s.pages(t, "alice", "", `conversations(%s)`, "latest text", 2), ","); got != "bob 4,4,3,2,1,0" {
		t.Errorf("the latest messages: got %s, want bob 4 and 4 to 0", got)
	}
	if got := strings.Join(s.pages(t, "alice", `conversation(with: "bob")`, `messages(%s)`, "text", 2), ","); got != "bob 4,bob 3,bob 2,bob 1,bob 0" {
		t.Errorf("the messages: got %s, want bob 4 to bob 0", got)
	}
	data := s.ok(t, "alice", `{ conversations { pageInfo { endCursor } } conversation(with: "bob") { messages { pageInfo { endCursor } } } }`)
	for _, path := range [][]any{{"conversations"}, {"conversation", "messages"}} {
		after := dig(t, dig(t, data, path...), "pageInfo", "endCursor")
		s.refused(t, "BAD_USER_INPUT", "bob", `query($a: String) { conversations(after: $a) { edges { cursor } } }`, "a", after)
	}
}

func TestBadMessagesAreRefused(t *testing.T) {
	s := start(t)
	first := s.sends(t, "alice", "bob", "first")
	comment := s.says(t, "alice", "comment", nil)
	s.ok(t, "alice", send, "to", "bob", "t", "once", "q", "request")
	const read = `mutation($w: ID!, $u: ID) { markRead(input: {with: $w, upTo: $u}) { conversation { unread } } }`
	for name, c := range map[string]struct {
		code, user, query string
		variables         []any
		message           string
	}{
		"no viewer":                                {"UNAUTHENTICATED", "", send, []any{"to", "bob"}, "token"},
		"to the sender":                            {"BAD_USER_INPUT", "alice", send, []any{"to", "alice"}, "input.to is your own"},
		"to an empty user id":                      {"BAD_USER_INPUT", "alice", send, []any{"to", ""}, "input.to must not be empty"},
		"to a name with NUL":                       {"BAD_USER_INPUT", "alice", send, []any{"to", "a\x00b"}, "input.to"},
		"blank":                                    {"BAD_USER_INPUT", "alice", send, []any{"to", "bob", "t", " \u200e"}, "input.text must not be empty"},
		"2,001 characters":                         {"BAD_USER_INPUT", "alice", send, []any{"to", "bob", "t", strings.Repeat("é", 2001)}, "input.text is 2001 characters long"},
		"an empty request id":                      {"BAD_USER_INPUT", "alice", send, []any{"to", "bob", "q", ""}, "input.requestId"},
		"a request id used before":                 {"BAD_USER_INPUT", "alice", send, []any{"to", "bob", "t", "twice", "q", "request"}, "input.requestId"},
		"read anonymously":                         {"UNAUTHENTICATED", "", read, []any{"w", "bob"}, "token"},
		"read without a conversation":              {"NOT_FOUND", "alice", read, []any{"w", "carol"}, "input.with"},
		"read with the viewer":                     {"BAD_USER_INPUT", "alice", read, []any{"w", "alice"}, "input.with"},
		"read another user's message":              {"NOT_FOUND", "carol", read, []any{"w", "bob", "u", first}, "input.upTo"},
		"read without a conversation of one's own": {"NOT_FOUND", "carol", read, []any{"w", "alice"}, "input.with"},
		"read up to a comment":                     {"NOT_FOUND", "bob", read, []any{"w", "alice", "u", comment}, "input.upTo"},
		"read up to an unknown id":                 {"NOT_FOUND", "bob", read, []any{"w", "alice", "u", "nothing"}, "input.upTo"},
		"conversations, anonymous":                 {"UNAUTHENTICATED", "", `{ conversations { edges { cursor } } }`, nil, "token"},
		"a conversation, anonymous":                {"UNAUTHENTICATED", "", `{ conversation(with: "bob") { id } }`, nil, "token"},
		"a conversation with the viewer":           {"BAD_USER_INPUT", "alice", `{ conversation(with: "alice") { id } }`, nil, "with is your own"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.refused(t, c.code, c.user, c.query, c.variables...); !strings.Contains(got, c.message) {
				t.Errorf("got the message %q, want %q in it", got, c.message)
			}
		})
	}
	same(t, dig(t, s.ok(t, "bob", `{ conversation(with: "alice") { unread } }`), "conversation", "unread"), `2`)
}

// The latest message between two friends is visible only to these two users.
func TestFriendsShowTheLatestMessage(t *testing.T) {
	s := start(t)
	for _, pair := range [][2]string{{"alice", "bob"}, {"bob", "alice"}, {"alice", "carol"}, {"carol", "alice"}} {
		s.ok(t, pair[0], `mutation($id: ID!) { follow(input: {biz: "user", bizId: $id}) { changed } }`, "id", pair[1])
	}
	await.That(t, "alice has two friends", func() bool {
		return len(dig(t, s.ok(t, "alice", `{ viewer { friends { edges { cursor } } } }`), "viewer", "friends", "edges").([]any)) == 2
	})
	s.sends(t, "bob", "alice", "hi alice")
	const friends = `{ user(userId: "alice") { friends { edges { node { user { userId } latestMessage { text from { userId } } } } } } }`
	const bob, carol = `{"node":{"user":{"userId":"bob"},"latestMessage":%s}}`, `{"node":{"user":{"userId":"carol"},"latestMessage":null}}`
	for viewer, message := range map[string]string{
		"alice": `{"text":"hi alice","from":{"userId":"bob"}}`, "bob": `{"text":"hi alice","from":{"userId":"bob"}}`, "carol": `null`, "dave": `null`,
	} {
		same(t, s.ok(t, viewer, friends), fmt.Sprintf(`{"user":{"friends":{"edges":[%s,%s]}}}`, carol, fmt.Sprintf(bob, message)))
	}
}

func TestMessagesPerMinuteAreLimited(t *testing.T) {
	const most = 5
	s := start(t, withRates(rate.Config{MessagesPerUser: most}))
	begin := time.Now()
	for i := range most {
		s.sends(t, "alice", "bob", fmt.Sprint(i))
	}
	s.refused(t, "BAD_USER_INPUT", "alice", send, "to", "bob", "t", "") // invalid messages do not count
	// The bucket has been filling again since the first message, at the earliest. If the
	// messages take long, more of them are within the limit.
	got, n := s.ask(t, "alice", send, "to", "bob"), most
	for ; len(got.Errors) == 0; n++ {
		if gained := time.Since(begin).Seconds() * most / 60; float64(n+1) > most+gained {
			t.Fatalf("message %d: got it accepted, want at most %.1f", n+1, most+gained)
		}
		got = s.ask(t, "alice", send, "to", "bob")
	}
	if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "RATE_LIMITED" {
		t.Fatalf("a message beyond the limit: got %+v, want RATE_LIMITED alone", got)
	}
	least := max(math.Ceil(float64(60/most*(n+1-most))-time.Since(begin).Seconds()), 1)
	if seconds, _ := got.Errors[0].Extensions["retryAfter"].(float64); seconds < least || seconds > 60/most {
		t.Errorf("a message beyond the limit: got retryAfter %v, want %v to %d", seconds, least, 60/most)
	}
	s.sends(t, "bob", "alice", "another user")
	if n := s.metric(t, "ovation_rate_limited_total", "messages"); n != 1 {
		t.Errorf("got %v refusals counted, want 1", n)
	}
}

const watchMessages = `subscription($a: String) { messages(after: $a) { id text from { userId } to { userId } } }`

// message waits for the next event of watchMessages.
func (s *stream) message(t *testing.T) map[string]any {
	t.Helper()
	return s.event(t, "messages").(map[string]any)
}

// messagesCursor returns the cursor of a user's messages. It comes from the engine that
// executes the subscriptions.
func (s *service) messagesCursor(t *testing.T, user string) any {
	t.Helper()
	var data struct{ Data map[string]any }
	must.Succeed(t, json.Unmarshal(firstEvent(t, s, user, operation{text: `{ conversations { messagesCursor } }`}), &data))
	return dig(t, data.Data, "conversations", "messagesCursor")
}

func TestMessagesMissNothing(t *testing.T) {
	s := start(t)
	before := s.messagesCursor(t, "bob") // of an empty mailbox
	first := s.sends(t, "alice", "bob", "one")
	s.sends(t, "bob", "carol", "two")
	s.sends(t, "alice", "carol", "not for bob")
	phone, desk := s.subscribe(t, "bob", watchMessages, map[string]any{"a": before}), s.subscribe(t, "bob", watchMessages, map[string]any{"a": first})
	got := phone.message(t)
	same(t, got["id"], fmt.Sprintf("%q", first))
	delete(got, "id")
	same(t, got, `{"text":"one","from":{"userId":"alice"},"to":{"userId":"bob"}}`)
	for _, device := range []*stream{phone, desk} {
		same(t, device.message(t)["text"], `"two"`) // the viewer's own message
	}
	later := phone.nextAsync()
	s.sends(t, "carol", "bob", "three")
	if event := later(); !strings.Contains(string(event.Data), `"text":"three"`) {
		t.Errorf("got the event %s, want the message three", event.Data)
	}
	last := desk.message(t)
	same(t, last["text"], `"three"`)
	desk.end()
	again := s.subscribe(t, "bob", watchMessages, map[string]any{"a": last["id"]})
	fresh := s.subscribe(t, "bob", watchMessages, nil) // this stream begins now
	s.sends(t, "bob", "alice", "four")
	for _, device := range []*stream{phone, again, fresh} {
		same(t, device.message(t)["text"], `"four"`)
	}
	for user, bad := range map[string]any{"alice": before, "carol": first, "bob": "bad"} {
		if got := s.subscribe(t, user, watchMessages, map[string]any{"a": bad}).next(); got == nil || len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "BAD_USER_INPUT" {
			t.Errorf("an invalid cursor: got %+v, want BAD_USER_INPUT alone", got)
		}
	}
	if got := s.subscribe(t, "", watchMessages, nil).next(); got == nil || len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "UNAUTHENTICATED" {
		t.Errorf("without a viewer: got %+v, want UNAUTHENTICATED alone", got)
	}
}

// A stream that is far behind receives everything, page by page.
func TestMessagesCatchUp(t *testing.T) {
	s := start(t)
	cursor := s.messagesCursor(t, "bob")
	const many = 250
	messages := make([]storage.NewDirectMessage, many)
	for i := range messages {
		messages[i] = storage.NewDirectMessage{
			From: storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint("user", i%9)}, To: storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}, Text: fmt.Sprint(i),
		}
	}
	_, err := s.store.AddMessages(context.Background(), messages)
	must.Succeed(t, err)
	stream := s.subscribe(t, "bob", watchMessages, map[string]any{"a": cursor})
	for i := range many {
		if got := stream.message(t)["text"]; got != fmt.Sprint(i) {
			t.Fatalf("event %d: got message %v, want %d", i, got, i)
		}
	}
}

func TestMessagesAndCommentsAreUnavailableWithoutTheDatabase(t *testing.T) {
	s := start(t)
	first, top := s.sends(t, "alice", "bob", "x"), s.says(t, "alice", "top", nil)
	must.Succeed(t, s.store.Close())
	for _, document := range []string{
		`mutation { sendMessage(input: {to: "bob", text: "x"}) { message { id } } }`,
		`mutation { markRead(input: {with: "bob"}) { conversation { id } } }`,
		`{ conversations { edges { cursor } } }`, `{ conversation(with: "bob") { id } }`,
		fmt.Sprintf(`{ node(id: %q) { id } }`, first),
		`mutation { addComment(input: {biz: "video", bizId: "1", text: "x"}) { comment { id } } }`,
		fmt.Sprintf(`mutation { editComment(input: {id: %q, text: "x"}) { comment { id } } }`, top),
		fmt.Sprintf(`mutation { deleteComment(input: {id: %q}) { deletedId } }`, top),
		fmt.Sprintf(`{ node(id: %q) { id } }`, top),
	} {
		s.refused(t, "UNAVAILABLE", "alice", document)
	}
}
