package resolvers

import (
	"context"

	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

func (r likedResolver) Interactive(ctx context.Context, obj *storage.Liked) (*storage.Interactive, error) {
	return loaders.From(ctx).Interactive(ctx, obj.Subject)
}

func (r readResolver) Interactive(ctx context.Context, obj *storage.Read) (*storage.Interactive, error) {
	return loaders.From(ctx).Interactive(ctx, obj.Subject)
}

func (r collectedResolver) Interactive(ctx context.Context, obj *storage.Collected) (*storage.Interactive, error) {
	return loaders.From(ctx).Interactive(ctx, obj.Subject)
}

func (r collectedResolver) Folder(ctx context.Context, obj *storage.Collected) (*storage.Folder, error) {
	folder, err := visibleFolder(ctx, viewer.From(ctx), obj.FolderKey())
	if err == nil && folder == nil { // deleted or hidden since the item was read
		return nil, notFound("the folder")
	}
	return folder, err
}

func (r interactiveResolver) Likers(ctx context.Context, obj *storage.Interactive, first *int, after *string) (*graph.LikedConnection, error) {
	edges, info, err := connect(ctx, r.Root, &likers, obj, slice{nil, first, after}, likedEdge)
	return &graph.LikedConnection{Edges: edges, PageInfo: info}, err
}

func (r folderResolver) Items(ctx context.Context, obj *storage.Folder, first *int, after *string) (*graph.CollectedConnection, error) {
	edges, info, err := connect(ctx, r.Root, &items, obj, slice{nil, first, after}, func(cursor string, node storage.Collected) graph.CollectedEdge {
		return graph.CollectedEdge{Cursor: cursor, Node: node}
	})
	return &graph.CollectedConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Likes(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.LikedConnection, error) {
	edges, info, err := connect(ctx, r.Root, &likes, obj, slice{biz, first, after}, likedEdge)
	return &graph.LikedConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Folders(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.FolderConnection, error) {
	edges, info, err := connect(ctx, r.Root, &folderLists, obj, slice{nil, first, after}, func(cursor string, node storage.Folder) graph.FolderEdge {
		return graph.FolderEdge{Cursor: cursor, Node: node}
	})
	return &graph.FolderConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Reads(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.ReadConnection, error) {
	edges, info, err := connect(ctx, r.Root, &reads, obj, slice{biz, first, after}, func(cursor string, node storage.Read) graph.ReadEdge {
		return graph.ReadEdge{Cursor: cursor, Node: node}
	})
	return &graph.ReadConnection{Edges: edges, PageInfo: info}, err
}

func likedEdge(cursor string, node storage.Liked) graph.LikedEdge {
	return graph.LikedEdge{Cursor: cursor, Node: node}
}
