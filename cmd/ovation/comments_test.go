package main

import (
	"fmt"
	"sync"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// comment is a comment with the fields that tests request.
type comment struct {
	ID, CommentID, Text string
	Interactive         struct{ LikeCount int }
}

// commentsReply is the reply to commentsQuery.
type commentsReply struct {
	Interactive struct {
		CommentCount int
		Comments     struct {
			ChangesCursor string
			Edges         []struct{ Node comment }
		}
	}
}

const (
	commentsQuery = `{ interactive(biz: "video", bizId: "movie") { commentCount comments(first: 100, order: %s) {
		changesCursor edges { node { id commentId text interactive { likeCount } } } } } }`
	commentsSubscription = `subscription($a: String) { commentsChanged(biz: "video", bizId: "movie", after: $a) { kind cursor comment { id text } } }`
)

// comments returns the movie's comments as a node shows them.
func (s *server) comments(t *testing.T, order string) (out commentsReply) {
	t.Helper()
	must.Succeed(t, s.graphQL("", fmt.Sprintf(commentsQuery, order), &out))
	return out
}

// addComment adds a comment on the movie. The comment's text also serves as the request
// id.
func (s *server) addComment(user, text string) (comment, error) {
	var out struct {
		AddComment struct {
			Comment     comment
			Interactive struct{ CommentCount int }
		}
	}
	err := s.graphQL(user, fmt.Sprintf(`mutation { addComment(input: {biz: "video", bizId: "movie", text: %[1]q, requestId: %[1]q}) {
		comment { id commentId text } interactive { commentCount } } }`, text), &out)
	return out.AddComment.Comment, err
}

// commentsOnEveryNode adds comments through both nodes, and repeats each request on the
// other node. Every node must list and count a comment once, as soon as the comment is
// acknowledged. The streams must deliver every comment once.
func commentsOnEveryNode(t *testing.T, nodes []*server) {
	t.Helper()
	const users, each = 8, 10
	cursor := nodes[0].comments(t, "NEWEST").Interactive.Comments.ChangesCursor
	var streams, writers sync.WaitGroup
	for _, node := range nodes {
		conn, err := node.watch(t.Context(), "", map[string]any{"query": commentsSubscription, "variables": map[string]any{"a": cursor}})
		must.Succeed(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		streams.Go(func() {
			left := map[string]bool{}
			for u := range users {
				for i := range each {
					left[fmt.Sprintf("%d-%d", u, i)] = true
				}
			}
			for len(left) > 0 {
				var got struct {
					CommentsChanged struct {
						Kind    string
						Comment comment
					}
				}
				if err := nextOn(t.Context(), conn, &got); err != nil {
					t.Errorf("%d comments were not delivered: %v", len(left), err)
					return
				}
				if text := got.CommentsChanged.Comment.Text; got.CommentsChanged.Kind != "ADDED" || !left[text] {
					t.Errorf("received %+v, want each comment ADDED once", got.CommentsChanged)
				} else {
					delete(left, text)
				}
			}
		})
	}
	for u := range users {
		writers.Go(func() {
			user, here, there := fmt.Sprintf("user-%d", u), nodes[u%2], nodes[(u+1)%2]
			for i := range each {
				text := fmt.Sprintf("%d-%d", u, i)
				add := func(node *server) (said comment, err error) {
					err = untilAvailable(t.Context(), func() error { said, err = node.addComment(user, text); return err })
					return said, err
				}
				said, err := add(here)
				if err != nil {
					t.Error(err)
					return
				}
				var seen commentsReply
				if err := untilAvailable(t.Context(), func() error { return there.graphQL(user, fmt.Sprintf(commentsQuery, "NEWEST"), &seen) }); err != nil {
					t.Error(err)
					return
				}
				found := false
				for _, edge := range seen.Interactive.Comments.Edges {
					found = found || edge.Node.ID == said.ID && edge.Node.Text == text
				}
				again, err := add(there)
				if err != nil || again != said || !found || seen.Interactive.CommentCount < i+1 {
					t.Errorf("%s added %+v and, repeated on the other node, %+v, %v, want the same; there it was listed: %t, of %d, want true, of at least %d", user, said, again, err, found, seen.Interactive.CommentCount, i+1)
				}
			}
		})
	}
	writers.Wait()
	streams.Wait()
	for _, node := range nodes {
		if n := node.comments(t, "OLDEST").Interactive.CommentCount; n != users*each {
			t.Errorf("%s counts %d comments, want %d", node.url, n, users*each)
		}
	}
	// Likes pass through the queue, so the order of the comments changes only later.
	liked := nodes[0].comments(t, "OLDEST").Interactive.Comments.Edges[3].Node
	for u := range users {
		must.Succeed(t, nodes[u%2].graphQL(fmt.Sprintf("user-%d", u), fmt.Sprintf(`mutation { like(input: {biz: "comment", bizId: %q}) { changed } }`, liked.CommentID), nil))
	}
	await.That(t, "the liked comment is the first", func() bool {
		first := nodes[1].comments(t, "TOP").Interactive.Comments.Edges[0].Node
		return first.ID == liked.ID && first.Interactive.LikeCount == users
	})
}
