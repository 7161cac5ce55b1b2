package redis

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"ovation/internal/testing/await"
	"ovation/internal/testing/port"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/mirror"
)

func TestMain(m *testing.M) {
	// A second after a cluster has rejected the client, the client queries the cluster
	// once more. This query cannot be cancelled. The client closes its connections to a
	// node 5 s after the node has left the cluster.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

var quiet = slog.New(slog.DiscardHandler)

// server is a redis-server that belongs to one test.
type server struct {
	tb   testing.TB
	port int
	dir  string
	args []string
	// The process, and a channel that is closed when it has ended. cmd is nil after kill.
	cmd   *exec.Cmd
	ended chan struct{}
}

// startServer starts an empty redis-server on a free port. The server stores no data on
// disk unless args enable that.
func startServer(tb testing.TB, args ...string) *server {
	tb.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("redis-server is not in PATH")
		}
		tb.Skip("redis-server is not in PATH: install it, or run make test")
	}
	s := &server{tb: tb, port: port.Free(tb), dir: tb.TempDir(), args: args}
	s.start()
	tb.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	s.tb.Helper()
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--loglevel", "warning", "--logfile", filepath.Join(s.dir, "log"),
	}, s.args...)
	launch := func() {
		cmd, ended := exec.CommandContext(context.Background(), "redis-server", args...), make(chan struct{})
		if err := cmd.Start(); err != nil {
			s.tb.Fatal(err)
		}
		s.cmd, s.ended = cmd, ended
		go func() {
			_ = cmd.Wait() // it was killed, or could not listen
			close(ended)
		}()
	}
	launch()
	await.That(s.tb, "redis-server answers", func() bool {
		answers := ping(s.port)
		select {
		case <-s.ended: // after a restart, another process may hold the port for a moment
			launch()
			return false
		case <-time.After(20 * time.Millisecond):
			return answers
		}
	})
}

func ping(port int) bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && !strings.HasPrefix(line, "-LOADING")
}

// kill ends the server as a crash would.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
		_ = s.cmd.Process.Kill()
		<-s.ended
		s.cmd = nil
	}
}

// hang stops the server's process until resume is called. Its port stays open.
func (s *server) hang()   { s.signal(syscall.SIGSTOP) }
func (s *server) resume() { s.signal(syscall.SIGCONT) }

func (s *server) signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *server) url() string { return fmt.Sprintf("redis://127.0.0.1:%d", s.port) }

// client returns a plain client of the server, which is closed when the test ends.
func (s *server) client() rueidis.Client {
	s.tb.Helper()
	c := s.connect()
	s.tb.Cleanup(c.Close)
	return c
}

func (s *server) connect() rueidis.Client {
	s.tb.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{fmt.Sprintf("127.0.0.1:%d", s.port)}, DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	return c
}

// command runs a command on the server.
func (s *server) command(words ...string) rueidis.RedisResult {
	s.tb.Helper()
	c := s.connect()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return c.Do(ctx, c.B().Arbitrary(words...).Build())
}

// openDatabase opens an empty database.
func openDatabase(tb testing.TB) *sqlitetest.Database {
	tb.Helper()
	return sqlitetest.OpenDatabase(tb)
}

var prefixes atomic.Int64

// prefix returns a prefix that no other test uses.
func prefix() string { return fmt.Sprintf("test%d", prefixes.Add(1)) }

// open opens a store, which is closed when the test ends. Its timeouts are long, for busy
// machines.
func open(tb testing.TB, o Options) *Store {
	tb.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	o.RedisTimeout = cmp.Or(o.RedisTimeout, 10*time.Second)
	o.DatabaseTimeout = cmp.Or(o.DatabaseTimeout, 10*time.Second)
	o.ListTimeout = cmp.Or(o.ListTimeout, o.DatabaseTimeout)
	s, err := Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// openNew opens a store on an empty Redis and an empty database.
func openNew(tb testing.TB, o Options) (*Store, *server, *sqlitetest.Database) {
	tb.Helper()
	server, db := startServer(tb), openDatabase(tb)
	o.URL, o.Database = server.url(), db
	return open(tb, o), server, db
}

// countsKey and windowKey return keys in the current epoch.
func (s *Store) countsKey(of storage.Subject) string  { return s.epochs.Current().Keys.Counts(of) }
func (s *Store) windowKey(of mirror.WindowKey) string { return s.epochs.Current().Keys.Window(of) }
