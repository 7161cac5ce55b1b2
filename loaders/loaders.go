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
// and gathers the rest for a moment to load it together.
type Loaders struct {
	source Source
	viewer storage.User
	kinds  storage.Kinds

	interactives batch[storage.Subject, *storage.Interactive]
	states       batch[storage.StateKey, storage.States]
	folders      batch[storage.FolderKey, *storage.Folder]
	likers       batch[storage.LikersQuery, []storage.Liked]
	likes        batch[storage.LikesQuery, []storage.Liked]
	items        batch[storage.ItemsQuery, []storage.Collected]
	folderLists  batch[storage.FoldersQuery, []storage.Folder]
	reads        batch[storage.ReadsQuery, []storage.Read]
}

// New makes the loaders of one response for a viewer. Interactives come with
// those of the viewer's states that are in kinds.
func New(source Source, viewer storage.User, kinds storage.Kinds) *Loaders {
	l := &Loaders{source: source, viewer: viewer, kinds: kinds}
	l.interactives.fetch = l.fetchInteractives
	l.states.fetch = func(ctx context.Context, keys []storage.StateKey) ([]storage.States, error) {
		return source.States(ctx, keys, storage.AllKinds)
	}
	l.folders.fetch = source.FoldersOf
	l.likers.fetch = source.Likers
	l.likes.fetch = source.Likes
	l.items.fetch = source.Items
	l.folderLists.fetch = source.ListFolders
	l.reads.fetch = source.Reads
	return l
}

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
// kind, all at the same time and without waiting for anybody else.
func (l *Loaders) Fetch(ctx context.Context, w Wants) error {
	group, ctx := errgroup.WithContext(ctx)
	fetch(ctx, group, &l.interactives, w.Interactives)
	fetch(ctx, group, &l.states, w.States)
	fetch(ctx, group, &l.folders, w.Folders)
	fetch(ctx, group, &l.likers, w.Likers)
	fetch(ctx, group, &l.likes, w.Likes)
	fetch(ctx, group, &l.items, w.Items)
	fetch(ctx, group, &l.folderLists, w.FolderLists)
	fetch(ctx, group, &l.reads, w.Reads)
	return group.Wait()
}

func fetch[K comparable, V any](ctx context.Context, group *errgroup.Group, b *batch[K, V], keys []K) {
	if len(keys) > 0 {
		group.Go(func() error { return b.prefetch(ctx, keys) })
	}
}

// Forget drops everything that was loaded. The mutations of one request run
// one after another and call it each, so that none answers with what was
// before it.
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
	return l.interactives.load(ctx, subject)
}

// Interactives are many subjects, in the order asked.
func (l *Loaders) Interactives(ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
	return l.interactives.loadMany(ctx, subjects)
}

// States is what one user did to one subject, whoever the viewer is.
func (l *Loaders) States(ctx context.Context, key storage.StateKey) (storage.States, error) {
	return l.states.load(ctx, key)
}

// Folder is a folder, nil where there is none. Whether the viewer may see it
// is the caller's matter.
func (l *Loaders) Folder(ctx context.Context, key storage.FolderKey) (*storage.Folder, error) {
	return l.folders.load(ctx, key)
}

// Likers is a page of who likes a subject.
func (l *Loaders) Likers(ctx context.Context, query storage.LikersQuery) ([]storage.Liked, error) {
	return l.likers.load(ctx, query)
}

// Likes is a page of what a user likes.
func (l *Loaders) Likes(ctx context.Context, query storage.LikesQuery) ([]storage.Liked, error) {
	return l.likes.load(ctx, query)
}

// Items is a page of a folder.
func (l *Loaders) Items(ctx context.Context, query storage.ItemsQuery) ([]storage.Collected, error) {
	return l.items.load(ctx, query)
}

// Folders is a page of a user's folders.
func (l *Loaders) Folders(ctx context.Context, query storage.FoldersQuery) ([]storage.Folder, error) {
	return l.folderLists.load(ctx, query)
}

// Reads is a page of what a user has read.
func (l *Loaders) Reads(ctx context.Context, query storage.ReadsQuery) ([]storage.Read, error) {
	return l.reads.load(ctx, query)
}

func (l *Loaders) fetchInteractives(ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
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
