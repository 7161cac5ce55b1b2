//go:build long

package faults_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	commentedSubjects = 2  // a client comments on this many of its own subjects, and on as many hot ones
	maxOwnComments    = 5  // maximum number of stored comments by a client on one subject, besides those that it keeps
	keptComments      = 10 // a client keeps one in this many of its comments
	commentPageSize   = 50 // comments on a page
	commentSubjects   = 12 // number of comments, by any user, that a client acts on at a time

	// maxCommentDuration is the maximum duration of a request that changes a comment or
	// sends a message. It covers the timeout of a transaction that is already in
	// progress, the timeout of the request's own transaction, and the timeouts of the
	// reads for the reply. Changes to one subject wait for each other. If the connections
	// of one process hang, changes that other processes make are therefore delayed, and
	// may time out as well.
	maxCommentDuration = 10 * time.Second
)

// The possible outcomes of a comment or a message.
const (
	outcomeAbsent stateSet = 1 << iota
	outcomeStored
	outcomeDeleted
)

// ownComment is a comment that a client sent, with its possible outcomes and texts.
type ownComment struct {
	subject   subject
	requestID string   // the requestId, and the first text
	texts     []string // the possible texts
	parent    string   // the id of the parent comment, or "" for a comment that is not a reply
	outcome   stateSet
	id        string // "" until an addition is acknowledged
	number    int64
	edits     int
}

// isKept reports whether the author of a comment with the given text never deletes it.
// Clients act on such comments only, because the deletion of a comment clears the states
// that refer to it.
func isKept(text string) bool {
	requestID, _, _ := strings.Cut(text, ",") // before ", edit 1"
	_, n, _ := strings.Cut(requestID, " ")
	number, err := strconv.Atoi(n)
	return err == nil && number%keptComments == 0
}

// uncertain reports whether the state of the comment is unknown.
func (r *ownComment) uncertain() bool { return r.outcome&(r.outcome-1) != 0 }

// listedComment is a comment in a reply.
type listedComment struct {
	ID, CommentID, Text string
	Deleted             bool
	ReplyCount          int64
	Author              *struct{ UserID string }
}

const commentFields = `id commentId text deleted replyCount author { userId }`

// number returns the numeric id, by which lists are ordered.
func (n *listedComment) number() int64 {
	number, _ := strconv.ParseInt(n.CommentID, 10, 64) // an invalid number is 0, which violates every order
	return number
}

// commentedSubject is a subject and its number of comments.
type commentedSubject struct {
	subjectView

	CommentCount int64
}

// mismatch describes how n, the comment in a reply, differs from the expected comment. It
// returns "" if n is correct.
func (r *ownComment) mismatch(author string, n *listedComment) string {
	switch {
	case n.Deleted && (!r.outcome.has(outcomeDeleted) || n.Text != "" || n.Author != nil):
		return "a comment is shown as deleted"
	case n.Deleted:
	case !r.outcome.has(outcomeStored):
		return "a comment is shown that was deleted"
	case n.Author == nil || n.Author.UserID != author || !slices.Contains(r.texts, n.Text):
		return "not the comment that its author wrote"
	}
	return ""
}

// findOwnComment returns the client's own comment with the given id, or nil if there is
// none.
func (c *client) findOwnComment(id string) *ownComment {
	for _, r := range c.ownComments {
		if r.id == id && id != "" {
			return r
		}
	}
	return nil
}

// changeComment adds, edits or deletes a comment. If the state of an earlier comment on
// the same subject is unknown, it resolves that state instead.
func (c *client) changeComment(node *process) {
	sub := c.commented[c.random.IntN(len(c.commented))]
	var own, deletable []*ownComment
	for _, r := range c.ownComments {
		switch {
		case r.subject != sub:
		case r.uncertain():
			c.resolveComment(node, r)
			return
		case r.outcome == outcomeStored:
			own = append(own, r)
			if !isKept(r.requestID) {
				deletable = append(deletable, r)
			}
		}
	}
	switch n := c.random.IntN(10); {
	case len(own) > 0 && n < 2:
		c.editComment(node, own[c.random.IntN(len(own))])
	case len(deletable) > 0 && n < 4, len(deletable) == maxOwnComments:
		c.deleteComment(node, deletable[c.random.IntN(len(deletable))])
	default:
		r := c.newComment(sub)
		c.addComment(node, r)
		if r.id != "" && n == 9 { // a client may retry a request that has succeeded
			c.addComment(c.installation.node(c.random.IntN(2)), r)
		}
	}
}

// resolveComment repeats the request that left the state of a comment unknown.
func (c *client) resolveComment(node *process, r *ownComment) {
	if r.outcome.has(outcomeDeleted) {
		c.deleteComment(node, r)
	} else {
		c.addComment(node, r)
	}
}

// newComment returns a comment to add. Sometimes the new comment is a reply to a comment
// that the client read earlier.
func (c *client) newComment(sub subject) *ownComment {
	r := &ownComment{subject: sub, requestID: fmt.Sprintf("%s %d", c.name, len(c.ownComments)), outcome: outcomeAbsent}
	r.texts = []string{r.requestID}
	if heard := c.replyTargets[sub]; len(heard) > 0 && c.random.IntN(3) == 0 {
		r.parent = heard[c.random.IntN(len(heard))]
	}
	c.ownComments = append(c.ownComments, r)
	return r
}

// addComment adds a comment, possibly not for the first time. If the parent may have been
// deleted, NOT_FOUND is a valid reply, unless the new comment is known to be stored.
func (c *client) addComment(node *process, r *ownComment) {
	replyTo, mayBeNotFound := "", false
	if r.parent != "" {
		replyTo = fmt.Sprintf(`, replyTo: %q`, r.parent)
		parent := c.findOwnComment(r.parent)
		mayBeNotFound = r.outcome != outcomeStored && (parent == nil || parent.outcome != outcomeStored)
	}
	got, code := c.mutateComment(node, journalEntry{operation: "comment", mayBeNotFound: mayBeNotFound}, r,
		fmt.Sprintf(`addComment(input: {%s, text: %q, requestId: %q%s}) { comment { %s }`, r.subject.input(), r.requestID, r.requestID, replyTo, commentFields))
	switch {
	case code == "NOT_FOUND" && mayBeNotFound:
		r.outcome = outcomeAbsent
	case code != "":
		r.outcome |= outcomeStored
	default:
		if r.id != "" && r.id != got.Comment.ID {
			c.installation.violationf("a request was done twice", c, "%q on %v is %s and %s", r.requestID, r.subject, r.id, got.Comment.ID)
		}
		r.outcome, r.id, r.number = outcomeStored, got.Comment.ID, got.Comment.number()
		c.checkOwnComment(node, r, got)
	}
}

// editComment changes the text of a comment. Each change locks the counts of the subject.
// The edit therefore comes after every earlier change that may still be committed.
func (c *client) editComment(node *process, r *ownComment) {
	r.edits++
	text := fmt.Sprintf("%s, edit %d", r.requestID, r.edits)
	before := r.texts
	r.texts = append(slices.Clone(before), text)
	got, code := c.mutateComment(node, journalEntry{operation: "edit"}, r,
		fmt.Sprintf(`editComment(input: {id: %q, text: %q}) { comment { %s }`, r.id, text, commentFields))
	if code == "" {
		r.texts = []string{text}
		c.checkOwnComment(node, r, got)
	}
}

// deleteComment deletes a comment, possibly not for the first time.
func (c *client) deleteComment(node *process, r *ownComment) {
	mayBeNotFound := r.outcome.has(outcomeDeleted)
	got, code := c.mutateComment(node, journalEntry{operation: "delete", mayBeNotFound: mayBeNotFound}, r, fmt.Sprintf(`deleteComment(input: {id: %q}) { deletedId`, r.id))
	switch {
	case code == "NOT_FOUND" && mayBeNotFound:
		r.outcome = outcomeDeleted
	case code != "":
		r.outcome |= outcomeDeleted
	default:
		r.outcome = outcomeDeleted
		if got.DeletedID != r.id {
			c.installation.violationf("page", c, "%s was to be deleted, and %s is", r.id, got.DeletedID)
		}
		c.checkCommentedSubject(node, r.subject, &got.Interactive)
	}
}

// mutateComment sends a mutation that changes a comment. The parameter mutation ends
// within an open selection, which mutateComment completes.
func (c *client) mutateComment(node *process, e journalEntry, r *ownComment, mutation string) (got *changedComment, code string) {
	var data struct{ Did changedComment }
	e.subject, e.detail, e.needsDatabase, e.maxDuration = r.subject, r.requestID, true, maxCommentDuration
	code = c.execute(node, e, `mutation { did: `+mutation+` interactive { `+subjectFields+` commentCount } } }`, &data)
	return &data.Did, code
}

// changedComment holds the fields that the client requests in mutations that change a
// comment.
type changedComment struct {
	Comment     listedComment
	DeletedID   string
	Interactive commentedSubject
}

func (c *client) checkOwnComment(node *process, r *ownComment, got *changedComment) {
	if mismatch := r.mismatch(c.name, &got.Comment); mismatch != "" || got.Comment.ID != r.id {
		c.installation.violationf("the reply: "+mismatch, c, "%+v on %s: %+v", *r, node.name, got.Comment)
	}
	c.checkCommentedSubject(node, r.subject, &got.Interactive)
}

// checkCommentedSubject checks a subject in a reply as checkView does. It also checks
// that the comment count includes the client's own comments. On the client's own
// subjects, the count must not be greater, because other clients do not comment there.
func (c *client) checkCommentedSubject(node *process, sub subject, got *commentedSubject) {
	c.checkView(node, sub, &got.subjectView)
	least, most := int64(0), int64(0)
	for _, r := range c.ownComments {
		if r.subject == sub {
			least += boolToInt(r.outcome == outcomeStored)
			most += boolToInt(r.outcome.has(outcomeStored))
		}
	}
	if got.CommentCount < least || sub.biz == "own" && got.CommentCount > most {
		c.installation.violationf("comments are counted wrong", c, "%v on %s: %d, the client's own are %d to %d", sub, node.name, got.CommentCount, least, most)
	}
}

// commentList is a page of comments.
type commentList struct {
	Edges    []struct{ Node listedComment }
	PageInfo struct{ HasNextPage bool }
}

const commentListFields = `{ edges { node { ` + commentFields + ` } } pageInfo { hasNextPage } }`

// readComments reads the comments on a subject. Sometimes it also reads the replies to
// the parent of one of the client's own replies.
func (c *client) readComments(node *process) {
	sub := c.commented[c.random.IntN(len(c.commented))]
	order := []string{"NEWEST", "OLDEST", "TOP"}[c.random.IntN(3)]
	var got struct {
		Of struct {
			commentedSubject

			Comments commentList
		}
	}
	query := fmt.Sprintf(`{ of: interactive(%s) { %s commentCount comments(first: %d, order: %s) %s } }`, sub.input(), subjectFields, commentPageSize, order, commentListFields)
	if c.execute(node, journalEntry{operation: "talk", subject: sub, detail: order, needsDatabase: true}, query, &got) != "" {
		return
	}
	c.checkCommentedSubject(node, sub, &got.Of.commentedSubject)
	c.checkCommentPage(node, sub, "", order, &got.Of.Comments)
	c.replyTargets[sub] = nil
	for _, edge := range got.Of.Comments.Edges {
		if !edge.Node.Deleted {
			c.replyTargets[sub] = append(c.replyTargets[sub], edge.Node.ID)
			if isKept(edge.Node.Text) {
				c.addCommentSubject(edge.Node.CommentID)
			}
		}
	}
	mine := func(r *ownComment) bool { return r.subject == sub && r.parent != "" && r.outcome == outcomeStored }
	if i := slices.IndexFunc(c.ownComments, mine); i >= 0 && c.random.IntN(2) == 0 {
		c.readReplies(node, c.ownComments[i])
	}
}

// addCommentSubject adds the comment to the subjects that the client acts on. If the
// client already acts on commentSubjects comments, the new one replaces one of them; the
// expectation for the replaced comment is kept.
func (c *client) addCommentSubject(number string) {
	sub := subject{"comment", number}
	if _, known := c.expected[sub]; known {
		return
	}
	c.expected[sub] = untouched
	if len(c.subjects) < c.permanentSubjects+commentSubjects {
		c.subjects = append(c.subjects, sub)
	} else {
		c.subjects[c.permanentSubjects+c.random.IntN(commentSubjects)] = sub
	}
}

// readReplies reads the replies to the parent of r.
func (c *client) readReplies(node *process, r *ownComment) {
	var got struct {
		Of *struct{ Replies commentList }
	}
	query := fmt.Sprintf(`{ of: node(id: %q) { ... on Comment { replies(first: %d) %s } } }`, r.parent, commentPageSize, commentListFields)
	if c.execute(node, journalEntry{operation: "replies", subject: r.subject, detail: r.requestID, needsDatabase: true}, query, &got) != "" {
		return
	}
	if got.Of == nil {
		c.installation.violationf("a comment is lost", c, "%+v on %s: there is no comment that it replies to", *r, node.name)
		return
	}
	c.checkCommentPage(node, r.subject, r.parent, "OLDEST", &got.Of.Replies)
}

// checkCommentPage compares a page of comments with the client's own comments. The page
// must contain each of the client's acknowledged comments once, except those beyond the
// end of the page. If the order is NEWEST or OLDEST, it also checks the order.
func (c *client) checkCommentPage(node *process, sub subject, parent, order string, page *commentList) {
	wrong := func(what string, about any) {
		c.installation.violationf(what, c, "%v, replies to %q, %s, on %s: %+v; the page is %+v", sub, parent, order, node.name, about, page.Edges)
	}
	seen, last := map[string]bool{}, int64(0)
	for i, edge := range page.Edges {
		n := &edge.Node
		number := n.number()
		if i > 0 && (order == "NEWEST" && number >= last || order == "OLDEST" && number <= last) {
			wrong("comments are out of order", *n)
		}
		last = number
		name := n.ID
		if r := c.findOwnComment(n.ID); r != nil {
			if mismatch := r.mismatch(c.name, n); mismatch != "" {
				wrong(mismatch, *r)
			}
		} else if n.Author != nil && n.Author.UserID == c.name {
			name = n.Text // to detect a second comment by the same request
			unacknowledged := func(r *ownComment) bool {
				return r.id == "" && r.outcome.has(outcomeStored) && r.requestID == n.Text && r.parent == parent
			}
			if !slices.ContainsFunc(c.ownComments, unacknowledged) {
				wrong("a comment that was never written", *n)
			}
		}
		if seen[name] {
			wrong("a comment is listed twice", *n)
		}
		seen[name] = true
	}
	for _, r := range c.ownComments {
		if r.subject != sub || r.parent != parent || r.outcome != outcomeStored || seen[r.id] {
			continue
		}
		if !page.PageInfo.HasNextPage || order == "NEWEST" && r.number > last || order == "OLDEST" && r.number < last {
			wrong("a comment is lost", *r)
		}
	}
}
