package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"ovation/internal/testing/must"
)

// pendingComment is a user's comment on a subject. Each user has at most one comment on a
// subject at a time.
type pendingComment struct {
	text      string // also the request id
	id        string
	removed   bool // a deletion was sent
	uncertain bool // the last request about the comment was not answered
}

// comment sends the same request twice, concurrently, and waits for both answers. The
// request adds the user's comment on the subject, adds it again with the same request id,
// or deletes it.
func (c *clicker) comment(subject int) error {
	one := c.comments[subject]
	if one == nil {
		one = &pendingComment{text: fmt.Sprintf("%s-%d", c.name, c.random.Uint64())}
		c.comments[subject] = one
	} else {
		one.removed = c.random.IntN(3) == 0
	}
	var twice sync.WaitGroup
	var errs [2]error
	var ids [2]string
	for i := range errs {
		twice.Go(func() { ids[i], errs[i] = one.send(c.servers[i%len(c.servers)], c.name, subject) })
	}
	twice.Wait()
	answered, missed, failed := 0, 0, error(nil)
	for i, err := range errs {
		switch {
		case err == nil:
			answered++
			if one.id == "" {
				one.id = ids[i]
			}
			if ids[i] != one.id {
				return fmt.Errorf("%w: %s: the comment %q has the IDs %s and %s, want one", errWrongAnswer, c.name, one.text, one.id, ids[i])
			}
		case one.removed && isNotFound(err): // the other request has deleted it
			missed++
		default:
			failed = fmt.Errorf("%s comments: %w", c.name, err)
		}
	}
	switch one.uncertain = answered+missed == 0; {
	case missed == len(errs):
		return fmt.Errorf("%w: %s: the comment %q was lost before it was deleted", errWrongAnswer, c.name, one.text)
	case one.removed && !one.uncertain:
		c.comments[subject] = nil
	}
	return failed
}

// send adds or deletes the comment, and returns the id of the comment.
func (one *pendingComment) send(to *server, user string, subject int) (id string, err error) {
	mutation := fmt.Sprintf(`addComment(input: {biz: "video", bizId: "%d", text: %q, requestId: %q}) { comment { id } }`, subject, one.text, one.text)
	if one.removed {
		mutation = fmt.Sprintf(`deleteComment(input: {id: %q}) { deletedId }`, one.id)
	}
	var got struct {
		Did struct {
			Comment   struct{ ID string }
			DeletedID string
		}
	}
	err = to.graphQL(user, `mutation { did: `+mutation+` }`, &got)
	return got.Did.Comment.ID + got.Did.DeletedID, err
}

func isNotFound(err error) bool { return strings.Contains(err.Error(), `"NOT_FOUND"`) }

// checkComments first repeats every unanswered request about a comment, so that the
// request's outcome is known. It then compares the comments of all users with the lists
// that a server returns: no comment may be missing or listed twice.
func checkComments(t *testing.T, s *server, users []*clicker) {
	t.Helper()
	for subject := range loadSubjects {
		want := map[string]bool{}
		for _, c := range users {
			one := c.comments[subject]
			if one == nil {
				continue
			}
			if one.uncertain {
				if _, err := one.send(s, c.name, subject); err != nil && (!one.removed || !isNotFound(err)) {
					t.Fatal(err)
				}
				one.uncertain = false
			}
			if one.removed {
				c.comments[subject] = nil
				continue
			}
			want[c.name+": "+one.text] = true
		}
		n := len(want)
		for _, got := range s.commentsOf(t, subject) {
			if !want[got] {
				t.Errorf("subject %d: %q is listed, want each comment once and none that was deleted", subject, got)
			}
			delete(want, got)
		}
		if len(want) > 0 {
			t.Errorf("subject %d: %d of %d acknowledged comments are missing: %v", subject, len(want), n, want)
		}
	}
}

// commentsOf returns all comments on a subject, each as the author's id, ": " and the
// text.
func (s *server) commentsOf(t *testing.T, subject int) (out []string) {
	t.Helper()
	for after, more := "", true; more; {
		var got struct {
			Interactive struct {
				Comments struct {
					Edges    []struct{ Node listedComment }
					PageInfo struct {
						HasNextPage bool
						EndCursor   string
					}
				}
			}
		}
		must.Succeed(t, s.graphQL("", fmt.Sprintf(`{ interactive(biz: "video", bizId: "%d") { comments(first: 100%s) {
			edges { node { %s } } pageInfo { hasNextPage endCursor } } } }`, subject, after, commentFields), &got))
		page := &got.Interactive.Comments
		for _, edge := range page.Edges {
			out = append(out, edge.Node.Author.UserID+": "+edge.Node.Text)
		}
		more, after = page.PageInfo.HasNextPage, fmt.Sprintf(", after: %q", page.PageInfo.EndCursor)
	}
	return out
}
