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

// action does what a field of Mutation says whose input is a subject and, at most,
// a folder.
type action func(context.Context, mutationResolver, graph.CollectInput) (any, error)

// subjectInput is an input that is a subject.
type subjectInput interface {
	graph.ReadInput | graph.LikeInput | graph.UnlikeInput | graph.DislikeInput | graph.UndislikeInput | graph.UncollectInput
}

// does is a field that does an action to a subject.
func does[I subjectInput, P any](resolve func(mutationResolver, context.Context, I) (*P, error)) line {
	return line{act: func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return resolve(r, ctx, I(graph.ReadInput{Biz: in.Biz, BizID: in.BizID}))
	}}
}

// act does what a mutation asks for where that is one action whose payload can be
// written plainly, and returns the payload. It returns none where the executor has
// to answer, which is then given what came of the action, if that is done already,
// so that nothing is done twice.
func (q *request) act(ctx context.Context) (payload []any) {
	if len(q.roots.Fields) != 1 {
		return nil
	}
	field := &q.roots.Fields[0]
	act := q.lines[field.Key].act
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
	q.acted = act.try(ctx, mutationResolver{q.Root}, in)
	if q.acted.err != nil || q.acted.panicked != nil {
		return nil
	}
	return []any{q.acted.value}
}

// try does the action.
func (a action) try(ctx context.Context, r mutationResolver, in graph.CollectInput) (out *acted) {
	defer func() {
		if value := recover(); value != nil {
			out = &acted{panicked: recovered(ctx, value)}
		}
	}()
	value, err := a(ctx, r, in)
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
