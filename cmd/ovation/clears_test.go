package main

import (
	"maps"
	"net/url"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// reactionReply is the reply to a mutation sent by react.
type reactionReply struct {
	Did struct {
		Changed     *bool
		Interactive struct{ Liked *struct{ Reaction string } }
	}
}

// react sends a mutation on the movie as alice, and repeats the mutation until the server
// accepts it. changed reports whether the mutation changed anything, and is nil if that
// is unknown. reaction is the reaction that the reply shows, or "" if there is none.
func (s *server) react(t *testing.T, mutation string) (changed *bool, reaction string) {
	t.Helper()
	var got reactionReply
	await.That(t, mutation+" is possible", func() bool {
		return s.graphQL("alice", `mutation { did: `+mutation+`(input: {biz: "video", bizId: "movie"}) { changed interactive { liked { reaction } } } }`, &got) == nil
	})
	if liked := got.Did.Interactive.Liked; liked != nil {
		reaction = liked.Reaction
	}
	return got.Did.Changed, reaction
}

// TestUnlikeKeepsADislikeDuringOutages checks that unlike does not remove a dislike, and
// undislike does not remove a like. This must hold even while the current reaction is
// unknown; changed is then null in the reply.
func TestUnlikeKeepsADislikeDuringOutages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails   func(t *testing.T, s *site, redis *ownRedis, to map[string]*proxy, node *server)
		unknown bool
	}{
		"nothing": {func(*testing.T, *site, *ownRedis, map[string]*proxy, *server) {}, false},
		"Redis": {func(_ *testing.T, _ *site, redis *ownRedis, _ map[string]*proxy, _ *server) {
			redis.kill()
		}, true},
		"Redis and RabbitMQ": {func(_ *testing.T, _ *site, redis *ownRedis, to map[string]*proxy, _ *server) {
			redis.kill()
			to["OVATION_RABBITMQ_URL"].set(true)
		}, true},
		"RabbitMQ": {func(_ *testing.T, _ *site, _ *ownRedis, to map[string]*proxy, _ *server) {
			to["OVATION_RABBITMQ_URL"].set(true)
		}, false},
		"what Redis held": {func(t *testing.T, s *site, redis *ownRedis, _ map[string]*proxy, _ *server) {
			t.Helper()
			epoch := s.queryInt(t, "SELECT epoch FROM mirror")
			redis.kill()
			redis.start(t)
			await.That(t, "the next epoch begins", func() bool { return s.queryInt(t, "SELECT epoch FROM mirror") > epoch })
		}, false},
		"reading the epoch": {func(t *testing.T, _ *site, _ *ownRedis, to map[string]*proxy, node *server) {
			t.Helper()
			to["OVATION_POSTGRES_URL"].set(true)
			await.That(t, "the node no longer trusts its epoch", func() bool {
				var seen movieReply
				must.Succeed(t, node.graphQL("alice", movieQuery, &seen))
				return seen.Interactive.Freshness != "LIVE"
			})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, redis := siteOnOwnRedis(t)
			s.start(t, "work")
			through, to := *s, make(map[string]*proxy)
			through.variables = maps.Clone(s.variables)
			for _, name := range []string{"OVATION_POSTGRES_URL", "OVATION_RABBITMQ_URL"} {
				through.variables[name] = s.changed(t, name, func(u *url.URL) {
					to[name] = newProxy(t, u.Host)
					u.Host = to[name].listener.Addr().String()
				})
			}
			node := through.start(t, "serve")
			must.Succeed(t, node.graphQL("alice", `mutation { dislike(input: {biz: "video", bizId: "movie"}) { changed } }`, nil))
			disliked := func() bool { return s.queryInt(t, "SELECT count(*) FROM user_reaction WHERE state = 2") == 1 }
			await.That(t, "the dislike is persisted", disliked)

			c.fails(t, s, redis, to, node)
			for _, step := range []struct{ mutation, leaves string }{
				{"unlike", "DISLIKE"},
				{"undislike", ""},
				{"undislike", ""},
				{"like", "LIKE"},
				{"undislike", "LIKE"},
				{"dislike", "DISLIKE"},
				{"unlike", "DISLIKE"},
			} {
				changed, reaction := node.react(t, step.mutation)
				if reaction != step.leaves {
					t.Errorf("the reply to %s shows the reaction %q, want %q", step.mutation, reaction, step.leaves)
				}
				if c.unknown && changed != nil {
					t.Errorf("%s returned changed: %v, want null", step.mutation, *changed)
				}
			}
			for _, between := range to {
				between.set(false)
			}
			if redis.run.ProcessState != nil { // it was killed
				redis.start(t)
			}
			await.That(t, "a like is possible", func() bool { return node.graphQL("bob", likeMovie, nil) == nil }) // follows all actions of alice
			await.That(t, "everything is persisted", func() bool { return s.likes(t) == 1 && disliked() })
			s.run(t, "verify").want(t, 0, "0 differences; ")
		})
	}
}
