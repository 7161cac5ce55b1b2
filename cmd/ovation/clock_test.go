package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// startAt runs the given command ("serve" or "work") in this process and waits until it
// listens. The command's clock is ahead of this machine's clock by the duration ahead.
func (s *site) startAt(t *testing.T, ahead time.Duration, command string, flags ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stdout, stderr := newBannerWriter(), newBannerWriter()
	p := &program{ctx: ctx, getenv: s.getenv(), stdin: strings.NewReader(""), stdout: stdout, stderr: stderr, now: func() time.Time { return time.Now().Add(ahead) }}
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.run(append([]string{command, "--addr=127.0.0.1:0", "--log-level=warn"}, flags...))
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	n := &server{as: as, ended: over, log: stderr.String, signal: cancel}
	await.That(t, command+" listens", func() bool {
		if isClosed(over) {
			t.Fatalf("%s ended before it listened: %s", command, stderr)
		}
		n.url = serves.FindString(stdout.String())
		return n.url != ""
	})
	return n
}

// siteOnOwnRedis makes a site with a Redis of its own.
func siteOnOwnRedis(t *testing.T) (*site, *ownRedis) {
	t.Helper()
	redis := newOwnRedis(t)
	s := newSite(t)
	s.variables["OVATION_REDIS_URL"] = redis.url()
	return s, redis
}

func (r *ownRedis) url() string { return "redis://" + r.at }

// queryInt returns the integer that the query selects from the site's database.
func (s *site) queryInt(t *testing.T, query string) (n int64) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.variables["OVATION_POSTGRES_URL"])
	must.Succeed(t, err)
	defer c.Close(context.Background())
	must.Succeed(t, c.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// wantUnready checks that GET /readyz returns the status 503 and a reason that contains
// all the strings in says.
func (s *server) wantUnready(t *testing.T, says ...string) {
	t.Helper()
	status, _, body := get(t, s.url+"/readyz")
	for _, part := range says {
		if status != http.StatusServiceUnavailable || !strings.Contains(string(body), part) {
			t.Errorf("GET /readyz = %d, %q, want 503 with %q", status, body, part)
		}
	}
}

// TestUnlikeThroughANodeWithASlowClockWins checks that an unlike wins over an earlier
// like even if the unlike is sent through a node whose clock is behind. While Redis is
// unavailable, only the versions determine the order of the two actions.
func TestUnlikeThroughANodeWithASlowClockWins(t *testing.T) {
	t.Parallel()
	s, redis := siteOnOwnRedis(t)
	a, b := s.start(t, "serve"), s.startAt(t, -5*time.Second, "serve")
	redis.kill()
	for _, step := range []struct {
		through  *server
		mutation string
	}{{a, "like"}, {b, "unlike"}} {
		must.Succeed(t, step.through.graphQL("alice", `mutation { `+step.mutation+`(input: {biz: "video", bizId: "movie"}) { changed } }`, nil))
	}
	redis.start(t)
	s.start(t, "work")
	await.That(t, "the like and the unlike are persisted", func() bool { return s.queryInt(t, "SELECT count(*) FROM inbox") == 2 })
	if n := s.likes(t); n != 0 {
		t.Errorf("%d likes are stored after a like and its unlike, want 0", n)
	}
}

// TestNodeWithALargeClockSkewIsNotReady checks that serve and work are not ready while
// the clock differs from the database's by more than --max-clock-skew.
func TestNodeWithALargeClockSkewIsNotReady(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, command := range []string{"serve", "work"} {
		off := s.startAt(t, time.Minute, command)
		off.wantUnready(t, "clock is ", "ahead of the database's", "--max-clock-skew")
		behind := s.startAt(t, -time.Minute, command, "--max-clock-skew=30s")
		behind.wantUnready(t, "clock is ", "behind the database's")
		allowed := s.startAt(t, time.Minute, command, "--max-clock-skew=2m")
		await.That(t, "a node with --max-clock-skew=2m is ready", func() bool { return allowed.ready() == 200 })
	}
}
