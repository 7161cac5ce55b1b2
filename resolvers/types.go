package resolvers

import (
	"context"

	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

func (r interactiveResolver) Likers(ctx context.Context, obj *storage.Interactive, first *int, after *string) (*graph.LikedConnection, error) {
	if _, err := authenticated(ctx); err != nil {
		return nil, err
	}
	query, list, err := r.likersQuery(obj, first, after)
	if err != nil {
		return nil, err
	}
	likes, err := loaders.From(ctx).Likers(ctx, query)
	if err != nil {
		return nil, err
	}
	return likedConnection(list, query.Page, likes, func(l *storage.Liked) storage.Position {
		return storage.Position{Version: l.Version, ID: l.User.UserID}
	}), nil
}

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
	folder, err := loaders.From(ctx).Folder(ctx, obj.FolderKey())
	if err != nil {
		return nil, err
	}
	if folder == nil { // deleted since the item was read
		return nil, notFound("the folder")
	}
	return folder, nil
}

func (r folderResolver) Items(ctx context.Context, obj *storage.Folder, first *int, after *string) (*graph.CollectedConnection, error) {
	query, list, err := r.itemsQuery(obj, first, after)
	if err != nil {
		return nil, err
	}
	items, err := loaders.From(ctx).Items(ctx, query)
	if err != nil {
		return nil, err
	}
	return collectedConnection(list, query.Page, items), nil
}

func (r userResolver) Likes(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.LikedConnection, error) {
	query, list, err := r.likesQuery(obj, biz, first, after)
	if err != nil {
		return nil, err
	}
	likes, err := loaders.From(ctx).Likes(ctx, query)
	if err != nil {
		return nil, err
	}
	return likedConnection(list, query.Page, likes, func(l *storage.Liked) storage.Position {
		return storage.Position{Version: l.Version, Biz: l.Subject.Biz, ID: l.Subject.BizID}
	}), nil
}

func (r userResolver) Folders(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.FolderConnection, error) {
	query, list, err := r.foldersQuery(ctx, obj, first, after)
	if err != nil {
		return nil, err
	}
	folders, err := loaders.From(ctx).Folders(ctx, query)
	if err != nil {
		return nil, err
	}
	return folderConnection(list, query.Page, folders), nil
}

func (r userResolver) Reads(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.ReadConnection, error) {
	query, list, err := r.readsQuery(ctx, obj, biz, first, after)
	if err != nil {
		return nil, err
	}
	reads, err := loaders.From(ctx).Reads(ctx, query)
	if err != nil {
		return nil, err
	}
	return readConnection(list, query.Page, reads), nil
}
