package resolvers

import (
	"context"

	"ovation/api/rate"
	"ovation/graph"
	"ovation/loaders"
	"ovation/storage"
)

const (
	// clearPrice is the price of clearing a history, which may take many transactions.
	clearPrice = 40 * rate.PerAction
	// deleteReadPrice is the price of removing one subject, which waits for transactions.
	deleteReadPrice = 4 * rate.PerAction
)

func (r mutationResolver) DeleteRead(ctx context.Context, in graph.DeleteReadInput) (*graph.DeleteReadPayload, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	subject, err := subjectOf(ctx, in.Biz, in.BizID)
	if err != nil {
		return nil, atPath("input.", err)
	}
	removed, _, err := r.histories.Clear(ctx, me, subject.Biz, subject.BizID)
	if err != nil {
		return nil, atPath("input.", err)
	}
	loaders.FromContext(ctx).ClearAll()
	found, err := r.afterIfAsked(ctx, subject)
	return &graph.DeleteReadPayload{Removed: removed > 0, Interactive: found}, err
}

func (r mutationResolver) ClearReads(ctx context.Context, in graph.ClearReadsInput) (*graph.ClearReadsPayload, error) {
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	biz := ""
	if in.Biz != nil {
		if biz = *in.Biz; biz == "" {
			return nil, &storage.InvalidError{Field: "input.biz", Reason: "must not be empty; omit it to clear reads of every kind"}
		}
	}
	removed, more, err := r.histories.Clear(ctx, me, biz, "")
	if err != nil {
		return nil, atPath("input.", err)
	}
	loaders.FromContext(ctx).ClearAll()
	return &graph.ClearReadsPayload{Removed: removed, More: more}, nil
}
