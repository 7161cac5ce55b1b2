package resolvers

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// payload is the common form of the payloads of all actions.
type payload struct {
	Changed     *bool // nil if unknown
	Durability  storage.Durability
	Interactive storage.Interactive
}

func (r mutationResolver) Read(ctx context.Context, in graph.ReadInput) (*graph.ReadPayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindRead, Times: 1})
	return (*graph.ReadPayload)(p), err
}

func (r mutationResolver) Like(ctx context.Context, in graph.LikeInput) (*graph.LikePayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindReaction, Reaction: storage.Like})
	return (*graph.LikePayload)(p), err
}

func (r mutationResolver) Unlike(ctx context.Context, in graph.UnlikeInput) (*graph.UnlikePayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindReaction, If: storage.Like})
	return (*graph.UnlikePayload)(p), err
}

func (r mutationResolver) Dislike(ctx context.Context, in graph.DislikeInput) (*graph.DislikePayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindReaction, Reaction: storage.Dislike})
	return (*graph.DislikePayload)(p), err
}

func (r mutationResolver) Undislike(ctx context.Context, in graph.UndislikeInput) (*graph.UndislikePayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindReaction, If: storage.Dislike})
	return (*graph.UndislikePayload)(p), err
}

func (r mutationResolver) Collect(ctx context.Context, in graph.CollectInput) (*graph.CollectPayload, error) {
	folderID := storage.DefaultFolderID
	if in.FolderID != nil {
		var err error
		if folderID, err = ownFolder(ctx, "input.folderId", *in.FolderID); err != nil {
			return nil, err
		}
	}
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindCollection, FolderID: folderID})
	return (*graph.CollectPayload)(p), err
}

func (r mutationResolver) Uncollect(ctx context.Context, in graph.UncollectInput) (*graph.UncollectPayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindCollection})
	return (*graph.UncollectPayload)(p), err
}

func (r mutationResolver) Follow(ctx context.Context, in graph.FollowInput) (*graph.FollowPayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindFollow, Following: true})
	return (*graph.FollowPayload)(p), err
}

func (r mutationResolver) Unfollow(ctx context.Context, in graph.UnfollowInput) (*graph.UnfollowPayload, error) {
	p, err := r.record(ctx, in.Biz, in.BizID, storage.Action{Kind: storage.KindFollow})
	return (*graph.UnfollowPayload)(p), err
}

// record makes one of the viewer's actions durable. The recorder assigns the action's
// version.
func (r mutationResolver) record(ctx context.Context, biz, bizID string, action storage.Action) (*payload, error) {
	me := viewer.FromContext(ctx)
	if err := mayDo(me, action.Kind); err != nil {
		return nil, err
	}
	subject, err := subjectOf(ctx, biz, bizID)
	if err != nil {
		return nil, atPath("input.", err)
	}
	action.User, action.Subject = me, subject
	op := graphql.GetOperationContext(ctx)
	p := r.limits.Plan(op)
	asked := p.Roots(op).At(graphql.GetFieldContext(ctx)).Below().Named("interactive")
	var seen *storage.Interactive
	if len(asked) > 0 && !p.Kinds.Has(storage.KindRead) {
		seen = new(storage.Interactive)
	}
	recorded, err := r.recorder.Record(ctx, action, seen)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("input.bizId")
	}
	if err != nil {
		return nil, atPath("input.", err)
	}
	out := &payload{Durability: recorded.Durability}
	if recorded.Known {
		out.Changed = &recorded.Changed
	}
	l := loaders.FromContext(ctx)
	l.ClearAll()
	if len(asked) == 0 {
		return out, nil
	}
	if seen != nil && seen.Freshness != "" {
		loaders.Interactives.Prime(l, subject, seen)
	}
	out.Interactive, err = r.after(ctx, subject, asked)
	if err == nil && out.Interactive.Deleted && action.Sets() { // this node did not know it before
		return nil, notFound("input.bizId")
	}
	return out, err
}

// after returns the subject of an action as it is after the action. If the store is
// unavailable, the subject has freshness UNAVAILABLE and there is no error, because the
// action has succeeded.
func (r mutationResolver) after(ctx context.Context, subject storage.Subject, asked []*plan.Field) (storage.Interactive, error) {
	found, err := r.afterAll(ctx, []storage.Subject{subject}, asked)
	if err != nil {
		return storage.Interactive{}, err
	}
	return *found[0], nil
}

// afterIfAsked is like after, but returns the zero value if the operation selects nothing
// from the payload's field interactive.
func (r mutationResolver) afterIfAsked(ctx context.Context, subject storage.Subject) (storage.Interactive, error) {
	op := graphql.GetOperationContext(ctx)
	asked := r.limits.Plan(op).Roots(op).At(graphql.GetFieldContext(ctx)).Below().Named("interactive")
	if len(asked) == 0 {
		return storage.Interactive{}, nil
	}
	return r.after(ctx, subject, asked)
}

// afterAll returns several subjects, each as after returns it.
func (r mutationResolver) afterAll(ctx context.Context, subjects []storage.Subject, asked []*plan.Field) ([]*storage.Interactive, error) {
	found, err := loaders.Interactives.FetchMany(ctx, subjects)
	if errors.Is(err, storage.ErrUnavailable) {
		out := make([]*storage.Interactive, len(subjects))
		for i, subject := range subjects {
			out[i] = &storage.Interactive{Subject: subject, Freshness: storage.Unavailable}
		}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	a := r.newPrefetch(ctx)
	for _, field := range asked {
		for _, one := range found {
			a.visit(field, one)
		}
	}
	a.run()
	return found, nil
}

// ownFolder returns the FolderID of the viewer's folder with the given node id, or the
// error NOT_FOUND if the viewer has no such folder.
func ownFolder(ctx context.Context, argument, id string) (string, error) {
	key, err := ownFolderKey(ctx, argument, id)
	if err != nil {
		return "", err
	}
	found, err := loaders.Folders.Fetch(ctx, key)
	if err == nil && found == nil {
		err = notFound(argument)
	}
	return key.FolderID, err
}
