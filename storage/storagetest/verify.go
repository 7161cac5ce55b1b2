package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"ovation/storage"
)

// compared runs Verify and returns how many counts it compared.
func (w *world) compared() int64 {
	w.Helper()
	n, err := w.s.Verify(w.Context(), false, func(storage.Difference) error { return nil })
	w.must(err)
	return n
}

func verifyFindsAndRepairs(w *world) {
	alice, bob := user("alice"), user("bob")
	s := []storage.Subject{video("0"), video("1"), video("2"), video("3")}
	films, gone := w.newFolder(alice, "Films"), w.newFolder(alice, "Gone")
	w.persist(
		like(alice, s[0], 1), React(bob, s[0], storage.Dislike, 1), read(bob, s[0], 4, 1, 1),
		like(alice, s[1], 1), read(user(""), s[1], 2, 1, 1), like(bob, s[2], 1),
		Collect(alice, s[0], films.FolderID, 1), Collect(alice, s[1], gone.FolderID, 1), Collect(alice, s[2], gone.FolderID, 1),
		follow(alice, s[0], 1), follow(bob, s[0], 1), follow(bob, s[1], 1), unfollow(alice, s[1], 1),
	)
	compared := int64(3*storage.CountsPerSubject + 3 + 2*storage.TotalsPerUser)
	w.equal("counts compared: of 3 subjects, 3 folders and 2 users", w.compared(), compared)
	w.verified()
	version, lost := w.counts(s[0]).Version, w.counts(s[1]).Version
	housed := w.states(alice, s[1]).Collected.Version

	w.db.Edit(w.T, `UPDATE interactive SET like_count = 7, read_count = 0, reader_count = 8, dislike_count = 5, collect_count = 0, follower_count = 3 WHERE biz_id = '0'`)
	w.db.Edit(w.T, `DELETE FROM interactive WHERE biz_id = '1'`)
	w.db.Edit(w.T, `INSERT INTO interactive (tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, follower_count, version)
		VALUES ('default', 'video', '3', 0, 1, 0, 0, 6, 1)`) // counts without a state
	w.db.Edit(w.T, `UPDATE folder SET item_count = 9 WHERE name = 'Films'`)
	w.db.Edit(w.T, `DELETE FROM folder WHERE name = 'Gone'`)
	// The ids of the folders decide which difference comes first.
	folders := []storage.Difference{
		{Folder: films.Key(), Count: "itemCount", Stored: 9, Counted: 1},
		{Folder: gone.Key(), Count: "folder", Stored: 0, Counted: 2},
	}
	if films.FolderID > gone.FolderID {
		folders[0], folders[1] = folders[1], folders[0]
	}
	want := append([]storage.Difference{
		{Subject: s[0], Count: "readCount", Stored: 0, Counted: 4},
		{Subject: s[0], Count: "readerCount", Stored: 8, Counted: 1},
		{Subject: s[0], Count: "likeCount", Stored: 7, Counted: 1},
		{Subject: s[0], Count: "dislikeCount", Stored: 5, Counted: 1},
		{Subject: s[0], Count: "collectCount", Stored: 0, Counted: 1},
		{Subject: s[0], Count: "followerCount", Stored: 3, Counted: 2},
		{Subject: s[1], Count: "readCount", Stored: 0, Counted: 2},
		{Subject: s[1], Count: "likeCount", Stored: 0, Counted: 1},
		{Subject: s[1], Count: "collectCount", Stored: 0, Counted: 1},
		{Subject: s[1], Count: "followerCount", Stored: 0, Counted: 1},
		{Subject: s[3], Count: "likeCount", Stored: 1, Counted: 0},
		{Subject: s[3], Count: "followerCount", Stored: 6, Counted: 0},
	}, folders...)

	for _, repair := range []bool{false, false, true} {
		var got []storage.Difference
		n, err := w.s.Verify(w.Context(), repair, func(d storage.Difference) error {
			got = append(got, d)
			return nil
		})
		w.must(err)
		w.equal("differences", got, want)
		w.equal("counts compared: of one more subject", n, compared+storage.CountsPerSubject)
	}
	w.verified()
	w.wantFollowed(s[0], 4, 1, 1, 1, 2)
	w.wantFollowed(s[1], 2, 1, 0, 1, 1)
	w.wantCounts(s[3], 0, 0, 0, 0)
	w.wantReaders(s[0], 1)
	w.wantReaders(s[1], 0)
	w.equal("the version after a repair", w.counts(s[0]).Version, version+1)
	if got := w.counts(s[1]).Version; got <= lost {
		w.Errorf("deleted counts were restored with version %d, want more than %d", got, lost)
	}
	w.equal("the folder of the homeless item", w.states(alice, s[1]).Collected.FolderID, storage.DefaultFolderID)
	w.equal("the version of the homeless item", w.states(alice, s[1]).Collected.Version, housed+1)
	w.equal("items of the default folder", w.folder(defaultOf(alice)).ItemCount, int64(2))

	// After the repair, everything works as before.
	w.persist(like(bob, s[0], 9), Collect(alice, s[1], "", 9))
	w.verified()
}

// verifyMovesTheItemsOfSeveralFolders checks that the items of two missing folders of one
// owner are moved to the owner's default folder.
func verifyMovesTheItemsOfSeveralFolders(w *world) {
	alice := user("alice")
	first, second := w.newFolder(alice, "First"), w.newFolder(alice, "Second")
	w.persist(Collect(alice, video("1"), first.FolderID, 1), Collect(alice, video("2"), second.FolderID, 1),
		Collect(alice, video("3"), second.FolderID, 1))
	w.db.Edit(w.T, `DELETE FROM folder WHERE name <> 'Default'`)
	_, err := w.s.Verify(w.Context(), true, func(storage.Difference) error { return nil })
	w.must(err)
	w.verified()
	w.equal("items of the default folder", w.folder(defaultOf(alice)).ItemCount, int64(3))
}

// repaired checks that Verify reports the given differences, with and without repair, and
// that none is left after the repair.
func (w *world) repaired(want ...storage.Difference) {
	w.Helper()
	for _, repair := range []bool{false, true} {
		var got []storage.Difference
		_, err := w.s.Verify(w.Context(), repair, func(d storage.Difference) error {
			got = append(got, d)
			return nil
		})
		w.must(err)
		w.equal("differences", got, want)
	}
	w.verified()
}

func verifyEndsWithTheReport(w *world) {
	w.persist(like(user("alice"), video("1"), 1), like(user("alice"), video("2"), 1))
	w.db.Edit(w.T, `UPDATE interactive SET like_count = 5`)
	enough := errors.New("enough")
	for _, repair := range []bool{false, true} {
		calls := 0
		_, err := w.s.Verify(w.Context(), repair, func(storage.Difference) error {
			calls++
			return enough
		})
		w.wantError(fmt.Sprintf("Verify with a report that fails, repair: %t", repair), err, enough)
		w.equal("calls of report", calls, 1)
	}
	w.must(w.s.Ping(w.Context()))
	w.persist(like(user("bob"), video("1"), 1))
	w.wantCounts(video("1"), 0, 6, 0, 0)
}

func secretsStayTheSame(w *world) {
	get := func(s storage.Store, name string) []byte {
		secret, err := s.Secret(w.Context(), name)
		w.must(err)
		w.equal("bytes of a secret", len(secret), 32)
		return secret
	}
	first, other := get(w.s, "cursor"), get(w.s, "token")
	if bytes.Equal(first, other) || bytes.Equal(first, make([]byte, 32)) {
		w.Errorf("got the secrets %x and %x, want two random ones", first, other)
	}
	w.equal("the secret read again", get(w.s, "cursor"), first)
	w.equal("the secret read by another process", get(w.open(), "cursor"), first)
}

func cancelledCallsDoNothing(w *world) {
	alice, s := user("alice"), video("1")
	cancelled, cancel := context.WithCancel(w.Context())
	cancel()
	_, err := w.s.Interactives(cancelled, alice, []storage.Subject{s}, storage.AllKinds)
	w.wantError("Interactives with a cancelled context", err, context.Canceled)
	_, err = w.s.Persist(cancelled, []storage.Message{w.message(like(alice, s, 1))}, nil)
	w.wantError("Persist with a cancelled context", err, context.Canceled)

	// The call is cancelled while its transaction is open.
	during, cancel := context.WithCancel(w.Context())
	defer cancel()
	_, err = w.s.Persist(during, []storage.Message{w.message(like(alice, s, 1))}, func(ctx context.Context, _ storage.Outcome) error {
		cancel()
		return ctx.Err()
	})
	w.wantError("Persist cancelled by its mark", err, context.Canceled)
	w.equal("counts after cancelled calls", w.counts(s), storage.Counts{})
	w.persist(like(alice, s, 1))
	w.wantCounts(s, 0, 1, 0, 0)
}

func closeMayBeCalledTwice(w *world) {
	w.persist(like(user("alice"), video("1"), 1))
	w.must(w.s.Ping(w.Context()))
	w.must(w.s.Close())
	w.must(w.s.Close())
	w.wantError("Ping of a closed store", w.s.Ping(w.Context()), storage.ErrUnavailable)
	_, err := w.s.Interactives(w.Context(), user("alice"), []storage.Subject{video("1")}, 0)
	w.wantError("Interactives of a closed store", err, storage.ErrUnavailable)
	_, err = w.s.Persist(w.Context(), []storage.Message{w.message()}, nil)
	w.wantError("Persist in a closed store", err, storage.ErrUnavailable)
}
