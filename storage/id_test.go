package storage_test

import (
	"math"
	"testing"

	"ovation/storage"
)

func TestIDsHoldTheirTime(t *testing.T) {
	t.Parallel()
	const at = 1_700_000_000_123
	first := storage.FirstID(at)
	for id, want := range map[int64]int64{first - 1: at - 1, first: at, first + 4095: at, first + 4096: at + 1} {
		if got := storage.IDMillis(id); got != want {
			t.Errorf("IDMillis(%d) = %d, want %d", id, got, want)
		}
	}
	for millis, want := range map[int64]int64{
		math.MinInt64: 1, -1: 1, 0: 1, storage.IDEpoch: 1, storage.IDEpoch + 1: 4096,
		math.MaxInt64: storage.MaxCommentID, storage.IDMillis(storage.MaxCommentID): storage.MaxCommentID,
	} {
		if got := storage.FirstID(millis); got != want {
			t.Errorf("FirstID(%d) = %d, want %d", millis, got, want)
		}
	}
}
