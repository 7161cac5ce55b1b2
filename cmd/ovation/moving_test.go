package main

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestSiteMovesToAnotherRedisNodeByNode moves a site to another Redis while users act.
// Processes with the new URL replace first the nodes, one by one, and then the workers.
func TestSiteMovesToAnotherRedisNodeByNode(t *testing.T) {
	t.Parallel()
	s, _ := siteOnOwnRedis(t)
	moved := *s
	moved.variables = maps.Clone(s.variables)
	moved.variables["OVATION_REDIS_URL"] = newOwnRedis(t).url()
	nodes, workers := []*server{s.start(t, "serve"), s.start(t, "serve")}, []*server{s.start(t, "work"), s.start(t, "work")}
	users := 0
	like := func(through *server) (freshness string) {
		t.Helper()
		users++
		var got likeReply
		var seen movieReply
		user := fmt.Sprintf("user-%d", users)
		must.Succeed(t, through.graphQL(user, likeMovie, &got))
		if got.Like.Changed != nil && !*got.Like.Changed {
			t.Errorf("like of %s: got changed: false, want true or null", user)
		}
		must.Succeed(t, through.graphQL(user, movieQuery, &seen))
		if seen.Interactive.Liked == nil {
			t.Errorf("%s is shown %+v after the like, want it liked", user, seen)
		}
		return seen.Interactive.Freshness
	}
	counted := func() {
		t.Helper()
		await.That(t, "all likes are persisted", func() bool { return s.likes(t) == users })
	}
	await.That(t, "a like is answered LIVE", func() bool { return like(nodes[0]) == "LIVE" })
	counted()
	begun := s.queryInt(t, "SELECT epoch FROM mirror")
	for i := range nodes {
		replacement := moved.start(t, "serve") // it is ready before an old node stops
		if freshness := like(replacement); freshness != "STALE" {
			t.Errorf("a node whose Redis is not that of the workers answers %s, want STALE", freshness)
		}
		counted() // although nothing else was restarted
		nodes[i].stop()
		nodes[i] = replacement
	}
	if epoch := s.queryInt(t, "SELECT epoch FROM mirror"); epoch != begun {
		t.Errorf("epoch = %d while the workers use the old Redis, want %d as before", epoch, begun)
	}
	waiting := moved.startAt(t, 0, "work")
	waiting.wantUnready(t, "this database is mirrored in another Redis", "prefix")
	like(nodes[0])
	counted()
	for _, old := range workers {
		old.stop()
	}
	like(nodes[1])
	await.That(t, "the new worker takes over", func() bool { return waiting.ready() == http.StatusOK })
	counted()
	await.That(t, "the new Redis is used", func() bool {
		var seen movieReply
		must.Succeed(t, nodes[0].graphQL("", movieQuery, &seen))
		return seen.Interactive.Freshness == "LIVE" && seen.Interactive.LikeCount == users
	})
	moved.run(t, "verify").want(t, 0, "0 differences; ", "0 differences in Redis; ")
}

// TestCommandsOfAnotherMirrorAreRefused checks that commands are refused if
// OVATION_PREFIX is not set. Without the prefix, they would use a different mirror than
// the nodes do.
func TestCommandsOfAnotherMirrorAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.start(t, "serve")
	begun := s.queryInt(t, "SELECT epoch FROM mirror")
	var all sync.WaitGroup // each command waits for the site for a while
	for _, args := range [][]string{
		{"import", "--biz=video", "--time-unit=s", rowsOf(t)}, {"verify"}, {"verify", "--repair"}, {"dead", "drop", "one"},
	} {
		all.Go(func() {
			call(t, s.getenv("OVATION_PREFIX", ""), args...).want(t, exitUsage, `prefix "`+s.prefix+`"`, `this one uses prefix "ovation"`, "check OVATION_PREFIX and OVATION_REDIS_URL")
		})
	}
	all.Wait()
	if epoch := s.queryInt(t, "SELECT epoch FROM mirror"); epoch != begun || s.likes(t) != 0 {
		t.Errorf("after the refused commands: epoch %d, %d likes persisted, want epoch %d, 0 likes", epoch, s.likes(t), begun)
	}
	await.That(t, "the site answers LIVE", func() bool {
		var seen movieReply
		must.Succeed(t, node.graphQL("", movieQuery, &seen))
		return seen.Interactive.Freshness == "LIVE"
	})
}
