package storagetest

import (
	"fmt"
	"strconv"
	"strings"

	"ovation/storage"
)

// comment adds a comment or, unless parent is nil, a reply to parent.
func (w *world) comment(u storage.User, s storage.Subject, text string, parent *storage.Comment) *storage.Comment {
	w.Helper()
	c := storage.NewComment{Subject: s, User: u, Text: text}
	if parent != nil {
		c.ParentID = parent.Number
	}
	return w.added(c).Comment
}

// added adds one comment.
func (w *world) added(c storage.NewComment) storage.AddedComment {
	w.Helper()
	out, err := w.s.AddComments(w.Context(), []storage.NewComment{c})
	w.must(err)
	w.must(out[0].Err)
	return out[0]
}

func (w *world) refusedComment(c storage.NewComment, want error) {
	w.Helper()
	out, err := w.s.AddComments(w.Context(), []storage.NewComment{c})
	w.must(err)
	w.wantError(fmt.Sprintf("adding %+v", c), out[0].Err, want)
	w.equal("the comment returned with an error", out[0].Comment, nil)
}

func (w *world) deleteComment(by storage.User, c *storage.Comment) *storage.Comment {
	w.Helper()
	got, err := w.s.DeleteComment(w.Context(), storage.CommentChange{Key: c.Key(), By: by})
	w.must(err)
	return got
}

// found reads the comment again. It returns nil if the comment is no longer listed.
func (w *world) found(c *storage.Comment) *storage.Comment {
	w.Helper()
	got, err := w.s.CommentsOf(w.Context(), []storage.CommentKey{c.Key()})
	w.must(err)
	return got[0]
}

func (w *world) commentCount(s storage.Subject) storage.CommentCount {
	w.Helper()
	got, err := w.s.CommentCounts(w.Context(), []storage.Subject{s})
	w.must(err)
	return got[0]
}

// texts returns the texts of the comments in a list, which it reads in pages.
func (w *world) texts(q storage.CommentsQuery) (out []string) {
	w.Helper()
	for q.First = max(q.First, 3); ; {
		got, err := w.s.ListComments(w.Context(), []storage.CommentsQuery{q})
		w.must(err)
		page := got[0].Entries
		w.equal("the version of a page", got[0].Version, w.commentCount(q.Subject).Version)
		for i := range page {
			out = append(out, page[i].Text)
		}
		if len(page) < q.First {
			return out
		}
		q.After = q.Order.Place(&page[len(page)-1])
	}
}

func (w *world) changes(s storage.Subject, after int64) (out []string) {
	w.Helper()
	for {
		got, err := w.s.CommentChanges(w.Context(), storage.CommentChangesQuery{Subject: s, Version: after, First: 2})
		w.must(err)
		for i := range got {
			if got[i].Version <= after {
				w.Fatalf("version %d follows %d, want a higher one", got[i].Version, after)
			}
			after = got[i].Version
			out = append(out, got[i].Text)
		}
		if len(got) < 2 {
			return out
		}
	}
}

func commentsAreListed(w *world) {
	alice, bob, s := user("alice"), user("bob"), video("1")
	w.comment(alice, video("2"), "elsewhere", nil)
	w.comment(alice, storage.Subject{Tenant: s.Tenant, Biz: "article", BizID: "1"}, "another kind", nil)
	made := make([]*storage.Comment, 7)
	for i := range made {
		made[i] = w.comment(alice, s, strconv.Itoa(i), nil)
	}
	for i := range 4 {
		w.comment(bob, s, fmt.Sprint("re ", i), made[2])
	}
	for i := 1; i < len(made); i++ {
		if made[i].Number <= made[i-1].Number || made[i].Number >= storage.MaxCommentID || made[i].Created < made[i-1].Created {
			w.Errorf("comment %d was added before %d, want rising numbers", made[i-1].Number, made[i].Number)
		}
	}
	// Two users like the fourth comment. One user likes the first and the last.
	w.persist(like(alice, made[3].Key().Subject(), 1), like(bob, made[3].Key().Subject(), 1),
		like(bob, made[0].Key().Subject(), 1), like(bob, made[6].Key().Subject(), 1),
		like(bob, storage.Subject{Tenant: s.Tenant, Biz: storage.BizComment, BizID: "no comment"}, 1))
	for order, want := range map[storage.CommentOrder][]string{
		storage.Newest: {"6", "5", "4", "3", "2", "1", "0"},
		storage.Oldest: {"0", "1", "2", "3", "4", "5", "6"},
		storage.Top:    {"3", "6", "0", "5", "4", "2", "1"},
	} {
		w.equal("comments "+string(order), w.texts(storage.CommentsQuery{Subject: s, Order: order}), want)
	}
	w.equal("replies", w.texts(storage.CommentsQuery{Subject: s, Parent: made[2].Number, Order: storage.Oldest}), []string{"re 0", "re 1", "re 2", "re 3"})
	w.persist(React(bob, made[3].Key().Subject(), storage.NoReaction, 2), React(alice, made[3].Key().Subject(), storage.Dislike, 2))
	w.equal("the top, once it is liked no more", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Top})[:2], []string{"6", "0"})

	w.equal("comments", w.commentCount(s).Comments, int64(11))
	w.equal("replies counted", w.found(made[2]).ReplyCount, int64(4))
	many, err := w.s.ListComments(w.Context(), []storage.CommentsQuery{
		{Subject: video("none"), Order: storage.Newest, Page: storage.Page{First: 5}},
		{Subject: s, Order: storage.Oldest, Page: storage.Page{First: 1}},
		{Subject: s, Order: storage.Newest, Page: storage.Page{First: 1}},
	})
	w.must(err)
	w.equal("of a subject without comments: entries, version", []int64{int64(len(many[0].Entries)), many[0].Version}, []int64{0, 0})
	w.equal("the first texts of two lists in one call", []string{many[1].Entries[0].Text, many[2].Entries[0].Text}, []string{"0", "6"})
	_, err = w.s.ListComments(w.Context(), []storage.CommentsQuery{{Subject: s, Order: "LOUDEST", Page: storage.Page{First: 1}}})
	w.wantError("ListComments in an unknown order", err, storage.ErrInvalid)
	w.verified()
}

func commentsAreStoredUnchanged(w *world) {
	alice, s := user("alice"), video("1")
	zalgo := "a" + strings.Repeat("\u0301", storage.MaxCommentRunes-1)
	text := "\ufeff\u200fto be\r\nor \"not\" \\ <b>'; --\u2066 👩\u200d👩\u2069 \t\u2028x "
	c := w.comment(alice, s, text, nil)
	w.equal("text", c.Text, "\ufeff\u200fto be\nor \"not\" \\ <b>'; --\u2066 👩\u200d👩\u2069 \t\nx")
	w.equal("the comment read", *w.found(c), *c)
	w.equal("the comment added", *c, storage.Comment{Subject: s, Number: c.Number, User: alice, Text: c.Text, Created: c.Created, Version: c.Version})
	w.equal("the text of many combining marks", w.found(w.comment(alice, s, zalgo, nil)).Text, zalgo)
	w.equal("bytes of the longest text", len(w.found(w.comment(alice, s, strings.Repeat("👩", storage.MaxCommentRunes), nil)).Text), 4*storage.MaxCommentRunes)

	for name, bad := range map[string]string{
		"empty": "", "blank": " \n\t\u200e", "an override": "a\u202eb", "joiners": "\u200d", "long": strings.Repeat("x", storage.MaxCommentRunes+1),
		"a control character": "a\x07", "NUL": "a\x00b", "broken": "a\xff", "what broken text is read as": "a\ufffd", "a noncharacter": "a\uffff",
	} {
		w.refusedComment(storage.NewComment{Subject: s, User: alice, Text: bad}, storage.ErrInvalid)
		if _, err := w.s.EditComment(w.Context(), storage.CommentChange{Key: c.Key(), By: alice}, bad); err == nil {
			w.Errorf("EditComment with a text that is %s: got no error", name)
		}
	}
	w.refusedComment(storage.NewComment{Subject: s, User: user(""), Text: "x"}, storage.ErrInvalid)
	w.refusedComment(storage.NewComment{Subject: s, User: storage.User{Tenant: "other", UserID: "alice"}, Text: "x"}, storage.ErrInvalid)
	w.refusedComment(storage.NewComment{Subject: video(""), User: alice, Text: "x"}, storage.ErrInvalid)
	w.refusedComment(storage.NewComment{Subject: s, User: alice, Text: "x", RequestID: "é"}, storage.ErrInvalid)
	w.equal("comments", w.commentCount(s).Comments, int64(3))

	before := w.commentCount(s).Version
	edited, err := w.s.EditComment(w.Context(), storage.CommentChange{Key: c.Key(), By: alice}, " new ")
	w.must(err)
	w.equal("edited: text, times and version", []any{edited.Text, edited.Edited > 0, edited.Version > before, edited.Created}, []any{"new", true, true, c.Created})
	again, err := w.s.EditComment(w.Context(), storage.CommentChange{Key: c.Key(), By: alice}, "new")
	w.must(err)
	w.equal("the comment edited to the same text", *again, *edited)
	w.equal("the edited comment read", *w.found(c), *edited)

	change := storage.CommentChange{Key: c.Key(), By: user("moderator"), Moderates: true}
	moderated, err := w.s.EditComment(w.Context(), change, "moderated")
	w.must(err)
	w.equal("edited by a moderator: text, author, editor", []any{moderated.Text, moderated.Author(), moderated.EditedBy()}, []any{"moderated", &alice, &change.By})
	w.equal("the moderated comment read", *w.found(c), *moderated)
	change.By = alice
	again, err = w.s.EditComment(w.Context(), change, "my own")
	w.must(err)
	w.equal("edited by its author, a moderator: the editor", again.EditedBy(), nil)
	w.equal("the comment read again", *w.found(c), *again)
}

func repliesAreOneLevelDeep(w *world) {
	alice, s := user("alice"), video("1")
	top := w.comment(alice, s, "top", nil)
	reply := w.comment(alice, s, "reply", top)
	refused := func(parent int64, of storage.Subject, want error) {
		w.Helper()
		w.refusedComment(storage.NewComment{Subject: of, User: storage.User{Tenant: of.Tenant, UserID: "alice"}, Text: "x", ParentID: parent}, want)
	}
	refused(reply.Number, s, storage.ErrInvalid)
	refused(top.Number, video("2"), storage.ErrNotFound)
	refused(top.Number, storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}, storage.ErrNotFound)
	refused(top.Number+1000, s, storage.ErrNotFound)
	refused(-1, s, storage.ErrNotFound)
	w.deleteComment(alice, top)
	refused(top.Number, s, storage.ErrNotFound)
	w.equal("comments", w.commentCount(s).Comments, int64(1))
	w.verified()
}

func invalidCommentFailsNoOther(w *world) {
	alice, s := user("alice"), video("1")
	out, err := w.s.AddComments(w.Context(), []storage.NewComment{
		{Subject: s, User: alice, Text: "one"},
		{Subject: s, User: alice, Text: ""},
		{Subject: s, User: alice, Text: "no", ParentID: 5},
		{Subject: video("2"), User: alice, Text: "two"},
		{Subject: s, User: alice, Text: "three"},
	})
	w.must(err)
	w.wantError("a comment without a text", out[1].Err, storage.ErrInvalid)
	w.wantError("a reply to an unknown comment", out[2].Err, storage.ErrNotFound)
	for i, want := range map[int]string{0: "one", 3: "two", 4: "three"} {
		w.must(out[i].Err)
		w.equal("text", w.found(out[i].Comment).Text, want)
	}
	w.equal("comments of the valid ones, in the order given", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Oldest}), []string{"one", "three"})
	out, err = w.s.AddComments(w.Context(), []storage.NewComment{{Subject: s, User: alice}})
	w.must(err)
	w.wantError("a comment without a text, alone", out[0].Err, storage.ErrInvalid)
	out, err = w.s.AddComments(w.Context(), nil)
	w.must(err)
	w.equal("results for no comments", len(out), 0)
	w.verified()
}

func repeatedRequestAddsOnce(w *world) {
	alice, bob, s := user("alice"), user("bob"), video("1")
	c := storage.NewComment{Subject: s, User: alice, Text: "once", RequestID: "r 1"}
	first := w.added(c)
	w.equal("the first request is repeated", first.Repeated, false)
	again := w.added(c)
	w.equal("the second: repeated, and its number", []any{again.Repeated, again.Comment.Number}, []any{true, first.Comment.Number})
	of := c
	of.User = bob
	w.equal("the request id of another user is repeated", w.added(of).Repeated, false)
	for _, other := range []storage.NewComment{
		{Subject: s, User: alice, Text: "twice", RequestID: "r 1"},
		{Subject: video("2"), User: alice, Text: "once", RequestID: "r 1"},
		{Subject: s, User: alice, Text: "once", RequestID: "r 1", ParentID: first.Comment.Number},
	} {
		w.refusedComment(other, storage.ErrInvalid)
	}
	both, err := w.s.AddComments(w.Context(), []storage.NewComment{
		{Subject: s, User: alice, Text: "two", RequestID: "r 2"},
		{Subject: s, User: alice, Text: "two", RequestID: "r 2"},
		{Subject: s, User: alice, Text: "other", RequestID: "r 2"},
		{Subject: s, User: alice, Text: "plain"},
		{Subject: s, User: alice, Text: "plain"},
	})
	w.must(err)
	w.equal("in one call: the first repeated, the second repeated, both the same", []any{both[0].Repeated, both[1].Repeated, both[1].Comment.Number == both[0].Comment.Number}, []any{false, true, true})
	w.wantError("another comment by the same request", both[2].Err, storage.ErrInvalid)
	w.equal("without a request id, two comments are added", both[3].Comment.Number != both[4].Comment.Number, true)
	// A repeated request returns its comment even if the comment was edited or deleted.
	_, err = w.s.EditComment(w.Context(), storage.CommentChange{Key: first.Comment.Key(), By: alice}, "changed")
	w.must(err)
	w.equal("the text that a repeated request returns after an edit", w.added(c).Comment.Text, "changed")
	w.deleteComment(alice, first.Comment)
	w.equal("after its deletion, a repeated request returns a deleted comment", w.added(c).Comment.Deleted(), true)
	// A rejected request is not remembered.
	w.refusedComment(storage.NewComment{Subject: s, User: alice, Text: "x", ParentID: 7, RequestID: "r 3"}, storage.ErrNotFound)
	w.equal("after a refusal, the request is repeated", w.added(storage.NewComment{Subject: s, User: alice, Text: "x", RequestID: "r 3"}).Repeated, false)
	// After a day, a request with the same id is a new request.
	w.db.Edit(w.T, fmt.Sprintf(`UPDATE request SET at = at - %d WHERE request_id = 'r 1'`, storage.RequestAge.Microseconds()+1))
	w.equal("a day later, the request is repeated", w.added(c).Repeated, false)
	w.equal("right afterwards, the request is repeated", w.added(c).Repeated, true)
	w.db.Edit(w.T, fmt.Sprintf(`UPDATE request SET at = at - %d`, storage.RequestAge.Microseconds()+1))
	_, err = w.s.Prune(w.Context(), storage.InboxAge)
	w.must(err)
	w.verified()
}

func deletedCommentsKeepThreads(w *world) {
	alice, bob, s := user("alice"), user("bob"), video("1")
	top, alone := w.comment(alice, s, "top", nil), w.comment(alice, s, "alone", nil)
	one, two := w.comment(bob, s, "one", top), w.comment(bob, s, "two", top)
	w.persist(like(bob, top.Key().Subject(), 1))

	for _, change := range []storage.CommentChange{
		{Key: top.Key(), By: bob},
		{Key: top.Key(), By: user("")},
		{Key: top.Key(), By: storage.User{Tenant: "other", UserID: "alice"}, Moderates: true},
		{Key: storage.CommentKey{Tenant: "other", CommentID: top.Number}, By: storage.User{Tenant: "other", UserID: "alice"}},
		{Key: storage.CommentKey{Tenant: s.Tenant, CommentID: 5}, By: alice},
	} {
		_, err := w.s.DeleteComment(w.Context(), change)
		w.wantError(fmt.Sprintf("DeleteComment(%+v)", change), err, storage.ErrNotFound)
		_, err = w.s.EditComment(w.Context(), change, "mine")
		w.wantError(fmt.Sprintf("EditComment(%+v)", change), err, storage.ErrNotFound)
	}
	gone := w.deleteComment(alice, alone)
	w.equal("the deleted comment: text, user id, no author, listed", []any{gone.Text, gone.User.UserID, gone.Author() == nil, gone.Listed()}, []any{"", "", true, false})
	w.equal("the deleted comment read again", w.found(alone), nil)
	moderated, err := w.s.DeleteComment(w.Context(), storage.CommentChange{Key: top.Key(), By: user("moderator"), Moderates: true})
	w.must(err)
	w.equal("a deleted comment with replies: text, no author, listed", []any{moderated.Text, moderated.Author() == nil, moderated.Listed()}, []any{"", true, true})
	w.equal("texts listed after its deletion", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Newest}), []string{""})
	w.equal("texts of the top after its deletion", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Top}), []string{""})
	w.equal("comments", w.commentCount(s).Comments, int64(2))
	_, err = w.s.DeleteComment(w.Context(), storage.CommentChange{Key: top.Key(), By: alice, Moderates: true})
	w.wantError("deleting a deleted comment", err, storage.ErrNotFound)

	w.deleteComment(bob, one)
	w.equal("replies left", w.texts(storage.CommentsQuery{Subject: s, Parent: top.Number, Order: storage.Oldest}), []string{"two"})
	w.equal("replies counted", w.found(top).ReplyCount, int64(1))
	w.deleteComment(bob, two)
	w.equal("the deleted comment, once its last reply is deleted", w.found(top), nil)
	w.equal("listed comments after the deletion", len(w.texts(storage.CommentsQuery{Subject: s, Order: storage.Newest})), 0)
	w.equal("comments counted after the deletion", w.commentCount(s).Comments, int64(0))
	w.verified()
}

func commentChangesMissNothing(w *world) {
	alice, s := user("alice"), video("1")
	w.comment(alice, video("2"), "elsewhere", nil)
	a, b := w.comment(alice, s, "a", nil), w.comment(alice, s, "b", nil)
	w.equal("changes from the start", w.changes(s, 0), []string{"a", "b"})
	seen := w.commentCount(s).Version
	w.comment(alice, s, "re a", a)
	_, err := w.s.EditComment(w.Context(), storage.CommentChange{Key: a.Key(), By: alice}, "A")
	w.must(err)
	w.deleteComment(alice, b)
	w.comment(alice, s, "c", nil)
	w.equal("changes since then", w.changes(s, seen), []string{"re a", "A", "", "c"})
	w.equal("changes since the latest version", len(w.changes(s, w.commentCount(s).Version)), 0)
	w.equal("changes of a subject without comments", len(w.changes(video("none"), 0)), 0)
}

// versionsAreNotReused checks that a cursor from before a restore is lower than the
// version of every change after the restore.
func versionsAreNotReused(w *world) {
	alice, s := user("alice"), video("1")
	a, b := w.comment(alice, s, "a", nil), w.comment(alice, s, "b", nil)
	w.comment(alice, s, "lost", nil)
	w.comment(alice, s, "also lost", nil)
	cursor := w.commentCount(s).Version
	w.db.Edit(w.T, `DELETE FROM comment WHERE text LIKE '%lost'`)
	w.db.Edit(w.T, fmt.Sprintf(`UPDATE comment_count SET comments = 2, version = %d`, b.Version))
	w.comment(alice, s, "re a", a)
	_, err := w.s.EditComment(w.Context(), storage.CommentChange{Key: b.Key(), By: alice}, "B")
	w.must(err)
	w.deleteComment(alice, a)
	w.equal("changes since the cursor", w.changes(s, cursor), []string{"re a", "B", ""})
}

func verifyRecountsComments(w *world) {
	alice, s := user("alice"), video("1")
	top := w.comment(alice, s, "top", nil)
	w.comment(alice, s, "reply", top)
	other := w.comment(alice, video("2"), "other", nil)
	behind := w.comment(alice, video("3"), "behind", nil)
	gone := w.deleteComment(alice, w.comment(alice, video("3"), "gone", nil))
	w.persist(like(alice, top.Key().Subject(), 1))
	w.equal("counts compared: of the comments of 3 subjects, of 5 comments, of a liked one as a subject and of a user", w.compared(),
		int64(3*2+5*3+storage.CountsPerSubject+storage.TotalsPerUser))
	w.db.Edit(w.T, `UPDATE comment_count SET comments = 7 WHERE biz_id = '1'`)
	w.db.Edit(w.T, `DELETE FROM comment_count WHERE biz_id = '2'`)
	w.db.Edit(w.T, `UPDATE comment_count SET version = 7 WHERE biz_id = '3'`)
	w.db.Edit(w.T, `UPDATE comment SET reply_count = 0, like_count = 4 WHERE text = 'top'`)
	w.db.Edit(w.T, `UPDATE comment SET like_count = 3 WHERE text = 'other'`)
	w.db.Edit(w.T, `UPDATE comment SET listed = FALSE WHERE text = 'behind'`)
	w.db.Edit(w.T, `UPDATE comment SET listed = TRUE WHERE text = ''`)
	want := []storage.Difference{
		{Subject: s, Count: "commentCount", Stored: 7, Counted: 2},
		{Subject: video("2"), Count: "commentCount", Stored: 0, Counted: 1},
		{Subject: video("2"), Count: "commentVersion", Stored: 0, Counted: other.Version},
		{Subject: video("3"), Count: "commentVersion", Stored: 7, Counted: gone.Version},
		{Subject: top.Key().Subject(), Count: "replyCount", Stored: 0, Counted: 1},
		{Subject: top.Key().Subject(), Count: "topCount", Stored: 4, Counted: 1},
		{Subject: other.Key().Subject(), Count: "topCount", Stored: 3, Counted: 0},
		{Subject: behind.Key().Subject(), Count: "listed", Stored: 0, Counted: 1},
		{Subject: gone.Key().Subject(), Count: "listed", Stored: 1, Counted: 0},
	}
	w.repaired(want...)
	w.equal("after the repair: comments, replies, likes", []int64{w.commentCount(s).Comments, w.found(top).ReplyCount, w.found(top).LikeCount}, []int64{2, 1, 1})
	w.equal("listed after the repair", w.texts(storage.CommentsQuery{Subject: video("3"), Order: storage.Newest}), []string{"behind"})
	for _, c := range []*storage.Comment{other, gone} {
		if got := w.commentCount(c.Subject).Version; got <= c.Version {
			w.Errorf("after the repair: got version %d, want one above %d, that of a comment", got, c.Version)
		}
		w.comment(alice, c.Subject, "more", nil)
		w.equal("changes after the repair", w.changes(c.Subject, c.Version), []string{"more"})
	}
	w.verified()
}

func commentsAreWalledOff(w *world) {
	alice, s := user("alice"), video("1")
	c := w.comment(alice, s, "here", nil)
	elsewhere := storage.CommentKey{Tenant: "other", CommentID: c.Number}
	got, err := w.s.CommentsOf(w.Context(), []storage.CommentKey{elsewhere, c.Key(), {Tenant: s.Tenant, CommentID: 1}, c.Key()})
	w.must(err)
	found := make([]bool, len(got))
	for i := range got {
		found[i] = got[i] != nil && *got[i] == *c
	}
	w.equal("found, in the order asked", found, []bool{false, true, false, true})
	there := storage.Subject{Tenant: "other", Biz: s.Biz, BizID: s.BizID}
	w.equal("the count in another tenant", w.commentCount(there), storage.CommentCount{})
	w.equal("comments listed in another tenant", len(w.texts(storage.CommentsQuery{Subject: there, Order: storage.Newest})), 0)
	w.equal("changes in another tenant", len(w.changes(there, 0)), 0)
	w.persist(like(storage.User{Tenant: "other", UserID: "alice"}, elsewhere.Subject(), 1))
	w.equal("likes of the comment after a like in another tenant", w.found(c).LikeCount, int64(0))
	counts, err := w.s.CommentCounts(w.Context(), []storage.Subject{video("none"), s, there, s})
	w.must(err)
	w.equal("counts in the order asked", []int64{counts[0].Comments, counts[1].Comments, counts[2].Comments, counts[3].Comments}, []int64{0, 1, 0, 1})
	for _, bad := range []string{"", "0", "-1", "01", "+1", "x", strconv.FormatInt(storage.MaxCommentID, 10), "99999999999999999999"} {
		if id, ok := storage.ParseCommentID(bad); ok {
			w.Errorf("ParseCommentID(%q) = %d, want none", bad, id)
		}
	}
}
