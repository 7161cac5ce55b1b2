package resolvers

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/viewer"
	"ovation/storage"
	"ovation/worker"
)

// The payloads of all actions are the same but for their names.
type payload struct {
	Changed     *bool // nil where it is not known
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

// record makes an action of the viewer durable. Its version is the recorder's
// matter.
func (r mutationResolver) record(ctx context.Context, biz, bizID string, action storage.Action) (*payload, error) {
	me := viewer.From(ctx)
	if err := mayDo(me, action.Kind); err != nil {
		return nil, err
	}
	subject, err := subjectOf(ctx, biz, bizID)
	if err != nil {
		return nil, at("input.", err)
	}
	action.User, action.Subject = me, subject
	recorded, err := r.recorder.Record(ctx, action)
	if err != nil {
		return nil, err
	}
	return r.answer(ctx, subject, recorded)
}

// answer is the payload. The subject is read only where it is asked for.
func (r mutationResolver) answer(ctx context.Context, subject storage.Subject, recorded worker.Recorded) (*payload, error) {
	out := &payload{Durability: recorded.Durability}
	if recorded.Known {
		out.Changed = &recorded.Changed
	}
	l := loaders.From(ctx)
	l.Forget()
	op := graphql.GetOperationContext(ctx)
	asked := r.limits.Plan(op).Roots(op).At(graphql.GetFieldContext(ctx)).Below().Named("interactive")
	if len(asked) == 0 {
		return out, nil
	}
	err := l.Fetch(ctx, loaders.Wants{Interactives: []storage.Subject{subject}})
	if errors.Is(err, storage.ErrUnavailable) { // what was done stands all the same
		out.Interactive = storage.Interactive{Subject: subject, Freshness: storage.Unavailable}
		return out, nil
	}
	found, err := l.Interactive(ctx, subject)
	if err != nil {
		return nil, err
	}
	a := r.newAhead(ctx)
	for _, field := range asked {
		a.look(field, found)
	}
	a.run()
	out.Interactive = *found
	return out, nil
}

// ownFolder is the folder id of one of the viewer's folders, or NOT_FOUND.
func ownFolder(ctx context.Context, argument, id string) (string, error) {
	key, err := ownFolderKey(ctx, argument, id)
	if err != nil {
		return "", err
	}
	l := loaders.From(ctx)
	if err := l.Fetch(ctx, loaders.Wants{Folders: []storage.FolderKey{key}}); err != nil {
		return "", err
	}
	found, err := l.Folder(ctx, key)
	if err == nil && found == nil {
		err = notFound(argument)
	}
	return key.FolderID, err
}
