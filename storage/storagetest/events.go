package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"ovation/storage"
)

// UnloggedBiz is a kind of content whose events the stores of RunEvents do not log.
const UnloggedBiz = "unlogged"

// LogEvents is EventOptions.Log of the stores of RunEvents.
func LogEvents(_, biz string) bool { return biz != UnloggedBiz }

// RunEvents runs the cases of storage.EventLog, which the stores returned by Open must
// implement. Their events must be switched on, with LogEvents.
func RunEvents(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	runParallel(t, newDatabase, []testCase{
		{"ChangesOfStatesAreEvents", changesOfStatesAreEvents},
		{"OtherChangesAreEvents", otherChangesAreEvents},
		{"SweptStatesAreEvents", sweptStatesAreEvents},
		{"WithoutAChangeThereIsNoEvent", withoutAChangeThereIsNoEvent},
		{"EventsOfSelectedKindsAreLogged", eventsOfSelectedKindsAreLogged},
		{"EventsAreReadInPages", eventsAreReadInPages},
		{"PositionsOutsideTheLogAreRefused", positionsOutsideTheLogAreRefused},
		{"OldEventsArePruned", oldEventsArePruned},
		{"EventsSurviveReopen", eventsSurviveReopen},
		{"OneHolderLeasesAConsumer", oneHolderLeasesAConsumer},
		{"DeadEventsAreKept", deadEventsAreKept},
		{"ModelFoldsToItsEvents", func(w *world) { model(w); w.folds() }},
		{"CommentsModelFoldsToItsEvents", func(w *world) { commentsModel(w); w.folds() }},
		{"ConcurrentWritersFoldToTheirEvents", concurrentWritersFoldToTheirEvents},
		{"ArchivesFoldToTheirEvents", func(w *world) { archivesHoldEverything(w); w.folds() }},
		{"MergesFoldToTheirEvents", func(w *world) { restoredFoldersKeepTheirNames(w); restoredCommentsAreMerged(w); w.folds() }},
	})
}

// log returns the store as a log of events.
func (w *world) log() storage.EventLog {
	w.Helper()
	log, is := w.s.(storage.EventLog)
	if !is {
		w.Fatalf("%T is no storage.EventLog", w.s)
	}
	return log
}

// events returns all events that the query selects, read in pages of the query's limit.
func (w *world) events(log storage.EventLog, query storage.EventsQuery) (out []storage.Event) {
	w.Helper()
	for {
		page, err := log.Events(w.Context(), query)
		w.must(err)
		if page.Next == query.After {
			return out
		}
		if query.Limit > 0 && len(page.Events) > query.Limit {
			w.Fatalf("got %d events, want at most %d", len(page.Events), query.Limit)
		}
		out, query.After = append(out, page.Events...), page.Next
	}
}

// newEvents returns the events after the position *after, without their positions, and
// moves *after to the end of the log.
func (w *world) newEvents(after *int64) []storage.Event {
	w.Helper()
	out := w.events(w.log(), storage.EventsQuery{After: *after})
	for i := range out {
		*after++
		w.equal("the position of an event", out[i].Position, *after)
		out[i].Position = 0
	}
	return out
}

// folds checks that all events, applied in order, give the content of the database.
func (w *world) folds() {
	w.Helper()
	fold := NewFold()
	for _, e := range w.events(w.log(), storage.EventsQuery{}) {
		w.must(fold.Apply(&e))
	}
	differences, err := fold.Compare(w.Context(), w.s)
	w.must(err)
	for _, d := range differences {
		w.Error(d)
	}
	w.verified()
	if fold.Last == 0 {
		w.Error("there are no events")
	}
}

func changesOfStatesAreEvents(w *world) {
	alice, v := user("alice"), video("1")
	f := w.newFolder(alice, "Films")
	var after int64
	w.newEvents(&after)
	event := func(is storage.EventType, before, to string, at int64) storage.Event {
		return storage.Event{Type: is, Subject: v, User: alice, Before: before, After: to, At: at}
	}
	reads := func(u storage.User, before, to string, times, at int64) storage.Event {
		return storage.Event{Type: storage.EventRead, Subject: v, User: u, Before: before, After: to, Times: times, At: at}
	}
	for _, one := range []struct {
		action storage.Action
		want   storage.Event
	}{
		{like(alice, v, 10), event(storage.EventLiked, "", "LIKE", 10)},
		{React(alice, v, storage.Dislike, 11), event(storage.EventDisliked, "LIKE", "DISLIKE", 11)},
		{React(alice, v, storage.NoReaction, 12), event(storage.EventUndisliked, "DISLIKE", "", 12)},
		{like(alice, v, 13), event(storage.EventLiked, "", "LIKE", 13)},
		{storage.Action{User: alice, Subject: v, Kind: storage.KindReaction, If: storage.Like, Version: 14}, event(storage.EventUnliked, "LIKE", "", 14)},
		{Collect(alice, v, storage.DefaultFolderID, 10), event(storage.EventCollected, "", storage.DefaultFolderID, 10)},
		{Collect(alice, v, f.FolderID, 11), event(storage.EventMoved, storage.DefaultFolderID, f.FolderID, 11)},
		{Collect(alice, v, "", 12), event(storage.EventUncollected, f.FolderID, "", 12)},
		{follow(alice, v, 10), event(storage.EventFollowed, "", "FOLLOWING", 10)},
		{unfollow(alice, v, 11), event(storage.EventUnfollowed, "FOLLOWING", "", 11)},
		{read(alice, v, 2, 5, 10), reads(alice, "0", "2", 2, 10)},
		{read(alice, v, 1, 11, 11), reads(alice, "2", "3", 1, 11)},
		{read(storage.User{Tenant: alice.Tenant}, v, 4, 5, 10), reads(storage.User{Tenant: alice.Tenant}, "0", "4", 4, 10)},
		{
			storage.Action{User: storage.User{Tenant: v.Tenant}, Subject: v, Kind: storage.KindAuthor, Author: "bob", Version: 3},
			storage.Event{Type: storage.EventAuthorChanged, Subject: v, User: storage.User{Tenant: v.Tenant}, After: "bob", At: 3},
		},
	} {
		w.persist(one.action)
		w.equal("the events of "+string(one.want.Type), w.newEvents(&after), []storage.Event{one.want})
	}
	w.persist(read(alice, v, 1, 20, 20), read(alice, v, 2, 21, 22)) // summed
	w.equal("the events of two actions", w.newEvents(&after), []storage.Event{reads(alice, "3", "6", 3, 22)})
	w.equal("cleared", w.clear(storage.ReadsClear{User: alice, Until: 30}), 1)
	cleared := storage.Event{Type: storage.EventReadCleared, Subject: v, User: alice, Before: "6", After: "0", Times: 6, At: 30}
	w.equal("the events of a clear", w.newEvents(&after), []storage.Event{cleared})
	w.persist(read(alice, v, 1, 25, 25)) // was queued when the history was cleared
	w.equal("the events of a cleared read", w.newEvents(&after), []storage.Event{reads(storage.User{Tenant: alice.Tenant}, "10", "11", 1, 25)})
	w.folds()
}

func otherChangesAreEvents(w *world) {
	alice, bob, v := user("alice"), user("bob"), video("1")
	var after int64
	types := func() (out []string) {
		for _, e := range w.newEvents(&after) {
			out = append(out, fmt.Sprint(e.Type, " ", e.Subject.Biz, " ", e.User.UserID, " ", e.Object))
		}
		return out
	}
	c := w.comment(alice, v, "first", nil)
	id := c.CommentID()
	w.equal("a comment", types(), []string{"commented video alice " + id})
	edit := storage.CommentChange{Key: c.Key(), By: bob, Moderates: true}
	_, err := w.s.EditComment(w.Context(), edit, "second")
	w.must(err)
	w.equal("an edit by a moderator", types(), []string{"comment_edited video alice " + id})
	_, err = w.s.EditComment(w.Context(), edit, "second")
	w.must(err)
	w.equal("the same edit", types(), []string(nil))
	w.persist(like(bob, c.Key().Subject(), 1))
	w.equal("a like of the comment", types(), []string{"liked comment bob "})
	w.deleteComment(alice, c)
	w.equal("a deletion", types(), []string{"comment_deleted video alice " + id})
	w.persistMessages(storage.Message{ID: "past", Comments: []storage.PastComment{{Subject: v, User: bob, Text: "old", At: 1}}})
	w.equal("an imported comment", len(types()), 1)

	f := w.newFolder(alice, "Films")
	w.equal("a folder", types(), []string{"folder_created user alice " + f.FolderID})
	name := "Movies"
	_, err = w.s.UpdateFolder(w.Context(), f.Key(), storage.FolderChange{Name: &name}, storage.Time(5))
	w.must(err)
	w.equal("a changed folder", types(), []string{"folder_updated user alice " + f.FolderID})
	_, err = w.s.UpdateFolder(w.Context(), f.Key(), storage.FolderChange{Name: &name}, storage.Time(6))
	w.must(err)
	w.equal("the same change", types(), []string(nil))
	w.persist(Collect(alice, v, f.FolderID, 10))
	types()
	_, _, err = w.s.EmptyFolder(w.Context(), f.Key(), storage.DefaultFolderID, storage.Time(7), 10, nil)
	w.must(err)
	w.must(w.s.DeleteFolder(w.Context(), f.Key(), storage.DefaultFolderID, storage.Time(7)))
	w.equal("a deleted folder", types(), []string{"moved video alice ", "folder_deleted user alice " + f.FolderID})

	clip := w.publish(newVideo(bob, "clip"))
	w.equal("a publication", types(), []string{"video_published video bob ", "author_changed video  "})
	w.must(w.deleteVideo(clip, bob))
	w.equal("a deleted video", types(), []string{"video_deleted video bob ", "author_changed video  "})
	w.send("alice", "bob", "private")
	w.register("carol")
	w.equal("a message and an account", types(), []string(nil))
}

func sweptStatesAreEvents(w *world) {
	alice := user("alice")
	clip := w.publish(newVideo(alice, "clip"))
	s := clip.Key().Subject()
	w.persist(like(alice, s, 1), React(user("bob"), s, storage.Dislike, 1), Collect(alice, s, storage.DefaultFolderID, 1), follow(alice, s, 1))
	w.comment(alice, s, "text", w.comment(alice, s, "parent", nil))
	w.must(w.deleteVideo(clip, alice))
	var after int64
	w.newEvents(&after)
	w.sweepUntilDone(100, func() {})
	got := map[storage.EventType]int{}
	for _, e := range w.newEvents(&after) {
		got[e.Type]++
	}
	w.equal("the events of a sweep", got, map[storage.EventType]int{
		storage.EventUnliked: 1, storage.EventUndisliked: 1, storage.EventUncollected: 1, storage.EventUnfollowed: 1, storage.EventCommentDeleted: 2,
	})
	w.folds()
}

func withoutAChangeThereIsNoEvent(w *world) {
	alice, v := user("alice"), video("1")
	first := w.message(like(alice, v, 10), Collect(alice, v, storage.DefaultFolderID, 10), follow(alice, v, 10), read(alice, v, 1, 10, 10))
	w.persistMessages(first)
	_, err := w.s.AddComments(w.Context(), []storage.NewComment{{Subject: v, User: alice, Text: "once", RequestID: "request"}})
	w.must(err)
	var after int64
	w.equal("events of the first time", len(w.newEvents(&after)), 5)

	w.persistMessages(first)                                                                                         // redelivered
	w.persist(like(alice, v, 11), Collect(alice, v, storage.DefaultFolderID, 11), follow(alice, v, 11))              // repeated
	w.persist(React(alice, v, storage.Dislike, 5), Collect(alice, v, "", 5), unfollow(alice, v, 5))                  // late
	w.persist(storage.Action{User: alice, Subject: v, Kind: storage.KindReaction, If: storage.Dislike, Version: 12}) // of another reaction
	_, err = w.s.AddComments(w.Context(), []storage.NewComment{{Subject: v, User: alice, Text: "once", RequestID: "request"}})
	w.must(err)
	rolledBack := errors.New("rolled back")
	_, err = w.s.Persist(w.Context(), []storage.Message{w.message(like(user("bob"), v, 10))}, func(_ context.Context, _ storage.Outcome) error { return rolledBack })
	w.wantError("Persist", err, rolledBack)
	w.equal("events afterwards", w.newEvents(&after), []storage.Event(nil))
}

func eventsOfSelectedKindsAreLogged(w *world) {
	alice := user("alice")
	w.persist(like(alice, video("1"), 1), like(alice, storage.Subject{Tenant: alice.Tenant, Biz: UnloggedBiz, BizID: "1"}, 1))
	got := w.events(w.log(), storage.EventsQuery{})
	w.equal("events", len(got), 1)
	w.equal("their subject", got[0].Subject, video("1"))
}

// eventsAreReadInPages persists transactions of very different sizes, and reads them in
// pages that end within transactions.
func eventsAreReadInPages(w *world) {
	version := int64(0)
	for _, size := range []int{1, 450, 3, 1, 1, 250} {
		actions := make([]storage.Action, 0, size)
		for i := range size {
			version++
			s := storage.Subject{Tenant: []string{"default", "other"}[i%2], Biz: []string{"video", "article"}[i/2%2], BizID: strconv.FormatInt(version, 10)}
			actions = append(actions, like(storage.User{Tenant: s.Tenant, UserID: "\"ann\" \\ ü"}, s, version))
		}
		w.persist(actions...)
	}
	all := w.events(w.log(), storage.EventsQuery{})
	w.equal("events", len(all), 706)
	for i := range all {
		w.equal("the position", all[i].Position, int64(i+1))
		w.equal("the user", all[i].User, storage.User{Tenant: all[i].Subject.Tenant, UserID: "\"ann\" \\ ü"})
	}
	for _, query := range []storage.EventsQuery{{Limit: 1}, {Limit: 7}, {Limit: 300, After: 100}, {Limit: 1 << 20}, {Limit: 90, Tenant: "other"}, {Biz: "article"}, {Limit: 10, Tenant: "other", Biz: "video"}, {Tenant: "none"}} {
		var want []storage.Event
		for i := range all {
			if all[i].Position > query.After && query.Selects(&all[i]) {
				want = append(want, all[i])
			}
		}
		w.equal(fmt.Sprintf("the events of %+v", query), w.events(w.log(), query), want)
	}
}

func positionsOutsideTheLogAreRefused(w *world) {
	w.persist(like(user("alice"), video("1"), 1))
	stream, err := w.log().EventStream(w.Context())
	w.must(err)
	w.equal("the stream", []int64{stream.First, stream.Last, int64(len(stream.ID))}, []int64{1, 1, 32})
	page, err := w.log().Events(w.Context(), storage.EventsQuery{After: 1})
	w.must(err)
	w.equal("the page at the end", page, storage.EventPage{Stream: stream.ID, Next: 1})
	_, err = w.log().Events(w.Context(), storage.EventsQuery{After: 2})
	w.wantError("events ahead of the log", err, storage.ErrEventsAhead)
	_, err = w.log().Events(w.Context(), storage.EventsQuery{After: -1})
	w.wantError("events before the log", err, storage.ErrEventsPruned)
}

func oldEventsArePruned(w *world) {
	alice := user("alice")
	for i := range int64(5) {
		w.persist(like(alice, video(strconv.FormatInt(i, 10)), i+1), follow(alice, video(strconv.FormatInt(i, 10)), i+1))
	}
	n, err := w.log().PruneEvents(w.Context(), time.Hour)
	w.must(err)
	w.equal("pruned", n, int64(0))
	w.db.Edit(w.T, `UPDATE event_log SET at = 1 WHERE last <= 4`)
	_, err = w.s.Prune(w.Context(), storage.InboxAge)
	w.must(err)
	stream, err := w.log().EventStream(w.Context())
	w.must(err)
	w.equal("the stream", []int64{stream.First, stream.Last}, []int64{5, 10})
	w.equal("events left", len(w.events(w.log(), storage.EventsQuery{After: 4})), 6)
	_, err = w.log().Events(w.Context(), storage.EventsQuery{After: 3})
	w.wantError("pruned events", err, storage.ErrEventsPruned)
	lease, err := w.log().LeaseEvents(w.Context(), "new", "holder", time.Minute)
	w.must(err)
	w.equal("where a new consumer begins", lease.Position, int64(4))

	n, err = w.log().PruneEvents(w.Context(), -time.Minute)
	w.must(err)
	w.equal("pruned", n, int64(6))
	w.persist(unfollow(alice, video("0"), 100))
	got := w.events(w.log(), storage.EventsQuery{After: 10})
	w.equal("events after that", len(got), 1)
	w.equal("the position", got[0].Position, int64(11))
}

func eventsSurviveReopen(w *world) {
	w.persist(like(user("alice"), video("1"), 1))
	before, err := w.log().EventStream(w.Context())
	w.must(err)
	first := w.events(w.log(), storage.EventsQuery{})
	w.must(w.s.Close())
	w.s = w.open()
	w.persist(like(user("bob"), video("1"), 1))
	after, err := w.log().EventStream(w.Context())
	w.must(err)
	w.equal("the stream", after, storage.EventStream{ID: before.ID, First: 1, Last: 2})
	w.equal("the first event", w.events(w.log(), storage.EventsQuery{})[:1], first)
}

// concurrentWritersFoldToTheirEvents reads the log while concurrent writers change states,
// comments, folders and videos. The events that are read meanwhile are those that the log
// holds at the end, and they give the content of the database.
func concurrentWritersFoldToTheirEvents(w *world) {
	reader, is := w.open().(storage.EventLog)
	w.equal("is a log", is, true)
	done := make(chan struct{})
	var seen []storage.Event
	var reading sync.WaitGroup
	reading.Go(func() {
		query := storage.EventsQuery{Limit: 50}
		for ended := false; ; {
			select {
			case <-done:
				ended = true
			default:
			}
			var page storage.EventPage
			err := Repeat(storage.ErrUnavailable, time.Minute, func() (err error) {
				page, err = reader.Events(w.Context(), query)
				return err
			})
			if err != nil {
				w.Error(err)
				return
			}
			if len(page.Events) == 0 {
				time.Sleep(10 * time.Millisecond) // leave the database to the writers
			}
			seen = append(seen, page.Events...)
			if ended && page.Next == query.After {
				return
			}
			query.After = page.Next
		}
	})
	concurrentSweepsMissNothing(w)
	concurrentWritersAgree(w)
	concurrentCommentersAgree(w)
	close(done)
	reading.Wait()
	w.equal("the events that were read meanwhile", slices.Equal(seen, w.events(w.log(), storage.EventsQuery{})), true)
	w.folds()
}
