package loaders

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"
)

const (
	// gatherTime is how long dataloader collects the keys of a batch. Because of the
	// granularity of kernel timers, this is about 1.1 ms in an idle process.
	gatherTime = time.Millisecond
	// inputCapacity is the number of keys that a batch accepts without blocking.
	// Dataloader's default allocates a channel of 1,000 slots per batch.
	inputCapacity = 128
)

// ErrNotLoaded is returned by loaders of [Loaders.CachedOnly] and [Loaders.Noting] for keys
// that are not cached.
var ErrNotLoaded = errors.New("not loaded")

// batch looks up keys of one kind. It combines many keys in one call to storage. Its
// dataloader is created on first use, because most responses need none.
type batch[K comparable, V any] struct {
	cache[K, V]

	of    *response
	fetch func(of *response, ctx context.Context, keys []K) ([]V, error)
	noted []K // guarded by the mutex of the cache

	once   sync.Once
	loader *dataloader.Loader[K, V]
}

// entry returns the cache entry for a key. A key that is not cached joins dataloader's
// batch, or the noted keys, as the reach says.
func (b *batch[K, V]) entry(ctx context.Context, key K, reach reach) (entry[V], error) {
	found, ok := b.find(key)
	switch {
	case ok:
		return found, nil
	case reach == noting:
		b.note(key)
		return found, ErrNotLoaded
	case reach == cacheOnly:
		return found, ErrNotLoaded
	}
	b.once.Do(func() {
		b.loader = dataloader.NewBatchedLoader(b.results,
			dataloader.WithCache[K, V](&b.cache),
			dataloader.WithWait[K, V](gatherTime),
			dataloader.WithInputCapacity[K, V](inputCapacity),
		)
	})
	return thunkEntry(b.loader.Load(ctx, key)), nil
}

// want notes keys for the next Fetch.
func (b *batch[K, V]) want(keys []K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.noted == nil {
		b.noted = slices.Clip(keys) // no copy of a page's keys
		return
	}
	b.noted = append(b.noted, keys...)
}

// note notes a key for the next Fetch.
func (b *batch[K, V]) note(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noted = append(b.noted, key)
}

// take implements anyBatch.
func (b *batch[K, V]) take() func(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := b.noted
	if b.noted = nil; len(keys) == 0 {
		return nil
	}
	return func(ctx context.Context) error { return b.prefetch(ctx, keys) }
}

// prefetch makes a single call that loads all keys that are not cached. It does not wait
// for further keys. Lookups of these keys wait for that call, and later prefetches do not
// load them again.
func (b *batch[K, V]) prefetch(ctx context.Context, keys []K) error {
	missing := keys[:0:0]
	result := sync.OnceValues(func() ([]V, error) { return b.call(ctx, missing) })
	b.mu.Lock()
	for i, key := range keys {
		if _, ok := b.entries[key]; ok {
			missing = slices.Clip(missing) // so that append does not overwrite keys
			continue
		}
		b.put(key, entry[V]{result, len(missing)}, len(keys))
		if len(missing) < i {
			missing = append(missing, key)
		} else {
			missing = keys[:i+1] // no copy while no key is cached
		}
	}
	b.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	_, err := result()
	return err
}

// prime puts a value into the cache.
func (b *batch[K, V]) prime(key K, value V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(key, entry[V]{func() ([]V, error) { return []V{value}, nil }, 0}, 1)
}

// results looks up keys and returns their values in the form that dataloader requires.
// The context is that of the batch's first caller; all callers belong to one response.
func (b *batch[K, V]) results(ctx context.Context, keys []K) []*dataloader.Result[V] {
	values, err := b.call(ctx, keys)
	out := make([]*dataloader.Result[V], len(keys))
	for i := range out {
		out[i] = &dataloader.Result[V]{Error: err}
		if err == nil {
			out[i].Data = values[i]
		}
	}
	return out
}

// call looks up keys with one call to storage. If an earlier call has failed, it returns
// the error from that call instead. A panic becomes an error, because a panic that its
// goroutine does not recover would end the process.
func (b *batch[K, V]) call(ctx context.Context, keys []K) (values []V, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("load %d keys: panic: %v\n%s", len(keys), value, debug.Stack())
		}
		if err != nil {
			b.fail(keys, err)
		}
	}()
	if err := b.failure(); err != nil {
		return nil, err
	}
	values, err = b.fetch(b.of, ctx, keys)
	if err == nil && len(values) != len(keys) {
		err = fmt.Errorf("load %d keys: got %d values", len(keys), len(values))
	}
	return values, err
}
