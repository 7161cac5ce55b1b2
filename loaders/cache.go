package loaders

import (
	"context"
	"errors"
	"sync"

	"github.com/graph-gophers/dataloader/v7"

	"ovation/storage"
)

// cache is the cache of one dataloader; nothing else stores what a response has loaded.
// It holds no failed lookups. Once a call to storage has failed, every key that is not
// cached fails with the same error.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]entry[V]
	failed  error // of the first call that failed
}

// entry locates one value in the result of a call, which may still be in progress. All
// entries of a call share its result, so that caching a page does not cost an allocation
// per subject.
type entry[V any] struct {
	result func() ([]V, error) // waits for the call
	index  int
}

// thunkEntry returns the entry for a key that dataloader loads.
func thunkEntry[V any](thunk dataloader.Thunk[V]) entry[V] {
	return entry[V]{result: func() ([]V, error) {
		value, err := thunk()
		return []V{value}, err
	}}
}

func (e entry[V]) value() (value V, err error) {
	values, err := e.result()
	if err == nil {
		value = values[e.index]
	}
	return value, err
}

// find returns the entry for a cached key. For any other key, it returns an entry with
// the error from the first call that failed, or false if no call has failed.
func (c *cache[K, V]) find(key K) (entry[V], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[key]
	if failed := c.failed; !ok && failed != nil {
		return entry[V]{result: func() ([]V, error) { return nil, failed }}, true
	}
	return found, ok
}

// put caches an entry. If the cache is new, put allocates it first. The parameter room is
// the number of entries for which it allocates space. The caller holds the mutex.
func (c *cache[K, V]) put(key K, e entry[V], room int) {
	if c.entries == nil {
		c.entries = make(map[K]entry[V], room)
	}
	c.entries[key] = e
}

// failure returns the error from the first call that failed, or nil if no call has
// failed.
func (c *cache[K, V]) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// fail records the error from a call that failed, unless an earlier error is recorded,
// and removes the keys of that call from the cache.
func (c *cache[K, V]) fail(keys []K, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
	for _, key := range keys {
		delete(c.entries, key)
	}
}

// Get implements [dataloader.Cache].
func (c *cache[K, V]) Get(_ context.Context, key K) (dataloader.Thunk[V], bool) {
	found, ok := c.find(key)
	return found.value, ok
}

// Set implements [dataloader.Cache].
func (c *cache[K, V]) Set(_ context.Context, key K, thunk dataloader.Thunk[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, thunkEntry(thunk), 0)
}

// Delete implements [dataloader.Cache].
func (c *cache[K, V]) Delete(_ context.Context, key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.entries[key]
	delete(c.entries, key)
	return ok
}

// Clear implements [dataloader.Cache]. If a call has failed with
// [storage.ErrUnavailable], lookups continue to fail, so that a response waits for an
// outage only once.
func (c *cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = nil
	if !errors.Is(c.failed, storage.ErrUnavailable) {
		c.failed = nil
	}
}
