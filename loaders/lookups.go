package loaders

import (
	"context"

	"ovation/storage"
)

// The lookups. Each is described here alone: what it reads, by which keys. Where it reads
// it, under which limits and metrics, follows from the method of package storage.
var (
	// Interactives are subjects as the viewer sees them.
	Interactives = newLookup(func(of *response, ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
		found, err := of.source.Interactives(ctx, of.viewer, subjects, of.kinds)
		if err != nil {
			return nil, err
		}
		out := make([]*storage.Interactive, len(found))
		for i := range found {
			out[i] = &found[i]
		}
		return out, nil
	})
	// States are the states of users on subjects. The caller checks whether the viewer may
	// see them.
	States = newLookup(func(of *response, ctx context.Context, keys []storage.StateKey) ([]storage.States, error) {
		return of.source.States(ctx, keys, storage.AllKinds)
	})

	// The following are objects by their keys, nil if they do not exist. The caller checks
	// whether the viewer may see a folder, a message or a conversation.

	Folders       = lookup(Source.FoldersOf)
	Comments      = lookup(Source.CommentsOf)
	Profiles      = lookup(Source.Profiles)
	Messages      = lookup(Source.MessagesOf)
	Conversations = lookup(Source.ConversationsOf)
	Videos        = lookup(Source.VideosOf)

	// The following are numbers.

	CommentCounts = lookup(Source.CommentCounts)
	Totals        = lookup(Source.TotalsOf)

	// The following are pages of lists.

	Likers            = lookup(Source.Likers)
	FollowedLikers    = lookup(Source.FollowedLikers) // likes by users who are followed
	Likes             = lookup(Source.Likes)
	Items             = lookup(Source.Items)
	FolderLists       = lookup(Source.ListFolders)
	Reads             = lookup(Source.Reads)
	Followers         = lookup(Source.Followers)
	Following         = lookup(Source.Following)
	Friends           = lookup(Source.Friends)
	Works             = lookup(Source.Works)
	Trending          = lookup(Source.Trending)
	CommentLists      = lookup(Source.ListComments)
	UserComments      = lookup(Source.UserComments)
	MessageLists      = lookup(Source.ListMessages)
	ConversationLists = lookup(Source.ListConversations)
	Feeds             = lookup(Source.Feed)
	UserVideos        = lookup(Source.UserVideos)
	FoundUsers        = lookup(Source.SearchUsers)
	FoundVideos       = lookup(Source.SearchVideos)
)

// Source is the storage that loaders read.
type Source interface {
	storage.Reader
	storage.Lister
	storage.CommentReader
	storage.ProfileReader
	storage.DirectMessageReader
	storage.VideoReader
	storage.Searcher
}

// Lookup is a kind of lookup: values of type V by keys of type K. Its methods are safe for
// concurrent use.
type Lookup[K comparable, V any] struct {
	number int // of the lookup, among all
	fetch  func(of *response, ctx context.Context, keys []K) ([]V, error)
}

// lookupCount is the number of lookups. It does not change after the package is
// initialized.
var lookupCount int

func newLookup[K comparable, V any](fetch func(*response, context.Context, []K) ([]V, error)) *Lookup[K, V] {
	lookupCount++
	return &Lookup[K, V]{lookupCount - 1, fetch}
}

// lookup returns the lookup that calls a method of the source.
func lookup[K comparable, V any](method func(Source, context.Context, []K) ([]V, error)) *Lookup[K, V] {
	return newLookup(func(of *response, ctx context.Context, keys []K) ([]V, error) { return method(of.source, ctx, keys) })
}

// Load returns the value for one key, by the loaders of the context.
func (k *Lookup[K, V]) Load(ctx context.Context, key K) (value V, err error) {
	l := FromContext(ctx)
	found, err := k.batch(l).entry(ctx, key, l.reach)
	if err != nil {
		return value, err
	}
	return found.value()
}

// LoadMany returns the values for many keys, in their order, by the loaders of the
// context. All keys join the batch before LoadMany waits for the first value. Dataloader's
// own LoadMany would start a goroutine for each key.
func (k *Lookup[K, V]) LoadMany(ctx context.Context, keys []K) (values []V, err error) {
	l := FromContext(ctx)
	b := k.batch(l)
	entries := make([]entry[V], len(keys))
	missing := false
	for i, key := range keys {
		if entries[i], err = b.entry(ctx, key, l.reach); err != nil {
			missing = true // the other keys are noted, too
		}
	}
	if missing {
		return nil, ErrNotLoaded
	}
	values = make([]V, len(keys))
	var failed error
	for i, found := range entries { // wait for all entries, so that no batch outlives its callers
		if values[i], err = found.value(); err != nil {
			failed = err
		}
	}
	if failed != nil {
		return nil, failed
	}
	return values, nil
}

// Want notes keys that the next [Loaders.Fetch] is to load. The caller must not change the
// keys afterwards.
func (k *Lookup[K, V]) Want(l *Loaders, keys ...K) {
	if len(keys) > 0 {
		k.batch(l).want(keys)
	}
}

// FetchMany is like LoadMany, but makes one call at once for the keys that are not cached.
// The caller must not change the keys afterwards.
func (k *Lookup[K, V]) FetchMany(ctx context.Context, keys []K) ([]V, error) {
	if err := k.batch(FromContext(ctx)).prefetch(ctx, keys); err != nil {
		return nil, err
	}
	return k.LoadMany(ctx, keys)
}

// Fetch is like Load, but does not wait for further keys.
func (k *Lookup[K, V]) Fetch(ctx context.Context, key K) (value V, err error) {
	values, err := k.FetchMany(ctx, []K{key})
	if err == nil {
		value = values[0]
	}
	return value, err
}

// Prime puts a value into the cache.
func (k *Lookup[K, V]) Prime(l *Loaders, key K, value V) { k.batch(l).prime(key, value) }

// batch returns the response's batch of the lookup.
func (k *Lookup[K, V]) batch(l *Loaders) *batch[K, V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, _ := l.batches[k.number].(*batch[K, V])
	if b == nil {
		b = &batch[K, V]{of: l.response, fetch: k.fetch}
		l.batches[k.number] = b
	}
	return b
}
