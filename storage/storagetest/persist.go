package storagetest

import (
	"context"
	"errors"
	"time"

	"ovation/storage"
)

func countsMatchStates(w *world) {
	alice, bob, s := user("alice"), user("bob"), video("1")
	f := w.newFolder(alice, "Films")
	for _, step := range []struct {
		name                             string
		action                           storage.Action
		reads, likes, dislikes, collects int64
	}{
		{"a like", like(alice, s, 1), 0, 1, 0, 0},
		{"the same like again", like(alice, s, 2), 0, 1, 0, 0},
		{"another's like", like(bob, s, 3), 0, 2, 0, 0},
		{"a dislike in place of a like", React(alice, s, storage.Dislike, 4), 0, 1, 1, 0},
		{"no reaction any more", React(alice, s, storage.NoReaction, 5), 0, 1, 0, 0},
		{"none twice", React(alice, s, storage.NoReaction, 6), 0, 1, 0, 0},
		{"none as the first word", React(user("carol"), s, storage.NoReaction, 7), 0, 1, 0, 0},
		{"a read", read(alice, s, 1, 8, 8), 1, 1, 0, 0},
		{"three reads", read(alice, s, 3, 9, 9), 4, 1, 0, 0},
		{"two reads of the anonymous", read(user(""), s, 2, 9, 9), 6, 1, 0, 0},
		{"collected", Collect(alice, s, storage.DefaultFolderID, 10), 6, 1, 0, 1},
		{"moved", Collect(alice, s, f.FolderID, 11), 6, 1, 0, 1},
		{"collected by another", Collect(bob, s, storage.DefaultFolderID, 12), 6, 1, 0, 2},
		{"uncollected", Collect(alice, s, "", 13), 6, 1, 0, 1},
		{"uncollected twice", Collect(alice, s, "", 14), 6, 1, 0, 1},
		{"an older collection comes late", Collect(alice, s, f.FolderID, 12), 6, 1, 0, 1},
	} {
		w.persist(step.action)
		w.Log(step.name)
		w.wantCounts(s, step.reads, step.likes, step.dislikes, step.collects)
	}
	w.verified()

	// All of these actions in one message, in any order, have the same result.
	t := video("2")
	w.persist(
		Collect(alice, t, "", 13), React(alice, t, storage.NoReaction, 5), like(alice, t, 1), Collect(alice, t, f.FolderID, 11),
		like(bob, t, 3), read(alice, t, 3, 9, 9), Collect(bob, t, storage.DefaultFolderID, 12), React(alice, t, storage.Dislike, 4),
		read(user(""), t, 2, 9, 9), read(alice, t, 1, 8, 8),
	)
	w.wantCounts(t, 6, 1, 0, 1)
	w.equal("items of Films", w.folder(f.Key()).ItemCount, int64(0))
	w.equal("items of bob's default folder", w.folder(storage.FolderKey{Owner: bob, FolderID: storage.DefaultFolderID}).ItemCount, int64(2))
	w.verified()
}

func countVersionsOnlyRise(w *world) {
	alice, s := user("alice"), video("1")
	f := w.newFolder(alice, "Films")
	last := w.counts(s).Version
	w.equal("the version of an untouched subject", last, int64(0))
	for _, step := range []struct {
		name   string
		rises  bool
		action storage.Action
	}{
		{"none as the first word", false, React(alice, s, storage.NoReaction, 1)},
		{"a like", true, like(alice, s, 2)},
		{"the same like again", false, like(alice, s, 3)},
		{"an older word", false, React(alice, s, storage.Dislike, 2)},
		{"a dislike", true, React(alice, s, storage.Dislike, 4)},
		{"none", true, React(alice, s, storage.NoReaction, 5)},
		{"a read", true, read(alice, s, 1, 1, 1)},
		{"collected", true, Collect(alice, s, storage.DefaultFolderID, 6)},
		{"moved: the count stays, the state does not", true, Collect(alice, s, f.FolderID, 7)},
		{"collected there again", false, Collect(alice, s, f.FolderID, 8)},
		{"uncollected", true, Collect(alice, s, "", 9)},
	} {
		outcome := w.persist(step.action)
		now := w.counts(s)
		switch {
		case step.rises && now.Version <= last, !step.rises && now.Version != last:
			w.Errorf("%s: the version went from %d to %d, want it to rise: %t", step.name, last, now.Version, step.rises)
		case step.rises:
			w.equal(step.name+": counts in the outcome", outcome.Counts, []storage.SubjectCounts{{Subject: s, Counts: now}})
		default:
			w.equal(step.name+": counts in the outcome", len(outcome.Counts), 0)
		}
		last = now.Version
	}
}

func latestVersionWins(w *world) {
	alice, s := user("alice"), video("1")
	w.persist(React(alice, s, storage.Dislike, 20))
	w.persist(like(alice, s, 10))
	w.equal("the reaction after an older action", *w.states(alice, s).Liked, storage.Liked{User: alice, Subject: s, Reaction: storage.Dislike, Version: 20})
	w.persist(like(alice, s, 20))
	w.equal("the reaction after another action of the same version", w.states(alice, s).Liked.Reaction, storage.Dislike)
	w.persist(like(alice, s, 30), React(alice, s, storage.NoReaction, 31), React(alice, s, storage.Dislike, 29))
	got := w.states(alice, s)
	w.equal("the reaction after it was cleared", got.Liked, nil)
	w.equal("the version of the clear", got.Reaction.Version(), int64(31))
	w.persist(like(alice, s, 32))
	w.persist(like(alice, s, 40))
	w.equal("the time of a like that is repeated", w.states(alice, s).Liked.Version, int64(40))
	w.wantCounts(s, 0, 1, 0, 0)

	// Each kind of state has versions of its own.
	w.persist(Collect(alice, s, storage.DefaultFolderID, 1))
	w.equal("the collection", *w.states(alice, s).Collected,
		storage.Collected{User: alice, Subject: s, FolderID: storage.DefaultFolderID, Version: 1})
}

func readsAddUp(w *world) {
	alice, s := user("alice"), video("1")
	w.persist(read(alice, s, 2, 50, 60))
	w.persist(read(alice, s, 1, 40, 40), read(alice, s, 4, 55, 70), read(user("bob"), s, 1, 1, 1))
	w.persist(read(alice, s, 1, 65, 65))
	w.equal("the read", *w.states(alice, s).Read, storage.Read{User: alice, Subject: s, Times: 8, First: 40, Last: 70})
	w.wantCounts(s, 9, 0, 0, 0)
}

func outcomeIsTheLatestState(w *world) {
	alice, bob, s, t := user("alice"), user("bob"), video("1"), video("2")
	f := w.newFolder(alice, "Films")
	w.persist(like(alice, s, 10), like(bob, s, 10), Collect(alice, s, f.FolderID, 10))

	got := w.persist(
		React(alice, s, storage.Dislike, 20),        // changes
		like(bob, s, 30),                            // newer, but the same reaction
		React(bob, t, storage.NoReaction, 5),        // the first action on this state, and no reaction
		Collect(alice, s, "", 5),                    // older than what is stored
		Collect(bob, t, "gone", 40),                 // goes to the default folder
		read(alice, t, 3, 1, 2),                     // reads are not in Applied
		React(alice, s, storage.NoReaction, 15),     // older than another action of the batch
		Collect(bob, t, storage.DefaultFolderID, 2), // older than another action of the batch
	)
	set := func(r storage.Reaction, version int64) storage.Register {
		return storage.Register{Value: r, Set: version}
	}
	w.equal("applied", got.Applied, []storage.StateChange{
		{User: alice, Subject: s, Kind: storage.KindReaction, OldReaction: storage.Like, Reaction: storage.Dislike, Version: 20, Register: set(storage.Dislike, 20)},
		{User: bob, Subject: s, Kind: storage.KindReaction, OldReaction: storage.Like, Reaction: storage.Like, Version: 30, Register: set(storage.Like, 30)},
		{User: bob, Subject: t, Kind: storage.KindReaction, Version: 5, Register: set(storage.NoReaction, 5)},
		{User: alice, Subject: s, Kind: storage.KindCollection, OldFolderID: f.FolderID, FolderID: f.FolderID, Version: 10},
		{User: bob, Subject: t, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID, Version: 40},
	})
	w.equal("counts", got.Counts, []storage.SubjectCounts{{Subject: s, Counts: w.counts(s)}, {Subject: t, Counts: w.counts(t)}})
	w.wantCounts(s, 0, 1, 1, 1)
	w.wantCounts(t, 3, 0, 0, 1)
	w.equal("skipped", got.Skipped, 0)
}

func invalidActionPersistsNothing(w *world) {
	alice, s := user("alice"), video("1")
	good := like(alice, s, 1)
	for _, bad := range []storage.Action{
		{},
		like(user(""), s, 2),
		like(storage.User{Tenant: "other", UserID: "alice"}, s, 2),
		like(alice, video(""), 2),
		React(alice, s, 3, 2),
		read(alice, s, 0, 1, 2),
	} {
		m := w.message(good, bad)
		_, err := w.s.Persist(w.Context(), []storage.Message{m}, nil)
		if _, ok := errors.AsType[*storage.InvalidError](err); !ok {
			w.Errorf("%+v: got the error %v, want an *InvalidError", bad, err)
		}
		seen, err := w.s.Seen(w.Context(), []string{m.ID})
		w.must(err)
		w.equal("an invalid message is seen", seen, []bool{false})
	}
	_, err := w.s.Persist(w.Context(), []storage.Message{{Actions: []storage.Action{good}}}, nil)
	w.wantError("a message without an id", err, storage.ErrInvalid)
	w.equal("counts", w.counts(s), storage.Counts{})
}

func redeliveredMessageCountsOnce(w *world) {
	alice, s := user("alice"), video("1")
	first := w.message(read(alice, s, 2, 1, 1), like(alice, s, 1))
	second := w.message(read(alice, s, 3, 2, 2), React(alice, s, storage.Dislike, 2))
	third := w.message(read(alice, s, 5, 3, 3))

	w.equal("skipped of two new", w.persistMessages(first, second).Skipped, 0)
	w.wantCounts(s, 5, 0, 1, 0)
	again := w.persistMessages(second)
	present := storage.Counts{ReadCount: 5, ReaderCount: 1, DislikeCount: 1, Version: 1}
	w.equal("an outcome of nothing new", again, storage.Outcome{
		Counts:  []storage.SubjectCounts{{Subject: s, Counts: present}},
		Skipped: 1, Epoch: again.Epoch, At: again.At,
	})
	w.wantCounts(s, 5, 0, 1, 0)
	w.equal("skipped of two old and one new", w.persistMessages(first, third, second).Skipped, 2)
	w.wantCounts(s, 10, 0, 1, 0)
	fourth := w.message(read(alice, s, 7, 4, 4))
	w.equal("skipped twins", w.persistMessages(fourth, fourth, third).Skipped, 2)
	w.wantCounts(s, 17, 0, 1, 0)

	// If an action arrives again in another message, its version decides whether it
	// counts.
	w.equal("skipped", w.persist(React(alice, s, storage.Dislike, 2), like(alice, s, 1)).Skipped, 0)
	w.wantCounts(s, 17, 0, 1, 0)
	w.verified()
}

func seenUntilPruned(w *world) {
	s := video("1")
	passing, lasting := w.message(read(user("alice"), s, 1, 1, 1)), w.message(read(user("alice"), s, 1, 2, 2))
	lasting.Forever = true
	w.persistMessages(passing, lasting)
	ids := []string{passing.ID, lasting.ID, "unknown"}
	seen := func() []bool {
		got, err := w.s.Seen(w.Context(), ids)
		w.must(err)
		return got
	}
	prune := func(age time.Duration) int64 {
		n, err := w.s.Prune(w.Context(), age)
		w.must(err)
		return n
	}
	w.equal("seen initially", seen(), []bool{true, true, false})
	w.equal("ids pruned of those older than an hour", prune(time.Hour), int64(0))
	w.equal("seen after the first prune", seen(), []bool{true, true, false})
	w.equal("ids pruned of all", prune(-time.Hour), int64(1))
	w.equal("seen after the last prune", seen(), []bool{false, true, false})
	w.equal("skipped", w.persistMessages(lasting, passing).Skipped, 1)
	w.wantCounts(s, 3, 0, 0, 0)
}

func oldReadsAreNotPersisted(w *world) {
	alice, s := user("alice"), video("1")
	at := func(age time.Duration, m storage.Message) storage.Message {
		m.Published = storage.Micros(time.Now().Add(-age))
		return m
	}
	persisted := at(storage.MaxMessageAge+time.Minute, w.message(read(alice, s, 1, 1, 1)))
	fresh := persisted
	fresh.Published = 0
	w.persistMessages(fresh)
	old := at(storage.MaxMessageAge+time.Minute, w.message(like(alice, s, 1), read(alice, s, 10, 2, 2)))
	forever := at(10*storage.MaxMessageAge, w.message(read(alice, s, 100, 3, 3)))
	forever.Forever = true
	outcome := w.persistMessages(
		old, persisted, forever,
		at(storage.MaxMessageAge-time.Minute, w.message(read(alice, s, 1000, 4, 4))),
		at(10*storage.MaxMessageAge, w.message(like(user("bob"), s, 5))),
	)
	w.equal("expired", outcome.Expired, []string{old.ID})
	w.equal("skipped", outcome.Skipped, 1)
	w.wantCounts(s, 1101, 1, 0, 0)
	seen, err := w.s.Seen(w.Context(), []string{old.ID})
	w.must(err)
	w.equal("an expired message is seen", seen, []bool{false})

	outcome = w.persistMessages(old)
	w.equal("expired alone", outcome.Expired, []string{old.ID})
	w.equal("counts of what expired", len(outcome.Counts), 0)
	old.Published = 0 // replayed deliberately
	w.equal("expired without an age", len(w.persistMessages(old).Expired), 0)
	w.wantCounts(s, 1111, 2, 0, 0)
	w.verified()
}

func markIsInsideTheTransaction(w *world) {
	alice, s := user("alice"), video("1")
	w.persist(like(alice, s, 1))
	before := w.counts(s)

	refused := errors.New("refused")
	m := w.message(React(alice, s, storage.Dislike, 2), Collect(alice, s, storage.DefaultFolderID, 2))
	var marked storage.Outcome
	_, err := w.s.Persist(w.Context(), []storage.Message{m}, func(ctx context.Context, o storage.Outcome) error {
		marked = o
		others, err := w.s.Interactives(ctx, user("bob"), []storage.Subject{s}, 0)
		w.must(err)
		w.equal("counts others see before the commit", others[0].Counts, before)
		return refused
	})
	w.wantError("Persist whose mark fails", err, refused)
	w.equal("counts after the refusal", w.counts(s), before)
	w.equal("the state after the refusal", w.states(alice, s).Liked.Reaction, storage.Like)

	// The message counts as new again, and mark receives the outcome that Persist
	// returns.
	calls := 0
	outcome, err := w.s.Persist(w.Context(), []storage.Message{m}, func(_ context.Context, o storage.Outcome) error {
		calls++
		w.equal("the outcome passed to mark", o, marked)
		return nil
	})
	w.must(err)
	w.equal("the outcome", untimed(outcome), marked)
	w.equal("calls of mark", calls, 1)
	w.wantCounts(s, 0, 0, 1, 1)

	// EmptyFolder calls mark in the same way.
	key := storage.FolderKey{Owner: alice, FolderID: storage.DefaultFolderID}
	_, _, err = w.s.EmptyFolder(w.Context(), key, "", storage.Time(9), 10, func(context.Context, storage.Outcome) error { return refused })
	w.wantError("EmptyFolder whose mark fails", err, refused)
	w.wantCounts(s, 0, 0, 1, 1)
	n, outcome, err := w.s.EmptyFolder(w.Context(), key, "", storage.Time(9), 10, func(_ context.Context, o storage.Outcome) error {
		marked = o
		return nil
	})
	w.must(err)
	w.equal("items taken", n, 1)
	w.equal("the outcome passed to mark", marked, untimed(outcome))
	w.verified()
}

// untimed returns the outcome without its time, which only a mirror.Database sets.
func untimed(o storage.Outcome) storage.Outcome {
	o.At = time.Time{}
	return o
}

func persistedSurvivesReopen(w *world) {
	alice, s := user("alice"), video("1")
	f := w.newFolder(alice, "Films")
	m := w.message(like(alice, s, 1), Collect(alice, s, f.FolderID, 2), read(alice, s, 3, 4, 5), follow(alice, s, 6))
	w.persistMessages(m)
	counts, states, folder := w.counts(s), w.states(alice, s), w.folder(f.Key())

	// The first store is still open, like the store of a process that was killed.
	w.s = w.open()
	w.equal("counts beside the other", w.counts(s), counts)
	// The store is closed before the next one is opened.
	w.must(w.s.Close())
	w.s = w.open()
	w.equal("counts", w.counts(s), counts)
	w.equal("states", w.states(alice, s), states)
	w.equal("folder", w.folder(f.Key()), folder)
	w.equal("skipped", w.persistMessages(m).Skipped, 1)
	w.equal("counts after a redelivery", w.counts(s), counts)
	w.verified()
}
