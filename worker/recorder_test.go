package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

func TestAcknowledgedActionIsInTheStore(t *testing.T) {
	store, queue, mirror := startLocal(t)
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{})

	for _, a := range []storage.Action{
		react(alice, movie, storage.Like),
		collect(alice, movie, storage.DefaultFolderID),
		follow(alice, movie),
		{User: alice, Subject: movie, Kind: storage.KindRead},
		{User: alice, Subject: movie, Kind: storage.KindRead, Times: 4},
		{User: storage.User{Tenant: alice.Tenant}, Subject: movie, Kind: storage.KindRead},
	} {
		if got := record(t, r, a); got != (worker.Recorded{Known: true, Changed: true, Durability: storage.Persisted}) {
			t.Errorf("recording %+v: got %+v, want it known, changed and %s", a, got, storage.Persisted)
		}
	}
	got := countsOf(t, store, movie)
	got.Version = 0
	if want := (storage.Counts{ReadCount: 6, ReaderCount: 1, LikeCount: 1, CollectCount: 1, FollowerCount: 1}); got != want {
		t.Errorf("the counts are %+v, want %+v", got, want)
	}
	if s := statesOf(t, store, alice, movie); s.Liked == nil || s.Collected == nil || s.Followed == nil || s.Read == nil || s.Read.Times != 5 {
		t.Errorf("got the states %+v, want a like, a collection, a follow and 5 reads", s)
	}
}

func TestNothingIsPublishedWhenNothingChanges(t *testing.T) {
	_, queue, mirror := startLocal(t)
	watched := &tap{Publisher: queue}
	r := newRecorder(t, watched, mirror, worker.RecorderOptions{})

	for _, step := range []struct {
		name    string
		action  storage.Action
		changed bool
	}{
		{"clear no reaction", react(alice, movie, storage.NoReaction), false},
		{"clear no like", unreact(alice, movie, storage.Like), false},
		{"uncollect what is not collected", collect(alice, movie, ""), false},
		{"like", react(alice, movie, storage.Like), true},
		{"like again", react(alice, movie, storage.Like), false},
		{"clear another reaction", unreact(alice, movie, storage.Dislike), false},
		{"clear the like", unreact(alice, movie, storage.Like), true},
		{"clear the like again", unreact(alice, movie, storage.Like), false},
		{"dislike", react(alice, movie, storage.Dislike), true},
		{"dislike again", react(alice, movie, storage.Dislike), false},
		{"clear the reaction", react(alice, movie, storage.NoReaction), true},
		{"clear it again", react(alice, movie, storage.NoReaction), false},
		{"collect", collect(alice, movie, storage.DefaultFolderID), true},
		{"collect into the same folder", collect(alice, movie, storage.DefaultFolderID), false},
		{"uncollect", collect(alice, movie, ""), true},
		{"uncollect again", collect(alice, movie, ""), false},
		{"unfollow what is not followed", unfollow(alice, movie), false},
		{"follow", follow(alice, movie), true},
		{"follow again", follow(alice, movie), false},
		{"unfollow", unfollow(alice, movie), true},
		{"unfollow again", unfollow(alice, movie), false},
		{"somebody else's like", react(user(1), movie, storage.Like), true},
	} {
		before := len(watched.seen())
		got := record(t, r, step.action)
		if got != (worker.Recorded{Known: true, Changed: step.changed, Durability: storage.Persisted}) {
			t.Errorf("%s: got %+v, want it known, %s, changed %t", step.name, got, storage.Persisted, step.changed)
		}
		if published := len(watched.seen()) - before; (published == 1) != step.changed {
			t.Errorf("%s: got %d messages, want one if the action changes something: %t", step.name, published, step.changed)
		}
	}
}

func TestErrorOfGetIsReturned(t *testing.T) {
	queue := newQueue(t)
	mirror := &spy{Mirror: local.Mirror{Reader: openStore(t)}, get: func() (storage.Durability, error) { return "", errBroken }}
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{})
	if _, err := r.Record(t.Context(), react(alice, movie, storage.Like), nil); !errors.Is(err, errBroken) {
		t.Errorf("Record: got %v, want %v", err, errBroken)
	}
}

func TestInvalidActionIsRefused(t *testing.T) {
	r := newRecorder(t, newQueue(t), local.Mirror{Reader: openStore(t)}, worker.RecorderOptions{})
	for _, a := range []storage.Action{
		{},
		react(storage.User{Tenant: alice.Tenant}, movie, storage.Like),
		react(alice, video("\x00"), storage.Like),
		react(alice, storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}, storage.Like),
		react(alice, movie, 3),
	} {
		if _, err := r.Record(t.Context(), a, nil); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("recording %+v: got %v, want %v", a, err, storage.ErrInvalid)
		}
	}
}

// If the clock goes back, an action still gets a version above that of the state that it
// changes.
func TestVersionRisesAboveTheSeenOne(t *testing.T) {
	store, queue, mirror := startLocal(t)
	now := time.Now()
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{Now: func() time.Time { return now }})

	record(t, r, react(alice, movie, storage.Like))
	now = now.Add(-time.Hour)
	record(t, r, react(alice, movie, storage.Dislike))
	record(t, r, react(alice, movie, storage.NoReaction))
	s := statesOf(t, store, alice, movie)
	if want := storage.Micros(now.Add(time.Hour)) + 2; s.Liked != nil || s.Reaction.Version() != want {
		t.Errorf("the reaction is %+v of version %d, want none of %d", s.Liked, s.Reaction.Version(), want)
	}
}

// An action waits while an earlier action on the same state is unconfirmed. It then
// starts from the result of the earlier action.
func TestActionsOnOneStateTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue, mirror := startLocal(t)
		held := &tap{Publisher: queue, gate: make(chan struct{})}
		r := newRecorder(t, held, mirror, worker.RecorderOptions{})

		hungUp, hangUp := context.WithCancel(t.Context())
		first := background(r, hungUp, react(alice, movie, storage.Like))
		synctest.Wait()
		again := background(r, t.Context(), react(alice, movie, storage.Like))
		synctest.Wait()
		back := background(r, t.Context(), react(alice, movie, storage.NoReaction))
		synctest.Wait()
		impatient, giveUp := context.WithTimeout(t.Context(), time.Second)
		defer giveUp()
		if _, err := r.Record(impatient, react(alice, movie, storage.Dislike), nil); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("a dislike with a deadline: got %v, want %v", err, storage.ErrUnavailable)
		}
		hangUp()
		if got := <-first; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the cancelled like: got %v, want %v", got.err, context.Canceled)
		}
		close(held.gate)
		if got := <-again; got.err != nil || got.Changed {
			t.Errorf("the repeated like: got %+v, want it unchanged", got)
		}
		if got := <-back; got.err != nil || !got.Changed {
			t.Errorf("taking the like back: got %+v, want it changed", got)
		}
		if s := statesOf(t, store, alice, movie); s.Liked != nil {
			t.Errorf("the reaction is %+v, want none", s.Liked)
		}
	})
}

func TestCancelledActionIsStillAppliedAndPersisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		shown := make(chan []storage.Action, 1)
		mirror := &spy{Mirror: local.Mirror{Reader: store}, apply: func(a []storage.Action) error { shown <- a; return nil }}
		startWorker(t, queue, store, mirror, worker.Options{})
		held := &tap{Publisher: queue, gate: make(chan struct{})}
		r := newRecorder(t, held, mirror, worker.RecorderOptions{})

		ctx, hangUp := context.WithCancel(t.Context())
		answer := background(r, ctx, react(alice, movie, storage.Like))
		synctest.Wait()
		hangUp()
		if got := <-answer; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the cancelled action: got %+v, want %v", got, context.Canceled)
		}
		close(held.gate)
		if actions := <-shown; len(actions) != 1 || actions[0].User != alice {
			t.Errorf("got the applied actions %+v, want the like of alice", actions)
		}
		wantLikes(t, store, movie, 1)
	})
}

// An action fails, and it is unknown whether it will be persisted. If the user then takes
// the action back, the failed action must not win even if it is persisted later.
func TestNextActionResolvesTheOneInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		doubtful, next storage.Action
		leaves         storage.Reaction
	}{
		"a clear":                {react(alice, movie, storage.Like), react(alice, movie, storage.NoReaction), storage.NoReaction},
		"an unlike":              {react(alice, movie, storage.Like), unreact(alice, movie, storage.Like), storage.NoReaction},
		"a like":                 {unreact(alice, movie, storage.Like), react(alice, movie, storage.Like), storage.Like},
		"an unlike of a dislike": {react(alice, movie, storage.Dislike), unreact(alice, movie, storage.Like), storage.Dislike},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, queue := openStore(t), newQueue(t)
				mirror := &spy{Mirror: local.Mirror{Reader: store}}
				stuck := make(chan struct{})
				startWorker(t, queue, &hooks{Persister: store, before: func(context.Context, []storage.Message) error {
					<-stuck
					return nil
				}}, mirror, worker.Options{})
				r := newRecorder(t, queue, mirror, worker.RecorderOptions{})

				unknown := func() (storage.Durability, error) { return "", nil }
				mirror.get = unknown // so that the action is published
				if _, err := r.Record(t.Context(), c.doubtful, nil); !errors.Is(err, storage.ErrUnavailable) {
					t.Fatalf("the doubtful action: got %v, want %v", err, storage.ErrUnavailable)
				}
				mirror.get = nil
				back := background(r, t.Context(), c.next)
				synctest.Wait()
				close(stuck)
				if got := <-back; got.err != nil || !got.Changed || got.Known {
					t.Errorf("the next action: got %+v, want it changed and unknown", got)
				}
				wantReaction(t, store, "finally", c.leaves)
				// No action has an unknown outcome any more.
				if got := record(t, r, c.next); got.Changed || !got.Known {
					t.Errorf("the next action repeated: got %+v, want it known and unchanged", got)
				}
			})
		})
	}
}

// Clearing a like does not affect a dislike whose outcome is unknown and which may still
// be persisted.
func TestClearLeavesTheOtherReactionInDoubt(t *testing.T) {
	store := openStore(t)
	mirror := local.Mirror{Reader: store}
	var lost storage.Message
	queue := publishFunc(func(ctx context.Context, m storage.Message) (storage.Durability, error) {
		if lost.ID == "" {
			lost = m
			return "", storage.ErrUnavailable
		}
		_, err := store.Persist(ctx, []storage.Message{m}, nil)
		return storage.Persisted, err
	})
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{})
	if _, err := r.Record(t.Context(), react(alice, movie, storage.Dislike), nil); !errors.Is(err, storage.ErrUnavailable) {
		t.Fatalf("the dislike: got %v, want %v", err, storage.ErrUnavailable)
	}
	for range 2 {
		if got := record(t, r, unreact(alice, movie, storage.Like)); got.Known {
			t.Errorf("clearing the like while the dislike is in doubt: got %+v, want it unknown", got)
		}
	}
	if _, err := store.Persist(t.Context(), []storage.Message{lost}, nil); err != nil {
		t.Fatal(err)
	}
	wantReaction(t, store, "finally", storage.Dislike)
	if got := record(t, r, unreact(alice, movie, storage.Like)); !got.Known || got.Changed {
		t.Errorf("clearing the like once the dislike is persisted: got %+v, want it known and unchanged", got)
	}
}

func TestPublishThatTakesTooLongIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, newQueue(t), local.Mirror{Reader: openStore(t)}, worker.RecorderOptions{})
		start := time.Now()
		_, err := r.Record(t.Context(), react(alice, movie, storage.Like), nil)
		if !errors.Is(err, storage.ErrUnavailable) || time.Since(start) != 10*time.Second {
			t.Errorf("Record: got %v after %v, want %v after 10 s", err, time.Since(start), storage.ErrUnavailable)
		}
	})
}

// recordResult is what Record returned.
type recordResult struct {
	worker.Recorded

	err error
}

// background records the action in a goroutine of its own.
func background(r *worker.Recorder, ctx context.Context, a storage.Action) <-chan recordResult { //nolint:revive // who, when, what
	answer := make(chan recordResult, 1)
	go func() {
		recorded, err := r.Record(ctx, a, nil)
		answer <- recordResult{recorded, err}
	}()
	return answer
}

func wantRecorded(t *testing.T, answers ...<-chan recordResult) {
	t.Helper()
	for i, answer := range answers {
		if got := <-answer; got.err != nil {
			t.Errorf("action %d: got %v, want it recorded", i, got.err)
		}
	}
}
