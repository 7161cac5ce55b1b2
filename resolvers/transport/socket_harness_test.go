package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	gqlhandler "github.com/99designs/gqlgen/graphql/handler"
	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/resolvers/limits"
	"ovation/resolvers/transport"
	"ovation/storage"
)

// deadline limits the wait for an event that should come immediately.
const deadline = 2 * time.Minute

var secret = []byte("0123456789abcdef0123456789abcdef")

// site is a server with streams over real connections.
type site struct {
	*server

	url     string // begins with http
	streams *transport.Streams
	metrics *prometheus.Registry // of the streams
	pings   atomic.Int64         // number of pings that clients have received
}

// limited is a server that limits can be installed in.
type limited struct{ *gqlhandler.Server }

func (s limited) SetDefaultRulesFn(f func() *rules.Rules) { s.SetValidationRulesFn(f) }

type siteOptions struct {
	transport.StreamOptions

	origins       []string
	forDevelopers bool
	dev           viewer.DevHeaders
	jwks          string // a file; HS256 tokens are accepted too
}

func newSite(tb testing.TB, options siteOptions) *site {
	tb.Helper()
	s := &site{server: &server{log: &logBuffer{}, registry: prometheus.NewRegistry()}, metrics: prometheus.NewRegistry()}
	options.Registry = s.metrics
	if options.Spread == 0 {
		options.Spread = 20 * time.Millisecond
	}
	s.streams = transport.NewStreams(options.StreamOptions)
	auth, err := viewer.New(tb.Context(), viewer.Config{
		Secret: secret, DevHeaders: options.dev, JWKS: options.jwks, Audience: viewer.AnyAudience, RefreshEvery: 20 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	})
	must.Succeed(tb, err)
	srv := gqlhandler.New(graph.NewExecutableSchema(graph.Config{Resolvers: root{}}))
	srv.SetRecoverFunc(func(context.Context, any) error { return errors.New("a fault") })
	srv.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		if graphql.GetOperationContext(ctx).Operation.Name == "Kaboom" {
			panic("a secret of the house")
		}
		return next(ctx)
	})
	pages := transport.NewOrigins(transport.OriginOptions{Allowed: options.origins, Development: options.forDevelopers, Logger: s.log.logger()})
	srv.AddTransport(transport.WebSocket{Streams: s.streams, Origins: pages})
	srv.AddTransport(transport.HTTP{Streams: s.streams})
	limits.Install(limited{srv}, limits.Config{Introspection: true})
	cfg := transport.Config{Auth: auth, Origins: pages, Metrics: transport.NewMetrics(s.registry), Logger: s.log.logger(), Limiter: rate.New(rate.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}), AccessLog: true}
	s.Handler = transport.Handler(srv, cfg)
	on := httptest.NewServer(s.Handler)
	s.url = on.URL
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		must.Succeed(tb, s.streams.Close(ctx))
		on.Close()
		must.Succeed(tb, auth.Close())
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// token returns a token for alice.
func token(tb testing.TB, ttl time.Duration) string {
	tb.Helper()
	text, err := viewer.Sign(secret, storage.User{Tenant: "default", UserID: "alice"}, ttl)
	must.Succeed(tb, err)
	return text
}

// client is the client's end of a WebSocket.
type client struct {
	*websocket.Conn

	tb testing.TB
}

// dial connects. header holds names and values alternately.
func (s *site) dial(tb testing.TB, header ...string) *client {
	tb.Helper()
	c, _, err := s.tryDial(tb, header...)
	must.Succeed(tb, err)
	return c
}

// tryDial connects, or returns the status of the response.
func (s *site) tryDial(tb testing.TB, header ...string) (*client, int, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), deadline)
	defer cancel()
	options := &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{}}
	options.OnPingReceived = func(context.Context, []byte) bool {
		s.pings.Add(1)
		return true
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Sec-WebSocket-Protocol" {
			options.Subprotocols = strings.Fields(header[i+1])
			continue
		}
		options.HTTPHeader.Add(header[i], header[i+1])
	}
	conn, res, err := websocket.Dial(ctx, s.url+"/graphql", options)
	status := 0
	if res != nil {
		status = res.StatusCode
		if err != nil {
			_ = res.Body.Close()
		}
	}
	if err != nil {
		return nil, status, err
	}
	conn.SetReadLimit(-1)
	tb.Cleanup(func() { _ = conn.CloseNow() })
	return &client{conn, tb}, status, nil
}

// ready connects and sends connection_init.
func (s *site) ready(tb testing.TB, header ...string) *client {
	tb.Helper()
	c := s.dial(tb, header...)
	c.say(`{"type":"connection_init"}`)
	c.receives(`{"type":"connection_ack"}`)
	return c
}

// say sends messages.
func (c *client) say(messages ...string) {
	c.tb.Helper()
	for _, text := range messages {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		must.Succeed(c.tb, c.Write(ctx, websocket.MessageText, []byte(text)))
		cancel()
	}
}

// subscribe returns a message that starts an operation.
func subscribe(id, text string) string {
	return fmt.Sprintf(`{"type":"subscribe","id":%q,"payload":%s}`, id, query(text))
}

// watching returns a subscription to a subject.
func watching(biz, bizID string) string {
	return fmt.Sprintf(`subscription{interactiveChanged(subjects:[{biz:%q,bizId:%q}]){bizId version}}`, biz, bizID)
}

// next returns the next message.
func (c *client) next() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	_, text, err := c.Read(ctx)
	return string(text), err
}

// receives fails the test unless the next messages are the given ones, in this order.
func (c *client) receives(messages ...string) {
	c.tb.Helper()
	for _, want := range messages {
		got, err := c.next()
		if err != nil || got != want {
			c.tb.Fatalf("the socket received %s, %v, want %s", got, err, want)
		}
	}
}

// isClosed fails the test unless the server closes the socket with the code and the
// reason. It ignores earlier messages.
func (c *client) isClosed(code websocket.StatusCode, reason string) {
	c.tb.Helper()
	for {
		_, err := c.next()
		if err == nil {
			continue
		}
		var end websocket.CloseError
		if !errors.As(err, &end) || end.Code != code || !strings.Contains(end.Reason, reason) {
			c.tb.Fatalf("the socket was closed by %v, want %d %q", err, code, reason)
		}
		return
	}
}

// wantMetric waits until a metric of the streams has a value.
func (s *site) wantMetric(tb testing.TB, series string, want float64) {
	tb.Helper()
	await.That(tb, fmt.Sprintf("%s is %v", series, want), func() bool { return s.value(tb, series) == want })
}

// value returns the value of a metric. series is the metric's name. If the metric has a
// label, a space and the label's value follow.
func (s *site) value(tb testing.TB, series string) float64 {
	tb.Helper()
	name, label, _ := strings.Cut(series, " ")
	for _, from := range []prometheus.Gatherer{s.metrics, s.registry} {
		families, err := from.Gather()
		must.Succeed(tb, err)
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				labels := metric.GetLabel()
				if family.GetName() == name && (label == "" || len(labels) == 1 && labels[0].GetValue() == label) {
					return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
				}
			}
		}
	}
	return 0
}

// bystander is a client that watches a subject of "events" while other clients misbehave.
type bystander struct {
	*client

	subject string
	n       int64
}

func (s *site) bystander(tb testing.TB, subject string) *bystander {
	tb.Helper()
	c := s.ready(tb)
	c.say(subscribe("1", watching("events", subject)))
	return &bystander{client: c, subject: subject}
}

// receivesEvents sends an event, and fails the test unless the client receives it.
func (b *bystander) receivesEvents(tb testing.TB) {
	tb.Helper()
	b.n++
	sendEvent(tb, b.subject, b.n)
	b.receives(fmt.Sprintf(`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":%q,"version":%d}}}}`, b.subject, b.n))
}

// raw connects and makes a handshake without package websocket.
func (s *site) raw(tb testing.TB) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must.Succeed(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	must.Succeed(tb, conn.SetDeadline(time.Now().Add(deadline)))
	_, err = io.WriteString(conn, "GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n")
	must.Succeed(tb, err)
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, one[0]) {
		_, err := io.ReadFull(conn, one)
		must.Succeed(tb, err)
	}
	return conn
}

// masked returns a frame as a client sends it, masked with zeros.
func masked(opcode byte, text string) string {
	return string([]byte{0x80 | opcode, 0x80 | byte(len(text)), 0, 0, 0, 0}) + text
}

// everything returns what arrives until the other side closes the connection.
func everything(tb testing.TB, conn net.Conn) string {
	tb.Helper()
	text, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "reset") {
		tb.Fatal(err)
	}
	return string(text)
}

// sendEvent sends an event to the subscription that watches a subject of "events".
func sendEvent(tb testing.TB, bizID string, version int64) {
	tb.Helper()
	channel, _ := eventChannels.LoadOrStore(bizID, make(chan *storage.Interactive))
	event := &storage.Interactive{Subject: storage.Subject{Tenant: "default", Biz: "events", BizID: bizID}, Freshness: storage.Live}
	event.Version = version
	select {
	case channel.(chan *storage.Interactive) <- event:
	case <-time.After(deadline):
		tb.Fatalf("no subscription watches %q of \"told\" within %v", bizID, deadline)
	}
}
