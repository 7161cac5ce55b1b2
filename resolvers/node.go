package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"ovation/loaders"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

func (r queryResolver) Node(ctx context.Context, id string) (storage.Node, error) {
	ref, err := storage.ParseNodeID(id)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // null is the answer
	}
	return node(ctx, ref)
}

func (r queryResolver) Nodes(ctx context.Context, ids []string) ([]storage.Node, error) {
	if len(ids) > maxNodes {
		return nil, badInput("ids must be at most %d; there are %d", maxNodes, len(ids))
	}
	nodes := make([]storage.Node, len(ids))
	for i, id := range ids { // all of it was loaded ahead
		found, err := r.Node(ctx, id)
		if err != nil { // of this entry alone
			graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithIndex(i)), err)
			continue
		}
		nodes[i] = found
	}
	return nodes, nil
}

// node returns what ref names, or nil where that does not exist for the viewer.
func node(ctx context.Context, ref storage.NodeRef) (storage.Node, error) {
	me, l := viewer.From(ctx), loaders.From(ctx)
	if admitted, err := admits(me, ref); !admitted {
		return nil, err
	}
	switch ref.Type {
	case storage.NodeInteractive:
		return l.Interactive(ctx, ref.Subject)
	case storage.NodeUser:
		return &ref.User, nil
	case storage.NodeFolder:
		return orNull(visibleFolder(ctx, me, ref.FolderKey()))
	}
	states, err := l.States(ctx, storage.StateKey{User: ref.User, Subject: ref.Subject})
	if err != nil {
		return nil, err
	}
	state := stateOf(ref, states)
	if item, is := state.(*storage.Collected); is { // as visible as its folder
		if folder, err := visibleFolder(ctx, me, item.FolderKey()); folder == nil {
			return nil, err
		}
		return item, nil
	}
	if !sees(me, state) {
		return nil, nil //nolint:nilnil // null is the answer
	}
	return state, nil
}

// stateOf is the state that ref names: nil where there is none.
func stateOf(ref storage.NodeRef, of storage.States) storage.Node {
	switch {
	case ref.Type == storage.NodeLiked && of.Liked != nil:
		return of.Liked
	case ref.Type == storage.NodeCollected && of.Collected != nil:
		return of.Collected
	case ref.Type == storage.NodeRead && of.Read != nil:
		return of.Read
	}
	return nil
}

// visibleFolder is a folder, nil where there is none that the viewer sees.
func visibleFolder(ctx context.Context, me storage.User, key storage.FolderKey) (*storage.Folder, error) {
	folder, err := loaders.From(ctx).Folder(ctx, key)
	if err != nil || !sees(me, folder) {
		return nil, err
	}
	return folder, nil
}

// orNull keeps a nil pointer from becoming an interface that is not nil.
func orNull[T any, P interface {
	*T
	storage.Node
}](node P, err error) (storage.Node, error) {
	if node == nil {
		return nil, err
	}
	return node, err
}
