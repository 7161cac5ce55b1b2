package transport_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ovation/internal/testing/must"
	"ovation/resolvers/transport"
)

// forwardedFor returns the header that a proxy adds for the i-th client.
func forwardedFor(i int) []string {
	return []string{"X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", i/250, i%250)}
}

// asAlice connects as a browser does: it sends the token in connection_init.
func (s *site) asAlice(t *testing.T) *client {
	t.Helper()
	c := s.dial(t)
	c.say(fmt.Sprintf(`{"type":"connection_init","payload":{"Authorization":"Bearer %s"}}`, token(t, time.Minute)))
	c.receives(`{"type":"connection_ack"}`)
	return c
}

// In TestAnonymousSocketsLeaveRoomForUsers, anonymous clients of many addresses take all
// available subscriptions and then all available streams. Other clients open sockets and
// send nothing. Signed-in users can still connect.
func TestAnonymousSocketsLeaveRoomForUsers(t *testing.T) {
	const most, share = 80, 60
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{
		MaxStreams: most, MaxSubscriptions: most, MaxSubscriptionsPerAddress: 50, InitTimeout: time.Hour, CloseTimeout: 50 * time.Millisecond,
	}})
	for i := range 3 { // 100 subscriptions from each address
		c := s.ready(t, forwardedFor(i)...)
		for id := range 100 {
			c.say(subscribe(fmt.Sprint(id), watching("wait", fmt.Sprint(id))))
		}
		if i == 0 {
			s.wantMetric(t, "ovation_streams_refused_total address", 50)
		}
	}
	s.wantMetric(t, "ovation_streams_refused_total anonymous", 300-50-share)
	s.wantMetric(t, "ovation_subscriptions", share)
	got := s.events(t, query(watching("wait", "1")), forwardedFor(3)...)
	if got.status != 503 || got.code() != "UNAVAILABLE" || got.header.Get("Retry-After") != "1" {
		t.Errorf("an event stream: got status %d, %s, want 503 UNAVAILABLE, Retry-After 1: %v", got.status, got.body, got.header)
	}
	got = s.events(t, query(watching("wait", "1")), forwardedFor(0)...)
	if got.status != 429 || got.code() != "RATE_LIMITED" || got.header.Get("Retry-After") != "1" {
		t.Errorf("an event stream of an address with its share: got status %d, %s, want 429 RATE_LIMITED, Retry-After 1: %v", got.status, got.body, got.header)
	}

	for i := range share - 3 {
		s.ready(t, forwardedFor(i)...)
	}
	for i := range 10 {
		c := s.dial(t, forwardedFor(i)...)
		c.say(`{"type":"connection_init"}`)
		c.isClosed(websocket.StatusTryAgainLater, "this server holds as many connections of anonymous visitors as it can")
	}
	var idle []net.Conn
	for range most / 2 { // twice the number of streams that are left
		idle = append(idle, s.raw(t))
	}
	for i := range 10 {
		alice := s.asAlice(t)
		alice.say(subscribe("1", watching("count", "1")), subscribe("2", watching("wait", fmt.Sprint(i))))
		if got, err := alice.next(); err != nil || !strings.HasPrefix(got, `{"type":"next","id":"1"`) {
			t.Fatalf("alice received %s, %v, want an event of operation 1", got, err)
		}
	}
	for _, c := range idle {
		must.Succeed(t, c.Close())
	}
}

// TestOneAddressTakesNoShare lets anonymous clients of one address open as many sockets
// and subscriptions as they may have. Clients of other addresses, and signed-in users,
// can still connect. When one of the sockets is closed, another may be opened.
func TestOneAddressTakesNoShare(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{MaxStreamsPerAddress: 3, MaxSubscriptionsPerAddress: 2}})
	var open []*client
	for range 3 {
		open = append(open, s.ready(t, forwardedFor(1)...))
	}
	refused := s.dial(t, forwardedFor(1)...)
	refused.say(`{"type":"connection_init"}`)
	refused.isClosed(websocket.StatusTryAgainLater, "anonymous visitors have 3 connections open from your address")
	if got := s.events(t, query(watching("wait", "1")), forwardedFor(1)...); got.status != 429 || got.code() != "RATE_LIMITED" {
		t.Errorf("an event stream: got status %d, %s, want 429 RATE_LIMITED", got.status, got.body)
	}
	s.ready(t, forwardedFor(2)...)
	s.ready(t, append(forwardedFor(1), "Authorization", "Bearer "+token(t, time.Hour))...) // signed-in users do not count

	for i, c := range open {
		c.say(subscribe("1", watching("wait", "1")))
		if i == 2 {
			c.receives(`{"type":"error","id":"1","payload":[{"message":"anonymous visitors have 2 subscriptions from your address, the most allowed; sign in, or complete one first","extensions":{"code":"RATE_LIMITED","retryAfter":1}}]}`)
		} else {
			s.wantMetric(t, "ovation_subscriptions", float64(i+1))
		}
	}
	must.Succeed(t, open[0].Close(websocket.StatusNormalClosure, ""))
	s.wantMetric(t, "ovation_subscriptions", 1)
	s.wantMetric(t, "ovation_streams websocket", 4)
	s.ready(t, forwardedFor(1)...).say(subscribe("1", watching("wait", "1")))
	s.wantMetric(t, "ovation_subscriptions", 2)
}
