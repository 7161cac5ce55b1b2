package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage"
)

// Erase erases a user in steps of the given size, through a store. The function check, if
// it is not nil, is called after each step. It returns the number of steps.
func Erase(ctx context.Context, s storage.Erasures, user storage.User, limit int, check func(storage.Outcome)) (steps int, err error) {
	if err := Repeat(storage.ErrUnavailable, time.Minute, func() error { return s.BeginErase(ctx, user) }); err != nil {
		return 0, err
	}
	for ; ; steps++ {
		var n int
		var outcome storage.Outcome
		err := Repeat(storage.ErrUnavailable, time.Minute, func() (err error) {
			n, outcome, err = s.EraseNext(ctx, user, limit, nil)
			return err
		})
		if err != nil || n == 0 {
			return steps, err
		}
		if check != nil {
			check(outcome)
		}
	}
}

// wantForgotten checks that nothing that the database and its caches hold contains one of
// the given texts.
func (w *world) wantForgotten(texts ...string) {
	w.Helper()
	for line := range strings.Lines(w.db.Dump(w.T)) {
		for _, text := range texts {
			if strings.Contains(line, text) {
				w.Errorf("%q is left: %s", text, line)
			}
		}
	}
}

// erin is a user with an account, who has done everything that a user can do, and to whom
// others have done everything that they can do to a user.
type erin struct {
	storage.User

	others  []storage.User
	subject storage.Subject // others have done the same to it as erin
	work    storage.Subject // erin's, liked by the others
	parent  *storage.Comment
	secrets []string // parts of what erin has written, and of what was written to erin
}

func (w *world) newErin() *erin {
	w.Helper()
	a := w.register("erin-secret-name")
	e := &erin{User: a.User, others: []storage.User{user("alice"), user("bob")}, subject: video("film"), work: video("work")}
	id, me := a.User.UserID, a.User.Subject()
	signature, avatar := "secret signature", "/secret-avatar.png"
	_, err := w.s.UpdateProfile(w.Context(), e.User, storage.ProfileChange{Signature: &signature, Avatar: &avatar})
	w.must(err)
	films, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: e.User, Name: "secret folder", Description: "secret description", Created: 10})
	w.must(err)
	w.must(w.s.DeleteFolder(w.Context(), w.newFolder(e.User, "secret deleted folder").Key(), "", time.UnixMicro(5)))
	w.persist(declare(e.work, id, 1))
	for i, u := range append([]storage.User{e.User}, e.others...) {
		at := int64(10 + i)
		folder := storage.DefaultFolderID
		if u == e.User {
			folder = films.FolderID
		} else {
			w.persist(follow(e.User, u.Subject(), at), follow(u, me, at), like(u, me, at), Collect(u, me, storage.DefaultFolderID, at),
				unfollow(u, user("nobody").Subject(), at))
		}
		w.persist(like(u, e.subject, at), Collect(u, e.subject, folder, at), follow(u, e.subject, at), read(u, e.subject, 2, at, at),
			like(u, e.work, at), React(u, video("bad"), storage.Dislike, at), read(u, me, 3, at, at))
	}
	w.persist(React(e.others[0], me, storage.Dislike, 20), unfollow(e.others[0], me, 20), Collect(e.others[0], me, "", 20),
		read(storage.User{Tenant: e.Tenant}, me, 1, 1, 1), unlike(e.User, e.work, 30), like(e.User, me, 5), read(e.User, e.work, 1, 31, 31))
	w.must(w.s.BeginClear(w.Context(), storage.ReadsClear{User: e.User, Biz: e.work.Biz, BizID: e.work.BizID, Until: 31}))
	w.must(w.s.BeginClear(w.Context(), storage.ReadsClear{User: e.others[1], Biz: me.Biz, BizID: me.BizID, Until: 1}))

	e.parent = w.comment(e.User, e.subject, "secret comment with a reply", nil)
	w.persist(like(e.others[1], e.parent.Key().Subject(), 6))
	w.comment(e.others[0], e.subject, "a reply", e.parent)
	theirs := w.comment(e.others[0], e.subject, "a comment", nil)
	w.persist(like(e.User, theirs.Key().Subject(), 6))
	w.comment(e.User, e.subject, "secret reply", theirs)
	on := w.comment(e.others[1], me, "secret comment on the user", nil)
	w.comment(e.User, me, "secret reply on the user", on)
	_, err = w.s.EditComment(w.Context(), storage.CommentChange{Key: theirs.Key(), By: e.User, Moderates: true}, "edited")
	w.must(err)
	requested, err := w.s.AddComments(w.Context(), []storage.NewComment{{Subject: e.subject, User: e.User, Text: "secret request", RequestID: "secret-request"}})
	w.must(errors.Join(err, requested[0].Err))
	for n := range 5 {
		w.send(id, "alice", fmt.Sprint("secret message ", n))
		w.send("alice", id, fmt.Sprint("secret answer ", n))
	}
	w.send("bob", id, "secret message of bob")
	w.send("alice", "bob", "stays")
	e.secrets = []string{"secret", e.UserID}
	return e
}

// erasedUsersLeaveNothing erases a user in small steps. Every count equals its list after
// every step, and the others keep what is theirs.
func erasedUsersLeaveNothing(w *world) {
	e := w.newErin()
	me := e.Subject()
	film := w.publish(newVideo(e.User, "secret film"))
	w.persist(like(e.others[0], film.Key().Subject(), 7))
	subjects := []storage.Subject{e.subject, e.work, me, video("bad"), film.Key().Subject()}
	check := func() { w.countsEqualLists(e.others, subjects...) }
	check()
	w.must(w.s.BeginErase(w.Context(), e.User))
	_, _, err := w.s.EraseNext(w.Context(), e.User, 2, nil)
	w.wantError("EraseNext before the videos are deleted", err, storage.ErrVideosLeft)
	w.must(w.deleteVideo(film, e.User))
	w.equal("the account", w.accountNamed(e.Tenant, "erin-secret-name"), nil)
	w.equal("the profile", w.profile(e.User), nil)
	before, err := w.s.Revocations(w.Context(), storage.Revocation{}, 9)
	w.must(err)
	w.equal("revocations", []any{len(before), before[0].User, before[0].Generation}, []any{1, e.User, int64(2)})
	steps, err := Erase(w.Context(), w.s, e.User, 2, func(storage.Outcome) { check() })
	w.must(err)
	if steps < 10 {
		w.Errorf("the user was erased in %d steps of 2, want at least 10", steps)
	}
	w.wantForgotten(e.secrets...)
	w.sweepUntilDone(10, w.verified)
	w.wantForgotten(e.secrets...)

	w.wantFollowed(e.subject, 6, 2, 0, 2, 2)
	w.wantReaders(e.subject, 2)
	got := w.counts(e.work)
	w.equal("the work", []any{got.AuthorID, got.LikeCount, got.ReadCount}, []any{"", int64(2), int64(1)})
	got = w.counts(me)
	got.Version = 0 // a cache may show a version that it has shown before
	w.equal("the user as a subject", got, storage.Counts{})
	for _, u := range e.others {
		w.equal("follows of others", []any{w.totals(u).Following, w.totals(u).Followers}, []any{int64(1), int64(0)})
		got := w.states(u, me)
		w.equal("states on the user", got, storage.States{})
	}
	w.equal("totals of the user", w.totals(e.User), storage.UserTotals{})
	w.equal("comments", w.texts(storage.CommentsQuery{Subject: e.subject, Order: storage.Oldest}), []string{"", "edited"})
	w.equal("conversations of alice", w.conversationsOf(user("alice")), []string{"bob: stays (0)"})
	w.equal("conversations of bob", w.conversationsOf(user("bob")), []string{"alice: stays (1)"})
	after, err := w.s.Revocations(w.Context(), storage.Revocation{}, 9)
	w.must(err)
	w.equal("the time of the latest revocation", []any{len(after), after[0].At}, []any{1, before[0].At})
	w.equal("registering the name again creates another account", w.register("erin-secret-name").User != e.User, true)
}

// erasedUsersAddNothing persists actions that were queued before a user was erased, and
// calls that name the user, while the user is erased and afterwards.
func erasedUsersAddNothing(w *world) {
	e := w.newErin()
	me, alice := e.Subject(), e.others[0]
	w.must(w.s.BeginErase(w.Context(), e.User))
	late := func(at int64) {
		w.Helper()
		outcome := w.persist(like(e.User, video("new"), at), Collect(e.User, video("new"), storage.DefaultFolderID, at), follow(e.User, alice.Subject(), at),
			read(e.User, video("new"), 1, at, at), follow(alice, me, at), like(alice, me, at), read(alice, me, 1, at, at), declare(video("new"), e.UserID, at),
			like(alice, video("new"), at))
		for _, c := range outcome.Applied {
			set := c.Reaction != storage.NoReaction || c.FolderID != "" || c.Following
			if set != (c.User == alice && c.Subject == video("new")) || c.Version != at {
				w.Errorf("applied %+v, want no state of or on the erased user, with the version of the action", c)
			}
		}
		w.equal("applied states", len(outcome.Applied), 6)
		m := w.message()
		m.Comments = []storage.PastComment{{Subject: e.subject, User: e.User, Text: "secret past", At: 1}, {Subject: me, User: alice, Text: "secret past", At: 1}}
		w.persistMessages(m)
		w.refusedComment(storage.NewComment{Subject: e.subject, User: e.User, Text: "secret late"}, storage.ErrErased)
		w.refusedComment(storage.NewComment{Subject: me, User: alice, Text: "secret late"}, storage.ErrNotFound)
		w.refusedMessage(storage.NewDirectMessage{From: e.User, To: alice, Text: "secret late", RequestID: "late"}, storage.ErrErased)
		w.refusedMessage(storage.NewDirectMessage{From: alice, To: e.User, Text: "secret late"}, storage.ErrErased)
		_, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: e.User, Name: "secret late", Created: 1})
		w.wantError("CreateFolder", err, storage.ErrErased)
		name := "secret late"
		_, err = w.s.UpdateFolder(w.Context(), storage.FolderKey{Owner: e.User, FolderID: "unknown"}, storage.FolderChange{Name: &name}, time.UnixMicro(1))
		w.wantError("UpdateFolder", err, storage.ErrNotFound)
		_, _, err = w.s.PublishVideo(w.Context(), newVideo(e.User, "secret late"), nil)
		w.wantError("PublishVideo", err, storage.ErrErased)
		w.wantError("BeginClear", w.s.BeginClear(w.Context(), storage.ReadsClear{User: e.User, Until: 1}), storage.ErrErased)
		theirs := w.comment(alice, video("new"), "a comment", nil)
		_, err = w.s.EditComment(w.Context(), storage.CommentChange{Key: theirs.Key(), By: e.User, Moderates: true}, "secret late")
		w.wantError("EditComment", err, storage.ErrErased)
		w.verified()
	}
	late(1 << 50)
	_, err := Erase(w.Context(), w.s, e.User, 100, nil)
	w.must(err)
	late(1 << 51)
	w.sweepUntilDone(10, w.verified)
	_, err = Erase(w.Context(), w.s, e.User, 100, nil) // also forgets what the queued actions have left in caches
	w.must(err)
	w.wantForgotten(e.secrets...)
	w.equal("reads", []int64{w.counts(video("new")).ReadCount, w.counts(video("new")).ReaderCount}, []int64{2, 0})
	w.equal("likes", w.counts(video("new")).LikeCount, int64(1))

	_, err = w.s.Prune(w.Context(), storage.InboxAge)
	w.must(err)
	w.equal("likes of the user before the record is pruned", w.persist(like(e.User, video("new"), 1<<52)).Applied[0].Reaction, storage.NoReaction)
	w.db.Edit(w.T, `UPDATE erased_user SET finished = 1`)
	_, err = w.s.Prune(w.Context(), storage.InboxAge)
	w.must(err)
	w.persist(like(e.User, video("new"), 1<<53))
	w.equal("likes of a user of the same id after ErasedAge", w.counts(video("new")).LikeCount, int64(2))
	w.verified()
}

// erasuresAreMarked checks that a step whose mark fails changes nothing, and that states
// are first cleared, with the next version, and then removed.
func erasuresAreMarked(w *world) {
	alice := user("alice")
	w.persist(like(alice, video("1"), 5), follow(user("bob"), alice.Subject(), 7))
	w.must(w.s.BeginErase(w.Context(), alice))
	refused := errors.New("refused")
	_, _, err := w.s.EraseNext(w.Context(), alice, 10, func(context.Context, storage.Outcome) error { return refused })
	w.wantError("EraseNext whose mark fails", err, refused)
	w.equal("the like", w.counts(video("1")).LikeCount, int64(1))
	versions := map[string][]int64{}
	_, err = Erase(w.Context(), w.s, alice, 10, func(outcome storage.Outcome) {
		for _, c := range outcome.Applied {
			key := c.User.UserID + " " + c.Subject.BizID
			versions[key] = append(versions[key], c.Version)
		}
		for _, c := range outcome.Counts {
			w.equal("the counts in the outcome", c.Counts, w.counts(c.Subject))
		}
	})
	w.must(err)
	w.equal("versions", versions, map[string][]int64{"alice 1": {6, 0}, "bob alice": {8, 0}})
	w.wantForgotten("alice")
}

// unknownUsersAreNotErased checks that erasing a user of whom nothing is known changes
// nothing.
func unknownUsersAreNotErased(w *world) {
	w.persist(like(user("alice"), video("1"), 5))
	before := rowsOf(w.db.Dump(w.T))
	w.wantError("BeginErase of an unknown user", w.s.BeginErase(w.Context(), user("bob")), storage.ErrNotFound)
	w.wantError("BeginErase of a user of another tenant", w.s.BeginErase(w.Context(), storage.User{Tenant: "other", UserID: "alice"}), storage.ErrNotFound)
	w.wantError("BeginErase of the anonymous users", w.s.BeginErase(w.Context(), user("")), storage.ErrInvalid)
	w.equal("the database", rowsOf(w.db.Dump(w.T)), before)
	w.persist(like(user("bob"), video("1"), 5))
	w.equal("likes", w.counts(video("1")).LikeCount, int64(2))
}

// rowsOf returns the sorted rows of a dump, without those of the table that nodes on Redis
// write all the time.
func rowsOf(dump string) []string {
	rows := slices.DeleteFunc(strings.Split(dump, "\n"), func(row string) bool { return strings.HasPrefix(row, "mirror ") })
	slices.Sort(rows)
	return rows
}

// concurrentErasuresMissNothing erases a user twice at the same time, while that user and
// others like, collect, follow, comment and write to each other. Nothing is left.
func concurrentErasuresMissNothing(w *world) {
	const writers, rounds, videos = 4, 25, 3
	stores := []storage.Store{w.s, w.open()}
	people := make([]storage.User, writers)
	for i := range people {
		people[i] = user(fmt.Sprint("erasable", i))
	}
	erased := people[0]
	w.persist(like(erased, video("0"), 1))
	var version atomic.Int64
	var writing sync.WaitGroup
	half := make(chan struct{})
	act := func(s storage.Store, u storage.User, round int) error {
		m := storage.Message{ID: fmt.Sprintf("message-%d", version.Add(1))}
		for n := range videos {
			at, subject, peer := version.Add(1), video(strconv.Itoa(n)), people[(round+n)%writers]
			m.Actions = append(m.Actions, like(u, subject, at), Collect(u, subject, storage.DefaultFolderID, at), read(u, subject, 1, at, at))
			if peer != u {
				m.Actions = append(m.Actions, like(u, peer.Subject(), at), follow(u, peer.Subject(), at))
			}
			if at%3 == 0 {
				m.Actions = append(m.Actions, unlike(u, subject, version.Add(1)), unfollow(u, peer.Subject(), version.Add(1)))
			}
		}
		_, err := s.Persist(w.Context(), []storage.Message{m}, nil)
		peer := people[(round+1)%writers]
		return errors.Join(err, UntilUnlocked(func() error {
			_, err := s.AddComments(w.Context(), []storage.NewComment{{Subject: video("0"), User: u, Text: "text"}, {Subject: peer.Subject(), User: u, Text: "text"}})
			return err
		}), UntilUnlocked(func() error {
			if peer == u {
				return nil
			}
			_, err := s.AddMessages(w.Context(), []storage.NewDirectMessage{{From: u, To: peer, Text: "text"}})
			return err
		}))
	}
	for n, u := range people {
		writing.Go(func() {
			for round := range rounds {
				if n == 1 && round == rounds/3 {
					close(half)
				}
				if err := act(stores[(n+round)%len(stores)], u, round); err != nil {
					w.Errorf("writer %d: %v", n, err)
				}
			}
		})
	}
	<-half
	var erasing sync.WaitGroup
	for _, s := range stores {
		erasing.Go(func() {
			if err := UntilUnlocked(func() error { _, err := Erase(w.Context(), s, erased, 3, nil); return err }); err != nil {
				w.Errorf("erase: %v", err)
			}
		})
	}
	erasing.Wait()
	w.verified()
	w.Log("the erasure ended; the writers go on")
	writing.Wait()
	w.verified()
	if _, err := Erase(w.Context(), w.s, erased, 100, nil); err != nil { // forgets what the late actions have left in caches
		w.Fatal(err)
	}
	w.sweepUntilDone(100, func() {})
	w.wantForgotten(erased.UserID)
	w.countsEqualLists(people[1:], video("0"), video("1"), video("2"), people[1].Subject(), people[2].Subject())
}
