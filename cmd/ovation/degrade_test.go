package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// follow makes the given user follow the user "star", and returns the action's
// durability.
func (s *server) follow(user string) (durability string, err error) {
	var got struct{ Follow struct{ Durability string } }
	err = s.graphQL(user, `mutation { follow(input: {biz: "user", bizId: "star"}) { durability } }`, &got)
	return got.Follow.Durability, err
}

// followers returns how many followers the user "star" has according to the database.
func (s *site) followers(t *testing.T) int {
	t.Helper()
	return int(s.queryInt(t, "SELECT coalesce(sum(follower_count), 0) FROM interactive WHERE biz = 'user' AND biz_id = 'star'"))
}

// editComment changes the text of a comment.
func (s *server) editComment(user, id, text string) error {
	return s.graphQL(user, fmt.Sprintf(`mutation { editComment(input: {id: %q, text: %q}) { comment { id } } }`, id, text), nil)
}

// deleteComment removes a comment.
func (s *server) deleteComment(user, id string) error {
	return s.graphQL(user, fmt.Sprintf(`mutation { deleteComment(input: {id: %q}) { deletedId } }`, id), nil)
}

func isUnavailable(err error) bool {
	return err != nil && strings.Contains(err.Error(), `"UNAVAILABLE"`)
}

// untilAvailable repeats a call while it fails with UNAVAILABLE, for at most waitTimeout.
// Such failures are allowed if others hold a lock or every slot for too long.
func untilAvailable(ctx context.Context, call func() error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := call()
		if !isUnavailable(err) || ctx.Err() != nil {
			return err
		}
		<-again.C
	}
}

// TestCommentsFailAndFollowsContinueWithoutTheDatabase checks that, while the database is
// unavailable, comments are refused and follows are queued.
func TestCommentsFailAndFollowsContinueWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	for name, fails := range databaseFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits for the breakers
			withoutDatabase(t, waitTimeout, fails)
		})
	}
}

// databaseFaults holds functions that make the database unavailable. Each returns a
// function that makes it available again.
var databaseFaults = map[string]func(*testing.T, *proxy) (back func()){
	"refused": func(_ *testing.T, between *proxy) func() {
		between.set(true)
		return func() { between.set(false) }
	},
	"silent": func(t *testing.T, between *proxy) func() { t.Helper(); return between.hang(t) },
}

const (
	transactionTime = 3 * time.Second     // the timeout of a transaction that writes comments
	opening         = 2 * transactionTime // every breaker opens within this time
)

// withoutDatabase checks that, while the database is unavailable, comments are refused,
// and follows are queued once the breakers have opened. A comment must then be refused
// within bound; until then, a refusal may take transactionTime longer.
func withoutDatabase(t *testing.T, bound time.Duration, fails func(*testing.T, *proxy) (back func())) {
	t.Helper()
	s := newSite(t)
	s.start(t, "work")
	through, between := s.throughProxy(t, "OVATION_POSTGRES_URL")
	node := through.start(t, "serve")
	kept, err := node.addComment("alice", "kept")
	must.Succeed(t, err)
	unwanted, err := node.addComment("alice", "unwanted")
	must.Succeed(t, err)

	back := fails(t, between)
	pulse := probeNode(t, node)
	var early, later []period // of each refusal
	tick := time.NewTicker(transactionTime / 10)
	defer tick.Stop()
	round, queued := 0, 0 // queued counts the latest follows that were QUEUED without exception
	began := time.Now()
	for late := false; !late || queued < 10; round++ {
		if time.Since(began) > waitTimeout {
			t.Fatalf("without the database, %v after its loss: only the latest %d follows were QUEUED, want 10 in a row", waitTimeout, queued)
		}
		<-tick.C
		late = time.Since(began) > opening
		text := fmt.Sprint("comment ", round)
		for what, try := range map[string]func() error{
			"add":    func() error { _, err := node.addComment("alice", text); return err },
			"edit":   func() error { return node.editComment("alice", kept.ID, text) },
			"delete": func() error { return node.deleteComment("alice", unwanted.ID) },
		} {
			asked := time.Now()
			if err := try(); !isUnavailable(err) {
				t.Errorf("without the database: %s: got %v, want UNAVAILABLE", what, err)
			}
			if took := (period{asked, time.Now()}); late {
				later = append(later, took)
			} else {
				early = append(early, took)
			}
		}
		durability, err := node.follow(fmt.Sprint("user-", round))
		switch {
		case err == nil && durability == "QUEUED":
			queued++
		case isUnavailable(err):
			queued = 0
		default:
			t.Errorf("without the database: follow = %q, %v, want QUEUED or, early on, UNAVAILABLE", durability, err)
		}
	}
	took := period{began, time.Now()}
	slowest, pause := pulse.worst(early...)
	slowestLate, pauseLate := pulse.worst(later...)
	t.Logf("%d rounds; a comment was refused within %v, and within %v later", round, slowest, slowestLate)
	until, paused := pulse.worst(took)
	within(t, "the time until follows are queued", until, paused, opening+transactionTime+bound)
	within(t, "the slowest refusal", slowest, pause, transactionTime+bound)
	within(t, "the slowest refusal once the breakers have opened", slowestLate, pauseLate, bound)

	back()
	await.That(t, "comments are accepted again", func() bool { _, err := node.addComment("alice", "again"); return err == nil })
	for i := range round { // an unacknowledged request may have succeeded
		_, err := node.addComment("alice", fmt.Sprint("comment ", i))
		must.Succeed(t, err)
		await.That(t, "a follow is possible", func() bool { _, err := node.follow(fmt.Sprint("user-", i)); return err == nil })
	}
	if err := node.deleteComment("alice", unwanted.ID); err != nil && !isNotFound(err) {
		t.Error(err)
	}
	if n := node.comments(t, "NEWEST").Interactive.CommentCount; n != round+2 {
		t.Errorf("commentCount = %d, want %d", n, round+2)
	}
	await.That(t, "every follow is counted", func() bool { return s.followers(t) == round })
	s.run(t, "verify").want(t, 0, "0 differences; ")
}

func TestCommentsAndFollowsContinueWithoutRedis(t *testing.T) {
	t.Parallel()
	s, redis := siteOnOwnRedis(t)
	s.start(t, "work")
	nodes := []*server{s.start(t, "serve"), s.start(t, "serve")}
	redis.kill()
	const rounds = 12
	for i := range rounds {
		here, there, user, text := nodes[i%2], nodes[(i+1)%2], fmt.Sprint("user-", i), fmt.Sprint("comment ", i)
		said, err := here.addComment(user, text)
		must.Succeed(t, err)
		unwanted, err := here.addComment(user, text+", unwanted")
		must.Succeed(t, err)
		must.Succeed(t, there.editComment(user, said.ID, text+", edited"))
		must.Succeed(t, there.deleteComment(user, unwanted.ID))
		seen := here.comments(t, "NEWEST").Interactive
		if seen.CommentCount != i+1 || len(seen.Comments.Edges) == 0 || seen.Comments.Edges[0].Node.Text != text+", edited" {
			t.Errorf("without Redis, in round %d: got %+v, want %d comments, the latest one edited", i, seen, i+1)
		}
		await.That(t, "the comment is liked", func() bool {
			return there.graphQL(user, fmt.Sprintf(`mutation { like(input: {biz: "comment", bizId: %q}) { durability } }`, said.CommentID), nil) == nil
		})
		await.That(t, "the star is followed", func() bool { _, err := here.follow(user); return err == nil })
	}
	await.That(t, "every like and every follow is counted", func() bool { return s.followers(t) == rounds && s.likes(t) == rounds })
	redis.start(t)
	await.That(t, "both nodes show the comments and likes", func() bool {
		for _, node := range nodes {
			var got struct{ Interactive struct{ FollowerCount int } }
			must.Succeed(t, node.graphQL("", `{ interactive(biz: "user", bizId: "star") { followerCount } }`, &got))
			if got.Interactive.FollowerCount != rounds || node.comments(t, "TOP").Interactive.CommentCount != rounds {
				return false
			}
		}
		return true
	})
	s.run(t, "verify").want(t, 0, "0 differences; ")
}
