package redis

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

// linesWith returns the lines that contain words.
func (l *logBuffer) linesWith(words string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.lines.String()) {
		if strings.Contains(line, words) {
			out = append(out, line)
		}
	}
	return out
}

// An outage is logged once, with its reason, and its end is logged once.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	server, log := startServer(t), new(logBuffer)
	s := open(t, Options{
		URL: server.url(), Database: openDatabase(t),
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	see(t, s, alice, movie)
	if all := log.linesWith(""); len(all) > 0 {
		t.Errorf("before the outage: got the log lines %q, want none", all)
	}
	begun := s.epochs.Current().Number
	server.kill()
	await.That(t, "Redis is unavailable", func() bool { return !s.redis.Healthy() })
	for range 20 {
		see(t, s, alice, movie)
	}
	server.start()
	await.That(t, "the outage is over", func() bool { return len(log.linesWith("Redis is used again")) > 0 })
	for words, also := range map[string]string{
		"Redis is unavailable":       "level=WARN msg=\"Redis is unavailable\" error=",
		"Redis is back":              "level=INFO msg=\"Redis is back\" after_ms=",
		"Redis is no longer trusted": "level=WARN msg=\"Redis is no longer trusted\" epoch=" + scripts.Text(begun),
		"Redis is used again":        "level=INFO msg=\"Redis is used again\" epoch=",
	} {
		if lines := log.linesWith(words); len(lines) != 1 || !strings.Contains(lines[0], also) {
			t.Errorf("%s: %q, want one line that contains %s", words, lines, also)
		}
	}
	if all := log.linesWith(""); len(all) != 4 {
		t.Errorf("got %d log lines, want 4: %q", len(all), all)
	}
}

// proxy forwards connections to a server. It forwards nothing while its gate is locked.
type proxy struct {
	listener net.Listener
	to       string
	wait     sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
	gate     sync.RWMutex // locked while the proxy hangs
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	p := &proxy{listener: listener, to: to}
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for _, c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wait.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, client, server)
		p.mu.Unlock()
		p.wait.Go(func() { p.pass(client, server) })
		p.wait.Go(func() { p.pass(server, client) })
	}
}

// pass forwards one direction of a connection, chunk by chunk.
func (p *proxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.gate.RLock()
		_, failed := to.Write(buffer[:n])
		p.gate.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// If the database hangs, calls in progress are cancelled, and later calls are rejected
// immediately.
func TestHangingDatabaseIsNotCalled(t *testing.T) {
	through, err := url.Parse(postgrestest.Schema(t))
	must.Succeed(t, err)
	link := startProxy(t, through.Host)
	through.Host = link.listener.Addr().String()
	db, err := postgres.Open(t.Context(), postgres.Options{URL: through.String(), Logger: quiet})
	must.Succeed(t, err)
	server, log := startServer(t), new(logBuffer)
	s := open(t, Options{
		URL: server.url(), Database: db, DatabaseTimeout: 2 * time.Second,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	awaitLive(t, s)
	asked := 0
	cold := func() {
		asked++
		fresh := storage.User{Tenant: movie.Tenant, UserID: fmt.Sprint(asked)}
		_, err := s.Interactives(t.Context(), fresh, []storage.Subject{movie, video(fresh.UserID)}, window.KindSet)
		must.Succeed(t, err)
	}
	link.gate.Lock()
	release := sync.OnceFunc(link.gate.Unlock)
	t.Cleanup(release)
	cold()
	if s.database.Healthy() {
		t.Error("after a time-out the database counts as healthy")
	}
	before := s.database.Failures()
	for range 200 {
		cold()
	}
	if n := s.database.Failures() - before; n >= 200 { // polls continue
		t.Errorf("while the database hangs, 200 calls have tried it %d times, want fewer", n)
	}
	release()
	await.That(t, "the database is back", s.database.Healthy)
	awaitLive(t, s)
	for _, words := range []string{"the database is unavailable", "the database is back"} {
		if lines := log.linesWith(words); len(lines) != 1 {
			t.Errorf("%s: got the log lines %q, want one", words, lines)
		}
	}
}
