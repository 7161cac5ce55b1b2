package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

func readersAreCountedOnce(w *world) {
	alice, bob, s := user("alice"), user("bob"), video("1")
	for _, step := range []struct {
		name           string
		action         storage.Action
		reads, readers int64
	}{
		{"a read", read(alice, s, 1, 8, 8), 1, 1},
		{"three more by the same user", read(alice, s, 3, 9, 11), 4, 1},
		{"an earlier read of the same user, late", read(alice, s, 4, 2, 3), 8, 1},
		{"two reads of the anonymous", read(user(""), s, 2, 9, 9), 10, 1},
		{"a read by another", read(bob, s, 2, 9, 9), 12, 2},
		{"a like is no read", like(user("carol"), s, 9), 12, 2},
	} {
		w.Log(step.name)
		w.persist(step.action)
		w.wantReaders(s, step.readers)
		w.equal("reads", w.counts(s).ReadCount, step.reads)
	}
	w.wantReaders(video("2"), 0)

	// In one message, and the same message twice.
	message := storage.Message{ID: "readers", Actions: []storage.Action{
		read(alice, s, 1, 12, 12), read(alice, s, 1, 13, 13), read(user("carol"), s, 1, 10, 10), read(user("carol"), s, 1, 11, 11),
		read(user(""), video("2"), 1, 10, 10), read(bob, video("2"), 1, 10, 10), read(alice, video("2"), 1, 10, 10),
	}}
	for range 2 {
		_, err := w.s.Persist(w.Context(), []storage.Message{message}, nil)
		w.must(err)
		w.wantReaders(s, 3)
		w.wantReaders(video("2"), 2)
		w.equal("reads", w.counts(s).ReadCount, int64(16))
	}
	w.verified()
}

// clear clears reads in one transaction and returns how many subjects it has removed.
func (w *world) clear(clearing storage.ReadsClear) int {
	w.Helper()
	w.must(w.s.BeginClear(w.Context(), clearing))
	n, outcome, err := w.s.ClearReads(w.Context(), clearing, 100, nil)
	w.must(err)
	w.equal("counts in the outcome", len(outcome.Counts), n)
	return n
}

// wantHistory checks the ids in a user's read history, latest first, and that the states
// of the subjects agree with it.
func (w *world) wantHistory(u storage.User, ids ...string) {
	w.Helper()
	pages, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: u, Page: storage.Page{First: 100}}})
	w.must(err)
	got := make([]string, 0, len(pages[0].Entries))
	for i := range pages[0].Entries {
		r := &pages[0].Entries[i]
		got = append(got, r.Subject.BizID)
		w.equal("the state of an entry", w.states(u, r.Subject).Read, r)
	}
	w.equal("the history of "+u.UserID, got, append([]string{}, ids...))
}

func clearedReadsStayCounted(w *world) {
	alice, bob := user("alice"), user("bob")
	one, two, three := video("1"), video("2"), storage.Subject{Tenant: storage.DefaultTenant, Biz: "article", BizID: "3"}
	again := w.message(read(alice, one, 3, 1, 5), read(bob, one, 2, 2, 2), read(user(""), one, 4, 3, 3))
	w.persistMessages(again)
	w.persist(read(alice, two, 1, 6, 6), read(alice, three, 1, 7, 7), like(alice, one, 8))
	before := w.counts(one).Version

	w.equal("subjects removed", w.clear(storage.ReadsClear{User: alice, Biz: "video", BizID: "1", Until: 10}), 1)
	w.wantHistory(alice, "3", "2")
	w.wantHistory(bob, "1")
	w.equal("the read", w.states(alice, one).Read, nil)
	w.wantCounts(one, 9, 1, 0, 0)
	w.wantReaders(one, 1)
	if now := w.counts(one).Version; now <= before {
		w.Errorf("the counts of a cleared subject have version %d, want more than %d", now, before)
	}
	w.verified()

	// Neither a repeated clear nor a redelivered message changes anything.
	before = w.counts(one).Version
	w.equal("subjects removed again", w.clear(storage.ReadsClear{User: alice, Biz: "video", BizID: "1", Until: 11}), 0)
	w.equal("messages skipped", w.persistMessages(again).Skipped, 1)
	w.equal("the version", w.counts(one).Version, before)

	w.equal("videos removed", w.clear(storage.ReadsClear{User: alice, Biz: "video", Until: 10}), 1)
	w.wantHistory(alice, "3")
	w.persist(read(alice, one, 2, 20, 21)) // a new read
	w.wantHistory(alice, "1", "3")
	w.wantReaders(one, 2)
	w.equal("reads removed by an older clear", w.clear(storage.ReadsClear{User: alice, Until: 19}), 1)
	w.wantHistory(alice, "1")
	w.equal("everything removed", w.clear(storage.ReadsClear{User: alice, Until: 21}), 1)
	w.wantHistory(alice)
	w.wantCounts(one, 11, 1, 0, 0)
	w.wantReaders(one, 1)
	w.wantCounts(three, 1, 0, 0, 0)
	w.verified()
}

func historiesAreClearedInChunks(w *world) {
	alice := user("alice")
	actions := make([]storage.Action, 0, 7)
	for i := range 7 {
		actions = append(actions, read(alice, video(strconv.Itoa(i)), 1, int64(10-i), int64(10-i)))
	}
	w.persist(actions...)
	clearing := storage.ReadsClear{User: alice, Until: 100}
	w.must(w.s.BeginClear(w.Context(), clearing))
	failed := errors.New("no")
	_, _, err := w.s.ClearReads(w.Context(), clearing, 3, func(context.Context, storage.Outcome) error { return failed })
	w.wantError("ClearReads whose mark fails", err, failed)
	w.wantHistory(alice, "0", "1", "2", "3", "4", "5", "6")
	for _, want := range []int{3, 3, 1, 0} {
		var marked storage.Outcome
		n, outcome, err := w.s.ClearReads(w.Context(), clearing, 3, func(_ context.Context, o storage.Outcome) error {
			marked = o
			return nil
		})
		w.must(err)
		w.equal("subjects removed", n, want)
		w.equal("the outcome passed to mark", marked, untimed(outcome))
		for _, c := range outcome.Counts {
			w.equal("published counts", c.Counts, w.counts(c.Subject))
			w.equal("readers", c.ReaderCount, int64(0))
			w.equal("reads", c.ReadCount, int64(1))
		}
		w.verified()
	}
	w.wantHistory(alice)
}

func queuedReadsStayCleared(w *world) {
	alice, bob, one, two := user("alice"), user("bob"), video("1"), video("2")
	article := storage.Subject{Tenant: storage.DefaultTenant, Biz: "article", BizID: "1"}
	w.equal("subjects removed", w.clear(storage.ReadsClear{User: alice, Biz: "video", Until: 100}), 0)
	w.equal("subjects removed", w.clear(storage.ReadsClear{User: alice, Biz: "video", Until: 50}), 0)
	w.equal("subjects removed", w.clear(storage.ReadsClear{User: bob, Biz: "video", BizID: "2", Until: 100}), 0)
	w.persist( // as if queued before, and after
		read(alice, one, 2, 90, 100), read(user(""), one, 1, 1, 1), read(bob, one, 1, 90, 90),
		read(alice, two, 1, 100, 100), read(alice, two, 1, 101, 101), read(bob, two, 1, 99, 99), read(alice, article, 1, 90, 90),
	)
	w.wantHistory(alice, "2", "1")
	w.equal("the article", w.states(alice, article).Read.Times, int64(1))
	w.wantHistory(bob, "1")
	w.wantCounts(one, 4, 0, 0, 0)
	w.wantReaders(one, 1)
	w.wantCounts(two, 3, 0, 0, 0)
	w.wantReaders(two, 1)

	// Of reads from before and after a clear, the last one remains.
	w.persist(read(alice, one, 5, 95, 110))
	w.equal("the read", w.states(alice, one).Read, &storage.Read{User: alice, Subject: one, Times: 1, First: 110, Last: 110})
	w.wantCounts(one, 9, 0, 0, 0)
	w.verified()

	// The record of a clear is kept as long as a read may be queued.
	_, err := w.s.Prune(w.Context(), storage.InboxAge)
	w.must(err)
	w.persist(read(bob, two, 1, 98, 98))
	w.equal("the read of a clear that ended long ago", w.states(bob, two).Read != nil, true)
	now := storage.Micros(time.Now())
	w.clear(storage.ReadsClear{User: bob, Until: now})
	_, err = w.s.Prune(w.Context(), storage.InboxAge)
	w.must(err)
	w.persist(read(bob, two, 1, now-1, now-1))
	w.wantHistory(bob)
	w.verified()
}

// readsInProgressStayCleared clears a history while other transactions add reads that were
// made before the clear.
func readsInProgressStayCleared(w *world) {
	const writers, rounds = 4, 15
	alice, bob := user("alice"), user("bob")
	for round := range rounds {
		clearing := storage.ReadsClear{User: alice, Until: int64(1000 * (round + 1))}
		var group errgroup.Group
		for writer := range writers {
			group.Go(func() error {
				for i := range 5 {
					s := video(fmt.Sprint(round%3, "-", i))
					at := clearing.Until - int64(i)
					m := storage.Message{ID: fmt.Sprint(round, "-", writer, "-", i), Actions: []storage.Action{read(user(""), s, 1, at, at), read(alice, s, 1, at, at), read(bob, s, 1, at, at)}}
					if _, err := w.s.Persist(w.Context(), []storage.Message{m}, nil); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := w.s.BeginClear(w.Context(), clearing)
		for err == nil {
			var n int
			if n, _, err = w.s.ClearReads(w.Context(), clearing, 2, nil); n < 2 {
				break
			}
		}
		w.must(errors.Join(err, group.Wait()))
		w.wantHistory(alice)
	}
	total := int64(0)
	for i := range 3 {
		for j := range 5 {
			c := w.counts(video(fmt.Sprint(i, "-", j)))
			total += c.ReadCount
			w.equal("readers", c.ReaderCount, int64(1))
		}
	}
	w.equal("reads", total, int64(3*rounds*writers*5))
	w.verified()
}

func clearsAreChecked(w *world) {
	alice := user("alice")
	for name, clearing := range map[string]storage.ReadsClear{
		"no user":             {User: user(""), Until: 1},
		"no time":             {User: alice},
		"a biz that is none":  {User: alice, Biz: "No", Until: 1},
		"an id without a biz": {User: alice, BizID: "1", Until: 1},
		"an id that is none":  {User: alice, Biz: "video", BizID: "\x00", Until: 1},
	} {
		w.wantError("BeginClear with "+name, w.s.BeginClear(w.Context(), clearing), storage.ErrInvalid)
		_, _, err := w.s.ClearReads(w.Context(), clearing, 1, nil)
		w.wantError("ClearReads with "+name, err, storage.ErrInvalid)
	}
	// No other tenant's history is cleared.
	other := storage.User{Tenant: "other", UserID: "alice"}
	s := storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}
	w.persist(read(other, s, 1, 1, 1), read(alice, video("1"), 1, 1, 1))
	w.equal("subjects removed", w.clear(storage.ReadsClear{User: alice, Until: 5}), 1)
	w.wantHistory(other, "1")
	w.verified()
}
