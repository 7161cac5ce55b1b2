package resolvers

import (
	"context"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

// What a list's arguments ask of storage, and the list itself. Both the
// resolvers and what loads ahead of them start from here.

func (r *Root) likersQuery(of *storage.Interactive, first *int, after *string) (storage.LikersQuery, list, error) {
	l := r.list("likers", of.Tenant, of.Biz, of.BizID)
	page, err := l.page(first, after)
	return storage.LikersQuery{Subject: of.Subject, Page: page}, l, err
}

func (r *Root) itemsQuery(of *storage.Folder, first *int, after *string) (storage.ItemsQuery, list, error) {
	l := r.list("items", of.Owner.Tenant, of.Owner.UserID, of.FolderID)
	page, err := l.page(first, after)
	return storage.ItemsQuery{Folder: of.Key(), Page: page}, l, err
}

func (r *Root) likesQuery(of *storage.User, biz *string, first *int, after *string) (storage.LikesQuery, list, error) {
	kind, err := optionalBiz(biz)
	if err != nil {
		return storage.LikesQuery{}, list{}, err
	}
	l := r.list("likes", of.Tenant, of.UserID, kind)
	page, err := l.page(first, after)
	return storage.LikesQuery{User: *of, Biz: kind, Page: page}, l, err
}

func (r *Root) foldersQuery(ctx context.Context, of *storage.User, first *int, after *string) (storage.FoldersQuery, list, error) {
	l := r.list("folders", of.Tenant, of.UserID)
	page, err := l.page(first, after)
	return storage.FoldersQuery{Owner: *of, PublicOnly: viewer.From(ctx) != *of, Page: page}, l, err
}

func (r *Root) readsQuery(ctx context.Context, of *storage.User, biz *string, first *int, after *string) (storage.ReadsQuery, list, error) {
	if viewer.From(ctx) != *of {
		return storage.ReadsQuery{}, list{}, notFound("what somebody else has read")
	}
	kind, err := optionalBiz(biz)
	if err != nil {
		return storage.ReadsQuery{}, list{}, err
	}
	l := r.list("reads", of.Tenant, of.UserID, kind)
	page, err := l.page(first, after)
	return storage.ReadsQuery{User: *of, Biz: kind, Page: page}, l, err
}

func optionalBiz(biz *string) (string, error) {
	if biz == nil {
		return "", nil
	}
	return *biz, storage.ValidateBiz(*biz)
}
