package loaders

import (
	"context"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

// Source is the storage that loaders read.
type Source interface {
	storage.Reader
	storage.Lister
}

// Loaders are the loaders of one response. All methods except Forget are safe
// for concurrent use.
//
// Each look-up returns what is cached and joins a batch for the rest. After a
// failed call, look-ups of the same kind that are not cached return its error
// without another call.
type Loaders struct {
	*batches

	memory bool // look-ups load nothing
}

type batches struct {
	interactives batch[storage.Subject, *storage.Interactive]
	states       batch[storage.StateKey, storage.States]
	folders      batch[storage.FolderKey, *storage.Folder]
	likers       batch[storage.LikersQuery, storage.ListPage[storage.Liked]]
	likes        batch[storage.LikesQuery, storage.ListPage[storage.Liked]]
	items        batch[storage.ItemsQuery, storage.ListPage[storage.Collected]]
	folderLists  batch[storage.FoldersQuery, storage.ListPage[storage.Folder]]
	reads        batch[storage.ReadsQuery, storage.ListPage[storage.Read]]
}

// New returns the loaders of one response for a viewer. Interactives hold those
// of the viewer's states that are in kinds.
func New(source Source, viewer storage.User, kinds storage.Kinds) *Loaders {
	l := new(batches)
	l.interactives.source, l.interactives.fetch = source, func(_ Source, ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
		found, err := source.Interactives(ctx, viewer, subjects, kinds)
		if err != nil {
			return nil, err
		}
		out := make([]*storage.Interactive, len(found))
		for i := range found {
			out[i] = &found[i]
		}
		return out, nil
	}
	l.states.source, l.states.fetch = source, func(source Source, ctx context.Context, keys []storage.StateKey) ([]storage.States, error) {
		return source.States(ctx, keys, storage.AllKinds)
	}
	l.folders.source, l.folders.fetch = source, Source.FoldersOf
	l.likers.source, l.likers.fetch = source, Source.Likers
	l.likes.source, l.likes.fetch = source, Source.Likes
	l.items.source, l.items.fetch = source, Source.Items
	l.folderLists.source, l.folderLists.fetch = source, Source.ListFolders
	l.reads.source, l.reads.fetch = source, Source.Reads
	return &Loaders{batches: l}
}

// Memory returns loaders with the same cache that load nothing: a look-up that
// is not cached is an error. A look-up waits only if its key is being loaded.
func (l *Loaders) Memory() *Loaders { return &Loaders{l.batches, true} }

// Wants are keys of every kind.
type Wants struct {
	Interactives []storage.Subject
	States       []storage.StateKey
	Folders      []storage.FolderKey
	Likers       []storage.LikersQuery
	Likes        []storage.LikesQuery
	Items        []storage.ItemsQuery
	FolderLists  []storage.FoldersQuery
	Reads        []storage.ReadsQuery
}

// Fetch loads into the cache what is wanted and not cached: one call of storage
// for each kind, all concurrently and without gathering. Keys that are already
// being loaded are neither loaded again nor waited for. It returns the first
// error; a kind that fails does not stop the others.
func (l *Loaders) Fetch(ctx context.Context, w Wants) error {
	var calls []func(context.Context) error
	calls = want(calls, &l.interactives, w.Interactives)
	calls = want(calls, &l.states, w.States)
	calls = want(calls, &l.folders, w.Folders)
	calls = want(calls, &l.likers, w.Likers)
	calls = want(calls, &l.likes, w.Likes)
	calls = want(calls, &l.items, w.Items)
	calls = want(calls, &l.folderLists, w.FolderLists)
	calls = want(calls, &l.reads, w.Reads)
	if len(calls) == 1 {
		return calls[0](ctx)
	}
	var group errgroup.Group // a kind that fails does not cancel the others
	for _, call := range calls {
		group.Go(func() error { return call(ctx) })
	}
	return group.Wait()
}

// want adds the call that loads keys of one kind, if there are any.
func want[K comparable, V any](calls []func(context.Context) error, b *batch[K, V], keys []K) []func(context.Context) error {
	if len(keys) == 0 {
		return calls
	}
	return append(calls, func(ctx context.Context) error { return b.prefetch(ctx, keys) })
}

// Forget clears the cache. Each mutation of a request calls it, so that no
// payload shows the state before the mutation. A kind that failed with
// [storage.ErrUnavailable] keeps failing.
func (l *Loaders) Forget() {
	l.interactives.Clear()
	l.states.Clear()
	l.folders.Clear()
	l.likers.Clear()
	l.likes.Clear()
	l.items.Clear()
	l.folderLists.Clear()
	l.reads.Clear()
}

// Interactive is a subject as the viewer sees it.
func (l *Loaders) Interactive(ctx context.Context, subject storage.Subject) (*storage.Interactive, error) {
	return l.interactives.load(ctx, subject, l.memory)
}

// Interactives are many subjects, in the order asked.
func (l *Loaders) Interactives(ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
	return l.interactives.loadMany(ctx, subjects, l.memory)
}

// States is what one user did to one subject, whoever the viewer is.
func (l *Loaders) States(ctx context.Context, key storage.StateKey) (storage.States, error) {
	return l.states.load(ctx, key, l.memory)
}

// Folder is a folder, nil where there is none. Whether the viewer may see it
// is the caller's matter.
func (l *Loaders) Folder(ctx context.Context, key storage.FolderKey) (*storage.Folder, error) {
	return l.folders.load(ctx, key, l.memory)
}

// Likers is a page of who likes a subject.
func (l *Loaders) Likers(ctx context.Context, query storage.LikersQuery) (storage.ListPage[storage.Liked], error) {
	return l.likers.load(ctx, query, l.memory)
}

// Likes is a page of what a user likes.
func (l *Loaders) Likes(ctx context.Context, query storage.LikesQuery) (storage.ListPage[storage.Liked], error) {
	return l.likes.load(ctx, query, l.memory)
}

// Items is a page of a folder.
func (l *Loaders) Items(ctx context.Context, query storage.ItemsQuery) (storage.ListPage[storage.Collected], error) {
	return l.items.load(ctx, query, l.memory)
}

// Folders is a page of a user's folders.
func (l *Loaders) Folders(ctx context.Context, query storage.FoldersQuery) (storage.ListPage[storage.Folder], error) {
	return l.folderLists.load(ctx, query, l.memory)
}

// Reads is a page of what a user has read.
func (l *Loaders) Reads(ctx context.Context, query storage.ReadsQuery) (storage.ListPage[storage.Read], error) {
	return l.reads.load(ctx, query, l.memory)
}

type contextKey struct{}

// With returns a context that carries the loaders.
func With(ctx context.Context, l *Loaders) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// From returns the loaders of a context that With made. It is nil for others.
func From(ctx context.Context) *Loaders {
	l, _ := ctx.Value(contextKey{}).(*Loaders)
	return l
}
