package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"ovation/graph"
)

// fastResult is the result of a mutation that ran without gqlgen's executor.
type fastResult struct {
	value    any
	err      error
	panicked error // includes the stack
}

// fastAction runs a field of Mutation whose input is a subject and, optionally, a folder.
type fastAction func(context.Context, mutationResolver, graph.CollectInput) (any, error)

// subjectInput is an input that consists of a subject.
type subjectInput interface {
	graph.ReadInput | graph.LikeInput | graph.UnlikeInput | graph.DislikeInput | graph.UndislikeInput | graph.UncollectInput |
		graph.FollowInput | graph.UnfollowInput
}

// fastMutation returns the spec of a mutation field whose input is a subject.
func fastMutation[I subjectInput, P any](resolve func(mutationResolver, context.Context, I) (*P, error)) fieldSpec {
	return fieldSpec{mutate: func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return resolve(r, ctx, I(graph.ReadInput{Biz: in.Biz, BizID: in.BizID}))
	}}
}

// tryFast runs a mutation if it consists of a single action whose payload can be encoded
// directly, and returns the payload. In all other cases it returns nil, and the executor
// responds. If the action fails, q.fastResult passes the error to the executor, so that
// the action is not repeated.
func (q *request) tryFast(ctx context.Context) (payload []any) {
	if len(q.roots.Fields) != 1 {
		return nil
	}
	field := &q.roots.Fields[0]
	act := q.fieldTable[field.Key].mutate
	if act == nil || !field.Below().Writable {
		return nil
	}
	in, simple := simpleInput(field.ArgumentMap(q.op.Variables)["input"])
	if !simple {
		return nil
	}
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{
		Object: q.roots.Type, Field: graphql.CollectedField{Field: field.Field}, IsMethod: true, IsResolver: true,
	})
	q.fastResult = act.run(ctx, mutationResolver{q.Root}, in)
	if q.fastResult.err != nil || q.fastResult.panicked != nil {
		return nil
	}
	return []any{q.fastResult.value}
}

// run performs the action. If the action panics, the result holds the panic as an error.
func (a fastAction) run(ctx context.Context, r mutationResolver, in graph.CollectInput) (out *fastResult) {
	defer func() {
		if value := recover(); value != nil {
			out = &fastResult{panicked: recovered(ctx, value)}
		}
	}()
	value, err := a(ctx, r, in)
	return &fastResult{value: value, err: err}
}

// simpleInput converts the input of an action. It returns false if only the executor can
// coerce the input.
func simpleInput(given any) (in graph.CollectInput, ok bool) {
	members, _ := given.(map[string]any)
	for name, value := range members {
		text, isText := value.(string)
		switch {
		case !isText:
			return in, false
		case name == "biz":
			in.Biz = text
		case name == "bizId":
			in.BizID = text
		case name == "folderId":
			in.FolderID = &text
		}
	}
	_, biz := members["biz"]
	_, bizID := members["bizId"]
	return in, biz && bizID
}
