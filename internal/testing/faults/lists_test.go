//go:build long

package faults_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// The checks of comments and lists in this file run while no request is in progress.

// resolveComments repeats requests until the outcome of every comment is known.
func (s *installation) resolveComments(t *testing.T) {
	t.Helper()
	for i, c := range s.clients {
		for _, r := range c.ownComments {
			if r.uncertain() && !pollUntil(func() bool { c.resolveComment(s.node(i%2), r); return !r.uncertain() }) {
				t.Errorf("%s cannot determine the outcome of %+v", c.name, *r)
				return
			}
		}
	}
}

// storedComment is a comment in the database.
type storedComment struct {
	subject
	number, parent  int64
	user, text      string
	deleted, listed bool
	replies, likes  int64
}

// storedComments returns the comments on the clients' subjects, the oldest first.
func (s *installation) storedComments(t *testing.T) (out []storedComment) {
	t.Helper()
	rows, err := s.database.Query(t.Context(), `
		SELECT biz, biz_id, comment_id, reply_to, user_id, text, deleted <> 0, listed, reply_count, like_count
		FROM comment WHERE biz IN ('own', 'hot') ORDER BY comment_id`)
	must.Succeed(t, err)
	defer rows.Close()
	for rows.Next() {
		var r storedComment
		must.Succeed(t, rows.Scan(&r.biz, &r.id, &r.number, &r.parent, &r.user, &r.text, &r.deleted, &r.listed, &r.replies, &r.likes))
		out = append(out, r)
	}
	must.Succeed(t, rows.Err())
	return out
}

// checkComments compares the clients' comments with the rows in the database. No comment
// may be lost or stored twice, and there may be no other comments.
func (s *installation) checkComments(t *testing.T) {
	t.Helper()
	known := map[int64]*ownComment{} // including deleted ones
	authors := map[int64]string{}
	for _, c := range s.clients {
		for _, r := range c.ownComments {
			if r.id != "" {
				known[r.number], authors[r.number] = r, c.name
			}
		}
	}
	var wrong []string
	for _, got := range s.storedComments(t) {
		r := known[got.number]
		switch {
		case r == nil:
			wrong = append(wrong, fmt.Sprintf("stored, but never added or added twice: %+v", got))
			continue
		case r.subject != got.subject || (r.parent == "") != (got.parent == 0):
			wrong = append(wrong, fmt.Sprintf("%+v is stored as %+v", *r, got))
		case got.deleted && (r.outcome != outcomeDeleted || got.user+got.text != ""):
			wrong = append(wrong, fmt.Sprintf("%+v is deleted: %+v", *r, got))
		case !got.deleted && (r.outcome != outcomeStored || got.user != authors[got.number] || !slices.Contains(r.texts, got.text)):
			wrong = append(wrong, fmt.Sprintf("%+v of %s is stored as %+v", *r, authors[got.number], got))
		}
		delete(known, got.number)
	}
	for number, r := range known {
		wrong = append(wrong, fmt.Sprintf("%+v of %s is lost", *r, authors[number]))
	}
	if len(wrong) > 0 {
		t.Errorf("%d comments differ from what was acknowledged:\n%s", len(wrong), firstLines(wrong))
	}
}

// listPage is a page of any list.
type listPage struct {
	Edges []struct {
		Node struct {
			CommentID   string
			User        struct{ UserID string }
			Interactive struct{ Biz, BizID string }
		}
	}
	PageInfo struct {
		HasNextPage bool
		EndCursor   string
	}
}

// listQuery is a query for a list, which is a field of an object. The field selection of
// listQuery selects the name of each entry.
type listQuery struct{ object, field, arguments, selection string }

// The possible values of the field selection of listQuery.
const (
	subjectSelection = `interactive { biz bizId }`
	userSelection    = `user { userId }`
	commentSelection = `commentId`
)

// readAll reads the whole list as the given user and returns the names of the entries.
func (l listQuery) readAll(node *process, user string) (names []string, err error) {
	for after, more := "", true; more; {
		var got struct{ Of *struct{ List listPage } }
		err := post(node, tokenOf(user), fmt.Sprintf(`{ of: %s { ... on %s { list: %s(first: 100%s%s) { edges { node { %s } } pageInfo { hasNextPage endCursor } } } } }`,
			l.object, l.objectType(), l.field, l.arguments, after, l.selection), &got)
		if err != nil || got.Of == nil {
			return nil, fmt.Errorf("%+v: %w", l, cmp.Or(err, errNoObject))
		}
		for _, edge := range got.Of.List.Edges {
			n := &edge.Node
			switch l.selection {
			case subjectSelection:
				names = append(names, n.Interactive.Biz+" "+n.Interactive.BizID)
			case userSelection:
				names = append(names, n.User.UserID)
			default:
				names = append(names, n.CommentID)
			}
		}
		more, after = got.Of.List.PageInfo.HasNextPage, fmt.Sprintf(`, after: %q`, got.Of.List.PageInfo.EndCursor)
	}
	return names, nil
}

var errNoObject = errors.New("the object does not exist")

// objectType returns the GraphQL type of the object.
func (l listQuery) objectType() string {
	switch {
	case strings.HasPrefix(l.object, "node"):
		return "Comment"
	case strings.HasPrefix(l.object, "interactive"):
		return "Interactive"
	}
	return "User"
}

// checkLists compares the lists that a node returns with the rows in the database. It
// checks the lists of every client, and the likers and followers of each subject that all
// clients act on.
func (s *installation) checkLists(t *testing.T, node *process) {
	t.Helper()
	likes, follows := map[string][]string{}, map[string][]string{}    // by user
	likers, followers := map[string][]string{}, map[string][]string{} // by subject
	for key, r := range s.storedStates(t) {
		name := key.biz + " " + key.id
		if r.reaction == stateLiked {
			likes[key.user], likers[name] = append(likes[key.user], name), append(likers[name], key.user)
		}
		if r.follow == stateFollowing {
			follows[key.user], followers[name] = append(follows[key.user], name), append(followers[name], key.user)
		}
	}
	var wrong []string
	check := func(l listQuery, user string, want []string) {
		got, err := l.readAll(node, user)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			wrong = append(wrong, fmt.Sprintf("%+v of %s: listed %q (%v), stored %q", l, user, got, err, want))
		}
	}
	for _, c := range s.clients {
		var friends []string
		for _, other := range s.clients {
			if slices.Contains(follows[c.name], "user "+other.name) && slices.Contains(follows[other.name], "user "+c.name) {
				friends = append(friends, other.name)
			}
		}
		check(listQuery{"viewer", "likes", "", subjectSelection}, c.name, likes[c.name])
		check(listQuery{"viewer", "following", ", biz: null", subjectSelection}, c.name, follows[c.name])
		check(listQuery{"viewer", "followers", "", userSelection}, c.name, followers["user "+c.name])
		check(listQuery{"viewer", "friends", "", userSelection}, c.name, friends)
	}
	for _, sub := range s.clients[followedClients].subjects[ownSubjects:s.clients[followedClients].permanentSubjects] {
		object := fmt.Sprintf("interactive(%s)", sub.input())
		check(listQuery{object, "likers", "", userSelection}, s.clients[0].name, likers[sub.biz+" "+sub.id])
		check(listQuery{object, "followers", "", userSelection}, s.clients[0].name, followers[sub.biz+" "+sub.id])
	}
	if len(wrong) > 0 {
		t.Errorf("%d lists on %s differ from the database:\n%s", len(wrong), node.name, firstLines(wrong))
	}
}

// checkCommentLists compares the lists of comments and the comment counts that a node
// returns with the rows in the database.
func (s *installation) checkCommentLists(t *testing.T, node *process) {
	t.Helper()
	ids := map[int64]string{}
	of := map[subject][]storedComment{}
	for _, c := range s.clients {
		for _, sub := range c.commented {
			of[sub] = nil
		}
		for _, r := range c.ownComments {
			ids[r.number] = r.id
		}
	}
	replies := map[int64][]string{}
	for _, r := range s.storedComments(t) {
		of[r.subject] = append(of[r.subject], r)
		if r.parent != 0 && r.listed {
			replies[r.parent] = append(replies[r.parent], strconv.FormatInt(r.number, 10))
		}
	}
	var wrong []string
	check := func(l listQuery, want []string) {
		if got, err := l.readAll(node, s.clients[0].name); err != nil || !slices.Equal(got, want) {
			wrong = append(wrong, fmt.Sprintf("%+v: listed %q (%v), stored %q", l, got, err, want))
		}
	}
	for sub, rows := range of {
		object := fmt.Sprintf("interactive(%s)", sub.input())
		for order, compare := range commentOrders {
			slices.SortFunc(rows, compare)
			var want []string
			for i := range rows {
				if rows[i].listed && rows[i].parent == 0 {
					want = append(want, strconv.FormatInt(rows[i].number, 10))
				}
			}
			check(listQuery{object, "comments", ", order: " + order, commentSelection}, want)
		}
		var got struct{ Of struct{ CommentCount int } }
		err := post(node, tokenOf(s.clients[0].name), `{ of: `+object+` { commentCount } }`, &got)
		deleted := func(r storedComment) bool { return r.deleted }
		if there := len(slices.DeleteFunc(rows, deleted)); err != nil || got.Of.CommentCount != there {
			wrong = append(wrong, fmt.Sprintf("%v: %d comments are counted (%v), %d stored", sub, got.Of.CommentCount, err, there))
		}
	}
	for parent, want := range replies {
		check(listQuery{fmt.Sprintf("node(id: %q)", ids[parent]), "replies", "", commentSelection}, want)
	}
	if len(wrong) > 0 {
		t.Errorf("%d lists and numbers of comments on %s differ from the database:\n%s", len(wrong), node.name, firstLines(wrong))
	}
}

// commentOrders holds the comparison function for each order of comments.
var commentOrders = map[string]func(a, b storedComment) int{
	"NEWEST": func(a, b storedComment) int { return cmp.Compare(b.number, a.number) },
	"OLDEST": func(a, b storedComment) int { return cmp.Compare(a.number, b.number) },
	"TOP": func(a, b storedComment) int {
		return cmp.Or(cmp.Compare(b.likes, a.likes), cmp.Compare(b.number, a.number))
	},
}
