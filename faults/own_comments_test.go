//go:build long

package faults_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	commentedSubjects = 2  // a client comments on so many of its own subjects, and of the hot ones
	maxOwnComments    = 5  // comments of a client on one subject, before it deletes some
	commentPage       = 50 // comments of a page
	commentSubjects   = 12 // comments of all users that a client acts on

	// commentTime is how long a request that changes a comment may take: the transaction
	// in progress, the request's own one, and the reads for the reply, each until it times
	// out. Changes of one subject wait for each other, so that one process whose
	// connections hang delays the changes of other processes until they time out as well.
	commentTime = 10 * time.Second
)

// What may have become of a comment.
const (
	unwritten set = 1 << iota
	written
	removed
)

// ownComment is a comment of a client, and what the client knows of it.
type ownComment struct {
	subject subject
	request string   // its requestId, and its first text
	texts   []string // its text is one of these
	parent  string   // the id of the comment that it replies to
	fate    set
	id      string // once an addition is acknowledged
	number  int64
	edits   int
}

// uncertain reports whether the state of the comment is unknown.
func (r *ownComment) uncertain() bool { return r.fate&(r.fate-1) != 0 }

// listedComment is a comment in a reply.
type listedComment struct {
	ID, CommentID, Text string
	Deleted             bool
	ReplyCount          int64
	Author              *struct{ UserID string }
}

const commentFields = `id commentId text deleted replyCount author { userId }`

// number is the comment's id, by which lists are ordered.
func (n *listedComment) number() int64 {
	number, _ := strconv.ParseInt(n.CommentID, 10, 64) // 0 is in no order
	return number
}

// commentedSubject is a subject with its number of comments.
type commentedSubject struct {
	shown

	CommentCount int64
}

// mismatch returns what is wrong with the comment as it is shown, or "" if it is right.
func (r *ownComment) mismatch(author string, n *listedComment) string {
	switch {
	case n.Deleted && (!r.fate.has(removed) || n.Text != "" || n.Author != nil):
		return "a comment is shown as deleted"
	case n.Deleted:
	case !r.fate.has(written):
		return "a comment is shown that was deleted"
	case n.Author == nil || n.Author.UserID != author || !slices.Contains(r.texts, n.Text):
		return "not the comment that its author wrote"
	}
	return ""
}

// ownCommentOf returns the client's own comment with the id, or nil if it has none.
func (c *client) ownCommentOf(id string) *ownComment {
	for _, r := range c.ownComments {
		if r.id == id && id != "" {
			return r
		}
	}
	return nil
}

// comment adds, edits or deletes a comment. Before that, it resolves the state of an
// earlier comment on the same subject if that is unknown.
func (c *client) comment(node *process) {
	sub := c.commented[c.random.IntN(len(c.commented))]
	var own []*ownComment
	for _, r := range c.ownComments {
		switch {
		case r.subject != sub:
		case r.uncertain():
			c.resolve(node, r)
			return
		case r.fate == written:
			own = append(own, r)
		}
	}
	switch n := c.random.IntN(10); {
	case len(own) > 0 && n < 2:
		c.edit(node, own[c.random.IntN(len(own))])
	case len(own) > 0 && n < 4, len(own) == maxOwnComments:
		c.remove(node, own[c.random.IntN(len(own))])
	default:
		r := c.newOwnComment(sub)
		c.add(node, r)
		if r.id != "" && n == 9 { // a client may retry a request that has succeeded
			c.add(c.site.node(c.random.IntN(2)), r)
		}
	}
}

// resolve repeats requests whose outcome is unknown.
func (c *client) resolve(node *process, r *ownComment) {
	if r.fate.has(removed) {
		c.remove(node, r)
	} else {
		c.add(node, r)
	}
}

// newOwnComment returns a comment to add, now and then a reply to one that was seen.
func (c *client) newOwnComment(sub subject) *ownComment {
	r := &ownComment{subject: sub, request: fmt.Sprintf("%s %d", c.name, len(c.ownComments)), fate: unwritten}
	r.texts = []string{r.request}
	if heard := c.replyTargets[sub]; len(heard) > 0 && c.random.IntN(3) == 0 {
		r.parent = heard[c.random.IntN(len(heard))]
	}
	c.ownComments = append(c.ownComments, r)
	return r
}

// add adds a comment, possibly not for the first time. If its parent may be deleted,
// NOT_FOUND is a valid reply; a comment that was added before is found nevertheless.
func (c *client) add(node *process, r *ownComment) {
	replyTo, mayMiss := "", false
	if r.parent != "" {
		replyTo = fmt.Sprintf(`, replyTo: %q`, r.parent)
		parent := c.ownCommentOf(r.parent)
		mayMiss = r.fate != written && (parent == nil || parent.fate != written)
	}
	got, code := c.change(node, entry{what: "comment", mayMiss: mayMiss}, r,
		fmt.Sprintf(`addComment(input: {%s, text: %q, requestId: %q%s}) { comment { %s }`, r.subject.input(), r.request, r.request, replyTo, commentFields))
	switch {
	case code == "NOT_FOUND" && mayMiss:
		r.fate = unwritten
	case code != "":
		r.fate |= written
	default:
		if r.id != "" && r.id != got.Comment.ID {
			c.site.violationf("a request was done twice", c, "%q on %v is %s and %s", r.request, r.subject, r.id, got.Comment.ID)
		}
		r.fate, r.id, r.number = written, got.Comment.ID, got.Comment.number()
		c.checkOwnComment(node, r, got)
	}
}

// edit changes the text. The lock on the counts of the subject orders the edit after
// every earlier change that may still be committed.
func (c *client) edit(node *process, r *ownComment) {
	r.edits++
	text := fmt.Sprintf("%s, edit %d", r.request, r.edits)
	before := r.texts
	r.texts = append(slices.Clone(before), text)
	got, code := c.change(node, entry{what: "edit"}, r,
		fmt.Sprintf(`editComment(input: {id: %q, text: %q}) { comment { %s }`, r.id, text, commentFields))
	if code == "" {
		r.texts = []string{text}
		c.checkOwnComment(node, r, got)
	}
}

// remove deletes a comment, possibly not for the first time.
func (c *client) remove(node *process, r *ownComment) {
	mayMiss := r.fate.has(removed)
	got, code := c.change(node, entry{what: "delete", mayMiss: mayMiss}, r, fmt.Sprintf(`deleteComment(input: {id: %q}) { deletedId`, r.id))
	switch {
	case code == "NOT_FOUND" && mayMiss:
		r.fate = removed
	case code != "":
		r.fate |= removed
	default:
		r.fate = removed
		if got.DeletedID != r.id {
			c.site.violationf("page", c, "%s was to be deleted, and %s is", r.id, got.DeletedID)
		}
		c.checkSubject(node, r.subject, &got.Interactive)
	}
}

// change sends the mutation, whose selection is left open.
func (c *client) change(node *process, e entry, r *ownComment, mutation string) (got *changedComment, code string) {
	var data struct{ Did changedComment }
	e.subject, e.about, e.direct, e.limit = r.subject, r.request, true, commentTime
	code = c.ask(node, e, `mutation { did: `+mutation+` interactive { `+fields+` commentCount } } }`, &data)
	return &data.Did, code
}

// changedComment is what the client requests from the payload of each mutation of a
// comment.
type changedComment struct {
	Comment     listedComment
	DeletedID   string
	Interactive commentedSubject
}

func (c *client) checkOwnComment(node *process, r *ownComment, got *changedComment) {
	if mismatch := r.mismatch(c.name, &got.Comment); mismatch != "" || got.Comment.ID != r.id {
		c.site.violationf("the reply: "+mismatch, c, "%+v on %s: %+v", *r, node.name, got.Comment)
	}
	c.checkSubject(node, r.subject, &got.Interactive)
}

// checkSubject compares a subject with what is known, and its number of comments with
// those of the client: nobody else comments on the client's own subjects.
func (c *client) checkSubject(node *process, sub subject, got *commentedSubject) {
	c.check(node, sub, &got.shown)
	least, most := int64(0), int64(0)
	for _, r := range c.ownComments {
		if r.subject == sub {
			least += bit(r.fate == written)
			most += bit(r.fate.has(written))
		}
	}
	if got.CommentCount < least || sub.biz == "own" && got.CommentCount > most {
		c.site.violationf("comments are counted wrong", c, "%v on %s: %d, the client's own are %d to %d", sub, node.name, got.CommentCount, least, most)
	}
}

// listing is a page of comments.
type listing struct {
	Edges    []struct{ Node listedComment }
	PageInfo struct{ HasNextPage bool }
}

const listingFields = `{ edges { node { ` + commentFields + ` } } pageInfo { hasNextPage } }`

// readComments reads the comments on a subject and, now and then, the replies to a comment, which
// include one of the client's own.
func (c *client) readComments(node *process) {
	sub := c.commented[c.random.IntN(len(c.commented))]
	order := []string{"NEWEST", "OLDEST", "TOP"}[c.random.IntN(3)]
	var got struct {
		Of struct {
			commentedSubject

			Comments listing
		}
	}
	query := fmt.Sprintf(`{ of: interactive(%s) { %s commentCount comments(first: %d, order: %s) %s } }`, sub.input(), fields, commentPage, order, listingFields)
	if c.ask(node, entry{what: "talk", subject: sub, about: order, direct: true}, query, &got) != "" {
		return
	}
	c.checkSubject(node, sub, &got.Of.commentedSubject)
	c.checkOwnComments(node, sub, "", order, &got.Of.Comments)
	c.replyTargets[sub] = nil
	for _, edge := range got.Of.Comments.Edges {
		if !edge.Node.Deleted {
			c.replyTargets[sub] = append(c.replyTargets[sub], edge.Node.ID)
			c.addCommentSubject(edge.Node.CommentID)
		}
	}
	mine := func(r *ownComment) bool { return r.subject == sub && r.parent != "" && r.fate == written }
	if i := slices.IndexFunc(c.ownComments, mine); i >= 0 && c.random.IntN(2) == 0 {
		c.replies(node, c.ownComments[i])
	}
}

// addCommentSubject makes a comment one of the subjects that the client acts on. What the client knows
// of earlier ones is kept.
func (c *client) addCommentSubject(number string) {
	sub := subject{"comment", number}
	if _, known := c.known[sub]; known || c.random.IntN(10) > 0 {
		return
	}
	c.known[sub] = untouched
	if len(c.subjects) < c.lasting+commentSubjects {
		c.subjects = append(c.subjects, sub)
	} else {
		c.subjects[c.lasting+c.random.IntN(commentSubjects)] = sub
	}
}

// replies reads the replies to a comment, which include one of the client's own.
func (c *client) replies(node *process, r *ownComment) {
	var got struct{ Of *struct{ Replies listing } }
	query := fmt.Sprintf(`{ of: node(id: %q) { ... on Comment { replies(first: %d) %s } } }`, r.parent, commentPage, listingFields)
	if c.ask(node, entry{what: "replies", subject: r.subject, about: r.request, direct: true}, query, &got) != "" {
		return
	}
	if got.Of == nil {
		c.site.violationf("a comment is lost", c, "%+v on %s: there is no comment that it replies to", *r, node.name)
		return
	}
	c.checkOwnComments(node, r.subject, r.parent, "OLDEST", &got.Of.Replies)
}

// checkOwnComments compares a page with the client's own comments: it must contain each acknowledged
// comment once, except those beyond the end of the page.
func (c *client) checkOwnComments(node *process, sub subject, parent, order string, page *listing) {
	wrong := func(what string, about any) {
		c.site.violationf(what, c, "%v, replies to %q, %s, on %s: %+v; the page is %+v", sub, parent, order, node.name, about, page.Edges)
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
		if r := c.ownCommentOf(n.ID); r != nil {
			if mismatch := r.mismatch(c.name, n); mismatch != "" {
				wrong(mismatch, *r)
			}
		} else if n.Author != nil && n.Author.UserID == c.name {
			name = n.Text // so that a second comment of the same request is found
			unheard := func(r *ownComment) bool {
				return r.id == "" && r.fate.has(written) && r.request == n.Text && r.parent == parent
			}
			if !slices.ContainsFunc(c.ownComments, unheard) {
				wrong("a comment that nobody wrote", *n)
			}
		}
		if seen[name] {
			wrong("a comment is listed twice", *n)
		}
		seen[name] = true
	}
	for _, r := range c.ownComments {
		if r.subject != sub || r.parent != parent || r.fate != written || seen[r.id] {
			continue
		}
		if !page.PageInfo.HasNextPage || order == "NEWEST" && r.number > last || order == "OLDEST" && r.number < last {
			wrong("a comment is lost", *r)
		}
	}
}
