package loaders

import (
	"context"

	"ovation/storage"
)

// Source is what loaders load from.
type Source interface {
	storage.Reader
	storage.Lister
}

// Loaders are the loaders of one response. They are safe for concurrent use.
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

// Interactive loads a subject as the viewer sees it. It waits a moment for
// others to load with.
func (l *Loaders) Interactive(ctx context.Context, subject storage.Subject) (*storage.Interactive, error) {
	return l.interactives.load(ctx, subject)
}

// Interactives loads many subjects in the order asked. It waits for nobody:
// use it where no other resolver can be loading at the same time.
func (l *Loaders) Interactives(ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
	return l.interactives.loadNow(ctx, subjects)
}

// InteractivesTogether is Interactives for where others load at the same time:
// it waits a moment for them.
func (l *Loaders) InteractivesTogether(ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
	return l.interactives.loadMany(ctx, subjects)
}

// States loads what one user did to one subject, whoever the viewer is.
func (l *Loaders) States(ctx context.Context, key storage.StateKey) (storage.States, error) {
	return l.states.load(ctx, key)
}

// Folder loads a folder, nil where there is none. Whether the viewer may see
// it is the caller's matter.
func (l *Loaders) Folder(ctx context.Context, key storage.FolderKey) (*storage.Folder, error) {
	return l.folders.load(ctx, key)
}

// Likers loads a page of who likes a subject.
func (l *Loaders) Likers(ctx context.Context, query storage.LikersQuery) ([]storage.Liked, error) {
	return l.likers.load(ctx, query)
}

// Likes loads a page of what a user likes.
func (l *Loaders) Likes(ctx context.Context, query storage.LikesQuery) ([]storage.Liked, error) {
	return l.likes.load(ctx, query)
}

// Items loads a page of a folder.
func (l *Loaders) Items(ctx context.Context, query storage.ItemsQuery) ([]storage.Collected, error) {
	return l.items.load(ctx, query)
}

// Folders loads a page of a user's folders.
func (l *Loaders) Folders(ctx context.Context, query storage.FoldersQuery) ([]storage.Folder, error) {
	return l.folderLists.load(ctx, query)
}

// Reads loads a page of what a user has read.
func (l *Loaders) Reads(ctx context.Context, query storage.ReadsQuery) ([]storage.Read, error) {
	return l.reads.load(ctx, query)
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
