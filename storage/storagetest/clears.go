package storagetest

import (
	"fmt"

	"pgregory.net/rapid"

	"ovation/storage"
)

// clearsAreConditional persists conditional clears of likes and dislikes in each state.
// Some clears arrive before the action that they are meant for.
func clearsAreConditional(w *world) {
	const none = storage.NoReaction
	alice := user("alice")
	liked := func(v int64) storage.Action { return like(alice, video("1"), v) }
	disliked := func(v int64) storage.Action { return React(alice, video("1"), storage.Dislike, v) }
	cleared := func(v int64) storage.Action { return React(alice, video("1"), none, v) }
	unlike := func(v int64) storage.Action { return clearIf(alice, video("1"), storage.Like, v) }
	undislike := func(v int64) storage.Action { return clearIf(alice, video("1"), storage.Dislike, v) }
	for n, c := range []struct {
		said    []storage.Action // in the order of arrival
		want    storage.Reaction
		since   int64 // version of the reaction in want
		version int64
	}{
		{[]storage.Action{unlike(5)}, none, 0, 5},
		{[]storage.Action{liked(1), unlike(5)}, none, 0, 5},
		{[]storage.Action{disliked(1), unlike(5)}, storage.Dislike, 1, 5},
		{[]storage.Action{liked(1), undislike(5)}, storage.Like, 1, 5},
		{[]storage.Action{disliked(1), undislike(5)}, none, 0, 5},
		{[]storage.Action{cleared(1), unlike(5)}, none, 0, 5},
		{[]storage.Action{liked(6), unlike(5)}, storage.Like, 6, 6},
		{[]storage.Action{liked(5), unlike(5)}, storage.Like, 5, 5},
		// An action arrives after the clear: the action that the clear is meant for, or
		// another action.
		{[]storage.Action{unlike(5), liked(4)}, none, 0, 5},
		{[]storage.Action{unlike(5), disliked(4)}, storage.Dislike, 4, 5},
		{[]storage.Action{unlike(5), liked(6)}, storage.Like, 6, 6},
		{[]storage.Action{liked(1), unlike(5), disliked(3)}, storage.Dislike, 3, 5},
		{[]storage.Action{disliked(1), unlike(5), liked(3)}, none, 0, 5},
		{[]storage.Action{liked(1), unlike(5), disliked(3), undislike(4)}, none, 0, 5},
		{[]storage.Action{unlike(5), undislike(7), liked(3)}, none, 0, 7},
		{[]storage.Action{unlike(5), undislike(7), liked(6)}, storage.Like, 6, 7},
		{[]storage.Action{unlike(5), undislike(7), cleared(8), liked(6)}, none, 0, 8},
		{[]storage.Action{liked(1), unlike(5), cleared(4), disliked(3)}, none, 0, 5},
		// An earlier clear arrives after a later one.
		{[]storage.Action{unlike(9), unlike(5), liked(7)}, none, 0, 9},
	} {
		for _, together := range []bool{false, true} {
			alice, subject := user(fmt.Sprint("alice", n, together)), video(fmt.Sprint(n, together))
			said := make([]storage.Action, len(c.said))
			for i, a := range c.said {
				a.User, a.Subject = alice, subject
				said[i] = a
				if !together {
					w.persist(a)
				}
			}
			if together {
				w.persist(said...)
			}
			got, want := w.states(alice, subject), (*storage.Liked)(nil)
			if c.want != none {
				want = &storage.Liked{User: alice, Subject: subject, Reaction: c.want, Version: c.since}
			}
			w.equal(fmt.Sprintf("the reaction after case %d, in one message: %t", n, together), got.Liked, want)
			w.equal(fmt.Sprintf("the version after case %d, in one message: %t", n, together), got.Reaction.Version(), c.version)
			likes, dislikes := int64(0), int64(0)
			switch c.want {
			case storage.Like:
				likes = 1
			case storage.Dislike:
				dislikes = 1
			case storage.NoReaction:
			}
			w.wantCounts(subject, 0, likes, dislikes, 0)
		}
	}
	w.verified()
}

// reactionsMergeInAnyOrder has one user react to a few subjects. The actions arrive in
// any order and in any batches, some of them repeatedly.
func reactionsMergeInAnyOrder(w *world) {
	run := 0
	rapid.Check(w.T, func(t *rapid.T) {
		run++
		m := newModelState(w, t, fmt.Sprintf("reactions%d", run))
		m.action = func() storage.Action {
			tenant := m.tenants[0]
			a := storage.Action{
				User: m.users(tenant)[0], Subject: m.subjects(tenant)[rapid.IntRange(0, 1).Draw(t, "subject")],
				Kind: storage.KindReaction, Version: rapid.Int64Range(1, 12).Draw(t, "version"),
			}
			m.reaction(&a)
			return a
		}
		t.Repeat(map[string]func(*rapid.T){"persist": func(*rapid.T) { m.persist() }})
		m.compare()
	})
	w.verified()
}

// reaction draws the fields of an action of KindReaction.
func (m *modelState) reaction(a *storage.Action) {
	switch rapid.IntRange(0, 4).Draw(m.T, "reaction") {
	case 0:
		a.Reaction = storage.Like
	case 1:
		a.Reaction = storage.Dislike
	case 2:
		a.If = storage.Like
	case 3:
		a.If = storage.Dislike
	}
}

func clearIf(u storage.User, s storage.Subject, reaction storage.Reaction, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, If: reaction, Version: version}
}
