package worker

import (
	"context"
	"log/slog"
	"time"

	"ovation/internal/outage"
	"ovation/storage"
)

const (
	indexInterval = 10 * time.Second // between two looks at an index that lacks nothing
	indexBatch    = 200              // names, and as many titles, in one transaction
)

// Indexer adds to the index of searches what it lacks: names and titles that are older
// than the index, or were restored. Several processes may run one.
type Indexer struct {
	store  storage.Searches
	failed *outage.Log
}

// NewIndexer returns an Indexer that logs failures.
func NewIndexer(store storage.Searches, log *slog.Logger) *Indexer {
	return &Indexer{store, outage.New(log, "names and titles not indexed; retrying", "names and titles are indexed again")}
}

// Run indexes until the context ends. After each transaction it pauses for as long as the
// transaction took.
func (i *Indexer) Run(ctx context.Context) {
	inShares(ctx, indexInterval, i.failed, func() (more bool, err error) {
		n, err := i.store.IndexNext(ctx, indexBatch)
		return n > 0, err
	})
}
