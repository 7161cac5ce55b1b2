package loaders

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"
)

const (
	// wait is how long a wave of look-ups is gathered. The resolvers of one
	// level run at once and need far less; the kernel rounds it up to about a
	// millisecond in an idle process.
	wait = time.Millisecond
	// room is how many look-ups of a wave are taken without a wait. The
	// library would make room for a thousand at every batch.
	room = 128
)

// batch is a dataloader that is made when it is first used: most responses use
// one or two of the eight.
type batch[K comparable, V any] struct {
	fetch  func(context.Context, []K) ([]V, error)
	mu     sync.Mutex
	loader *dataloader.Loader[K, V]
}

func (b *batch[K, V]) use() *dataloader.Loader[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loader == nil {
		b.loader = dataloader.NewBatchedLoader(b.results,
			dataloader.WithWait[K, V](wait),
			dataloader.WithInputCapacity[K, V](room),
		)
	}
	return b.loader
}

// load answers one key, together with whoever asks at the same time.
func (b *batch[K, V]) load(ctx context.Context, key K) (V, error) {
	return b.use().Load(ctx, key)()
}

// loadMany answers many keys, together with whoever asks at the same time. All
// are handed in before the first is waited for; the library's own LoadMany
// would spawn a goroutine for each.
func (b *batch[K, V]) loadMany(ctx context.Context, keys []K) ([]V, error) {
	loader := b.use()
	thunks := make([]dataloader.Thunk[V], len(keys))
	for i, key := range keys {
		thunks[i] = loader.Load(ctx, key)
	}
	values := make([]V, len(keys))
	for i, thunk := range thunks {
		var err error
		if values[i], err = thunk(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// loadNow answers many keys with one fetch and at once. Later loads of the
// same keys are answered from memory.
func (b *batch[K, V]) loadNow(ctx context.Context, keys []K) ([]V, error) {
	values, err := b.checked(ctx, keys)
	if err != nil {
		return nil, err
	}
	loader := b.use()
	for i, key := range keys {
		loader.Prime(ctx, key, values[i])
	}
	return values, nil
}

// forget drops the loader with all it remembers.
func (b *batch[K, V]) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loader = nil
}

// results is fetch in the shape the library wants. It runs with the context of
// the first of its callers, which ends with the response they all belong to.
func (b *batch[K, V]) results(ctx context.Context, keys []K) []*dataloader.Result[V] {
	values, err := b.checked(ctx, keys)
	results := make([]dataloader.Result[V], len(keys))
	out := make([]*dataloader.Result[V], len(keys))
	for i := range keys {
		if err == nil {
			results[i].Data = values[i]
		}
		results[i].Error = err
		out[i] = &results[i]
	}
	return out
}

func (b *batch[K, V]) checked(ctx context.Context, keys []K) ([]V, error) {
	values, err := b.fetch(ctx, keys)
	if err == nil && len(values) != len(keys) {
		err = fmt.Errorf("load %d keys: got %d values", len(keys), len(values))
	}
	return values, err
}
