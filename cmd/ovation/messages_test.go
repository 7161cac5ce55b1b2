package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// sendMessage sends a message from one user to another. The message's text also serves as
// the request id.
func (s *server) sendMessage(from, to, text string) (id string, err error) {
	var out struct {
		SendMessage struct{ Message struct{ ID string } }
	}
	err = s.graphQL(from, fmt.Sprintf(`mutation { sendMessage(input: {to: %q, text: %[2]q, requestId: %[2]q}) { message { id } } }`, to, text), &out)
	return out.SendMessage.Message.ID, err
}

// conversationsReply is the reply to conversationsQuery.
type conversationsReply struct {
	Conversations struct {
		MessagesCursor string
		Edges          []struct {
			Node struct {
				Unread int
				With   struct{ UserID string }
				Latest struct{ ID, Text string }
			}
		}
	}
}

const (
	conversationsQuery   = `{ conversations(first: 100) { messagesCursor edges { node { unread with { userId } latest { id text } } } } }`
	messagesSubscription = `subscription($a: String) { messages(after: $a) { id text from { userId } to { userId } } }`
)

// messagesOnEveryNode sends messages through both nodes, and repeats each request on the
// other node. As soon as a message is acknowledged, the other node must show it once in
// the receiver's conversations. Every message must reach the streams of its sender and of
// its receiver. A user's two streams, one on each node, must deliver the messages in the
// same order.
func messagesOnEveryNode(t *testing.T, nodes []*server) {
	t.Helper()
	const users, each = 6, 10
	name := func(u int) string { return fmt.Sprint("friend-", u%users) }
	var streams, writers sync.WaitGroup
	orders := make([][]string, 2*users)
	for i := range orders { // every user watches on both nodes
		user, node := name(i/2), nodes[i%2]
		conn, err := node.watch(t.Context(), user, map[string]any{"query": messagesSubscription, "variables": map[string]any{"a": mailboxCursor(t, node, user)}})
		must.Succeed(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		streams.Go(func() {
			for range 2 * each { // sent and received
				var got struct {
					Messages struct {
						ID       string
						From, To struct{ UserID string }
					}
				}
				if err := nextOn(t.Context(), conn, &got); err != nil {
					t.Errorf("%s received %d messages, then %v, want all messages", user, len(orders[i]), err)
					return
				}
				if m := got.Messages; m.From.UserID != user && m.To.UserID != user {
					t.Errorf("%s got %+v, want messages from or to that user alone", user, m)
				}
				orders[i] = append(orders[i], got.Messages.ID)
			}
		})
	}
	for u := range users {
		writers.Go(func() {
			from, to, here, there := name(u), name(u+1), nodes[u%2], nodes[(u+1)%2]
			for i := range each {
				text := fmt.Sprintf("%d-%d", u, i)
				send := func(node *server) (id string, err error) {
					err = untilAvailable(t.Context(), func() error { id, err = node.sendMessage(from, to, text); return err })
					return id, err
				}
				id, err := send(here)
				if err != nil {
					t.Error(err)
					return
				}
				var seen conversationsReply
				if err := untilAvailable(t.Context(), func() error { return there.graphQL(to, conversationsQuery, &seen) }); err != nil {
					t.Error(err)
					return
				}
				found := false
				for _, edge := range seen.Conversations.Edges {
					found = found || edge.Node.With.UserID == from && edge.Node.Latest.ID == id && edge.Node.Unread == i+1
				}
				again, err := send(there)
				if err != nil || again != id || !found {
					t.Errorf("%s sent %s and, repeated on the other node, %s, %v, want one ID; shown there: %t, %+v, want it as the latest of %d unread", from, id, again, err, found, seen, i+1)
				}
			}
		})
	}
	writers.Wait()
	streams.Wait()
	for u := range users {
		if a, b := strings.Join(orders[2*u], " "), strings.Join(orders[2*u+1], " "); a != b {
			t.Errorf("the two streams of %s have different orders:\n%s\n%s", name(u), a, b)
		}
		must.Succeed(t, nodes[u%2].graphQL(name(u), fmt.Sprintf(`mutation { markRead(input: {with: %q}) { conversation { unread } } }`, name(u+users-1)), nil))
		var seen conversationsReply
		must.Succeed(t, nodes[(u+1)%2].graphQL(name(u), conversationsQuery, &seen))
		for _, edge := range seen.Conversations.Edges {
			if edge.Node.Unread != 0 {
				t.Errorf("%s has read everything; the other node shows %+v, want none unread", name(u), edge.Node)
			}
		}
	}
}

// TestMessagesSurviveOutagesOfTheDatabase makes the database unavailable several times
// while messages are sent. Senders repeat failed requests. In the end, every message must
// be stored once. Each stream must have delivered every message once, and each sender's
// messages in the order in which they were sent.
func TestMessagesSurviveOutagesOfTheDatabase(t *testing.T) {
	t.Parallel()
	const users, each, outages = 4, 30, 4
	s := newSite(t)
	through, between := s.throughProxy(t, "OVATION_POSTGRES_URL")
	nodes := []*server{through.start(t, "serve"), through.start(t, "serve")}
	name := func(u int) string { return fmt.Sprint("user-", u) }
	var streams, writers sync.WaitGroup
	for i, node := range nodes {
		conn, err := node.watch(t.Context(), "receiver", map[string]any{"query": messagesSubscription, "variables": map[string]any{"a": mailboxCursor(t, node, "receiver")}})
		must.Succeed(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		streams.Go(func() {
			next := map[string]int{}
			for range users * each {
				var got struct {
					Messages struct {
						Text string
						From struct{ UserID string }
					}
				}
				if err := nextOn(t.Context(), conn, &got); err != nil {
					t.Errorf("the stream of node %d ended with %v; each sender's next message is %v", i, err, next)
					return
				}
				from := got.Messages.From.UserID
				if want := fmt.Sprint(from, " ", next[from]); got.Messages.Text != want {
					t.Errorf("the stream of node %d delivered %q, want %q", i, got.Messages.Text, want)
				}
				next[from]++
			}
		})
	}
	var sent, refused atomic.Int64
	var begun [outages]chan struct{} // each is closed when that outage has begun
	for n := range begun {
		begun[n] = make(chan struct{})
	}
	for u := range users {
		writers.Go(func() {
			again := time.NewTicker(10 * time.Millisecond)
			defer again.Stop()
			for i := range each {
				text := fmt.Sprint(name(u), " ", i)
				// Each writer leaves messages for every outage to refuse.
				if n := i/(each/(outages+2)) - 2; i%(each/(outages+2)) == 0 && n >= 0 && n < outages {
					select {
					case <-begun[n]:
					case <-t.Context().Done():
					}
				}
				for t.Context().Err() == nil {
					_, err := nodes[(u+i)%2].sendMessage(name(u), "receiver", text)
					if err == nil {
						break
					}
					if refused.Add(1); !isUnavailable(err) {
						t.Errorf("sending %q: got %v, want UNAVAILABLE if it fails", text, err)
					}
					<-again.C
				}
				sent.Add(1)
			}
		})
	}
	for n := range int64(outages) {
		await.That(t, "messages are sent", func() bool { return sent.Load() >= (n+1)*users*each/(outages+2) })
		before := refused.Load()
		between.set(true)
		close(begun[n])
		await.That(t, "a message is refused", func() bool { return refused.Load() > before })
		between.set(false)
	}
	writers.Wait()
	streams.Wait()
	if n := s.queryInt(t, "SELECT count(*) FROM message"); n != users*each {
		t.Errorf("%d messages are stored, want the %d that were sent", n, users*each)
	}
	s.run(t, "verify").want(t, 0, "0 differences; ")
}

// mailboxCursor returns a cursor after which a stream receives every message that is sent
// from now on.
func mailboxCursor(t *testing.T, node *server, user string) string {
	t.Helper()
	var seen conversationsReply
	must.Succeed(t, node.graphQL(user, conversationsQuery, &seen))
	return seen.Conversations.MessagesCursor
}
