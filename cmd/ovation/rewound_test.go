//go:build long

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
)

// ownPostgres is a Postgres server that only one test uses.
type ownPostgres struct {
	port   int
	folder string // a folder that the server's user can enter
	run    *exec.Cmd
}

// postgresTool returns a command that runs one of the Postgres programs. Postgres refuses
// to run as root: if this process is root, the program runs as another user.
func postgresTool(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	must.Succeed(t, err)
	if path, err := exec.LookPath(name); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Fatalf("%s is not installed: install PostgreSQL", name)
	}
	command := exec.Command(found[0], args...)
	command.Env, command.Dir = []string{"LANG=C.UTF-8"}, "/"
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return command
}

// newOwnPostgres creates a server's data by running the given program with args and with
// the option -D, which names the data folder. It then starts the server.
func newOwnPostgres(t *testing.T, program string, args ...string) *ownPostgres {
	t.Helper()
	folder, err := os.MkdirTemp("", "ovation-postgres") //nolint:usetesting // whose folders only root can enter
	must.Succeed(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if os.Getuid() == 0 {
		must.Succeed(t, os.Chown(folder, 65534, 65534))
	}
	p := &ownPostgres{port: port.Free(t), folder: folder}
	if out, err := postgresTool(t, program, append(args, "-D", p.data())...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	t.Cleanup(p.kill)
	p.start(t)
	return p
}

func (p *ownPostgres) data() string { return filepath.Join(p.folder, "data") }

func (p *ownPostgres) url() string {
	return "postgres://ovation@127.0.0.1:" + strconv.Itoa(p.port) + "/postgres?sslmode=disable"
}

func (p *ownPostgres) start(t *testing.T) {
	t.Helper()
	p.run = postgresTool(t, "postgres", "-D", p.data(), "-p", strconv.Itoa(p.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off")
	must.Succeed(t, p.run.Start())
	await.That(t, "Postgres answers", func() bool {
		c, err := pgx.Connect(t.Context(), p.url())
		if err == nil {
			_ = c.Close(context.Background())
		}
		return err == nil
	})
}

// kill ends the server as a crash would.
func (p *ownPostgres) kill() {
	if p.run != nil {
		_ = p.run.Process.Signal(syscall.SIGQUIT)
		_ = p.run.Wait()
		p.run = nil
	}
}

// When a lagging replica is promoted, the commits that it had not received are lost. A
// lost like must no longer be shown, and the user must be able to like the subject again.
func TestLongLikeLostByAFailoverCanBeGivenAgain(t *testing.T) {
	primary := newOwnPostgres(t, "initdb", "-U", "ovation", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	replica := newOwnPostgres(t, "pg_basebackup", "-d", primary.url(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	s := emptySite(t)
	s.variables["OVATION_POSTGRES_URL"] = fmt.Sprintf("postgres://ovation@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write&search_path=%s",
		primary.port, replica.port, s.prefix)
	s.sql(t, fmt.Sprintf("CREATE SCHEMA %q", s.prefix))
	s.run(t, "migrate").want(t, 0, "are up to date")
	node := s.start(t, "serve")
	s.start(t, "work")
	see := func() (seen movieReply) {
		t.Helper()
		must.Succeed(t, node.graphQL("alice", movieQuery, &seen))
		return seen
	}
	must.Succeed(t, node.graphQL("bob", likeMovie, nil))
	await.That(t, "the first like is on the replica", func() bool {
		c, err := pgx.Connect(t.Context(), replica.url())
		must.Succeed(t, err)
		defer c.Close(context.Background())
		n := 0
		err = c.QueryRow(t.Context(), fmt.Sprintf(`SELECT count(*) FROM %q.user_reaction`, s.prefix)).Scan(&n)
		return err == nil && n == 1
	})
	replica.kill()
	must.Succeed(t, node.graphQL("alice", likeMovie, nil))
	await.That(t, "both likes are persisted and live", func() bool {
		seen := see()
		return s.likes(t) == 2 && seen.Interactive.LikeCount == 2 && seen.Interactive.Freshness == "LIVE"
	})
	begun := s.queryInt(t, "SELECT epoch FROM mirror")

	primary.kill()
	replica.start(t)
	if out, err := postgresTool(t, "pg_ctl", "promote", "-w", "-D", replica.data()).CombinedOutput(); err != nil {
		t.Fatalf("promote: %v\n%s", err, out)
	}
	await.That(t, "the next epoch has begun", func() bool { return s.queryInt(t, "SELECT epoch FROM mirror") != begun })
	await.That(t, "the remaining like is shown and LIVE", func() bool {
		seen := see()
		if seen.Interactive.Freshness != "LIVE" {
			return false
		}
		return seen.Interactive.LikeCount == 1 && seen.Interactive.Liked == nil
	})
	for range 50 { // it stays so
		if seen := see(); seen.Interactive.Freshness == "LIVE" && (seen.Interactive.LikeCount != 1 || seen.Interactive.Liked != nil) {
			t.Fatalf("after the failover: got %+v, want only bob's like if LIVE", seen)
		}
	}
	must.Succeed(t, node.graphQL("alice", likeMovie, nil))
	await.That(t, "the like is persisted again", func() bool { return s.likes(t) == 2 })
	await.That(t, "the repeated like is shown and LIVE", func() bool {
		seen := see()
		return seen.Interactive.LikeCount == 2 && seen.Interactive.Liked != nil && seen.Interactive.Freshness == "LIVE"
	})
	s.run(t, "verify").want(t, 0, "0 differences; ", "0 differences in Redis; ")
}
