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

	"ovation/storage"
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
	// few keys are compared with each other sooner than put into a map.
	few = 32
)

// errNotLoaded is what a look-up in memory alone says of what is not there.
var errNotLoaded = errors.New("not loaded ahead")

// batch remembers what was loaded ahead, and gathers the rest by a dataloader,
// which is made when it is first used: most responses need none.
type batch[K comparable, V any] struct {
	of    *batches
	fetch func(of *batches, ctx context.Context, keys []K) ([]V, error)

	mu     sync.Mutex
	known  map[K]V
	latest []K // loaded last, and not in known yet: often nobody asks for one of them alone
	values []V // of these
	loader *dataloader.Loader[K, V]
	failed error // of the first call that failed: there is no other
}

// index returns all that is known by key. It needs the lock.
func (b *batch[K, V]) index() map[K]V {
	if len(b.latest) > 0 && b.known == nil {
		b.known = make(map[K]V, len(b.latest))
	}
	for i, key := range b.latest {
		b.known[key] = b.values[i]
	}
	b.latest, b.values = nil, nil
	return b.known
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

// load answers one key, from memory or, unless that is all there may be,
// together with whoever asks at the same time.
func (b *batch[K, V]) load(ctx context.Context, key K, memory bool) (V, error) {
	b.mu.Lock()
	value, known := b.index()[key]
	failed := b.failed
	b.mu.Unlock()
	switch {
	case known:
		return value, nil
	case failed != nil:
		return value, failed
	case memory:
		return value, errNotLoaded
	}
	return b.use().Load(ctx, key)()
}

// loadMany is load for many keys. All are handed in before the first is waited
// for; the library's own LoadMany would spawn a goroutine for each.
func (b *batch[K, V]) loadMany(ctx context.Context, keys []K, memory bool) ([]V, error) {
	values, missing, failed := b.remembered(keys)
	switch {
	case len(missing) == 0:
		return values, nil
	case failed != nil:
		return nil, failed
	case memory:
		return nil, errNotLoaded
	}
	loader := b.use()
	thunks := make([]dataloader.Thunk[V], len(missing))
	for i, at := range missing {
		thunks[i] = loader.Load(ctx, keys[at])
	}
	for i, thunk := range thunks { // all of them: none may go on when this returns
		var err error
		if values[missing[i]], err = thunk(); err != nil {
			failed = err
		}
	}
	if failed != nil {
		return nil, failed
	}
	return values, nil
}

// remembered are the values of keys, the places of those that are missing, and
// the failure that keeps these from being loaded.
func (b *batch[K, V]) remembered(keys []K) (values []V, missing []int, failed error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(keys) > 0 && len(keys) == len(b.latest) && &keys[0] == &b.latest[0] {
		return slices.Clone(b.values), nil, nil // just what was loaded ahead
	}
	known := b.index()
	values = make([]V, len(keys))
	for i, key := range keys {
		var is bool
		if values[i], is = known[key]; !is {
			missing = append(missing, i)
		}
	}
	return values, missing, b.failed
}

// prefetch loads those keys that are not in memory, at once and by one fetch.
func (b *batch[K, V]) prefetch(ctx context.Context, keys []K) error {
	missing := b.missing(keys)
	if len(missing) == 0 {
		return nil
	}
	values, err := b.checked(ctx, missing)
	if err != nil {
		return err
	}
	b.remember(missing, values)
	return nil
}

// failure is that of an earlier call.
func (b *batch[K, V]) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// fail remembers the failure of a call.
func (b *batch[K, V]) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = err
	}
}

// missing are those keys that are not in memory, each once: the very same keys
// where that is all of them.
func (b *batch[K, V]) missing(keys []K) []K {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.index()
	var taken map[K]struct{}
	if len(keys) > few {
		taken = make(map[K]struct{}, len(keys))
	}
	out, all := keys[:0:0], true
	for i, key := range keys {
		before := out
		if all {
			before = keys[:i]
		}
		_, twice := taken[key]
		_, is := known[key]
		switch {
		case is || twice || taken == nil && slices.Contains(before, key):
			if all { // the first that is left out
				out, all = slices.Clone(before), false
			}
			continue
		case !all:
			out = append(out, key)
		}
		if taken != nil {
			taken[key] = struct{}{}
		}
	}
	if all {
		return keys
	}
	return out
}

func (b *batch[K, V]) remember(keys []K, values []V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index()
	b.latest, b.values = keys, values
}

// forget drops all that is remembered, except that the store is unavailable: a
// response waits for that once.
func (b *batch[K, V]) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.latest, b.values, b.loader = nil, nil, nil, nil
	if !errors.Is(b.failed, storage.ErrUnavailable) {
		b.failed = nil
	}
}

// results is fetch in the shape the library wants. It runs with the context of
// the first of its callers, which ends with the response they all belong to.
func (b *batch[K, V]) results(ctx context.Context, keys []K) []*dataloader.Result[V] {
	values, err := b.checked(ctx, keys)
	if err == nil {
		b.remember(keys, values)
	}
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

// checked is fetch with a check of its answer, unless an earlier call has
// failed: then it fails in the same way. It runs on goroutines of its own, where a
// panic would end the process; it is an error instead.
func (b *batch[K, V]) checked(ctx context.Context, keys []K) (values []V, err error) {
	if err := b.failure(); err != nil {
		return nil, err
	}
	defer func() {
		if value := recover(); value != nil {
			values, err = nil, fmt.Errorf("load %d keys: panic: %v\n%s", len(keys), value, debug.Stack())
		}
		if err != nil {
			b.fail(err)
		}
	}()
	values, err = b.fetch(b.of, ctx, keys)
	if err == nil && len(values) != len(keys) {
		err = fmt.Errorf("load %d keys: got %d values", len(keys), len(values))
	}
	return values, err
}
