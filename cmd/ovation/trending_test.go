package main

import (
	"fmt"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestTrendsOfASite lets users act, in each way to run, and compares the trends with what
// they did. In between, the process that computes trends is restarted.
func TestTrendsOfASite(t *testing.T) {
	t.Parallel()
	data := emptyData(t)
	alone := serveBinary(t, data, "--trending")
	t.Run("dev", func(t *testing.T) {
		testTrends(t, alone, func() *server {
			alone.stop().want(t, 0)
			alone = serveBinary(t, data, "--trending")
			return alone
		})
	})
	t.Run("serve", func(t *testing.T) {
		site := newSite(t)
		site.variables["OVATION_TRENDING"] = "true"
		first, second, node := site.start(t, "work"), site.start(t, "work"), site.start(t, "serve")
		testTrends(t, node, func() *server {
			first.kill() // whether it has the lease or not
			second.stop().want(t, 0)
			site.start(t, "work")
			return node
		})
	})
}

func testTrends(t *testing.T, s *server, restart func() *server) {
	t.Helper()
	scores := map[string]int{}
	act := func(user, mutation, video string, weight int) {
		t.Helper()
		must.Succeed(t, s.graphQL(user, fmt.Sprintf(`mutation { %s(input: {biz: "video", bizId: %q}) { durability } }`, mutation, video), nil))
		scores[video] += weight
	}
	round := func() {
		for i := range 12 {
			video := fmt.Sprint("v", i)
			for user := range i + 1 {
				act(fmt.Sprint("user", user), "like", video, 5)
			}
			act("reader", "read", video, 1)
			act("user0", "unlike", video, -5)
			act("user1", "collect", video, 10)
		}
	}
	agree := func() {
		t.Helper()
		for _, window := range []string{"HOUR", "DAY", "WEEK"} {
			await.That(t, "the trends of "+window+" are what the users did", func() bool {
				var got struct {
					Trending struct {
						Edges []struct {
							Score int
							Node  struct{ BizID string }
						}
					}
				}
				must.Succeed(t, s.graphQL("alice", `{ trending(biz: "video", window: `+window+`, first: 100) { edges { score node { bizId } } } }`, &got))
				edges := got.Trending.Edges
				for i, e := range edges {
					if scores[e.Node.BizID] != e.Score || i > 0 && edges[i-1].Score < e.Score {
						return false
					}
				}
				return len(edges) == len(scores)
			})
		}
	}
	round()
	agree()
	for i := range 12 {
		act("late", "like", fmt.Sprint("v", i), 5)
	}
	s = restart()
	for i := range 12 {
		act("later", "like", fmt.Sprint("v", i), 5)
	}
	agree()
}
