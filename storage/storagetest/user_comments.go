package storagetest

import (
	"strconv"
	"time"

	"ovation/storage"
)

// textsOfUser returns the texts of a user's comments, which it reads in pages.
func (w *world) textsOfUser(of storage.User) []string {
	w.Helper()
	out := []string{}
	for q := (storage.UserCommentsQuery{User: of, Page: storage.Page{First: 3}}); ; {
		got, err := w.s.UserComments(w.Context(), []storage.UserCommentsQuery{q})
		w.must(err)
		page := got[0].Entries
		for i := range page {
			w.equal("the comment by its key", *w.found(&page[i]), page[i])
			out = append(out, page[i].Text)
		}
		if len(page) < q.First {
			return out
		}
		q.After = storage.Newest.Place(&page[len(page)-1])
	}
}

func commentsOfUsersAreListed(w *world) {
	alice, bob := user("alice"), user("bob")
	top := w.comment(alice, video("1"), "0", nil)
	w.comment(bob, video("1"), "of bob", top)
	for i := 1; i < 7; i++ {
		w.comment(alice, video(strconv.Itoa(i%3)), strconv.Itoa(i), nil)
	}
	reply := w.comment(alice, video("1"), "reply", top)
	w.comment(storage.User{Tenant: "other", UserID: "alice"}, storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}, "elsewhere", nil)
	listed := func(want ...string) {
		w.Helper()
		w.equal("comments of alice", w.textsOfUser(alice), want)
		totals, err := w.s.TotalsOf(w.Context(), []storage.User{alice})
		w.must(err)
		w.equal("their number", totals[0].Comments, int64(len(want)))
	}
	listed("reply", "6", "5", "4", "3", "2", "1", "0")
	_, err := w.s.EditComment(w.Context(), storage.CommentChange{Key: reply.Key(), By: bob, Moderates: true}, "edited by bob")
	w.must(err)
	w.deleteComment(alice, top) // which keeps its place in the thread, but has no author
	listed("edited by bob", "6", "5", "4", "3", "2", "1")
	w.deleteComment(alice, reply)
	w.persist(like(bob, reply.Key().Subject(), 1))
	listed("6", "5", "4", "3", "2", "1")
	past := past(alice, video("9"), "long ago", time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC))
	_, err = w.s.Persist(w.Context(), []storage.Message{{ID: "past", Comments: []storage.PastComment{past}}}, nil)
	w.must(err)
	listed("6", "5", "4", "3", "2", "1", "long ago")

	got, err := w.s.UserComments(w.Context(), []storage.UserCommentsQuery{
		{User: user("nobody"), Page: storage.Page{First: 5}},
		{User: bob, Page: storage.Page{First: 5}},
		{User: alice, Page: storage.Page{First: 1}},
		{User: user(""), Page: storage.Page{First: 5}},
		{User: user("bob\x00"), Page: storage.Page{First: 5}},
		{User: bob},
	})
	w.must(err)
	lengths := make([]int, len(got))
	for i := range got {
		lengths[i] = len(got[i].Entries)
	}
	w.equal("lengths of several lists in one call", lengths, []int{0, 1, 1, 0, 0, 0})
	w.verified()
}
