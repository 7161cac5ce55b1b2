package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/viewer"
	"ovation/loaders"
	"ovation/storage"
)

func (r queryResolver) Node(ctx context.Context, id string) (storage.Node, error) {
	ref, err := storage.ParseNodeID(id)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // null is the answer
	}
	return r.node(ctx, ref)
}

func (r queryResolver) Nodes(ctx context.Context, ids []string) ([]storage.Node, error) {
	if len(ids) > maxNodes {
		return nil, badInput("ids holds %d entries; at most %d are allowed", len(ids), maxNodes)
	}
	nodes := make([]storage.Node, len(ids))
	for i, id := range ids { // all objects are prefetched
		found, err := r.Node(ctx, id)
		if err != nil { // the error affects this entry only
			graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithIndex(i)), err)
			continue
		}
		nodes[i] = found
	}
	return nodes, nil
}

// node returns the object that a ref identifies, or nil if the object does not exist or
// is not visible to the viewer.
func (r *Root) node(ctx context.Context, ref storage.NodeRef) (storage.Node, error) {
	me := viewer.FromContext(ctx)
	if admitted, err := admits(me, ref); !admitted {
		return nil, err
	}
	switch ref.Type {
	case storage.NodeInteractive:
		return loaders.Interactives.Load(ctx, ref.Subject)
	case storage.NodeUser:
		return &ref.User, nil
	case storage.NodeComment:
		return orNull(visibleComment(ctx, me, ref.Comment))
	case storage.NodeVideo:
		if r.videos == nil {
			return nil, errVideosDisabled
		}
		return orNull(loaders.Videos.Load(ctx, ref.Video))
	case storage.NodeMessage:
		return orNull(loaders.Messages.Load(ctx, ref.Message))
	case storage.NodeConversation:
		return orNull(loaders.Conversations.Load(ctx, ref.Conversation))
	case storage.NodeFolder:
		return orNull(visibleFolder(ctx, me, ref.FolderKey()))
	default:
		return visibleState(ctx, me, ref)
	}
}

// visibleState returns the reaction, item, read or follow that a ref identifies, or nil
// if it does not exist or is not visible to the viewer.
func visibleState(ctx context.Context, me storage.User, ref storage.NodeRef) (storage.Node, error) {
	states, err := loaders.States.Load(ctx, storage.StateKey{User: ref.User, Subject: ref.Subject})
	if err != nil {
		return nil, err
	}
	switch {
	case ref.Type == storage.NodeLiked && sees(me, states.Liked):
		return states.Liked, nil
	case ref.Type == storage.NodeRead && sees(me, states.Read):
		return states.Read, nil
	case ref.Type == storage.NodeFollowed && sees(me, states.Followed):
		return states.Followed, nil
	case ref.Type == storage.NodeCollected && states.Collected != nil: // an item is as visible as its folder
		folder, err := visibleFolder(ctx, me, states.Collected.FolderKey())
		if folder != nil {
			return states.Collected, nil
		}
		return nil, err
	}
	return nil, nil //nolint:nilnil // null is the answer
}

// visibleFolder returns a folder, or nil if it does not exist or is not visible to the
// viewer.
func visibleFolder(ctx context.Context, me storage.User, key storage.FolderKey) (*storage.Folder, error) {
	folder, err := loaders.Folders.Load(ctx, key)
	if err != nil || !sees(me, folder) {
		return nil, err
	}
	return folder, nil
}

// visibleComment returns a comment, or nil if it does not exist or is not visible to the
// viewer.
func visibleComment(ctx context.Context, me storage.User, key storage.CommentKey) (*storage.Comment, error) {
	comment, err := loaders.Comments.Load(ctx, key)
	if err != nil || !sees(me, comment) {
		return nil, err
	}
	return comment, nil
}

// orNull returns an object as a storage.Node. It returns a nil interface for a nil
// pointer.
func orNull[T any, P interface {
	*T
	storage.Node
}](node P, err error) (storage.Node, error) {
	if node == nil {
		return nil, err
	}
	return node, err
}
