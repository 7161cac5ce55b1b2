package loaders

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"
)

const (
	// wait is how long a group of look-ups is gathered. It is a safety net:
	// what a response needs is loaded ahead (Loaders.Fetch), and only what was
	// not foreseen is gathered. The kernel's timer makes it about 1.1 ms in an
	// idle process.
	wait = time.Millisecond
	// room is how many look-ups a group takes without blocking. The library
	// would make room for a thousand each time.
	room = 128
)

// batch is a dataloader that is made when it is first used: most responses use
// one or two of the eight.
type batch[K comparable, V any] struct {
	fetch func(context.Context, []K) ([]V, error)

	mu     sync.Mutex
	loader *dataloader.Loader[K, V]
	cache  *dataloader.InMemoryCache[K, V] // the loader's memory
}

func (b *batch[K, V]) use() (*dataloader.Loader[K, V], *dataloader.InMemoryCache[K, V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loader == nil {
		b.cache = dataloader.NewCache[K, V]()
		b.loader = dataloader.NewBatchedLoader(b.results,
			dataloader.WithCache[K, V](b.cache),
			dataloader.WithWait[K, V](wait),
			dataloader.WithInputCapacity[K, V](room),
		)
	}
	return b.loader, b.cache
}

// load answers one key, from memory or together with whoever asks at the same
// time.
func (b *batch[K, V]) load(ctx context.Context, key K) (V, error) {
	loader, _ := b.use()
	return loader.Load(ctx, key)()
}

// loadMany is load for many keys. All are handed in before the first is waited
// for; the library's own LoadMany would spawn a goroutine for each.
func (b *batch[K, V]) loadMany(ctx context.Context, keys []K) ([]V, error) {
	loader, _ := b.use()
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

// prefetch loads those keys that are not in memory, at once and by one fetch.
func (b *batch[K, V]) prefetch(ctx context.Context, keys []K) error {
	if len(keys) == 0 {
		return nil
	}
	loader, cache := b.use()
	missing := make([]K, 0, len(keys))
	taken := make(map[K]struct{}, len(keys))
	for _, key := range keys {
		if _, known := cache.Get(ctx, key); known {
			continue
		}
		if _, twice := taken[key]; !twice {
			taken[key] = struct{}{}
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	values, err := b.checked(ctx, missing)
	if err != nil {
		return err
	}
	for i, key := range missing {
		loader.Prime(ctx, key, values[i])
	}
	return nil
}

// forget drops the loader with all it remembers.
func (b *batch[K, V]) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loader, b.cache = nil, nil
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

// checked is fetch with a check of its answer. It runs on goroutines of its own,
// where a panic would end the process; it is an error instead.
func (b *batch[K, V]) checked(ctx context.Context, keys []K) (values []V, err error) {
	defer func() {
		if value := recover(); value != nil {
			values, err = nil, fmt.Errorf("load %d keys: panic: %v\n%s", len(keys), value, debug.Stack())
		}
	}()
	values, err = b.fetch(ctx, keys)
	if err == nil && len(values) != len(keys) {
		err = fmt.Errorf("load %d keys: got %d values", len(keys), len(values))
	}
	return values, err
}
