package redis

import (
	"context"
	"testing"

	"ovation/storage"
)

// commit applies actions to the database, without telling Redis.
func commit(t *testing.T, db storage.Persister, actions ...storage.Action) storage.Outcome {
	t.Helper()
	outcome, err := db.Persist(context.Background(), message(actions...), nil)
	must(t, err)
	return outcome
}

func reactionOf(i storage.Interactive) storage.Reaction {
	if i.Liked == nil {
		return storage.NoReaction
	}
	return i.Liked.Reaction
}

// A node that is slow to tell an outcome does not undo what was told in the meantime.
func TestLateTellChangesNothingNewer(t *testing.T) {
	for name, loaded := range map[string]bool{"the window is loaded": true, "Redis has no window": false} {
		t.Run(name, func(t *testing.T) {
			s, _, db := openNew(t, Options{})
			if loaded {
				see(t, s, alice, movie)
			}
			first := commit(t, db, react(alice, movie, storage.Like, 10))
			second := commit(t, db, react(alice, movie, storage.Dislike, 20), react(bob, movie, storage.Like, 21))
			for _, outcome := range []storage.Outcome{second, first, first, second} {
				must(t, s.Tell(t.Context(), outcome))
				got := see(t, s, alice, movie)
				if reactionOf(got) != storage.Dislike || got.LikeCount != 1 || got.DislikeCount != 1 || got.Freshness != storage.Live {
					t.Errorf("got the reaction %v and %+v, want a dislike, one like and one dislike", reactionOf(got), got)
				}
			}
		})
	}
}

// Another node has cached the counts and the window. It shows the told state at once, with
// counts that include it.
func TestToldStateIsSeenOnOtherNodesAtOnce(t *testing.T) {
	s, server, db := openNew(t, Options{})
	other := open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	for i := range int64(200) {
		see(t, other, alice, movie)
		reaction := storage.Reaction((i + 1) % 2)
		must(t, s.Tell(t.Context(), commit(t, db, react(alice, movie, reaction, 10+i))))
		if got := see(t, other, alice, movie); reactionOf(got) != reaction || got.LikeCount != int64(reaction) {
			t.Fatalf("action %d: got the reaction %v and %d likes, want %v", i, reactionOf(got), got.LikeCount, reaction)
		}
	}
}

// A queued action that is newer than a told state stays visible, and is counted once.
func TestTellKeepsQueuedActions(t *testing.T) {
	s, _, db := openNew(t, Options{})
	see(t, s, alice, movie)
	must(t, s.Apply(t.Context(), []storage.Action{react(alice, movie, storage.Dislike, 20)}, storage.Queued, nil))
	must(t, s.Tell(t.Context(), commit(t, db, react(alice, movie, storage.Like, 10))))
	if got := see(t, s, alice, movie); reactionOf(got) != storage.Dislike || got.LikeCount != 0 || got.DislikeCount != 1 {
		t.Errorf("got the reaction %v and %+v, want the queued dislike", reactionOf(got), got)
	}
	must(t, s.Tell(t.Context(), commit(t, db, react(alice, movie, storage.Dislike, 20))))
	if got := see(t, s, alice, movie); reactionOf(got) != storage.Dislike || got.LikeCount != 0 || got.DislikeCount != 1 {
		t.Errorf("after the commit: got the reaction %v and %+v, want the dislike", reactionOf(got), got)
	}
}
