package loaders

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

// Loaders holds the loaders of one response. All methods except ClearAll are safe for
// concurrent use.
//
// Each lookup returns cached values and joins a batch for all other keys. After a failed
// call, lookups of the same kind return its error for keys that are not cached, without
// another call.
type Loaders struct {
	*response

	reach reach
}

// reach is how far lookups go.
type reach int

const (
	storageToo reach = iota // lookups load what is not cached
	cacheOnly               // they return ErrNotLoaded instead
	noting                  // they also note the keys for Fetch
)

// response is the part of Loaders that all views of one response share.
type response struct {
	source Source
	viewer storage.User
	kinds  storage.Kinds

	mu      sync.Mutex
	batches []anyBatch // by the number of the lookup; nil until it is used
}

// anyBatch is a batch of any lookup.
type anyBatch interface {
	// take returns a function that loads the noted keys, or nil if there are none.
	take() func(context.Context) error
	Clear()
}

// New returns the loaders of one response for a viewer. Interactives include the
// viewer's states of the given kinds.
func New(source Source, viewer storage.User, kinds storage.Kinds) *Loaders {
	return &Loaders{response: &response{source: source, viewer: viewer, kinds: kinds, batches: make([]anyBatch, lookupCount)}}
}

// CachedOnly returns loaders that share the cache but load nothing. Looking up a key that
// is not cached is an error. A lookup waits only if its key is being loaded.
func (l *Loaders) CachedOnly() *Loaders { return &Loaders{l.response, cacheOnly} }

// Noting is like CachedOnly, but the keys that are not cached are noted for the next
// Fetch. It lets a caller run code that looks things up, load what was missing of all of
// it together, and run the code again.
func (l *Loaders) Noting() *Loaders { return &Loaders{l.response, noting} }

// Fetch loads the noted keys that are not cached. It makes one call to storage for each
// kind, all of them concurrently, and does not wait for further keys. Keys that are already
// being loaded are neither loaded again nor waited for. Fetch returns the first error; a
// kind that fails does not stop the others.
func (l *Loaders) Fetch(ctx context.Context) error {
	var first func(context.Context) error
	var group *errgroup.Group // a kind that fails does not cancel the others
	l.mu.Lock()
	for _, b := range l.batches {
		if b == nil {
			continue
		}
		load := b.take()
		switch {
		case load == nil:
		case first == nil:
			first = load
		default:
			if group == nil {
				group = new(errgroup.Group)
			}
			group.Go(func() error { return load(ctx) })
		}
	}
	l.mu.Unlock()
	if first == nil {
		return nil
	}
	err := first(ctx)
	if group != nil {
		if others := group.Wait(); err == nil {
			err = others
		}
	}
	return err
}

// ClearAll clears the cache. Each mutation of a request calls it, so that no payload
// shows the state before the mutation. A kind that failed with [storage.ErrUnavailable]
// continues to fail.
func (l *Loaders) ClearAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.batches {
		if b != nil {
			b.Clear()
		}
	}
}

type contextKey struct{}

// NewContext returns a context that carries the loaders.
func NewContext(ctx context.Context, l *Loaders) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// FromContext returns the loaders of the context, or nil if it has none.
func FromContext(ctx context.Context) *Loaders {
	l, _ := ctx.Value(contextKey{}).(*Loaders)
	return l
}
