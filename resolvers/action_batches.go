package resolvers

import (
	"context"
	"fmt"
	"time"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

func (r mutationResolver) RecordActions(ctx context.Context, in graph.RecordActionsInput) (*graph.RecordActionsPayload, error) {
	me, err := mayWrite(ctx, viewer.WriteActions)
	if err != nil {
		return nil, err
	}
	batch := storage.ActionBatch{By: me, RequestID: in.RequestID}
	if len(in.Actions) <= storage.MaxActionBatch { // otherwise Record returns the error
		if batch.Actions, err = r.givenActions(ctx, me, in.Actions); err != nil {
			return nil, err
		}
	} else {
		batch.Actions = make([]storage.Action, len(in.Actions))
	}
	recorded, err := r.batches.Record(ctx, batch)
	if err != nil {
		return nil, atPath("input.", err)
	}
	loaders.FromContext(ctx).ClearAll()
	out := &graph.RecordActionsPayload{Recorded: len(in.Actions), Durability: recorded.Durability}
	if n := int(recorded.Changed); n != storage.UnknownChanges {
		out.Changed = &n
	}
	return out, nil
}

// givenActions converts the actions of a request. The folders that they name are looked up
// together.
func (r mutationResolver) givenActions(ctx context.Context, me storage.User, given []*graph.ActionInput) ([]storage.Action, error) {
	latest := r.now().Add(clockSkew)
	out := make([]storage.Action, len(given))
	var folders []storage.FolderKey
	var named []int // the entries with a folder
	for i, one := range given {
		place := fmt.Sprintf("input.actions[%d].", i)
		if !one.At.After(time.Unix(0, 0)) || one.At.After(latest) {
			return nil, &storage.InvalidError{Field: place + "at", Reason: "must be after 1970 and not in the future"}
		}
		out[i] = givenAction(me.Tenant, one)
		if one.UserID != nil && *one.UserID == "" {
			return nil, &storage.InvalidError{Field: place + "userId", Reason: "must not be empty; null is an anonymous user"}
		}
		if one.FolderID == nil {
			continue
		}
		if out[i].Kind != storage.KindCollection || out[i].FolderID == "" {
			return nil, &storage.InvalidError{Field: place + "folderId", Reason: "must be omitted, except for COLLECT"}
		}
		key, err := folderKeyOf(out[i].User, place+"folderId", *one.FolderID)
		if err != nil {
			return nil, err
		}
		out[i].FolderID = key.FolderID
		folders, named = append(folders, key), append(named, i)
	}
	found, err := loaders.Folders.FetchMany(ctx, folders)
	if err != nil {
		return nil, err
	}
	for n := range folders {
		if found[n] == nil {
			return nil, notFound(fmt.Sprintf("input.actions[%d].folderId", named[n]))
		}
	}
	return out, nil
}

// givenAction converts an action, without its folder.
func givenAction(tenant string, in *graph.ActionInput) storage.Action {
	a := storage.Action{
		User: storage.User{Tenant: tenant}, Subject: storage.Subject{Tenant: tenant, Biz: in.Biz, BizID: in.BizID},
		Kind: storage.KindReaction, Version: storage.Micros(in.At),
	}
	if in.UserID != nil {
		a.User.UserID = *in.UserID
	}
	switch in.Action {
	case graph.ActionKindRead:
		a.Kind, a.Times, a.First = storage.KindRead, 1, a.Version
	case graph.ActionKindLike:
		a.Reaction = storage.Like
	case graph.ActionKindUnlike:
		a.If = storage.Like
	case graph.ActionKindDislike:
		a.Reaction = storage.Dislike
	case graph.ActionKindUndislike:
		a.If = storage.Dislike
	case graph.ActionKindCollect:
		a.Kind, a.FolderID = storage.KindCollection, storage.DefaultFolderID
	case graph.ActionKindUncollect:
		a.Kind = storage.KindCollection
	case graph.ActionKindFollow:
		a.Kind, a.Following = storage.KindFollow, true
	case graph.ActionKindUnfollow:
		a.Kind = storage.KindFollow
	}
	return a
}
