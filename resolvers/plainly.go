package resolvers

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/graph"
	"ovation/loaders"
	"ovation/plain"
	"ovation/resolvers/rows"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

// request is a query or a mutation under way.
type request struct {
	*Root

	op    *graphql.OperationContext
	facts *facts
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
	f := r.factsOf(op)
	l := loaders.New(r.store, viewer.From(ctx), f.kinds)
	ctx = loaders.With(ctx, l)
	q := &request{Root: r, op: op, facts: f, memory: loaders.With(ctx, l.Memory())}
	if op.Operation.Operation == ast.Query {
		roots := f.rootsOf(op)
		if asked := r.aheadOfQuery(ctx, roots); len(asked) == len(roots) {
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
	return q.facts.written(q.memory, q.Root, func(w *graph.PlainWriter) {
		w.Open()
		for i := range roots {
			one := &roots[i]
			fields, plainly := q.facts.plans.Of(q.op, one.field.CollectedField, "Interactive")
			found, err := l.Interactives(q.memory, one.subjects)
			if !plainly || err != nil {
				w.Fail()
				return
			}
			w.Entry(i)
			w.Name(one.field.Alias)
			if one.field.Name == "interactives" {
				w.Write(fields, found)
			} else {
				w.Write(fields, found[0])
			}
		}
		w.Close()
	})
}

// written returns what write writes, or false where the executor has to answer.
func (f *facts) written(ctx context.Context, resolvers graph.ResolverRoot, write func(*graph.PlainWriter)) (text []byte, ok bool) {
	defer func() {
		if recover() != nil { // the executor will meet it, too, and tell where
			text, ok = nil, false
		}
	}()
	w := graph.NewPlainWriter(ctx, resolvers)
	w.Grow(int(f.size.Load()))
	write(w)
	if text, ok = w.Text(); ok {
		f.size.Store(int64(len(text) + len(text)/8))
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
	fields, plainly := q.facts.plans.Of(q.op, graphql.GetFieldContext(ctx).Field, typ)
	if !plainly {
		return value, nil
	}
	text, ok := q.facts.written(q.memory, q.Root, func(w *graph.PlainWriter) { w.Write(fields, value) }) //nolint:contextcheck // nothing that waits
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
	op := graphql.GetOperationContext(ctx)
	roots := s.facts.rootsOf(op)
	if len(roots) != 1 || roots[0].Name != "interactiveChanged" {
		return nil, false
	}
	fields, plainly := s.facts.plans.Of(op, roots[0].CollectedField, "Interactive")
	if !plainly {
		return nil, false
	}
	ctx = loaders.With(ctx, loaders.From(ctx).Memory())
	return s.facts.written(ctx, s.Root, func(w *graph.PlainWriter) {
		w.Open()
		w.Name(roots[0].Alias)
		w.Write(fields, one)
		w.Close()
	})
}
