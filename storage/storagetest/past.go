package storagetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"ovation/storage"
)

func past(u storage.User, s storage.Subject, text string, at time.Time) storage.PastComment {
	return storage.PastComment{Subject: s, User: u, Text: text, At: storage.Micros(at)}
}

// addPast adds comments in one new message, together with actions.
func (w *world) addPast(comments []storage.PastComment, actions ...storage.Action) storage.Message {
	w.Helper()
	m := w.message(actions...)
	m.Comments = comments
	w.persistMessages(m)
	return m
}

func pastCommentsAreListedByTheirTime(w *world) {
	alice, bob, s := user("alice"), user("bob"), video("1")
	now := time.Now()
	today := w.comment(bob, s, "today", nil)
	w.addPast([]storage.PastComment{
		past(alice, s, "a minute ago", now.Add(-time.Minute-time.Second)),
		past(bob, s, "1970", time.UnixMicro(1)),
		past(alice, s, "soon", now.Add(time.Hour)), // by a clock that is ahead
		past(alice, s, "the end of 2025", time.Date(2025, 12, 31, 23, 59, 59, 999_999_000, time.UTC)),
		past(bob, s, "a second ago", now.Add(-time.Second)),
		past(alice, s, "2016", time.Date(2016, 4, 11, 15, 17, 56, 1000, time.UTC)),
		past(bob, s, "2026\r\n ", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}, like(alice, s, 1))
	w.addPast([]storage.PastComment{past(bob, s, "2020", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))})
	w.comment(alice, s, "now", nil)

	want := []string{"1970", "2016", "2020", "the end of 2025", "2026", "a minute ago", "today", "a second ago", "soon", "now"}
	w.equal("the oldest first", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Oldest}), want)
	w.equal("changes follow the order of the commits", w.changes(s, 0), []string{
		"today", "1970", "2016", "the end of 2025", "2026", "a minute ago", "a second ago", "soon", "2020", "now",
	})
	slices.Reverse(want)
	w.equal("the newest first", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Newest}), want)
	all, err := w.s.CommentChanges(w.Context(), storage.CommentChangesQuery{Subject: s, First: 100})
	w.must(err)
	c := all[2]
	w.equal("a comment of 2016", c, storage.Comment{
		Subject: s, Number: c.Number, User: alice, Text: "2016", Created: storage.Micros(time.Date(2016, 4, 11, 15, 17, 56, 1000, time.UTC)), Version: c.Version,
	})
	for i := range all {
		if id := all[i].Number; id < 1 || id >= storage.MaxCommentID {
			w.Errorf("got the comment id %d, want 1 to %d", id, storage.MaxCommentID-1)
		}
	}

	// An imported comment is like any other comment.
	reply := w.comment(bob, s, "re 2016", &c)
	w.persist(like(bob, c.Key().Subject(), 5))
	w.equal("the top", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Top})[:2], []string{"2016", "now"})
	w.equal("replies", w.texts(storage.CommentsQuery{Subject: s, Parent: c.Number, Order: storage.Oldest}), []string{"re 2016"})
	w.deleteComment(bob, reply)
	w.deleteComment(bob, today)
	w.equal("comments", w.commentCount(s).Comments, int64(9))
	w.equal("totals", []int64{w.totals(alice).Comments, w.totals(bob).Comments, w.totals(alice).Likes}, []int64{5, 4, 1})
	w.verified()
}

// pastCommentsOfOneTimeAreDistinct adds many comments with the same time, like those of a
// file that contains only dates. Later, it adds more comments with that time.
func pastCommentsOfOneTimeAreDistinct(w *world) {
	const many = 5_000
	alice, at := user("alice"), time.Date(2016, 4, 11, 0, 0, 0, 0, time.UTC)
	of := func(first int, subject storage.Subject) []storage.PastComment {
		out := make([]storage.PastComment, many)
		for i := range out {
			out[i] = past(alice, subject, strconv.Itoa(first+i), at)
		}
		return out
	}
	before := past(alice, video("1"), "before", at.Add(-time.Millisecond))
	after := past(alice, video("1"), "after", at.Add(time.Second))
	elsewhere := storage.PastComment{
		Subject: storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}, User: storage.User{Tenant: "other", UserID: "alice"}, Text: "elsewhere", At: before.At,
	}
	w.addPast([]storage.PastComment{after, elsewhere, before})
	w.addPast(of(0, video("1")))
	w.addPast(append(of(many, video("2")), of(2*many, video("1"))...))

	ids := map[int64]bool{}
	for _, s := range []storage.Subject{video("1"), video("2")} {
		all, err := w.s.CommentChanges(w.Context(), storage.CommentChangesQuery{Subject: s, First: 10 * many})
		w.must(err)
		for i := range all {
			ids[all[i].Number] = true
		}
	}
	w.equal("ids", len(ids), 3*many+2)
	oldest := w.texts(storage.CommentsQuery{Subject: video("1"), Order: storage.Oldest, Page: storage.Page{First: 500}})
	w.equal("what was before, and the first ones", oldest[:4], []string{"before", "0", "1", "2"})
	w.equal("the later ones, and what was after", oldest[2*many-1:], []string{strconv.Itoa(3*many - 2), strconv.Itoa(3*many - 1), "after"})
	w.equal("comments of the other tenant", w.texts(storage.CommentsQuery{Subject: elsewhere.Subject, Order: storage.Oldest}), []string{"elsewhere"})
	w.verified()
}

func pastCommentsAreAddedOnce(w *world) {
	alice, s, at := user("alice"), video("1"), time.Date(2016, 4, 11, 0, 0, 0, 0, time.UTC)
	m := w.addPast([]storage.PastComment{past(alice, s, "same", at), past(alice, s, "same", at)}, read(alice, s, 1, 1, 1))
	w.equal("skipped", w.persistMessages(m, m).Skipped, 2)
	w.equal("comments", w.commentCount(s).Comments, int64(2))
	w.wantCounts(s, 1, 0, 0, 0)

	for name, bad := range map[string]storage.PastComment{
		"no text":             past(alice, s, " \u200e", at),
		"a control character": past(alice, s, "a\x07", at),
		"nobody":              past(user(""), s, "x", at),
		"another tenant's":    past(storage.User{Tenant: "other", UserID: "alice"}, s, "x", at),
		"no subject":          past(alice, video(""), "x", at),
		"no time":             {Subject: s, User: alice, Text: "x"},
	} {
		invalid := w.message(like(alice, s, 1))
		invalid.Comments = []storage.PastComment{past(alice, s, "good", at), bad}
		_, err := w.s.Persist(w.Context(), []storage.Message{invalid}, nil)
		w.wantError(name, err, storage.ErrInvalid)
		w.equal(name+": comments after the refusal", w.commentCount(s).Comments, int64(2))
	}
	refused, before := errors.New("refused"), w.commentCount(s)
	again := w.message()
	again.Comments = []storage.PastComment{past(alice, s, "later", at)}
	_, err := w.s.Persist(w.Context(), []storage.Message{again}, func(context.Context, storage.Outcome) error { return refused })
	w.wantError("Persist whose mark fails", err, refused)
	w.equal("comments after a refusal", w.commentCount(s), before)
	w.equal("totals after a refusal", w.totals(alice).Comments, int64(2))
	w.persistMessages(again)
	w.equal("the texts", w.texts(storage.CommentsQuery{Subject: s, Order: storage.Oldest}), []string{"same", "same", "later"})
	w.wantCounts(s, 1, 0, 0, 0)
	w.verified()
}
