package worker_test

import (
	"context"
	"testing"

	"ovation/internal/testing/await"
	"ovation/storage"
	"ovation/worker"
)

// TestIndexerAddsWhatIsRestored checks that the Indexer adds what the index lacks, and ends
// with its context.
func TestIndexerAddsWhatIsRestored(t *testing.T) {
	store, _, _ := startLocal(t)
	part := &storage.Archive{Videos: []storage.Video{{Author: alice, Number: 5, Title: "An old film", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Created: 5}}}
	if _, err := store.Restore(t.Context(), part, nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); worker.NewIndexer(store, quiet).Run(ctx) }()
	await.That(t, "the film is found", func() bool {
		found, err := store.SearchVideos(t.Context(), []storage.SearchQuery{{Tenant: alice.Tenant, Text: "film", Page: storage.Page{First: 1}}})
		return err == nil && len(found[0].Entries) == 1
	})
	stop()
	<-ended
	if n, err := store.IndexNext(t.Context(), 1); err != nil || n != 0 {
		t.Errorf("IndexNext = %d, %v, want 0: nothing is left", n, err)
	}
}
