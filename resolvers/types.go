package resolvers

import (
	"context"

	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

func (r interactiveResolver) Likers(ctx context.Context, obj *storage.Interactive, first *int, after *string) (*graph.LikedConnection, error) {
	if _, err := authenticated(ctx); err != nil {
		return nil, err
	}
	list := r.list("likers", obj.Tenant, obj.Biz, obj.BizID)
	page, err := list.page(first, after)
	if err != nil {
		return nil, err
	}
	likes, err := loaders.From(ctx).Likers(ctx, storage.LikersQuery{Subject: obj.Subject, Page: page})
	if err != nil {
		return nil, err
	}
	return likedConnection(list, page, likes, func(l *storage.Liked) storage.Position {
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
	list := r.list("items", obj.Owner.Tenant, obj.Owner.UserID, obj.FolderID)
	page, err := list.page(first, after)
	if err != nil {
		return nil, err
	}
	items, err := loaders.From(ctx).Items(ctx, storage.ItemsQuery{Folder: obj.Key(), Page: page})
	if err != nil {
		return nil, err
	}
	return collectedConnection(list, page, items), nil
}

func (r userResolver) Likes(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.LikedConnection, error) {
	kind, err := optionalBiz(biz)
	if err != nil {
		return nil, err
	}
	list := r.list("likes", obj.Tenant, obj.UserID, kind)
	page, err := list.page(first, after)
	if err != nil {
		return nil, err
	}
	likes, err := loaders.From(ctx).Likes(ctx, storage.LikesQuery{User: *obj, Biz: kind, Page: page})
	if err != nil {
		return nil, err
	}
	return likedConnection(list, page, likes, func(l *storage.Liked) storage.Position {
		return storage.Position{Version: l.Version, Biz: l.Subject.Biz, ID: l.Subject.BizID}
	}), nil
}

func (r userResolver) Folders(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.FolderConnection, error) {
	list := r.list("folders", obj.Tenant, obj.UserID)
	page, err := list.page(first, after)
	if err != nil {
		return nil, err
	}
	folders, err := loaders.From(ctx).Folders(ctx, storage.FoldersQuery{
		Owner: *obj, PublicOnly: viewer.From(ctx) != *obj, Page: page,
	})
	if err != nil {
		return nil, err
	}
	return folderConnection(list, page, folders), nil
}

func (r userResolver) Reads(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.ReadConnection, error) {
	if viewer.From(ctx) != *obj {
		return nil, notFound("what somebody else has read")
	}
	kind, err := optionalBiz(biz)
	if err != nil {
		return nil, err
	}
	list := r.list("reads", obj.Tenant, obj.UserID, kind)
	page, err := list.page(first, after)
	if err != nil {
		return nil, err
	}
	reads, err := loaders.From(ctx).Reads(ctx, storage.ReadsQuery{User: *obj, Biz: kind, Page: page})
	if err != nil {
		return nil, err
	}
	return readConnection(list, page, reads), nil
}

func optionalBiz(biz *string) (string, error) {
	if biz == nil {
		return "", nil
	}
	return *biz, storage.ValidateBiz(*biz)
}
