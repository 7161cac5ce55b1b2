package resolvers

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/graph"
	"ovation/loaders"
	"ovation/plain"
	"ovation/resolvers/plan"
	"ovation/resolvers/rows"
	"ovation/resolvers/viewer"
)

// request is a query or a mutation under way.
type request struct {
	*Root

	op    *graphql.OperationContext
	plan  *plan.Plan
	roots *plan.Selection
	// memory is the context of resolvers that have to find in memory what they
	// need.
	memory context.Context //nolint:containedctx // lives as long as the operation
	// acted is what came of a mutation's only field, if that was done ahead of
	// the executor.
	acted *acted
}

// begin gives an operation its loaders and loads ahead what a query needs. The
// fields of a mutation run one after another, and each loads for itself. A
// subscription has its own for each moment at which something is told.
//
// A query that asks for subjects, and for nothing that was not loaded ahead, is
// answered at once. So is a mutation that is one action. Of all others the
// executor is spared the parts that can be written plainly.
func (r *Root) begin(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	if op.Operation.Operation != ast.Query {
		rows.Unfold(op.Variables)
	}
	if op.Operation.Operation == ast.Subscription {
		return r.subscribe(ctx, op, next)
	}
	p := r.limits.Plan(op)
	l := loaders.New(r.store, viewer.From(ctx), p.Kinds)
	ctx = loaders.With(ctx, l)
	q := &request{Root: r, op: op, plan: p, roots: p.Roots(op), memory: loaders.With(ctx, l.Memory())}
	var values []any
	if op.Operation.Operation == ast.Query {
		values = r.aheadOfQuery(ctx, q.roots)
	} else {
		values = q.act(ctx)
	}
	if data, ok := r.write(q.memory, p, q.roots, values); ok { //nolint:contextcheck // nothing that waits
		r.worked()
		return graphql.OneShot(&graphql.Response{Data: data})
	}
	rows.Unfold(op.Variables)
	op.ResolverMiddleware = q.resolve
	if q.acted != nil {
		return late(next(ctx))
	}
	return next(ctx)
}

// lateTime is how long it may take to tell of an action that took too long.
const lateTime = time.Second

// late is a response that is given although the time for it is over: what it
// tells of was done, or may have been.
func late(respond graphql.ResponseHandler) graphql.ResponseHandler {
	return func(ctx context.Context) *graphql.Response {
		if ctx.Err() != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lateTime)
			defer cancel()
		}
		return respond(ctx)
	}
}

// write writes an answer whose root fields have these values. It returns false
// where there are not as many, or the executor has to answer for another reason.
func (r *Root) write(memory context.Context, p *plan.Plan, roots *plan.Selection, values []any) (data []byte, ok bool) {
	if len(values) != len(roots.Fields) {
		return nil, false
	}
	return r.written(memory, p, func(w *graph.PlainWriter) {
		w.Open()
		for i, value := range values {
			field := &roots.Fields[i]
			selected := field.Of(graph.PlainType(value))
			if selected == nil || !selected.Writable {
				w.Fail()
				return
			}
			w.Entry(i)
			w.Name(field.Alias)
			w.Write(selected.Fast, value)
		}
		w.Close()
	})
}

// written returns what write writes, or false where the executor has to answer.
func (r *Root) written(memory context.Context, p *plan.Plan, write func(*graph.PlainWriter)) (text []byte, ok bool) {
	defer func() {
		if recover() != nil { // the executor will meet it, too, and tell where
			text, ok = nil, false
		}
	}()
	w := graph.NewPlainWriter(memory, r)
	w.Grow(int(p.Size.Load()))
	write(w)
	if text, ok = w.Text(); ok {
		p.Size.Store(int64(len(text) + len(text)/8))
	}
	return text, ok
}

// resolve goes around each resolver of the executor, and writes what it returns
// where that can be written plainly.
func (q *request) resolve(ctx context.Context, next graphql.Resolver) (any, error) {
	value, err := q.ask(ctx, next)
	if err != nil {
		return value, err
	}
	typ := graph.PlainType(value)
	if typ == "" {
		return value, nil
	}
	selected := q.roots.At(graphql.GetFieldContext(ctx)).Of(typ)
	if selected == nil || !selected.Writable {
		return value, nil
	}
	text, ok := q.written(q.memory, q.plan, func(w *graph.PlainWriter) { w.Write(selected.Fast, value) }) //nolint:contextcheck // nothing that waits
	if !ok {
		return value, nil
	}
	return plain.Text(text), nil
}

// ask asks a resolver, but for what is known already.
func (q *request) ask(ctx context.Context, next graphql.Resolver) (any, error) {
	if q.acted == nil || graphql.GetFieldContext(ctx).Object != "Mutation" {
		return next(ctx)
	}
	if q.acted.panicked != nil {
		panic(q.acted.panicked)
	}
	return q.acted.value, q.acted.err
}
