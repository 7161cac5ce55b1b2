package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"ovation/storage"
)

// sweepUntilDone sweeps in steps of the given size, calls check after each step, and
// returns the number of steps.
func (w *world) sweepUntilDone(limit int, check func()) int {
	w.Helper()
	for steps := 0; ; steps++ {
		swept, _, err := w.s.SweepDeleted(w.Context(), limit, nil)
		w.must(err)
		if swept.Subjects == 0 {
			return steps
		}
		if steps == 1000 {
			w.Fatal("the sweep does not end")
		}
		check()
	}
}

// countsEqualLists checks that each total and each count equals the length of its list.
func (w *world) countsEqualLists(users []storage.User, subjects ...storage.Subject) {
	w.Helper()
	ctx := w.Context()
	for _, u := range users {
		likes, err := w.s.Likes(ctx, []storage.LikesQuery{{User: u, Page: whole}})
		w.must(err)
		following, err := w.s.Following(ctx, []storage.FollowingQuery{{User: u, Page: whole}})
		w.must(err)
		items, err := w.s.Items(ctx, []storage.ItemsQuery{{Folder: defaultOf(u), Page: whole}})
		w.must(err)
		got, n := w.totals(u), int64(len(items[0].Entries))
		w.equal("totals and the lengths of lists of "+u.UserID,
			[]int64{got.Likes, got.Following, got.Collections, w.folder(defaultOf(u)).ItemCount},
			[]int64{int64(len(likes[0].Entries)), int64(len(following[0].Entries)), n, n})
	}
	for _, s := range subjects {
		likers, err := w.s.Likers(ctx, []storage.LikersQuery{{Subject: s, Page: whole}})
		w.must(err)
		followers, err := w.s.Followers(ctx, []storage.FollowersQuery{{Subject: s, Page: whole}})
		w.must(err)
		got := w.counts(s)
		w.equal("counts and the lengths of lists of "+s.BizID, []int64{got.LikeCount, got.FollowerCount},
			[]int64{int64(len(likers[0].Entries)), int64(len(followers[0].Entries))})
	}
	w.verified()
}

// deletedVideosLeaveNothing deletes a video that users have liked, disliked, collected,
// followed and commented. Every count equals its list after every step of the sweep.
func deletedVideosLeaveNothing(w *world) {
	alice, users := user("alice"), []storage.User{user("bob"), user("carol"), user("dave")}
	gone, kept := w.publish(newVideo(alice, "film")), w.publish(newVideo(alice, "kept"))
	subject, other := gone.Key().Subject(), kept.Key().Subject()
	for i, u := range users {
		at := int64(i + 1)
		w.persist(like(u, subject, at), Collect(u, subject, storage.DefaultFolderID, at), follow(u, subject, at), read(u, subject, 2, at, at),
			like(u, other, at), Collect(u, other, storage.DefaultFolderID, at), follow(u, other, at))
		first := w.comment(u, subject, "first of "+u.UserID, nil)
		w.comment(users[0], subject, "reply to "+u.UserID, first)
		w.comment(u, other, "kept", nil)
		w.persist(like(alice, first.Key().Subject(), at))
	}
	parent := w.comment(users[2], subject, "deleted before its reply", nil)
	w.comment(users[2], subject, "the reply", parent)
	w.deleteComment(users[2], parent)
	w.persist(React(alice, subject, storage.Dislike, 1), React(alice, other, storage.Dislike, 1))
	all := append([]storage.User{alice}, users...)
	w.must(w.deleteVideo(gone, alice))

	w.equal("the subject is deleted at once", []bool{w.counts(subject).Deleted, w.counts(other).Deleted}, []bool{true, false})
	w.equal("its author is withdrawn at once", w.totals(alice).LikesReceived, int64(3))
	w.refusedComment(storage.NewComment{Subject: subject, User: alice, Text: "late"}, storage.ErrNotFound)
	w.countsEqualLists(all, subject, other)
	steps := w.sweepUntilDone(2, func() { w.countsEqualLists(all, subject, other) })
	if steps < 4 {
		w.Errorf("the sweep took %d steps of 2, want at least 4", steps)
	}

	w.equal("the counts", w.counts(subject), storage.Counts{ReadCount: 6, ReaderCount: 3, Deleted: true, Version: w.counts(subject).Version})
	w.equal("comments", []int64{w.commentCount(subject).Comments, w.commentCount(other).Comments}, []int64{0, 3})
	w.equal("listed comments", w.texts(storage.CommentsQuery{Subject: subject, Order: storage.Newest}), []string(nil))
	for _, u := range users {
		w.equal("totals of "+u.UserID, w.totals(u), storage.UserTotals{Likes: 1, Following: 1, Collections: 1, Comments: 1})
		history, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: u, Page: whole}})
		w.must(err)
		w.equal("reads that remain", len(history[0].Entries), 1)
		got := w.states(u, subject)
		w.equal("states", []any{got.Liked, got.Collected, got.Followed}, []any{(*storage.Liked)(nil), (*storage.Collected)(nil), (*storage.Followed)(nil)})
	}
	w.equal("totals of the author, who had liked comments", w.totals(alice), storage.UserTotals{Works: 1, LikesReceived: 3})
	w.wantStates(other, 3, 1, 3, 3)
}

func (w *world) wantStates(s storage.Subject, likes, dislikes, collects, followers int64) {
	w.Helper()
	got := w.counts(s)
	w.equal("the counts of another subject", []int64{got.LikeCount, got.DislikeCount, got.CollectCount, got.FollowerCount},
		[]int64{likes, dislikes, collects, followers})
}

// deletedCommentsLeaveNothing deletes a comment that users have liked and collected.
func deletedCommentsLeaveNothing(w *world) {
	alice, bob := user("alice"), user("bob")
	c := w.comment(alice, video("1"), "text", nil)
	subject := c.Key().Subject()
	w.persist(declare(subject, "alice", 1), like(bob, subject, 1), React(alice, subject, storage.Dislike, 1), Collect(bob, subject, storage.DefaultFolderID, 1))
	w.deleteComment(alice, c)
	users := []storage.User{alice, bob}
	w.countsEqualLists(users, subject)
	w.sweepUntilDone(1, func() { w.countsEqualLists(users, subject) })
	w.equal("totals", []storage.UserTotals{w.totals(alice), w.totals(bob)}, []storage.UserTotals{{}, {}})
	w.equal("the counts", w.counts(subject), storage.Counts{Deleted: true, Version: w.counts(subject).Version})
	w.equal("the copied like count", w.changesLikes(video("1")), []int64{0})
}

func (w *world) changesLikes(s storage.Subject) (out []int64) {
	w.Helper()
	got, err := w.s.CommentChanges(w.Context(), storage.CommentChangesQuery{Subject: s, First: 10})
	w.must(err)
	for _, c := range got {
		out = append(out, c.LikeCount)
	}
	return out
}

// deletedSubjectsTakeNoStates persists actions on a deleted subject: those that would set
// a state clear it instead.
func deletedSubjectsTakeNoStates(w *world) {
	alice, bob := user("alice"), user("bob")
	v := w.publish(newVideo(alice, "film"))
	subject, other := v.Key().Subject(), video("other")
	films := w.newFolder(bob, "Films")
	w.persist(like(bob, subject, 1))
	w.must(w.deleteVideo(v, alice))
	before := w.counts(subject).Version
	outcome := w.persist(like(bob, subject, 5), like(alice, subject, 5), Collect(bob, subject, films.FolderID, 5), follow(bob, subject, 5),
		React(user("carol"), subject, storage.Dislike, 5), declare(subject, "bob", 1<<60), like(bob, other, 5), read(bob, subject, 1, 5, 5))
	for _, c := range outcome.Applied {
		if set := c.Reaction != storage.NoReaction || c.FolderID != "" || c.Following; set != (c.Subject == other) || c.Version != 5 {
			w.Errorf("applied %+v, want no state of a deleted subject, with the version of the action", c)
		}
	}
	got := w.counts(subject)
	w.equal("the counts", got, storage.Counts{ReadCount: 1, ReaderCount: 1, Deleted: true, Version: got.Version})
	if got.Version <= before {
		w.Errorf("the version is %d, want more than %d", got.Version, before)
	}
	w.countsEqualLists([]storage.User{alice, bob, user("carol")}, subject, other)
	w.wantCounts(other, 0, 1, 0, 0)

	for name, a := range map[string]storage.Action{"late": declare(subject, "bob", 1<<61), "early": declare(subject, "bob", 1)} {
		refused := storage.Message{ID: name, Actions: []storage.Action{declare(other, "alice", 5), a}, RefuseDeleted: true}
		_, err := w.s.Persist(w.Context(), []storage.Message{refused}, nil)
		var of *storage.DeletedError
		if !errors.As(err, &of) || of.Subject != subject || !errors.Is(err, storage.ErrNotFound) {
			w.Errorf("%s declaration: got the error %v, want a DeletedError of the video", name, err)
		}
		w.equal("the author of the other subject", w.counts(other).AuthorID, "")
	}
	_, err := w.s.Persist(w.Context(), []storage.Message{{ID: "past", Comments: []storage.PastComment{
		{Subject: subject, User: bob, Text: "ignored", At: 1}, {Subject: other, User: bob, Text: "added", At: 1},
	}}}, nil)
	w.must(err)
	w.equal("past comments", []int64{w.commentCount(subject).Comments, w.commentCount(other).Comments}, []int64{0, 1})

	w.sweepUntilDone(10, func() {})
	w.persist(like(bob, subject, 9), unlike(bob, subject, 10), follow(bob, subject, 9)) // after the sweep, too
	w.equal("the counts after the sweep", w.counts(subject).LikeCount+w.counts(subject).FollowerCount, int64(0))
	w.verified()
}

func unlike(u storage.User, s storage.Subject, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, If: storage.Like, Version: version}
}

// sweepsAreMarked checks that a sweep whose mark fails changes nothing, and that the
// outcome holds each cleared state with a version that is 1 higher.
func sweepsAreMarked(w *world) {
	alice, bob := user("alice"), user("bob")
	v := w.publish(newVideo(alice, "film"))
	subject := v.Key().Subject()
	w.persist(like(bob, subject, 5), Collect(bob, subject, storage.DefaultFolderID, 6), follow(bob, subject, 7))
	w.must(w.deleteVideo(v, alice))
	refused := errors.New("refused")
	_, _, err := w.s.SweepDeleted(w.Context(), 10, func(context.Context, storage.Outcome) error { return refused })
	w.wantError("SweepDeleted whose mark fails", err, refused)
	w.wantStates(subject, 1, 0, 1, 1)
	swept, outcome, err := w.s.SweepDeleted(w.Context(), 10, nil)
	w.must(err)
	w.equal("subjects", swept.Subjects, 1)
	versions := map[storage.Kind]int64{}
	for _, c := range outcome.Applied {
		versions[c.Kind] = c.Version
		w.equal("the state before", []any{c.OldReaction == storage.Like, c.OldFolderID, c.OldFollowing},
			[]any{c.Kind == storage.KindReaction, map[bool]string{true: storage.DefaultFolderID}[c.Kind == storage.KindCollection], c.Kind == storage.KindFollow})
	}
	w.equal("versions", versions, map[storage.Kind]int64{storage.KindReaction: 6, storage.KindCollection: 7, storage.KindFollow: 8})
	w.equal("the counts in the outcome", outcome.Counts[0].Counts, w.counts(subject))
	swept, _, err = w.s.SweepDeleted(w.Context(), 10, nil)
	w.must(err)
	w.equal("subjects left", swept.Subjects, 0)
}

// largeDeletionsHoldUpNoOther deletes a video with many likes and comments, and then
// comments with one like each. The comments are swept long before the video is.
func largeDeletionsHoldUpNoOther(w *world) {
	const limit, likes, others = 20, 150, 50
	alice, large := user("alice"), w.publish(newVideo(user("alice"), "film"))
	subject := large.Key().Subject()
	actions := make([]storage.Action, 0, likes+others)
	for i := range likes {
		actions = append(actions, like(user(fmt.Sprint("user", i)), subject, 1))
	}
	made, deleted := make([]*storage.Comment, others), make([]storage.Subject, others)
	for i := range others {
		made[i] = w.comment(alice, video("1"), "text", nil)
		deleted[i] = made[i].Key().Subject()
		actions = append(actions, like(alice, deleted[i], 1))
		if i < others/2 {
			w.comment(alice, subject, "text", nil)
		}
	}
	w.persist(actions...)
	w.must(w.deleteVideo(large, alice))
	for _, c := range made {
		w.deleteComment(alice, c)
	}
	longest, queued := 0, 0
	for step := 0; queued != 1 && step < 40; step++ {
		swept, _, err := w.s.SweepDeleted(w.Context(), limit, nil)
		w.must(err)
		queued = swept.Queued
		longest = max(longest, queued)
	}
	w.equal("the longest queue", longest >= others+1, true)
	w.equal("the last queue, which holds the video", queued, 1)
	for _, s := range deleted {
		w.equal("the counts of a comment", w.counts(s), storage.Counts{Deleted: true, Version: w.counts(s).Version})
	}
	if left := w.counts(subject).LikeCount; left == 0 || left == likes {
		w.Errorf("got %d likes of the video left, want some of %d", left, likes)
	}
	w.sweepUntilDone(limit, func() {})
	w.countsEqualLists([]storage.User{alice}, subject)
	w.countsEqualLists([]storage.User{alice}, deleted...)
}

// verifyFindsUnsweptSubjects checks that Verify reports deleted subjects that something
// refers to and that no sweep will reach, and that a repair queues them.
func verifyFindsUnsweptSubjects(w *world) {
	alice := user("alice")
	w.persist(like(alice, video("1"), 1), like(alice, video("2"), 1))
	c := w.comment(alice, video("2"), "text", nil)
	w.persist(like(alice, c.Key().Subject(), 1))
	w.db.Edit(w.T, `UPDATE interactive SET deleted = 1 WHERE biz = 'video' AND biz_id = '1'`)
	w.deleteComment(alice, c)
	w.db.Edit(w.T, `DELETE FROM deleted_subject`)
	want := []storage.Difference{
		{Subject: c.Key().Subject(), Count: "deleted", Counted: 1},
		{Subject: video("1"), Count: "deleted", Counted: 1},
	}
	w.repaired(want...)
	w.sweepUntilDone(10, w.verified)
	w.equal("totals", w.totals(alice), storage.UserTotals{Likes: 1})
	w.countsEqualLists([]storage.User{alice}, video("1"), video("2"), c.Key().Subject())
}

// interact likes, collects and follows all videos, and comments one of them.
func (w *world) interact(s storage.Store, u storage.User, videos []*storage.Video, round int, version *atomic.Int64) error {
	m := storage.Message{ID: fmt.Sprintf("%s-%d", u.UserID, round)}
	for _, v := range videos {
		subject, at := v.Key().Subject(), version.Add(1)
		m.Actions = append(m.Actions, like(u, subject, at), Collect(u, subject, storage.DefaultFolderID, at), follow(u, subject, at))
	}
	if _, err := s.Persist(w.Context(), []storage.Message{m}, nil); err != nil {
		return err
	}
	return UntilUnlocked(func() error {
		subject := videos[round%len(videos)].Key().Subject()
		_, err := s.AddComments(w.Context(), []storage.NewComment{{Subject: subject, User: u, Text: "text"}})
		return err
	})
}

// concurrentSweepsMissNothing deletes videos while users like, collect, follow and
// comment them through two stores, and while both stores sweep. Nothing is left.
func concurrentSweepsMissNothing(w *world) {
	const videos, writers, rounds = 3, 4, 8
	stores := []storage.Store{w.s, w.open()}
	alice := user("alice")
	made := make([]*storage.Video, videos)
	for i := range made {
		made[i] = w.publish(newVideo(alice, "film"))
	}
	var version atomic.Int64
	var writing, sweeping sync.WaitGroup
	for n := range writers {
		writing.Go(func() {
			for round := range rounds {
				s := stores[(n+round)%len(stores)]
				errs := []error{w.interact(s, user(fmt.Sprint("user", n)), made, round, &version)}
				if round == rounds/2 && n < videos {
					errs = append(errs, UntilUnlocked(func() error {
						_, _, err := s.DeleteVideo(w.Context(), storage.VideoDeletion{Key: made[n].Key(), By: alice}, nil)
						return err
					}))
				}
				if err := errors.Join(errs...); err != nil {
					w.Errorf("writer %d: %v", n, err)
				}
			}
		})
	}
	var stop atomic.Bool
	for _, s := range stores {
		sweeping.Go(func() {
			for !stop.Load() {
				if err := UntilUnlocked(func() error { _, _, err := s.SweepDeleted(w.Context(), 3, nil); return err }); err != nil {
					w.Errorf("sweep: %v", err)
					return
				}
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	sweeping.Wait()
	w.sweepUntilDone(100, func() {})
	for _, v := range made {
		got := w.counts(v.Key().Subject())
		w.equal("the counts", got, storage.Counts{Deleted: true, Version: got.Version})
		w.equal("comments", w.commentCount(v.Key().Subject()).Comments, int64(0))
	}
	for n := range writers {
		w.equal("totals", w.totals(user(fmt.Sprint("user", n))), storage.UserTotals{})
	}
	w.verified()
}
