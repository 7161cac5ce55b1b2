package loaders

import (
	"context"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

// Source is what loaders load from.
type Source interface {
	storage.Reader
	storage.Lister
}

// Loaders are the loaders of one response. They are safe for concurrent use,
// but for Forget.
//
// Each method but Fetch and Forget answers from memory what was loaded before,
// and gathers the rest for a moment to load it together. A kind of which a call
// has failed is not asked for again: later look-ups of it fail in the same way.
type Loaders struct {
	*batches

	memory bool // nothing is loaded
}

type batches struct {
	source Source
	viewer storage.User
	kinds  storage.Kinds

	interactives batch[storage.Subject, *storage.Interactive]
	states       batch[storage.StateKey, storage.States]
	folders      batch[storage.FolderKey, *storage.Folder]
	likers       batch[storage.LikersQuery, storage.ListPage[storage.Liked]]
	likes        batch[storage.LikesQuery, storage.ListPage[storage.Liked]]
	items        batch[storage.ItemsQuery, storage.ListPage[storage.Collected]]
	folderLists  batch[storage.FoldersQuery, storage.ListPage[storage.Folder]]
	reads        batch[storage.ReadsQuery, storage.ListPage[storage.Read]]
}

// New makes the loaders of one response for a viewer. Interactives come with
// those of the viewer's states that are in kinds.
func New(source Source, viewer storage.User, kinds storage.Kinds) *Loaders {
	l := &batches{source: source, viewer: viewer, kinds: kinds}
	l.interactives.of, l.interactives.fetch = l, (*batches).fetchInteractives
	l.states.of, l.states.fetch = l, (*batches).fetchStates
	l.folders.of, l.folders.fetch = l, (*batches).fetchFolders
	l.likers.of, l.likers.fetch = l, (*batches).fetchLikers
	l.likes.of, l.likes.fetch = l, (*batches).fetchLikes
	l.items.of, l.items.fetch = l, (*batches).fetchItems
	l.folderLists.of, l.folderLists.fetch = l, (*batches).fetchFolderLists
	l.reads.of, l.reads.fetch = l, (*batches).fetchReads
	return &Loaders{batches: l}
}

// Memory returns loaders that answer from the memory of these, and with an error
// what is not there. They never wait.
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

// Fetch loads what is wanted and not in memory: one call of storage for each
// kind, all at the same time and without waiting for anybody else. It returns the
// first failure of any kind; the other kinds are loaded all the same.
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

// Forget drops everything that was loaded. The mutations of one request run
// one after another and call it each, so that none answers with what was
// before it. That a kind is unavailable is not forgotten.
func (l *Loaders) Forget() {
	l.interactives.forget()
	l.states.forget()
	l.folders.forget()
	l.likers.forget()
	l.likes.forget()
	l.items.forget()
	l.folderLists.forget()
	l.reads.forget()
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

func (l *batches) fetchInteractives(ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
	found, err := l.source.Interactives(ctx, l.viewer, subjects, l.kinds)
	if err != nil {
		return nil, err
	}
	out := make([]*storage.Interactive, len(found))
	for i := range found {
		out[i] = &found[i]
	}
	return out, nil
}

func (l *batches) fetchStates(ctx context.Context, keys []storage.StateKey) ([]storage.States, error) {
	return l.source.States(ctx, keys, storage.AllKinds)
}

func (l *batches) fetchFolders(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	return l.source.FoldersOf(ctx, keys)
}

func (l *batches) fetchLikers(ctx context.Context, queries []storage.LikersQuery) ([]storage.ListPage[storage.Liked], error) {
	return l.source.Likers(ctx, queries)
}

func (l *batches) fetchLikes(ctx context.Context, queries []storage.LikesQuery) ([]storage.ListPage[storage.Liked], error) {
	return l.source.Likes(ctx, queries)
}

func (l *batches) fetchItems(ctx context.Context, queries []storage.ItemsQuery) ([]storage.ListPage[storage.Collected], error) {
	return l.source.Items(ctx, queries)
}

func (l *batches) fetchFolderLists(ctx context.Context, queries []storage.FoldersQuery) ([]storage.ListPage[storage.Folder], error) {
	return l.source.ListFolders(ctx, queries)
}

func (l *batches) fetchReads(ctx context.Context, queries []storage.ReadsQuery) ([]storage.ListPage[storage.Read], error) {
	return l.source.Reads(ctx, queries)
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
