package resolvers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// socket is a WebSocket to the service.
type socket struct {
	*websocket.Conn

	t *testing.T
}

// connect opens a WebSocket as a user of the default tenant.
func (s *service) connect(t *testing.T, user string) *socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}) //nolint:bodyclose // there is none
	must.Succeed(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	c := &socket{conn, t}
	c.say(fmt.Sprintf(`{"type":"connection_init","payload":{"X-Ovation-User":%q}}`, user))
	c.receives(`{"type":"connection_ack"}`)
	return c
}

func (c *socket) say(text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	must.Succeed(c.t, c.Write(ctx, websocket.MessageText, []byte(text)))
}

// asks starts an operation.
func (c *socket) asks(id, query string) {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{"type": "subscribe", "id": id, "payload": map[string]any{"query": query}})
	must.Succeed(c.t, err)
	c.say(string(text))
}

func (c *socket) next() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	_, text, err := c.Read(ctx)
	must.Succeed(c.t, err)
	return string(text)
}

func (c *socket) receives(want string) {
	c.t.Helper()
	if got := c.next(); got != want {
		c.t.Fatalf("the socket received %s, want %s", got, want)
	}
}

const (
	watchLikes = `subscription { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { likeCount } }`
	likeOne    = `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`
	likesEvent = `{"type":"next","id":%q,"payload":{"data":{"interactiveChanged":{"likeCount":%d}}}}`
)

// TestSubscriptionsOfASocket starts, ends and restarts subscriptions, which have no
// goroutine while they are idle.
func TestSubscriptionsOfASocket(t *testing.T) {
	s := start(t)
	alice, nobody := s.connect(t, "alice"), s.connect(t, "")
	for round := range 20 {
		alice.asks("1", watchLikes)
		nobody.asks("1", watchLikes)
		for _, c := range []*socket{alice, nobody} {
			c.receives(fmt.Sprintf(likesEvent, "1", round))
		}
		s.ok(t, fmt.Sprint("user-", round), likeOne)
		for _, c := range []*socket{alice, nobody} {
			c.receives(fmt.Sprintf(likesEvent, "1", round+1))
			c.say(`{"type":"complete","id":"1"}`)
		}
	}
	// A socket that disconnects leaves no goroutine behind; goleak checks that.
	alice.asks("1", watchLikes)
	alice.receives(fmt.Sprintf(likesEvent, "1", 20))
	must.Succeed(t, alice.CloseNow())
	// A hub that is closed completes all its subscriptions.
	nobody.asks("2", watchLikes)
	nobody.receives(fmt.Sprintf(likesEvent, "2", 20))
	s.hub.Close()
	nobody.receives(`{"type":"complete","id":"2"}`)
}

func TestMutationsAndQueriesOfASocketAreThoseOfRequests(t *testing.T) {
	s := start(t)
	alice := s.connect(t, "alice")
	alice.asks("1", watchOne)
	alice.receives(`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":"1","likeCount":0,"freshness":"LIVE","liked":null}}}}`)
	alice.asks("2", likeOne)
	var heard []string
	for range 3 { // the event may come before or after the response
		heard = append(heard, alice.next())
	}
	for _, want := range []string{
		`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":"1","likeCount":1,"freshness":"LIVE","liked":{"reaction":"LIKE"}}}}}`,
		`{"type":"next","id":"2","payload":{"data":{"like":{"changed":true}}}}`,
		`{"type":"complete","id":"2"}`,
	} {
		if !strings.Contains(strings.Join(heard, "\n"), want) {
			t.Errorf("the socket received %q, want %s in it", heard, want)
		}
	}
}

// TestSubscriptionsAtRestHaveNoGoroutine counts the goroutines of idle subscriptions.
func TestSubscriptionsAtRestHaveNoGoroutine(t *testing.T) {
	s := start(t)
	c := s.connect(t, "alice")
	c.asks("first", watchLikes)
	c.receives(fmt.Sprintf(likesEvent, "first", 0))
	before := runtime.NumGoroutine()
	for i := range 50 {
		id := fmt.Sprint(i)
		c.asks(id, watchLikes)
		c.receives(fmt.Sprintf(likesEvent, id, 0))
	}
	await.That(t, "50 subscriptions have no goroutines", func() bool { return runtime.NumGoroutine() <= before })
}
