package redis

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

func TestOpenErrorsNameTheCause(t *testing.T) {
	server := startServer(t, "--requirepass", "right")
	for _, c := range []struct {
		name    string
		options Options
		want    error
		says    string
	}{
		{"no URL", Options{}, storage.ErrInvalid, "redis://"},
		{"another scheme", Options{URL: "http://:secret@127.0.0.1:1"}, storage.ErrInvalid, "redis://"},
		{"braces", Options{URL: server.url(), Prefix: "a{b"}, storage.ErrInvalid, "prefix"},
		{"no listener", Options{URL: fmt.Sprintf("redis://:secret@127.0.0.1:%d", port.Free(t))}, storage.ErrUnavailable, "127.0.0.1"},
		{"no password", Options{URL: server.url()}, storage.ErrUnavailable, "NOAUTH"},
		{"wrong password", Options{URL: strings.Replace(server.url(), "//", "//:secret@", 1)}, storage.ErrUnavailable, "WRONGPASS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Database, c.options.Logger = openDatabase(t), quiet
			s, err := Open(t.Context(), c.options)
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("Open = %v, want %v that contains %q and no password", err, c.want, c.says)
			}
			if err := c.options.Database.Ping(t.Context()); err != nil {
				t.Errorf("Ping of the database after Open has failed: %v", err)
			}
		})
	}
	if _, err := Open(t.Context(), Options{URL: server.url()}); err == nil {
		t.Error("Open without a database: got no error")
	}
}

// Open tries to connect again if a server is slow to answer the first connection, as on a
// busy machine.
func TestOpenRetriesASlowServer(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	slow, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	t.Cleanup(func() { _ = slow.Close() })
	var connections atomic.Int32
	go func() {
		for {
			conn, err := slow.Accept()
			if err != nil {
				return
			}
			if connections.Add(1) == 1 { // never answered
				t.Cleanup(func() { _ = conn.Close() })
				continue
			}
			go relay(conn, server.port)
		}
	}()
	s, err := Open(t.Context(), Options{URL: "redis://" + slow.Addr().String(), Database: openDatabase(t), Logger: quiet, RedisTimeout: 10 * time.Second})
	must.Succeed(t, err)
	must.Succeed(t, s.Close())
	if connections.Load() < 2 {
		t.Errorf("got %d connections, want at least 2: the first one is never answered", connections.Load())
	}
}

// relay forwards a connection to a server on this machine.
func relay(conn net.Conn, port int) {
	defer func() { _ = conn.Close() }()
	to, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() {
		_, _ = io.Copy(to, conn)
		_ = to.Close()
	}()
	_, _ = io.Copy(conn, to)
}

// Open fails if the Redis user lacks a privilege that the store needs. The privileges in
// docs/operations.md are sufficient.
func TestLeastPrivileges(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	must.Succeed(t, err)
	_, line, found := strings.Cut(string(page), "ACL SETUSER ovation on >PASSWORD ~ovation:* ")
	rules, _, _ := strings.Cut(line, "\n")
	if !found || rules == "" {
		t.Fatal("got no rules of a Redis user from docs/operations.md, want a line \"ACL SETUSER ovation …\"")
	}
	server := startServer(t)
	allow := func(more ...string) string {
		words := append([]string{"ACL", "SETUSER", "ovation", "reset", "on", ">secret", "~ovation:*"}, strings.Fields(rules)...)
		must.Succeed(t, server.command(append(words, more...)...).Error())
		return fmt.Sprintf("redis://ovation:secret@127.0.0.1:%d", server.port)
	}
	const cache, script = "MULTI and EXEC", "The user executing the script can't run this command"
	for command, says := range map[string]string{
		"exec": cache, "multi": cache, "evalsha": "NOPERM", "eval": "NOPERM", "client": "NOPERM", "info": "NOPERM",
		"set": "NOPERM", "hmget": script, "pexpire": script,
	} {
		must.Succeed(t, server.command("SCRIPT", "FLUSH").Error())
		s, err := Open(t.Context(), Options{URL: allow("-" + command), Database: openDatabase(t), Logger: quiet, RedisTimeout: 10 * time.Second})
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open without the right to %s: got %v, want %v that contains %q and no password", command, err, storage.ErrUnavailable, says)
		}
	}
	s := open(t, Options{URL: allow(), Database: openDatabase(t)})
	must.Succeed(t, s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	persist(t, s.opts.Database.(*sqlitetest.Database), s, storagetest.React(alice, movie, storage.Like, 10))
	wantLikes(t, "with the least privileges", awaitLive(t, s), 1, true)
	wantNoMismatch(t, s)
}

// Open rejects a replica, and a server that is full, without waiting.
func TestRedisThatTakesNoWritesIsRefused(t *testing.T) {
	server, other := startServer(t), startServer(t)
	for says, command := range map[string][]string{
		"OOM":      {"CONFIG", "SET", "maxmemory", "1"},
		"READONLY": {"REPLICAOF", "127.0.0.1", strconv.Itoa(other.port)},
	} {
		must.Succeed(t, server.command(command...).Error())
		s, err := Open(t.Context(), Options{URL: server.url(), Database: openDatabase(t), Logger: quiet, RedisTimeout: 10 * time.Second})
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), says) {
			t.Errorf("Open = %v, want %v that contains %q", err, storage.ErrUnavailable, says)
		}
		must.Succeed(t, server.command("CONFIG", "SET", "maxmemory", "0").Error())
		must.Succeed(t, server.command("REPLICAOF", "NO", "ONE").Error())
	}
}

// A Redis that is full and evicts nothing still serves readers. A transaction that cannot
// mark its changes is not committed.
func TestFullRedisCommitsNothingUnmarked(t *testing.T) {
	s, server, db := openNew(t, Options{})
	see(t, s, alice, movie)
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	must.Succeed(t, server.command("CONFIG", "SET", "maxmemory", "1", "maxmemory-policy", "noeviction").Error())
	dislike := storagetest.React(alice, movie, storage.Dislike, 20)
	if err := s.Apply(t.Context(), []storage.Action{dislike}, storage.Queued, nil); !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Apply to a full Redis: got %v, want %v that contains OOM", err, storage.ErrUnavailable)
	}
	if _, err := db.Persist(t.Context(), message(dislike), s.Mark); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Persist with a full Redis: got %v, want %v", err, storage.ErrUnavailable)
	}
	if got := see(t, s, alice, movie); got.DislikeCount != 1 || got.Liked == nil {
		t.Errorf("to alice, whose write is pending: got %+v, want 1 dislike, hers", got)
	}
	if got := see(t, s, bob, movie); got.LikeCount != 1 {
		t.Errorf("to bob: got %+v, want still 1 like", got)
	}
	must.Succeed(t, server.command("CONFIG", "SET", "maxmemory", "0").Error())
	await.That(t, "Redis accepts writes again", func() bool {
		return s.Apply(t.Context(), []storage.Action{dislike}, storage.Queued, nil) == nil
	})
	persist(t, db, s, dislike)
	if got := see(t, s, alice, movie); got.LikeCount != 0 || got.DislikeCount != 1 {
		t.Errorf("final result: got %+v, want 0 likes, 1 dislike", got)
	}
}
