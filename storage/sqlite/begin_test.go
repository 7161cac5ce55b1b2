package sqlite_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ovation/storage/sqlite"
)

// TestCancelledBeginLeavesTheConnectionReady checks that the connection is ready for the
// next call after calls were cancelled while their transactions began.
func TestCancelledBeginLeavesTheConnectionReady(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "ovation.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { _, _ = store.Prune(ctx, 0) })
		}
		time.AfterFunc(time.Duration(i%100)*5*time.Microsecond, cancel)
		all.Wait()
		cancel()
		if _, err := store.Prune(t.Context(), 0); err != nil {
			t.Fatalf("after %d rounds of cancelled calls: %v", i+1, err)
		}
	}
}
