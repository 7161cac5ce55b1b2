package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"ovation/graph"
)

// acted is what became of an action.
type acted struct {
	value    any
	err      error
	panicked error // with where it did
}

// action is a field of Mutation whose input is a subject and, at most, a folder.
type action struct {
	payload string // the type of its value
	do      func(context.Context, mutationResolver, graph.CollectInput) (any, error)
}

var actions = map[string]action{
	"read": {"ReadPayload", func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Read(ctx, graph.ReadInput{Biz: in.Biz, BizID: in.BizID})
	}},
	"like": {"LikePayload", func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Like(ctx, graph.LikeInput{Biz: in.Biz, BizID: in.BizID})
	}},
	"unlike": {"UnlikePayload", func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Unlike(ctx, graph.UnlikeInput{Biz: in.Biz, BizID: in.BizID})
	}},
	"dislike": {"DislikePayload", func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Dislike(ctx, graph.DislikeInput{Biz: in.Biz, BizID: in.BizID})
	}},
	"undislike": {"UndislikePayload", func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Undislike(ctx, graph.UndislikeInput{Biz: in.Biz, BizID: in.BizID})
	}},
	"collect": {"CollectPayload", func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Collect(ctx, in)
	}},
	"uncollect": {"UncollectPayload", func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Uncollect(ctx, graph.UncollectInput{Biz: in.Biz, BizID: in.BizID})
	}},
}

// act does what a mutation asks for where that is one action, and answers. It
// returns false where the executor has to answer. It is then given what came of
// the action, if that is done already, so that nothing is done twice.
func (q *request) act(ctx context.Context) (data []byte, ok bool) {
	roots := q.facts.rootsOf(q.op)
	if len(roots) != 1 {
		return nil, false
	}
	field := roots[0].CollectedField
	action, isAction := actions[field.Name]
	if !isAction {
		return nil, false
	}
	fields, plainly := q.facts.plans.Of(q.op, field, action.payload)
	if !plainly {
		return nil, false
	}
	in, simple := simpleInput(field.ArgumentMap(q.op.Variables)["input"])
	if !simple {
		return nil, false
	}
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Mutation", Field: field, IsMethod: true, IsResolver: true})
	q.acted = action.try(ctx, mutationResolver{q.Root}, in)
	if q.acted.err != nil || q.acted.panicked != nil {
		return nil, false
	}
	return q.facts.written(q.memory, q.Root, func(w *graph.PlainWriter) { //nolint:contextcheck // nothing that waits
		w.Open()
		w.Name(field.Alias)
		w.Write(fields, q.acted.value)
		w.Close()
	})
}

// try does the action.
func (a action) try(ctx context.Context, r mutationResolver, in graph.CollectInput) (out *acted) {
	defer func() {
		if value := recover(); value != nil {
			out = &acted{panicked: recovered(ctx, value)}
		}
	}()
	value, err := a.do(ctx, r, in)
	return &acted{value: value, err: err}
}

// simpleInput is the input of an action where it needs no conversion.
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
