package resolvers

import (
	"context"
	"errors"

	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

func (r mutationResolver) CreateFolder(ctx context.Context, in graph.CreateFolderInput) (*graph.FolderPayload, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := r.store.CreateFolder(ctx, storage.Folder{
		Owner: me, Name: in.Name, Description: in.Description, Public: in.Public, Created: storage.Micros(r.now()),
	})
	if errors.Is(err, storage.ErrNameTaken) {
		return nil, nameTaken(in.Name)
	}
	if err != nil {
		return nil, atPath("input.", err)
	}
	loaders.FromContext(ctx).ClearAll()
	return &graph.FolderPayload{Folder: *folder}, nil
}

func (r mutationResolver) UpdateFolder(ctx context.Context, in graph.UpdateFolderInput) (*graph.FolderPayload, error) {
	key, err := ownFolderKey(ctx, "input.id", in.ID)
	if err != nil {
		return nil, err
	}
	change := storage.FolderChange{Name: in.Name, Description: in.Description, Public: in.Public}
	folder, err := r.store.UpdateFolder(ctx, key, change, r.now())
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("input.id")
	}
	if errors.Is(err, storage.ErrNameTaken) && in.Name != nil {
		return nil, nameTaken(*in.Name)
	}
	if err != nil {
		return nil, atPath("input.", err)
	}
	loaders.FromContext(ctx).ClearAll()
	return &graph.FolderPayload{Folder: *folder}, nil
}

func (r mutationResolver) DeleteFolder(ctx context.Context, in graph.DeleteFolderInput) (*graph.DeleteFolderPayload, error) {
	key, err := ownFolderKey(ctx, "input.id", in.ID)
	if err != nil {
		return nil, err
	}
	var target storage.FolderKey
	if in.MoveItemsTo != nil {
		if target, err = ownFolderKey(ctx, "input.moveItemsTo", *in.MoveItemsTo); err != nil {
			return nil, err
		}
	}
	items, err := r.remover.DeleteFolder(ctx, key, target.FolderID)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("input.id, or input.moveItemsTo,")
	}
	if err != nil {
		return nil, atPath("input.", err)
	}
	loaders.FromContext(ctx).ClearAll()
	return &graph.DeleteFolderPayload{DeletedID: in.ID, ItemCount: int64(items)}, nil
}
