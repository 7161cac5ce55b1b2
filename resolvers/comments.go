package resolvers

import (
	"context"
	"errors"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

func (r mutationResolver) AddComment(ctx context.Context, in graph.AddCommentInput) (*graph.AddCommentPayload, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	subject, err := subjectOf(ctx, in.Biz, in.BizID)
	if err != nil {
		return nil, atPath("input.", err)
	}
	comment := storage.NewComment{Subject: subject, User: me, Text: in.Text}
	if in.ReplyTo != nil {
		parent, err := commentKey(ctx, "input.replyTo", *in.ReplyTo)
		if err != nil {
			return nil, err
		}
		comment.ParentID = parent.CommentID
	}
	if comment.RequestID, err = requestID(in.RequestID); err != nil {
		return nil, err
	}
	added, err := r.comments.Add(ctx, comment)
	if _, deleted := errors.AsType[*storage.DeletedError](err); deleted {
		return nil, notFound("input.bizId")
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("input.replyTo")
	}
	if err != nil {
		return nil, atPath("input.", err)
	}
	found, err := r.afterComment(ctx, subject, added)
	return &graph.AddCommentPayload{Comment: *added, Interactive: found}, err
}

func (r mutationResolver) EditComment(ctx context.Context, in graph.EditCommentInput) (*graph.EditCommentPayload, error) {
	change, err := changeOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	edited, err := r.comments.Edit(ctx, change, in.Text)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("input.id")
	}
	if err != nil {
		return nil, atPath("input.", err)
	}
	found, err := r.afterComment(ctx, edited.Subject, edited)
	return &graph.EditCommentPayload{Comment: *edited, Interactive: found}, err
}

func (r mutationResolver) DeleteComment(ctx context.Context, in graph.DeleteCommentInput) (*graph.DeleteCommentPayload, error) {
	change, err := changeOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	deleted, err := r.deleteComment(ctx, change)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("input.id")
	}
	if err != nil {
		return nil, err
	}
	found, err := r.afterComment(ctx, deleted.Subject, nil)
	return &graph.DeleteCommentPayload{DeletedID: in.ID, Interactive: found}, err
}

// afterComment returns the subject for a payload, as it is after the mutation. It
// prefetches what the operation selects from the subject and from the comment, which may
// be nil.
func (r mutationResolver) afterComment(ctx context.Context, subject storage.Subject, comment *storage.Comment) (storage.Interactive, error) {
	r.prepare(ctx, "comment", comment)
	return r.afterIfAsked(ctx, subject)
}

func changeOf(ctx context.Context, id string) (storage.CommentChange, error) {
	key, err := commentKey(ctx, "input.id", id)
	return storage.CommentChange{Key: key, By: viewer.FromContext(ctx), Moderates: moderates(ctx)}, err
}

func (r interactiveResolver) CommentCount(ctx context.Context, obj *storage.Interactive) (int64, error) {
	count, err := loaders.CommentCounts.Load(ctx, obj.Subject)
	return count.Comments, err
}

func (r interactiveResolver) Comments(
	ctx context.Context, obj *storage.Interactive, first *int, after *string, order *storage.CommentOrder,
) (*graph.CommentConnection, error) {
	of := storage.Newest
	if order != nil {
		of = *order
	}
	return commentsOf(ctx, r.Root, commentLists[of], obj, obj.Subject, pageArgs{nil, first, after})
}

func (r commentResolver) Replies(ctx context.Context, obj *storage.Comment, first *int, after *string) (*graph.CommentConnection, error) {
	return commentsOf(ctx, r.Root, &replies, obj, obj.Subject, pageArgs{nil, first, after})
}

func (r userResolver) Comments(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.UserCommentConnection, error) {
	edges, info, err := connect[graph.CommentEdge](ctx, r.Root, &userComments, obj, pageArgs{nil, first, after})
	return &graph.UserCommentConnection{Edges: edges, PageInfo: info}, err
}

func (r queryResolver) Comment(ctx context.Context, commentID string) (*storage.Comment, error) {
	me := viewer.FromContext(ctx)
	number, ok := storage.ParseCommentID(commentID)
	if !ok {
		return nil, nil //nolint:nilnil // null is the answer
	}
	return visibleComment(ctx, me, storage.CommentKey{Tenant: me.Tenant, CommentID: number})
}

// commentsOf returns a page of one subject's comments. The page's ChangesCursor is the
// position from which a stream delivers all later changes.
func commentsOf[P any](
	ctx context.Context, r *Root, l *listSpec[P, storage.CommentsQuery, storage.Comment], of *P, subject storage.Subject, part pageArgs,
) (*graph.CommentConnection, error) {
	edges, info, version, err := connectVersion[graph.CommentEdge](ctx, r, l, of, part)
	if err != nil {
		return nil, err
	}
	return &graph.CommentConnection{Edges: edges, PageInfo: info, ChangesCursor: r.changesCursor(subject, version)}, nil
}

func (r commentResolver) Subject(ctx context.Context, obj *storage.Comment) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Subject)
}

func (r commentResolver) Interactive(ctx context.Context, obj *storage.Comment) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Key().Subject())
}

func (r commentResolver) Parent(ctx context.Context, obj *storage.Comment) (*storage.Comment, error) {
	if obj.ParentID == 0 {
		return nil, nil //nolint:nilnil // null is the answer
	}
	return visibleComment(ctx, viewer.FromContext(ctx), obj.ParentKey())
}

// commentLists maps each order to the list of a subject's comments in that order.
var commentLists = map[storage.CommentOrder]*listSpec[storage.Interactive, storage.CommentsQuery, storage.Comment]{
	storage.Newest: commentsIn(storage.Newest),
	storage.Oldest: commentsIn(storage.Oldest),
	storage.Top:    commentsIn(storage.Top),
}

func commentsIn(order storage.CommentOrder) *listSpec[storage.Interactive, storage.CommentsQuery, storage.Comment] {
	return &listSpec[storage.Interactive, storage.CommentsQuery, storage.Comment]{
		lookup: loaders.CommentLists,
		name: func(of *storage.Interactive, _ string) []string {
			return []string{"comments", string(order), of.Tenant, of.Biz, of.BizID}
		},
		query: func(_ storage.User, of *storage.Interactive, _ string, page storage.Page) storage.CommentsQuery {
			return storage.CommentsQuery{Subject: of.Subject, Order: order, Page: page}
		},
		place: order.Place,
	}
}

var replies = listSpec[storage.Comment, storage.CommentsQuery, storage.Comment]{
	lookup: loaders.CommentLists,
	name: func(of *storage.Comment, _ string) []string {
		return []string{"replies", of.Subject.Tenant, of.CommentID()}
	},
	query: func(_ storage.User, of *storage.Comment, _ string, page storage.Page) storage.CommentsQuery {
		return storage.CommentsQuery{Subject: of.Subject, Parent: of.Number, Order: storage.Oldest, Page: page}
	},
	place: storage.Oldest.Place,
}

// userComments is the list of a user's comments.
var userComments = listSpec[storage.User, storage.UserCommentsQuery, storage.Comment]{
	lookup: loaders.UserComments,
	name:   func(of *storage.User, _ string) []string { return []string{"comments of", of.Tenant, of.UserID} },
	query: func(_ storage.User, of *storage.User, _ string, page storage.Page) storage.UserCommentsQuery {
		return storage.UserCommentsQuery{User: *of, Page: page}
	},
	place: storage.Newest.Place,
}

func (p *prefetch) comments(field *plan.Field, object any) {
	order := storage.Newest
	if given, is := field.ArgumentMap(p.op.Variables)["order"].(string); is {
		order = storage.CommentOrder(given)
	}
	if list := commentLists[order]; list != nil {
		list.field().prefetch(p, field, object)
	}
}
