package amqp

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitTimeout is how long a test waits for an event that must occur.
const waitTimeout = 2 * time.Minute

// brokerURL returns the URL of the broker that all tests share.
func brokerURL(tb testing.TB) string {
	tb.Helper()
	at := os.Getenv("OVATION_RABBITMQ_URL")
	switch {
	case at != "":
	case os.Getenv("CI") != "":
		tb.Fatal("OVATION_RABBITMQ_URL is not set: run make test, or scripts/services run go test PACKAGE")
	default:
		tb.Skip("OVATION_RABBITMQ_URL is not set: run make test, or scripts/services run go test PACKAGE")
	}
	return at
}

// options returns options for queues that only this test uses. The queues are deleted
// when the test ends.
func options(tb testing.TB) Options {
	tb.Helper()
	opts := Options{
		URL: brokerURL(tb), Prefix: "test-" + strings.ToLower(rand.Text()[:12]), Partitions: 3,
		DeliveryLimit: 10_000, MinBackoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
		Grace: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		durableAfter: 1, // the shared broker never crashes
	}
	tb.Cleanup(func() { deleteQueues(tb, opts) })
	return opts
}

// deleteQueues deletes the queues that a test has left at the broker.
func deleteQueues(tb testing.TB, opts Options) {
	tb.Helper()
	ch := channel(tb, opts)
	opts = opts.withDefaults()
	opts.Partitions = 8 // the maximum of all tests; deleting a missing queue is no error
	for _, queue := range topology(opts) {
		if _, err := ch.QueueDelete(queue.name, false, false, false); err != nil {
			tb.Errorf("delete queue %s: %v", queue.name, err)
		}
	}
}

func dialed(tb testing.TB, opts Options) *brokerConn {
	tb.Helper()
	s, err := dial(context.Background(), opts.withDefaults(), "test")
	must.Succeed(tb, err)
	return s
}

// channel returns a channel of a new connection. The connection is closed when the test
// ends.
func channel(tb testing.TB, opts Options) *amqp091.Channel {
	tb.Helper()
	s := dialed(tb, opts)
	tb.Cleanup(s.close)
	ch, err := s.conn.Channel()
	must.Succeed(tb, err)
	return ch
}

func open(tb testing.TB, opts Options) *Queue {
	tb.Helper()
	q, err := Open(tb.Context(), opts)
	must.Succeed(tb, err)
	tb.Cleanup(func() {
		if err := q.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return q
}

func openDead(tb testing.TB, opts Options) *DeadLetters {
	tb.Helper()
	d, err := OpenDeadLetters(tb.Context(), opts)
	must.Succeed(tb, err)
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

func message(id string) storage.Message {
	return storage.Message{ID: id, Actions: []storage.Action{{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: "alice"},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id},
		Kind:    storage.KindReaction, Reaction: storage.Like, Version: 1,
	}}}
}

func publish(tb testing.TB, q *Queue, partition int, id string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	if _, err := q.Publish(ctx, partition, message(id)); err != nil {
		tb.Fatalf("publish %s: %v", id, err)
	}
}

// consume starts a consumer that ends with the test. It retries for a while, because the
// broker may just have become unavailable.
func consume(tb testing.TB, q *Queue) <-chan worker.Delivery {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	return consumeUntil(ctx, tb, q)
}

// consumeUntil consumes until the context ends.
func consumeUntil(ctx context.Context, tb testing.TB, q *Queue) <-chan worker.Delivery {
	tb.Helper()
	late := time.Now().Add(waitTimeout)
	for {
		deliveries, err := q.Consume(ctx)
		if err == nil {
			return deliveries
		}
		if time.Now().After(late) {
			tb.Fatal(err)
		}
	}
}

func receive(tb testing.TB, deliveries <-chan worker.Delivery) worker.Delivery {
	tb.Helper()
	select {
	case d, open := <-deliveries:
		if !open {
			tb.Fatal("the channel of deliveries is closed, want a message")
		}
		return d
	case <-time.After(waitTimeout):
		tb.Fatalf("got no message in %v, want one", waitTimeout)
	}
	return nil
}

// collector acknowledges messages and records their ids.
type collector struct {
	mu  sync.Mutex
	ids map[string]bool
}

// collect starts a collector, which consumes again after each loss of the connection.
func collect(t *testing.T, q *Queue) *collector {
	t.Helper()
	c := new(collector)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil { // Consume waits before it returns an error
			if errors.Is(c.drain(ctx, q), worker.ErrClosed) {
				return
			}
		}
	}()
	return c
}

// drain consumes until the context ends or the connection is lost.
func (c *collector) drain(ctx context.Context, from worker.Consumer) error {
	deliveries, err := from.Consume(ctx)
	if err != nil {
		return err
	}
	for d := range deliveries {
		switch err := d.Ack(); {
		case err == nil:
			c.mu.Lock()
			if c.ids == nil {
				c.ids = map[string]bool{}
			}
			c.ids[d.Message().ID] = true
			c.mu.Unlock()
		case !errors.Is(err, worker.ErrSettled):
			return err
		}
	}
	return nil
}

func (c *collector) has(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[id]
}

// proxy stands between a Queue and the broker.
type proxy struct {
	listener net.Listener
	target   string
	all      sync.WaitGroup

	mu      sync.Mutex
	passes  func([]byte)  // called with all bytes before they are forwarded; may be nil
	stalled chan struct{} // closed when bytes may flow again; nil while they do
	conns   []net.Conn
}

// through returns a new proxy, and options for a connection through it.
func through(tb testing.TB, opts Options) (*proxy, Options) {
	tb.Helper()
	at, err := url.Parse(opts.URL)
	must.Succeed(tb, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(tb, err)
	p := &proxy{listener: listener, target: at.Host}
	p.all.Go(p.accept)
	tb.Cleanup(func() {
		_ = listener.Close()
		p.resume()
		p.kill()
		p.all.Wait()
	})
	at.Host = listener.Addr().String()
	opts.URL = at.String()
	return p, opts
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		p.all.Go(func() { p.copy(near, far) })
		p.all.Go(func() { p.copy(far, near) })
	}
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		stalled, passes := p.stalled, p.passes
		p.mu.Unlock()
		if stalled != nil {
			<-stalled
		}
		if passes != nil {
			passes(buf[:n])
		}
		if _, bad := to.Write(buf[:n]); err != nil || bad != nil {
			return
		}
	}
}

// tap sets the function that is called with all bytes before they are forwarded.
func (p *proxy) tap(passes func([]byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passes = passes
}

// stall keeps connections open and forwards nothing.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = make(chan struct{})
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}

// kill cuts every connection.
func (p *proxy) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// logBuffer keeps the lines of a log.
type logBuffer struct {
	mu    sync.Mutex
	lines []string
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// count returns the number of lines that contain the text.
func (l *logBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
