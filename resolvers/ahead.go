package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

// ahead loads what an operation needs before its resolvers ask for it. It walks
// the plan breadth first: all keys of one level are known before any is loaded,
// so that each level costs one call of storage for each kind, whatever the number
// of objects, and the resolvers then find everything in the loaders' memory.
//
// It changes no answer. What it does not foresee, a resolver loads itself; what
// it fails to load, the loaders remember, and the resolver reports. It asks for
// nothing that the viewer may not see.
type ahead struct {
	*Root
	ctx     context.Context //nolint:containedctx // lives as long as one call of run
	op      *graphql.OperationContext
	loaders *loaders.Loaders
	me      storage.User

	wants  loaders.Wants
	wanted bool     // something is
	then   []func() // what to look at when the wants are loaded
	asked  []asked
}

// asked are the subjects that a field of Query asks for, whose arguments are right.
type asked struct {
	subjects []storage.Subject
	one      bool // and not a list
}

func (r *Root) newAhead(ctx context.Context) *ahead {
	return &ahead{
		Root: r, ctx: ctx, op: graphql.GetOperationContext(ctx), loaders: loaders.From(ctx), me: viewer.From(ctx),
	}
}

// aheadOfQuery loads what a query needs. It returns the values of its root fields
// where all of them ask for subjects.
func (r *Root) aheadOfQuery(ctx context.Context, roots *plan.Selection) (values []any) {
	a := r.newAhead(ctx)
	for i := range roots.Fields {
		a.lookAt(&roots.Fields[i], nil)
	}
	a.run()
	if len(a.asked) < len(roots.Fields) {
		return nil
	}
	values = make([]any, 0, len(a.asked))
	for _, one := range a.asked { // in memory, unless that has failed
		found, err := a.loaders.Interactives(ctx, one.subjects)
		switch {
		case err != nil:
			return nil // the executor tells
		case one.one:
			values = append(values, found[0])
		default:
			values = append(values, found)
		}
	}
	return values
}

// run loads what is wanted, and what that wants, level by level.
func (a *ahead) run() {
	for a.wanted {
		wants, then := a.wants, a.then
		a.wants, a.wanted, a.then = loaders.Wants{}, false, nil
		_ = a.loaders.Fetch(a.ctx, wants) // the loaders remember what has failed
		for _, f := range then {
			f()
		}
	}
}

// look notes what an object needs that a field holds: a pointer to one of
// storage's types, or nil.
func (a *ahead) look(field *plan.Field, object any) {
	selected := field.Of(graph.PlainType(object))
	if selected == nil || !selected.Deeper {
		return
	}
	for i := range selected.Fields {
		if field := &selected.Fields[i]; field.Deeper {
			a.lookAt(field, object)
		}
	}
}

// lookAt notes what a field of an object needs.
func (a *ahead) lookAt(field *plan.Field, object any) {
	if look := a.lines[field.Key].ahead; look != nil {
		look(a, field, object)
	}
}

// want notes that a key is wanted, and what to do with what is loaded for it.
func want[K comparable, V any](a *ahead, b batch[K, V], key K, then func(found V)) {
	keys := b.wanted(&a.wants)
	*keys, a.wanted = append(*keys, key), true
	a.then = append(a.then, func() {
		if found, err := b.load(a.loaders, a.ctx, key); err == nil {
			then(found)
		}
	})
}

// slice is which part of a list a field asks for. What the resolver would refuse
// is left out.
func (a *ahead) slice(field *plan.Field) (part slice) {
	values := field.ArgumentMap(a.op.Variables)
	if biz, ok := values["biz"].(string); ok {
		part.biz = &biz
	}
	if n, err := graphql.UnmarshalInt(values["first"]); err == nil && values["first"] != nil {
		part.first = &n
	}
	if after, ok := values["after"].(string); ok {
		part.after = &after
	}
	return part
}
