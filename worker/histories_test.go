package worker_test

import (
	"strconv"
	"testing"
	"time"

	"ovation/storage"
	"ovation/worker"
)

// TestClearOfALongHistoryEndsInTime checks that a call ends after five seconds by
// its clock, and that repeating it removes the rest.
func TestClearOfALongHistoryEndsInTime(t *testing.T) {
	const subjects = 1200 // three transactions
	store := openStore(t)
	m := storage.Message{ID: "reads"}
	for i := range subjects {
		m.Actions = append(m.Actions, storage.Action{User: alice, Subject: video(strconv.Itoa(i)), Kind: storage.KindRead, Times: 1, First: 1, Version: 1})
	}
	if _, err := store.Persist(t.Context(), []storage.Message{m}, nil); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	histories := worker.NewHistories(store, func() time.Time {
		now = now.Add(3 * time.Second)
		return now
	})
	for _, want := range []struct {
		removed int64
		more    bool
	}{{1000, true}, {200, false}, {0, false}} {
		removed, more, err := histories.Clear(t.Context(), alice, "", "")
		if removed != want.removed || more != want.more || err != nil {
			t.Errorf("Clear removed %d, more %t, %v, want %d, %t", removed, more, err, want.removed, want.more)
		}
	}
	if c := countsOf(t, store, video("0")); c.ReadCount != 1 || c.ReaderCount != 0 {
		t.Errorf("the counts are %+v, want 1 read by no user", c)
	}
}
