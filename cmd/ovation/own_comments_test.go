package main

import (
	"fmt"
	"slices"
	"strconv"
)

const (
	maxOwnComments = 5  // maximum number of comments of the viewer on one subject
	commentPage    = 20 // maximum number of comments on a page
)

// listedComment is a comment as the API shows it.
type listedComment struct {
	ID, CommentID, Text string
	Author              *struct{ UserID string }
}

const commentFields = `id commentId text author { userId }`

// number returns CommentID as a number. Lists by time are in the order of these numbers.
func (r *listedComment) number() int {
	number, _ := strconv.Atoi(r.CommentID) // an invalid id becomes 0, which is out of order
	return number
}

// comment adds, edits or deletes a comment.
func (v *sequentialViewer) comment(node *server, subject int) error {
	own := v.comments[subject]
	mutation, which, text := "addComment", len(own), fmt.Sprint("step ", v.step)
	if n := v.random.IntN(3); len(own) == maxOwnComments || len(own) > 0 && n > 0 {
		mutation, which = []string{"editComment", "deleteComment"}[v.random.IntN(2)], v.random.IntN(len(own))
	}
	var input string
	switch mutation {
	case "addComment":
		input = fmt.Sprintf(`{biz: "video", bizId: "%d", text: %q, requestId: %q}) { comment { %s }`, subject, text, text, commentFields)
	case "editComment":
		input = fmt.Sprintf(`{id: %q, text: %q}) { comment { %s }`, own[which].ID, text, commentFields)
	default:
		input = fmt.Sprintf(`{id: %q}) { deletedId`, own[which].ID)
	}
	var got struct {
		Did struct {
			Comment     listedComment
			DeletedID   string
			Interactive struct{ CommentCount int }
		}
	}
	least, _ := v.others.commentCounts(subject)
	err := node.graphQL("loner", fmt.Sprintf(`mutation { did: %s(input: %s interactive { commentCount } } }`, mutation, input), &got)
	if err != nil {
		return fmt.Errorf("%s: %w", mutation, err)
	}
	did := &got.Did
	switch mutation {
	case "addComment":
		v.comments[subject] = append(own, did.Comment)
	case "editComment":
		own[which].Text = text
	default:
		v.comments[subject] = slices.Delete(own, which, which+1)
	}
	if mutation != "deleteComment" && (did.Comment.Text != text || did.Comment.ID != v.comments[subject][which].ID) {
		return fmt.Errorf("%w: step %d: %s of %q = %+v, want that text and the ID of the comment", errWrongAnswer, v.step, mutation, text, did.Comment)
	}
	return v.checkNumber(subject, least, did.Interactive.CommentCount)
}

// checkNumber checks the number got, a subject's comment count as a reply shows it. The
// count must include all of the viewer's comments. In addition, it must include at least
// as many comments by others as the number least, and at most as many as the others have
// begun to add.
func (v *sequentialViewer) checkNumber(subject, least, got int) error {
	_, most := v.others.commentCounts(subject)
	if own := len(v.comments[subject]); got < own+least || got > own+most {
		return fmt.Errorf("%w: step %d: subject %d has %d comments, want %d to %d, of which the viewer wrote %d", errWrongAnswer, v.step, subject, got, own+least, own+most, own)
	}
	return nil
}

// readComments reads a page of comments. Each of the viewer's comments must be on the
// page exactly once, unless its place is beyond the end of the page.
func (v *sequentialViewer) readComments(node *server, subject int) error {
	order := []string{"NEWEST", "OLDEST", "TOP"}[v.random.IntN(3)]
	var got struct {
		Interactive struct {
			CommentCount int
			Comments     struct {
				Edges    []struct{ Node listedComment }
				PageInfo struct{ HasNextPage bool }
			}
		}
	}
	least, _ := v.others.commentCounts(subject)
	err := node.graphQL("loner", fmt.Sprintf(`{ interactive(biz: "video", bizId: "%d") { commentCount comments(first: %d, order: %s) {
		edges { node { %s } } pageInfo { hasNextPage } } } }`, subject, commentPage, order, commentFields), &got)
	if err != nil {
		return fmt.Errorf("comments: %w", err)
	}
	page, last, left := &got.Interactive.Comments, 0, slices.Clone(v.comments[subject])
	wrong := func(why string, about any) error {
		return fmt.Errorf("%w: step %d: %s: %+v; subject %d, %s: %+v", errWrongAnswer, v.step, why, about, subject, order, page.Edges)
	}
	for i, edge := range page.Edges {
		n := edge.Node
		if number := n.number(); i > 0 && (order == "NEWEST" && number >= last || order == "OLDEST" && number <= last) {
			return wrong("out of order", n)
		}
		if last = n.number(); n.Author == nil || n.Author.UserID != "loner" {
			continue
		}
		at := slices.IndexFunc(left, func(r listedComment) bool { return r.ID == n.ID && r.Text == n.Text })
		if at < 0 {
			return wrong("shown twice, or not as the viewer left it", n)
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, r := range left {
		if !page.PageInfo.HasNextPage || order == "NEWEST" && r.number() > last || order == "OLDEST" && r.number() < last {
			return wrong("the viewer's comment is missing", r)
		}
	}
	return v.checkNumber(subject, least, got.Interactive.CommentCount)
}
