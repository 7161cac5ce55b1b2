package storagetest

import "ovation/storage"

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
