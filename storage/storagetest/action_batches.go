package storagetest

import (
	"errors"
	"strings"
	"sync"

	"ovation/storage"
)

// batchOf returns the message of a batch.
func (w *world) batchOf(by storage.User, requestID string, actions ...storage.Action) storage.Message {
	w.Helper()
	m, err := storage.ActionBatch{By: by, RequestID: requestID, Actions: actions}.Message()
	w.must(err)
	return m
}

func batchesOfActionsTakeEffectOnce(w *world) {
	site, alice, bob, s, other := user("site"), user("alice"), user("bob"), video("1"), video("2")
	w.persist(React(bob, s, storage.Dislike, 50), like(alice, other, 50))
	batch := w.batchOf(site, "one",
		like(alice, s, 10), // as it happened, before bob's dislike
		like(bob, s, 40),   // older than bob's dislike
		read(bob, s, 1, 5, 5), read(user(""), s, 1, 6, 6),
		Collect(alice, s, storage.DefaultFolderID, 20), Collect(alice, s, "", 20), // the later in the list wins
		follow(bob, alice.Subject(), 30),
		storage.Action{User: alice, Subject: other, Kind: storage.KindReaction, If: storage.Dislike, Version: 60}, // a like stays
	)
	first := w.persistMessages(batch)
	// Changed are the like of alice, two reads and the follow.
	w.equal("changed by the batch", first.Changed, int64(4))
	w.wantCounts(s, 2, 1, 1, 0)
	w.wantCounts(other, 0, 1, 0, 0)
	w.wantFollowed(alice.Subject(), 0, 0, 0, 0, 1)
	w.equal("the version of a state", w.states(alice, s).Reaction.Version(), int64(10))
	again := w.persistMessages(batch)
	w.equal("changed by the repeated batch", []int64{again.Changed, int64(again.Skipped)}, []int64{4, 1})
	w.wantCounts(s, 2, 1, 1, 0)

	for name, refused := range map[string]storage.Message{
		"other actions": w.batchOf(site, "one", like(alice, s, 10)),
		"another time":  w.batchOf(site, "one", append([]storage.Action{like(alice, s, 11)}, batch.Actions[1:]...)...),
	} {
		_, err := w.s.Persist(w.Context(), []storage.Message{refused}, nil)
		w.wantError(name+" with the same id", err, storage.ErrInvalid)
		if invalid, ok := errors.AsType[*storage.InvalidError](err); !ok || invalid.Field != "requestId" || !strings.Contains(invalid.Reason, "something else") {
			w.Errorf("%s with the same id: got %v, want an error about the requestId", name, err)
		}
	}
	w.wantCounts(s, 2, 1, 1, 0)
	w.equal("changed by a batch of another sender", w.persistMessages(w.batchOf(alice, "one", read(bob, s, 1, 7, 7))).Changed, int64(1))
	w.equal("changed by a batch with another id", w.persistMessages(w.batchOf(site, "two", read(bob, s, 1, 7, 7), like(alice, s, 10))).Changed, int64(1))
	w.wantCounts(s, 4, 1, 1, 0)

	queued := w.batchOf(site, "three", read(bob, s, 1, 8, 8))
	inQueue := queued
	inQueue.Request = storage.ActionRequest{}
	w.equal("changed by a message without a request", w.persistMessages(inQueue).Changed, int64(0))
	w.equal("changed by a batch that came by way of the queue", w.persistMessages(queued).Changed, int64(storage.UnknownChanges))
	w.wantCounts(s, 5, 1, 1, 0)

	_, err := w.s.Persist(w.Context(), []storage.Message{w.batchOf(site, "four", read(bob, s, 1, 9, 9)), w.message(read(bob, s, 1, 9, 9))}, nil)
	w.wantError("a batch that is not the only message", err, storage.ErrInvalid)
	w.wantCounts(s, 5, 1, 1, 0)
	w.verified()
}

// Stores that are given one batch at the same time apply it once, and all of them have the
// same result. Of different batches with the same id, one is applied.
func concurrentBatchesTakeEffectOnce(w *world) {
	site, s := user("site"), video("1")
	const calls = 8
	results, stores := make([]storage.Outcome, calls), []storage.Store{w.s, w.open()}
	var group sync.WaitGroup
	var refused [calls]error
	same := w.batchOf(site, "same", read(user("alice"), s, 1, 1, 1), like(user("bob"), s, 1))
	for i := range calls {
		group.Go(func() {
			var err error
			results[i], err = stores[i%2].Persist(w.Context(), []storage.Message{same}, nil)
			if err != nil {
				w.Error(err)
			}
			different := w.batchOf(site, "different", read(user("alice"), s, 1, int64(i+1), int64(i+1)))
			_, refused[i] = stores[i%2].Persist(w.Context(), []storage.Message{different}, nil)
		})
	}
	group.Wait()
	taken := 0
	for i := range calls {
		w.equal("changed by each call", results[i].Changed, int64(2))
		if refused[i] == nil {
			taken++
		} else {
			w.wantError("another batch with the same id", refused[i], storage.ErrInvalid)
		}
	}
	w.equal("different batches that were applied", taken, 1)
	w.wantCounts(s, 2, 1, 0, 0)
	w.verified()
}
