package resolvers

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/codes"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// prefetch loads what an operation needs before its resolvers ask for it. It walks the
// plan breadth first, and calls the resolvers of the fields that have to be looked up with
// loaders that only note the keys (attempt). All keys of one level are then loaded
// together, and the resolvers that missed something are called again. Each level therefore
// costs one storage call per kind of object, regardless of the number of objects. When the
// response is written, the resolvers find everything in the loaders' cache.
//
// A prefetch never changes a response. Resolvers load the objects that were not
// prefetched. The loaders cache errors, and the resolvers report them.
type prefetch struct {
	*Root
	ctx     context.Context //nolint:containedctx // lives as long as one call of run
	op      *graphql.OperationContext
	loaders *loaders.Loaders
	noting  context.Context //nolint:containedctx // like ctx, for attempts; nil until the first
	me      storage.User

	waiting   bool     // keys are noted
	callbacks []func() // called when the noted keys are loaded
	roots     []rootField
	users     []storage.User // the authors visited, allocated together

	// unavailable is set if loading failed with an error that clients receive as
	// UNAVAILABLE. Loading may succeed later.
	unavailable error
}

// rootField is a field of Query whose value is known once everything is prefetched: subjects,
// or the objects of other types to which representations refer. The field's arguments are
// valid.
type rootField struct {
	subjects []storage.Subject
	single   bool                   // the field is not a list
	found    []*storage.Interactive // nil unless deeper fields needed the subjects

	refs []storage.NodeRef // if it is not nil, nothing else is set
}

func (r *Root) newPrefetch(ctx context.Context) *prefetch {
	return &prefetch{
		Root: r, ctx: ctx, op: graphql.GetOperationContext(ctx), loaders: loaders.FromContext(ctx), me: viewer.FromContext(ctx),
	}
}

// prefetchQuery loads what a query needs. If all root fields of the query are subjects or
// entities, it returns the values of these fields.
func (r *Root) prefetchQuery(ctx context.Context, roots *plan.Selection) (values []any) {
	a := r.newPrefetch(ctx)
	for i := range roots.Fields {
		a.visitField(&roots.Fields[i], nil)
	}
	a.run()
	if len(a.roots) < len(roots.Fields) {
		return nil
	}
	values = make([]any, 0, len(a.roots))
	for i := range a.roots {
		value, err := a.value(&a.roots[i])
		if err != nil {
			return nil // the executor reports the error
		}
		values = append(values, value)
	}
	return values
}

// value returns the value of a root field. It is cached, unless loading has failed.
func (p *prefetch) value(of *rootField) (_ any, err error) {
	if of.refs != nil {
		nodes := make([]storage.Node, len(of.refs))
		for i, ref := range of.refs {
			if nodes[i], err = p.node(p.ctx, ref); err != nil {
				return nil, err
			}
		}
		return nodes, nil
	}
	if of.found == nil {
		if of.found, err = loaders.Interactives.LoadMany(p.ctx, of.subjects); err != nil {
			return nil, err
		}
	}
	if of.single {
		return of.found[0], nil
	}
	return of.found, nil
}

// run loads the noted keys, and what the loaded objects need, level by level.
func (p *prefetch) run() {
	for p.waiting {
		then := p.callbacks
		p.waiting, p.callbacks = false, nil
		if err := p.loaders.Fetch(p.ctx); err != nil { // the loaders cache errors
			if code, _ := codeOf(err); code == codes.Unavailable {
				p.unavailable = err
			}
		}
		for _, f := range then {
			f()
		}
	}
}

// visit collects what the selections below a field need. The parameter object is the
// field's value: a pointer to a type in package storage, or nil.
func (p *prefetch) visit(field *plan.Field, object any) {
	selected := field.Of(graph.PlainType(object))
	if selected == nil || !selected.Deeper {
		return
	}
	for i := range selected.Fields {
		if field := &selected.Fields[i]; field.Deeper {
			p.visitField(field, object)
		}
	}
}

// visitField collects what a field of an object needs.
func (p *prefetch) visitField(field *plan.Field, object any) {
	if look := p.fieldTable[field.Key].prefetch; look != nil {
		look(p, field, object)
	}
}

// attempt calls a resolver, and passes on its value. If the resolver misses something, it
// is called again when that has been loaded. If it fails, the resolver will report the error
// when the response is written.
func attempt[V any](p *prefetch, resolve func(context.Context) (V, error), then func(V)) {
	if p.noting == nil {
		p.noting = loaders.NewContext(p.ctx, p.loaders.Noting())
	}
	found, err := resolve(p.noting)
	switch {
	case err == nil:
		then(found)
	case errors.Is(err, loaders.ErrNotLoaded):
		p.waiting, p.callbacks = true, append(p.callbacks, func() { attempt(p, resolve, then) })
	}
}

// visitLoaded visits the value of a field, which a resolver returns.
func visitLoaded[V any](p *prefetch, field *plan.Field, resolve func(context.Context) (V, error)) {
	attempt(p, resolve, func(found V) { p.visit(field, found) })
}

// visitSubject visits a subject, which is the value of a field.
func (p *prefetch) visitSubject(field *plan.Field, subject storage.Subject) {
	visitLoaded(p, field, func(ctx context.Context) (*storage.Interactive, error) {
		return loaders.Interactives.Load(ctx, subject)
	})
}

// pageArgs returns the arguments of a list field. It leaves out arguments that the
// resolver would reject.
func (p *prefetch) pageArgs(field *plan.Field) (part pageArgs) {
	values := field.ArgumentMap(p.op.Variables)
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
