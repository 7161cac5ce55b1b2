//go:build direct

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// directReply is the reply to a mutation sent by directly.
type directReply struct {
	Did struct {
		Changed     *bool
		Durability  string
		Interactive struct {
			LikeCount, DislikeCount int
			Freshness               string
			Liked                   *struct{ Reaction string }
		}
	}
}

// directly sends a mutation on a video, and checks that it was persisted and that the
// reply says whether it has changed something.
func (s *server) directly(user, mutation, video string) (got directReply, err error) {
	err = s.graphQL(user, fmt.Sprintf(`mutation { did: %s(input: {biz: "video", bizId: %q}) { changed durability interactive { likeCount dislikeCount freshness liked { reaction } } } }`, mutation, video), &got)
	if err == nil && (got.Did.Changed == nil || got.Did.Durability != "PERSISTED") {
		err = fmt.Errorf("%s by %s: got %+v, want it persisted, and whether it has changed something", mutation, user, got.Did)
	}
	return got, err
}

// sees returns what a node answers to a query for a video.
func (s *server) sees(user, video string) (got movieReply, err error) {
	err = s.graphQL(user, fmt.Sprintf(`{ interactive(biz: "video", bizId: %q) { likeCount freshness liked { reaction } } }`, video), &got)
	return got, err
}

// together calls f concurrently with each number below n, and fails the test with the
// first errors.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	var failed atomic.Int64
	for i := range n {
		all.Go(func() {
			if err := f(i); err != nil && failed.Add(1) <= 5 {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if failed.Load() > 0 {
		t.FailNow()
	}
}

// startNodes starts n nodes and no worker.
func (s *site) startNodes(t *testing.T, n int) (nodes []*server) {
	t.Helper()
	for range n {
		nodes = append(nodes, s.start(t, "serve"))
	}
	return nodes
}

// Each user acts on both nodes at once, so that their actions on one state race. The
// replies must add up: the likes that have changed something, less the unlikes that have,
// are the likes that are left.
func TestDirectChangesAddUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nodes := s.startNodes(t, 2)
	const users, videos, clicks = 24, 6, 40
	var net [videos]atomic.Int64
	together(t, users*len(nodes), func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		user, node := fmt.Sprintf("user-%d", i/len(nodes)), nodes[i%len(nodes)]
		for range clicks {
			video := random.IntN(videos)
			mutation, by := "like", int64(1)
			if random.IntN(2) == 0 {
				mutation, by = "unlike", -1
			}
			got, err := node.directly(user, mutation, fmt.Sprint(video))
			if err != nil {
				return err
			}
			if *got.Did.Changed {
				net[video].Add(by)
			}
		}
		return nil
	})
	for video := range videos {
		want := s.queryInt(t, fmt.Sprintf("SELECT count(*) FROM user_reaction WHERE state = 1 AND biz_id = '%d'", video))
		if got := net[video].Load(); got != want {
			t.Errorf("video %d: the replies add up to %d likes, the database has %d", video, got, want)
		}
		for _, node := range nodes {
			seen, err := node.sees("somebody", fmt.Sprint(video))
			must(t, err)
			if seen.Interactive.LikeCount != int(want) || seen.Interactive.Freshness != "LIVE" {
				t.Errorf("video %d: a node shows %+v, want %d likes", video, seen.Interactive, want)
			}
		}
	}
	s.run(t, "verify").want(t, 0, "0 differences; ", "Redis")
}

func TestDirectActionIsSeenOnTheOtherNodeAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nodes := s.startNodes(t, 2)
	const users, clicks = 16, 30
	together(t, users, func(i int) error {
		user := fmt.Sprintf("user-%d", i)
		for n := range clicks {
			mutation, want := "like", "LIKE"
			if n%2 == 1 {
				mutation, want = "unlike", ""
			}
			video := fmt.Sprint(i / 4) // four users share a video
			got, err := nodes[n%2].directly(user, mutation, video)
			if err != nil {
				return err
			}
			if !*got.Did.Changed {
				return fmt.Errorf("%s %d by %s: got changed: false", mutation, n, user)
			}
			seen, err := nodes[(n+1)%2].sees(user, video)
			if err != nil {
				return err
			}
			reaction := ""
			if seen.Interactive.Liked != nil {
				reaction = seen.Interactive.Liked.Reaction
			}
			if seen.Interactive.Freshness != "LIVE" || reaction != want || want != "" && seen.Interactive.LikeCount == 0 {
				return fmt.Errorf("after %s %d by %s the other node shows %+v, want the reaction %q", mutation, n, user, seen.Interactive, want)
			}
		}
		return nil
	})
	s.run(t, "verify").want(t, 0, "0 differences; ", "Redis")
}

func TestDirectDoubleClicksCountOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nodes := s.startNodes(t, 2)
	const users, times = 40, 4
	var changed [users]atomic.Int64
	together(t, users*times, func(i int) error {
		got, err := nodes[i%2].directly(fmt.Sprintf("user-%d", i/times), "like", "movie")
		if err == nil && *got.Did.Changed {
			changed[i/times].Add(1)
		}
		return err
	})
	for i := range changed {
		if n := changed[i].Load(); n != 1 {
			t.Errorf("%d of %d likes by user-%d have changed something, want 1", n, times, i)
		}
	}
	if n := s.queryInt(t, "SELECT like_count FROM interactive WHERE biz_id = 'movie'"); n != users {
		t.Errorf("%d likes are counted, want %d", n, users)
	}
	if n := s.queryInt(t, "SELECT version FROM interactive WHERE biz_id = 'movie'"); n > users {
		t.Errorf("the counts have version %d after %d likes: repeated likes must not change them", n, users)
	}
	s.run(t, "verify").want(t, 0, "0 differences; ", "Redis")
}

func TestDirectClearsAreConditional(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nodes := s.startNodes(t, 2)
	for i, step := range []struct {
		mutation, leaves string
		changed          bool
	}{
		{"unlike", "", false},
		{"dislike", "DISLIKE", true},
		{"unlike", "DISLIKE", false},
		{"undislike", "", true},
		{"undislike", "", false},
		{"like", "LIKE", true},
		{"like", "LIKE", false},
		{"undislike", "LIKE", false},
		{"dislike", "DISLIKE", true},
		{"unlike", "DISLIKE", false},
	} {
		changed, reaction := nodes[i%2].react(t, step.mutation)
		if reaction != step.leaves || changed == nil || *changed != step.changed {
			t.Errorf("step %d, %s: got changed %v and the reaction %q, want %v and %q", i, step.mutation, changed, reaction, step.changed, step.leaves)
		}
	}
	s.run(t, "verify").want(t, 0, "0 differences; ", "Redis")
}

// Several nodes and all reactions, on few subjects that are comments and videos, some of
// which have authors who react as well.
func TestDirectCommitsOfSeveralNodesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nodes := s.startNodes(t, 4)
	var comment struct {
		AddComment struct{ Comment struct{ ID string } }
	}
	must(t, nodes[0].graphQL("user-1", `mutation { addComment(input: {biz: "video", bizId: "0", text: "hello"}) { comment { id } } }`, &comment))
	s.sql(t, `UPDATE interactive SET author = 'user-' || biz_id, authored = 1`)
	subjects := []string{"0", "1", "2"}
	number := s.queryInt(t, "SELECT comment_id FROM comment")
	together(t, 64, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 2))
		for range 40 {
			mutation := []string{"like", "unlike", "dislike", "undislike"}[random.IntN(4)]
			biz, id := "video", subjects[random.IntN(len(subjects))]
			if random.IntN(4) == 0 {
				biz, id = "comment", fmt.Sprint(number)
			}
			err := nodes[i%len(nodes)].graphQL(fmt.Sprintf("user-%d", random.IntN(16)),
				fmt.Sprintf(`mutation { did: %s(input: {biz: %q, bizId: %q}) { changed durability } }`, mutation, biz, id), nil)
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, node := range nodes {
		if log := node.log(); strings.Contains(log, "deadlock") || strings.Contains(log, "retried") {
			t.Errorf("a node has logged:\n%s", log)
		}
	}
	s.run(t, "verify").want(t, 0, "0 differences; ", "Redis")
}

// The actions wait for a locked table, and therefore share a transaction that the
// database rejects.
func TestDirectCommitRejectsTheInvalidActionAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.start(t, "serve")
	s.sql(t, `ALTER TABLE user_reaction ADD CHECK (biz_id <> 'poison')`)
	c, err := pgx.Connect(t.Context(), s.variables["OVATION_POSTGRES_URL"])
	must(t, err)
	defer c.Close(context.Background())
	locked, err := c.Begin(t.Context())
	must(t, err)
	_, err = locked.Exec(t.Context(), `LOCK TABLE user_reaction IN EXCLUSIVE MODE`)
	must(t, err)
	const actions, poison = 256, 100
	released := make(chan struct{})
	go func() {
		defer close(released)
		eventually(t, "a transaction waits for the lock", func() bool {
			var n int
			err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'user_reaction'::regclass`).Scan(&n)
			return err == nil && n > 0
		})
		must(t, locked.Rollback(t.Context()))
	}()
	var rejected atomic.Int64
	together(t, actions, func(i int) error {
		video := fmt.Sprint(i)
		if i == poison {
			video = "poison"
		}
		got, err := node.directly(fmt.Sprintf("user-%d", i%50), "like", video)
		switch {
		case i == poison && err == nil:
			return fmt.Errorf("the invalid action was accepted: %+v", got.Did)
		case i == poison:
			rejected.Add(1)
			return nil
		}
		return err
	})
	<-released
	if n := s.queryInt(t, "SELECT count(*) FROM user_reaction WHERE state = 1"); n != actions-1 || rejected.Load() != 1 {
		t.Errorf("%d actions are persisted and %d rejected, want %d and 1", n, rejected.Load(), actions-1)
	}
	s.run(t, "verify").want(t, 0, "0 differences; ", "Redis")
}
