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
	"ovation/storage"
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
	if op.Operation.Operation == ast.Query {
		if asked := r.aheadOfQuery(ctx, q.roots); len(asked) == len(q.roots.Fields) {
			if data, ok := q.answer(l.Memory(), asked); ok {
				r.worked()
				return graphql.OneShot(&graphql.Response{Data: data})
			}
		}
		rows.Unfold(op.Variables)
	} else if data, ok := q.act(ctx); ok {
		r.worked()
		return graphql.OneShot(&graphql.Response{Data: data})
	}
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

// answer answers a query whose root fields ask for subjects, all of them loaded.
func (q *request) answer(l *loaders.Loaders, roots []asked) (data []byte, ok bool) {
	return q.written(func(w *graph.PlainWriter) {
		w.Open()
		for i := range roots {
			one := &roots[i]
			selected := one.field.Below()
			found, err := l.Interactives(q.memory, one.subjects)
			if !selected.Writable || err != nil {
				w.Fail()
				return
			}
			w.Entry(i)
			w.Name(one.field.Alias)
			if one.field.Name == "interactives" {
				w.Write(selected.Fast, found)
			} else {
				w.Write(selected.Fast, found[0])
			}
		}
		w.Close()
	})
}

func (q *request) written(write func(*graph.PlainWriter)) (text []byte, ok bool) {
	return written(q.memory, q.Root, q.plan, write)
}

// written returns what write writes, or false where the executor has to answer.
func written(ctx context.Context, resolvers graph.ResolverRoot, of *plan.Plan, write func(*graph.PlainWriter)) (text []byte, ok bool) {
	defer func() {
		if recover() != nil { // the executor will meet it, too, and tell where
			text, ok = nil, false
		}
	}()
	w := graph.NewPlainWriter(ctx, resolvers)
	w.Grow(int(of.Size.Load()))
	write(w)
	if text, ok = w.Text(); ok {
		of.Size.Store(int64(len(text) + len(text)/8))
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
	field := q.roots.At(graphql.GetFieldContext(ctx))
	if field == nil {
		return value, nil
	}
	selected := field.Of(typ)
	if selected == nil || !selected.Writable {
		return value, nil
	}
	text, ok := q.written(func(w *graph.PlainWriter) { w.Write(selected.Fast, value) }) //nolint:contextcheck // nothing that waits
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

// plainly writes the response of a subscription.
func (s *subscription) plainly(ctx context.Context, one *storage.Interactive) (data []byte, ok bool) {
	field := &s.plan.Roots(graphql.GetOperationContext(ctx)).Fields[0] // there is one, which limits see to
	selected := field.Of("Interactive")
	if selected == nil || !selected.Writable {
		return nil, false
	}
	ctx = loaders.With(ctx, loaders.From(ctx).Memory())
	return written(ctx, s.Root, s.plan, func(w *graph.PlainWriter) {
		w.Open()
		w.Name(field.Alias)
		w.Write(selected.Fast, one)
		w.Close()
	})
}
