package transport_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/resolvers/transport"
)

func TestStreamsAreBounded(t *testing.T) {
	t.Run("on one socket", func(t *testing.T) {
		c := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{MaxPerSocket: 2}}).ready(t)
		c.say(subscribe("1", watching("wait", "1")), subscribe("2", watching("wait", "2")), subscribe("3", watching("wait", "3")))
		c.receives(`{"type":"error","id":"3","payload":[{"message":"this connection runs 2 operations, the most allowed at the same time; complete one first","extensions":{"code":"LIMIT_EXCEEDED"}}]}`)
		c.say(`{"type":"complete","id":"1"}`)
		await.That(t, "streams are accepted again", func() bool {
			c.say(subscribe("4", `{viewer{userId}}`))
			got, err := c.next()
			if err == nil && strings.Contains(got, "next") {
				_, err = c.next() // the complete message
			}
			must.Succeed(t, err)
			return strings.Contains(got, "next")
		})
	})
	t.Run("in the process", func(t *testing.T) {
		s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{MaxSubscriptions: 1}})
		alice := []string{"Authorization", "Bearer " + token(t, time.Hour)}
		a, b := s.ready(t, alice...), s.ready(t, alice...)
		a.say(subscribe("1", watching("wait", "1")))
		s.wantMetric(t, "ovation_subscriptions", 1)
		b.say(subscribe("1", watching("wait", "1")))
		b.receives(`{"type":"error","id":"1","payload":[{"message":"this server holds as many subscriptions as it can; try again","extensions":{"code":"UNAVAILABLE"}}]}`)
		must.Succeed(t, a.Close(websocket.StatusNormalClosure, ""))
		s.wantMetric(t, "ovation_subscriptions", 0)
		b.say(subscribe("1", watching("count", "0")))
		b.receives(`{"type":"complete","id":"1"}`)
	})
	t.Run("of a user", func(t *testing.T) {
		s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{MaxStreamsPerUser: 2}})
		alice := []string{"Authorization", "Bearer " + token(t, time.Hour)}
		first := s.ready(t, alice...)
		s.ready(t, alice...)
		third := s.dial(t, alice...)
		third.say(`{"type":"connection_init"}`)
		third.isClosed(websocket.StatusTryAgainLater, "you have 2 connections open")
		if got := s.events(t, query(watching("wait", "1")), alice...); got.status != 429 || got.code() != "RATE_LIMITED" || got.header.Get("Retry-After") != "1" {
			t.Errorf("an event stream beyond the user's limit: got status %d, %s, want 429 RATE_LIMITED, Retry-After 1: %v", got.status, got.body, got.header)
		}
		for range 5 {
			s.ready(t) // anonymous users are not bounded per user
		}
		must.Succeed(t, first.Close(websocket.StatusNormalClosure, ""))
		s.wantMetric(t, "ovation_streams websocket", 6)
		s.ready(t, alice...)
	})
	t.Run("of a user, subscriptions", func(t *testing.T) {
		s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{MaxSubscriptionsPerUser: 2}})
		alice := []string{"Authorization", "Bearer " + token(t, time.Hour)}
		a, b := s.ready(t, alice...), s.ready(t, alice...)
		a.say(subscribe("1", watching("wait", "1")))
		b.say(subscribe("1", watching("wait", "2")))
		s.wantMetric(t, "ovation_subscriptions", 2)
		b.say(subscribe("2", watching("wait", "3")))
		b.receives(`{"type":"error","id":"2","payload":[{"message":"you have 2 subscriptions, the most allowed; complete one first","extensions":{"code":"RATE_LIMITED","retryAfter":1}}]}`)
		must.Succeed(t, a.Close(websocket.StatusNormalClosure, ""))
		s.wantMetric(t, "ovation_subscriptions", 1)
		b.say(subscribe("2", watching("wait", "3")))
		s.wantMetric(t, "ovation_subscriptions", 2)
	})
	t.Run("in all", func(t *testing.T) {
		s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{MaxStreams: 3}})
		for range 3 {
			s.ready(t)
		}
		if _, status, _ := s.tryDial(t); status != 503 {
			t.Errorf("a socket beyond the limit: got status %d, want 503", status)
		}
		if got := s.events(t, query(watching("wait", "1"))); got.status != 503 || got.code() != "UNAVAILABLE" || got.header.Get("Retry-After") == "" {
			t.Errorf("an event stream beyond the limit: got status %d, %s, want 503 UNAVAILABLE with Retry-After: %v", got.status, got.body, got.header)
		}
		s.wantMetric(t, "ovation_streams_refused_total full", 1)
		s.wantMetric(t, "ovation_streams_refused_total anonymous", 1)
	})
}

// TestSocketsAtRestHaveLittleOnTheirStacks checks where idle sockets wait after they have
// received pongs. They must wait before a read begins, because the stack is deep during a
// read.
func TestSocketsAtRestHaveLittleOnTheirStacks(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{KeepAlive: 100 * time.Millisecond}})
	for range 10 {
		c := s.ready(t)
		go func() {
			for { // reading answers pings
				if _, err := c.next(); err != nil {
					return
				}
			}
		}()
	}
	await.That(t, "each has answered many pings", func() bool { return s.pings.Load() > 100 })
	text := make([]byte, 1<<20)
	await.That(t, "all are at rest", func() bool {
		all := string(text[:runtime.Stack(text, true)])
		return strings.Count(all, "transport.(*slimConn).await") == 10 && !strings.Contains(all, "(*socket).read(") && !strings.Contains(all, "Conn).Ping")
	})
	s.wantMetric(t, "ovation_streams websocket", 10)
}

// TestSocketsThatNeverInitialise opens 2,000 WebSockets that never send connection_init,
// and one that does.
func TestSocketsThatNeverInitialise(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{MaxPending: 100, InitTimeout: time.Hour, KeepAlive: time.Hour, CloseTimeout: 50 * time.Millisecond}})
	works := s.ready(t)
	works.say(subscribe("1", watching("events", "flooded")))
	var idle []net.Conn
	for i := range 2000 {
		idle = append(idle, s.raw(t))
		if i%400 == 0 {
			sendEvent(t, "flooded", int64(i))
			works.receives(fmt.Sprintf(`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":"flooded","version":%d}}}}`, i))
			s.ready(t) // others can still connect
		}
	}
	s.wantMetric(t, "ovation_websocket_closes_total 4408", 1900)
	s.wantMetric(t, "ovation_streams websocket", 106)
	must.Succeed(t, idle[0].SetDeadline(time.Now().Add(deadline)))
	said, err := io.ReadAll(idle[0])
	if err != nil || !strings.HasSuffix(string(said), "\x11\x38Connection initialisation timeout") {
		t.Errorf("the oldest socket: got %q, %v, want it closed for its initialisation timeout", said, err)
	}
}

func TestSlowInitialisationIsClosed(t *testing.T) {
	patient := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{InitTimeout: time.Hour}}).dial(t)
	patient.say(`{"type":"ping"}`) // is answered before connection_init
	patient.receives(`{"type":"pong"}`)
	// The server waits for a client that is slow to read why the connection is closed.
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{InitTimeout: 100 * time.Millisecond, CloseTimeout: time.Minute}})
	c := s.dial(t)
	c.say(`{"type":"ping"}`) // does not extend the time
	c.isClosed(4408, "Connection initialisation timeout")
	s.wantMetric(t, "ovation_streams websocket", 0)
}

// TestAReaderThatStopsReading checks that a client that stops reading does not affect
// other clients, and that unread events are not kept in memory.
func TestAReaderThatStopsReading(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{WriteTimeout: time.Hour, KeepAlive: time.Hour, CloseTimeout: 100 * time.Millisecond}})
	reads := s.ready(t)
	reads.say(subscribe("1", watching("events", "read")))
	before := heap()
	for range 5 {
		s.ready(t).say(subscribe("1", flood))
	}
	sent := func() float64 { return s.value(t, "ovation_subscription_responses_total") }
	stuck := func() bool { // none of the five connections makes progress
		n := sent()
		for i := range int64(10) {
			sendEvent(t, "read", i)
			reads.receives(fmt.Sprintf(`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":"read","version":%d}}}}`, i))
		}
		return sent() == n+10
	}
	await.That(t, "the connections are full", stuck)
	if after := heap(); after > before+5<<20 {
		t.Errorf("the heap has grown by %d KB, want at most %d", (after-before)>>10, 5<<10)
	}
	s.wantMetric(t, "ovation_streams websocket", 6)
}

func TestAReaderThatStopsReadingIsCutOff(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{WriteTimeout: 200 * time.Millisecond}})
	c := s.ready(t)
	c.say(subscribe("1", flood))
	s.wantMetric(t, "ovation_websocket_closes_total lost", 1)
	s.wantMetric(t, "ovation_streams websocket", 0)
	s.wantMetric(t, "ovation_subscriptions", 0)
}

// flood is a subscription to an endless stream of 50 KB events.
var flood = watching("flood", strings.Repeat("x", 50_000))

// heap returns the number of bytes in use. It collects twice, because objects in a
// sync.Pool survive one collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestATokenThatExpiresEndsItsStreams(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{WriteTimeout: 5 * time.Second}}) // less than the token is valid
	soon := "Bearer " + expiring(t)
	a, b := s.ready(t, "Authorization", soon), s.dial(t)
	b.say(`{"type":"connection_init","payload":{"Authorization":"` + soon + `"}}`)
	b.receives(`{"type":"connection_ack"}`)
	for _, c := range []*client{a, b} {
		c.say(subscribe("1", watching("wait", "1")))
	}
	stream := s.events(t, query(watching("wait", "1")), "Authorization", soon)
	if strings.Contains(stream.body, "event:") { // no complete event, so that the client reconnects
		t.Errorf("got the event stream %q, want no events", stream.body)
	}
	for _, c := range []*client{a, b} {
		c.isClosed(4403, "Forbidden: the token has expired")
	}
	s.wantMetric(t, "ovation_subscriptions", 0)
}

// expiring returns a token for alice that expired 19 s ago. The leeway of 30 s makes it
// valid for another ten or eleven seconds, in which a test can open its streams even if the
// machine is slow.
func expiring(t *testing.T) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": "alice", "exp": time.Now().Unix() - 19}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(secret)
	must.Succeed(t, err)
	return text
}

func TestUnansweredPingsCloseTheConnection(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{
		InitTimeout: time.Hour, KeepAlive: 50 * time.Millisecond,
		PongTimeout: 10 * time.Second, // a healthy client must be able to answer
	}})
	s.raw(t) // it never sends connection_init, so it is not pinged
	lives := s.ready(t)
	go func() { // it answers pings by reading
		for {
			if _, err := lives.next(); err != nil {
				return
			}
		}
	}()
	dies := s.raw(t)
	// Unsolicited pongs, one of them with the right number, do not count as answers.
	_, err := io.WriteString(dies, masked(1, `{"type":"connection_init"}`)+masked(10, "")+masked(10, "1")+masked(10, "x"))
	must.Succeed(t, err)
	s.wantMetric(t, "ovation_websocket_closes_total lost", 1)
	said := everything(t, dies)
	if !strings.Contains(said, "connection_ack") || !strings.Contains(said, "\x89\x011") {
		t.Errorf("the client received %q, want connection_ack and a ping", said)
	}
	s.wantMetric(t, "ovation_streams websocket", 2)
	if lost := s.value(t, "ovation_websocket_closes_total lost"); lost != 1 {
		t.Errorf("got %v lost sockets, want 1", lost)
	}
}

func TestStoppingServerClosesAllStreams(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{Spread: 100 * time.Millisecond}})
	var all []*client
	for range 20 {
		c := s.ready(t)
		c.say(subscribe("1", watching("wait", "1")), subscribe("2", `{interactive(biz:"events",bizId:"stop"){bizId}}`), `{"type":"ping"}`)
		c.receives(`{"type":"pong"}`) // so the server has read both operations
		all = append(all, c)
	}
	pending := s.dial(t)
	stream := make(chan answer, 1)
	go func() { stream <- s.events(t, query(watching("wait", "1"))) }()
	s.wantMetric(t, "ovation_subscriptions", 21)

	closed := make(chan error, 1)
	go func() { closed <- s.streams.Close(context.Background()) }()
	pending.isClosed(websocket.StatusGoingAway, "the server is stopping")
	if got := <-stream; strings.Contains(got.body, "complete") {
		t.Errorf("got the event stream %q, want no complete event", got.body)
	}
	s.wantMetric(t, "ovation_subscriptions", 0)
	if _, status, _ := s.tryDial(t); status != 503 {
		t.Errorf("a new socket: got status %d, want 503", status)
	}
	for range 20 { // the running queries
		sendEvent(t, "stop", 1)
	}
	for _, c := range all {
		c.receives(`{"type":"next","id":"2","payload":{"data":{"interactive":{"bizId":"stop"}}}}`, `{"type":"complete","id":"2"}`)
		c.isClosed(websocket.StatusGoingAway, "the server is stopping")
	}
	must.Succeed(t, <-closed)
	s.wantMetric(t, "ovation_streams websocket", 0)
	s.wantMetric(t, "ovation_streams events", 0)
}

func TestClosingDoesNotWaitForEver(t *testing.T) {
	s := newSite(t, siteOptions{})
	c := s.ready(t)
	eventChannels.Delete("late")
	c.say(subscribe("1", `{interactive(biz:"events",bizId:"late"){bizId}}`))
	await.That(t, "the query has reached its resolver", func() bool { _, ok := eventChannels.Load("late"); return ok })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.streams.Close(ctx); err == nil {
		t.Error("Close with a running query: got no error, want one")
	}
	sendEvent(t, "late", 1)
	c.isClosed(websocket.StatusGoingAway, "")
}
