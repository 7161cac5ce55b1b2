package resolvers

import (
	"context"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

func (r likedResolver) Interactive(ctx context.Context, obj *storage.Liked) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Subject)
}

func (r readResolver) Interactive(ctx context.Context, obj *storage.Read) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Subject)
}

func (r collectedResolver) Interactive(ctx context.Context, obj *storage.Collected) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Subject)
}

func (r collectedResolver) Folder(ctx context.Context, obj *storage.Collected) (*storage.Folder, error) {
	folder, err := visibleFolder(ctx, viewer.FromContext(ctx), obj.FolderKey())
	if err == nil && folder == nil { // the folder was deleted or made private after the item was read
		return nil, notFound("the folder")
	}
	return folder, err
}

func (r followedResolver) Interactive(ctx context.Context, obj *storage.Followed) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Subject)
}

func (r userResolver) Interactive(ctx context.Context, obj *storage.User) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Subject())
}

func (r interactiveResolver) LikedByFriends(ctx context.Context, obj *storage.Interactive, first *int, after *string) (*graph.LikedConnection, error) {
	type edge struct {
		Cursor string               `json:"cursor"`
		Node   storage.FollowedLike `json:"node"`
	}
	edges, info, err := connect[edge](ctx, r.Root, &likedByFriends, obj, pageArgs{nil, first, after})
	out := make([]*graph.LikedEdge, len(edges))
	for i, e := range edges {
		out[i] = &graph.LikedEdge{Cursor: e.Cursor, Node: e.Node.Liked}
	}
	return &graph.LikedConnection{Edges: out, PageInfo: info}, err
}

func (r interactiveResolver) Followers(ctx context.Context, obj *storage.Interactive, first *int, after *string) (*graph.FollowedConnection, error) {
	edges, info, err := connect[graph.FollowedEdge](ctx, r.Root, &followers, obj, pageArgs{nil, first, after})
	return &graph.FollowedConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Followers(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.FollowedConnection, error) {
	edges, info, err := connect[graph.FollowedEdge](ctx, r.Root, &userFollowers, obj, pageArgs{nil, first, after})
	return &graph.FollowedConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Following(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.FollowedConnection, error) {
	edges, info, err := connect[graph.FollowedEdge](ctx, r.Root, &following, obj, pageArgs{biz, first, after})
	return &graph.FollowedConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Friends(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.FriendConnection, error) {
	edges, info, err := connect[graph.FriendEdge](ctx, r.Root, &friends, obj, pageArgs{nil, first, after})
	return &graph.FriendConnection{Edges: edges, PageInfo: info}, err
}

func (r interactiveResolver) Likers(ctx context.Context, obj *storage.Interactive, first *int, after *string) (*graph.LikedConnection, error) {
	edges, info, err := connect[graph.LikedEdge](ctx, r.Root, &likers, obj, pageArgs{nil, first, after})
	return &graph.LikedConnection{Edges: edges, PageInfo: info}, err
}

func (r folderResolver) Items(ctx context.Context, obj *storage.Folder, first *int, after *string) (*graph.CollectedConnection, error) {
	edges, info, err := connect[graph.CollectedEdge](ctx, r.Root, &items, obj, pageArgs{nil, first, after})
	return &graph.CollectedConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Likes(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.LikedConnection, error) {
	edges, info, err := connect[graph.LikedEdge](ctx, r.Root, &likes, obj, pageArgs{biz, first, after})
	return &graph.LikedConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Folders(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.FolderConnection, error) {
	edges, info, err := connect[graph.FolderEdge](ctx, r.Root, &folderLists, obj, pageArgs{nil, first, after})
	return &graph.FolderConnection{Edges: edges, PageInfo: info}, err
}

func (r userResolver) Reads(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.ReadConnection, error) {
	edges, info, err := connect[graph.ReadEdge](ctx, r.Root, &reads, obj, pageArgs{biz, first, after})
	return &graph.ReadConnection{Edges: edges, PageInfo: info}, err
}
