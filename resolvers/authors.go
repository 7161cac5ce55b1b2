package resolvers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

// clockSkew is how far a client's clock may be ahead of the server's.
const clockSkew = time.Minute

func (r mutationResolver) DeclareSubjects(ctx context.Context, in graph.DeclareSubjectsInput) (*graph.DeclareSubjectsPayload, error) {
	if _, err := mayWrite(ctx, viewer.WriteSubjects); err != nil {
		return nil, err
	}
	if len(in.Subjects) > maxSubjects {
		return nil, badInput("input.subjects holds %d entries; at most %d are allowed", len(in.Subjects), maxSubjects)
	}
	now := r.now()
	declared, subjects := make([]storage.Action, len(in.Subjects)), make([]storage.Subject, len(in.Subjects))
	for i, one := range in.Subjects {
		var err error
		if declared[i], err = declaration(ctx, one, now); err != nil {
			return nil, atPath(fmt.Sprintf("input.subjects[%d].", i), err)
		}
		subjects[i] = declared[i].Subject
	}
	changed, err := r.authors.Declare(ctx, declared)
	if deleted, ok := errors.AsType[*storage.DeletedError](err); ok {
		return nil, notFound(fmt.Sprintf("input.subjects[%d].bizId", slices.Index(subjects, deleted.Subject)))
	}
	if err != nil {
		return nil, err
	}
	found, err := r.declared(ctx, subjects, changed)
	return &graph.DeclareSubjectsPayload{Durability: storage.Persisted, Interactives: found}, err
}

// declaration converts a declaration to a validated action.
func declaration(ctx context.Context, in *graph.SubjectDeclaration, now time.Time) (storage.Action, error) {
	subject, err := subjectOf(ctx, in.Biz, in.BizID)
	a := storage.Action{User: storage.User{Tenant: subject.Tenant}, Subject: subject, Kind: storage.KindAuthor, Version: storage.Micros(now)}
	if err == nil && in.Author != nil {
		if a.Author = *in.Author; a.Author == "" {
			err = &storage.InvalidError{Field: "author", Reason: "must not be empty; null is nobody"}
		}
	}
	if err == nil && in.At != nil {
		if a.Version = storage.Micros(*in.At); a.Version <= 0 || in.At.After(now.Add(clockSkew)) {
			err = &storage.InvalidError{Field: "at", Reason: "must be after 1970 and not in the future"}
		}
	}
	if err == nil {
		err = a.Validate()
	}
	return a, err
}

// declared returns the subjects for a payload, and prefetches what the operation selects
// from them. The parameter changed holds the counts that were committed with the authors.
// These counts are used for the subjects whose counts are unavailable.
func (r mutationResolver) declared(
	ctx context.Context, subjects []storage.Subject, changed []storage.SubjectCounts,
) ([]*storage.Interactive, error) {
	loaders.FromContext(ctx).ClearAll()
	op := graphql.GetOperationContext(ctx)
	asked := r.limits.Plan(op).Roots(op).At(graphql.GetFieldContext(ctx)).Below().Named("interactives")
	if len(asked) == 0 || len(subjects) == 0 {
		return []*storage.Interactive{}, nil
	}
	found, err := r.afterAll(ctx, subjects, asked)
	for _, one := range found {
		i := slices.IndexFunc(changed, func(c storage.SubjectCounts) bool { return c.Subject == one.Subject })
		if one.Freshness == storage.Unavailable && i >= 0 {
			one.Counts, one.Freshness = changed[i].Counts, storage.Stale
		}
	}
	return found, err
}

func (r userResolver) Works(ctx context.Context, obj *storage.User, biz *string, first *int, after *string) (*graph.InteractiveConnection, error) {
	type edge struct {
		Cursor string       `json:"cursor"`
		Node   storage.Work `json:"node"`
	}
	edges, info, err := connect[edge](ctx, r.Root, &works, obj, pageArgs{biz, first, after})
	if err != nil {
		return nil, err
	}
	out, subjects := make([]*graph.InteractiveEdge, len(edges)), make([]storage.Subject, len(edges))
	for i, e := range edges {
		subjects[i] = e.Node.Subject
		out[i] = &graph.InteractiveEdge{Cursor: e.Cursor}
	}
	if selectsNodes(ctx, "InteractiveConnection", "InteractiveEdge") {
		found, err := loaders.Interactives.LoadMany(ctx, subjects)
		if err != nil {
			return nil, err
		}
		for i, one := range found {
			out[i].Node = *one
		}
	}
	return &graph.InteractiveConnection{Edges: out, PageInfo: info}, nil
}

// selectsNodes reports whether the operation selects the nodes of the connection that is
// being resolved.
func selectsNodes(ctx context.Context, connection, edge string) bool {
	op := graphql.GetOperationContext(ctx)
	for _, edges := range graphql.CollectFieldsCtx(ctx, []string{connection}) {
		if edges.Name != "edges" {
			continue
		}
		for _, node := range graphql.CollectFields(op, edges.Selections, []string{edge}) {
			if node.Name == "node" {
				return true
			}
		}
	}
	return false
}

func (r userResolver) Totals(ctx context.Context, obj *storage.User) (*storage.UserTotals, error) {
	found, err := loaders.Totals.Load(ctx, *obj)
	found = seenTotals(viewer.FromContext(ctx), *obj, found)
	return &found, err
}

// deleteComment deletes a comment. A comment may be deleted by its author, by moderators
// and by the author of its subject.
func (r mutationResolver) deleteComment(ctx context.Context, change storage.CommentChange) (*storage.Comment, error) {
	out, err := r.comments.Delete(ctx, change)
	if change.Moderates || !errors.Is(err, storage.ErrNotFound) {
		return out, err
	}
	switch owns, failed := ownsSubject(ctx, change); {
	case failed != nil:
		return nil, failed
	case !owns:
		return nil, err
	}
	change.Moderates = true
	return r.comments.Delete(ctx, change)
}
