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

// node returns what ref names, or nil where that does not exist for the
// viewer. Only subjects exist for the anonymous.
func node(ctx context.Context, ref storage.NodeRef) (storage.Node, error) {
	me := viewer.From(ctx)
	if ref.Type == storage.NodeInteractive {
		if ref.Subject.Tenant != me.Tenant {
			return nil, nil //nolint:nilnil // null is the answer
		}
		return loaders.From(ctx).Interactive(ctx, ref.Subject)
	}
	if me.Anonymous() {
		return nil, errUnauthenticated
	}
	switch ref.Type {
	case storage.NodeUser:
		if ref.User.Tenant == me.Tenant {
			return &ref.User, nil
		}
		return nil, nil //nolint:nilnil // null is the answer
	case storage.NodeFolder:
		return orNull(visibleFolder(ctx, me, ref))
	default:
		return visibleState(ctx, me, ref)
	}
}

func visibleFolder(ctx context.Context, me storage.User, ref storage.NodeRef) (*storage.Folder, error) {
	if ref.User.Tenant != me.Tenant {
		return nil, nil //nolint:nilnil // null is the answer
	}
	folder, err := loaders.From(ctx).Folder(ctx, storage.FolderKey{Owner: ref.User, FolderID: ref.FolderID})
	if err != nil || folder == nil || !folder.VisibleTo(me) {
		return nil, err
	}
	return folder, nil
}

// visibleState is a reaction, an item or a read. Likes are public, dislikes
// and reads are their user's, items are as public as their folder.
func visibleState(ctx context.Context, me storage.User, ref storage.NodeRef) (storage.Node, error) {
	if ref.User.Tenant != me.Tenant || ref.Type == storage.NodeRead && ref.User != me {
		return nil, nil //nolint:nilnil // null is the answer
	}
	states, err := loaders.From(ctx).States(ctx, storage.StateKey{User: ref.User, Subject: ref.Subject})
	if err != nil {
		return nil, err
	}
	switch {
	case ref.Type == storage.NodeRead:
		return orNull(states.Read, nil)
	case ref.Type == storage.NodeLiked && states.Liked != nil &&
		(ref.User == me || states.Liked.Reaction == storage.Like):
		return states.Liked, nil
	case ref.Type == storage.NodeCollected && states.Collected != nil:
		folder, err := loaders.From(ctx).Folder(ctx, states.Collected.FolderKey())
		if err == nil && folder != nil && folder.VisibleTo(me) {
			return states.Collected, nil
		}
		return nil, err
	}
	return nil, nil //nolint:nilnil // null is the answer
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
