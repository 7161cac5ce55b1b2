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
	me := viewer.From(ctx)
	if admitted, err := admits(me, ref); !admitted {
		return nil, err
	}
	switch ref.Type {
	case storage.NodeInteractive:
		return loaders.From(ctx).Interactive(ctx, ref.Subject)
	case storage.NodeUser:
		return &ref.User, nil
	case storage.NodeFolder:
		return orNull(visibleFolder(ctx, me, ref.FolderKey()))
	default:
		return visibleState(ctx, me, ref)
	}
}

// visibleState is the reaction, item or read that ref names, nil where there is
// none that the viewer sees.
func visibleState(ctx context.Context, me storage.User, ref storage.NodeRef) (storage.Node, error) {
	states, err := loaders.From(ctx).States(ctx, storage.StateKey{User: ref.User, Subject: ref.Subject})
	if err != nil {
		return nil, err
	}
	switch {
	case ref.Type == storage.NodeLiked && sees(me, states.Liked):
		return states.Liked, nil
	case ref.Type == storage.NodeRead && sees(me, states.Read):
		return states.Read, nil
	case ref.Type == storage.NodeCollected && states.Collected != nil: // as visible as its folder
		folder, err := visibleFolder(ctx, me, states.Collected.FolderKey())
		if folder != nil {
			return states.Collected, nil
		}
		return nil, err
	}
	return nil, nil //nolint:nilnil // null is the answer
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
