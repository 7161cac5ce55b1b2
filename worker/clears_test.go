package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// Clearing a like or a dislike removes that reaction and nothing else, no matter what is
// known about the previous state. Every action on an unknown state is published.
func TestClearsAreConditional(t *testing.T) {
	type step struct {
		action storage.Action
		leaves storage.Reaction
	}
	like, dislike := react(alice, movie, storage.Like), react(alice, movie, storage.Dislike)
	unlike, undislike := unreact(alice, movie, storage.Like), unreact(alice, movie, storage.Dislike)
	steps := []step{
		{unlike, storage.NoReaction},
		{dislike, storage.Dislike},
		{unlike, storage.Dislike},
		{undislike, storage.NoReaction},
		{undislike, storage.NoReaction},
		{like, storage.Like},
		{undislike, storage.Like},
		{unlike, storage.NoReaction},
		{dislike, storage.Dislike},
		{like, storage.Like},
		{undislike, storage.Like},
	}
	for name, look := range map[string]func() (storage.Durability, error){
		"known":       nil,
		"not sure":    func() (storage.Durability, error) { return "", nil },
		"unavailable": func() (storage.Durability, error) { return "", storage.ErrUnavailable },
	} {
		for way, unavailable := range map[string]bool{"through the queue": false, "past the queue": true} {
			t.Run(name+", "+way, func(t *testing.T) {
				store, queue := openStore(t), newQueue(t)
				mirror := &spy{Mirror: local.Mirror{Reader: store}, get: look}
				startWorker(t, queue, store, mirror, worker.Options{})
				var publisher worker.Publisher = queue
				if unavailable {
					publisher = newFallback(downQueue, store, worker.FallbackOptions{})
				}
				watched := &tap{Publisher: publisher}
				r := newRecorder(t, watched, mirror, worker.RecorderOptions{})
				before := storage.NoReaction
				for i, s := range steps {
					want := worker.Recorded{Durability: storage.Persisted, Changed: true}
					if look == nil {
						want.Known, want.Changed = true, before != s.leaves
					}
					if got := record(t, r, s.action); got != want {
						t.Errorf("step %d was answered %+v, want %+v", i, got, want)
					}
					wantReaction(t, store, fmt.Sprintf("after step %d", i), s.leaves)
					before = s.leaves
				}
				if n := len(watched.seen()); look != nil && n != len(steps) {
					t.Errorf("%d actions were published, want %d", n, len(steps))
				}
			})
		}
	}
}

func wantReaction(t *testing.T, store storage.Reader, when string, want storage.Reaction) {
	t.Helper()
	var got storage.Reaction
	if s := statesOf(t, store, alice, movie); s.Liked != nil {
		got = s.Liked.Reaction
	}
	c := countsOf(t, store, movie)
	likes, dislikes := map[storage.Reaction]int64{storage.Like: 1}, map[storage.Reaction]int64{storage.Dislike: 1}
	if got != want || c.LikeCount != likes[want] || c.DislikeCount != dislikes[want] {
		t.Errorf("%s: the reaction is %d, want %d; the counts are %+v", when, got, want, c)
	}
}

// To clear a like, the recorder reads the state just before an earlier dislike from
// another node is persisted. Clearing the like leaves the dislike in place.
func TestClearLeavesUnseenReactions(t *testing.T) {
	store, queue := openStore(t), newQueue(t)
	mirror := &spy{Mirror: local.Mirror{Reader: store}}
	startWorker(t, queue, store, mirror, worker.Options{})
	now := time.Now()
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	record(t, r, react(alice, movie, storage.Like))
	mirror.get = func() (storage.Durability, error) {
		dislike := react(alice, movie, storage.Dislike)
		dislike.Version = statesOf(t, store, alice, movie).Reaction.Version() + 1
		_, err := store.Persist(t.Context(), []storage.Message{{ID: "dislike", Actions: []storage.Action{dislike}}}, nil)
		return storage.Persisted, err
	}
	if got := record(t, r, unreact(alice, movie, storage.Like)); !got.Known || !got.Changed {
		t.Errorf("clearing the like: got %+v, want it known and changed", got)
	}
	wantReaction(t, store, "finally", storage.Dislike)
}

// If a clear bypasses the queue while an earlier action of the same user is queued, the
// reaction that the clear removes does not come back, and nothing else is lost.
func TestClearPastTheQueueIsConditional(t *testing.T) {
	for name, c := range map[string]struct{ queued, clears, leaves storage.Reaction }{
		"a like that is queued is removed":       {storage.Like, storage.Like, storage.NoReaction},
		"a dislike that is queued stays":         {storage.Dislike, storage.Like, storage.Dislike},
		"a dislike that is queued is removed":    {storage.Dislike, storage.Dislike, storage.NoReaction},
		"a like that is queued stays":            {storage.Like, storage.Dislike, storage.Like},
		"without a reaction there is still none": {storage.NoReaction, storage.Like, storage.NoReaction},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			mirror := &spy{Mirror: local.Mirror{Reader: store}, get: func() (storage.Durability, error) { return "", nil }}
			var queued []storage.Message
			up := true
			queue := publishFunc(func(_ context.Context, m storage.Message) (storage.Durability, error) {
				if !up {
					return "", storage.ErrUnavailable
				}
				queued = append(queued, m)
				return storage.Queued, nil
			})
			r := newRecorder(t, newFallback(queue, store, worker.FallbackOptions{}), mirror, worker.RecorderOptions{})
			record(t, r, react(alice, movie, c.queued))
			up = false
			if got := record(t, r, unreact(alice, movie, c.clears)); got.Durability != storage.Persisted || got.Known {
				t.Fatalf("clearing past the queue: got %+v, want it %s and unknown", got, storage.Persisted)
			}
			if len(queued) != 1 {
				t.Fatalf("got %d queued messages, want 1", len(queued))
			}
			for range 2 { // the second time as a redelivery
				if _, err := store.Persist(t.Context(), queued, nil); err != nil {
					t.Fatal(err)
				}
				wantReaction(t, store, "finally", c.leaves)
			}
		})
	}
}
