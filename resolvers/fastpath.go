package resolvers

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/internal/plain"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/resolvers/rows"
	"ovation/storage"
)

// request is a running query or mutation.
type request struct {
	*Root

	op    *graphql.OperationContext
	plan  *plan.Plan
	roots *plan.Selection
	// cachedOnly is the context for resolvers that may use only cached objects.
	cachedOnly context.Context //nolint:containedctx // lives as long as the operation
	// fastResult is the result of a mutation's only field, if it ran without the
	// executor.
	fastResult *fastResult
}

// begin creates the loaders for an operation and prefetches what a query needs. The
// fields of a mutation run one after another, and each of them loads what it needs. A
// subscription creates new loaders for each snapshot.
//
// begin answers a query for subjects directly if everything that the query selects has
// been prefetched. It does the same for a mutation that is a single action. All other
// operations are executed by gqlgen, and the values that can be encoded directly are
// replaced by their JSON.
func (r *Root) begin(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	if op.Operation.Operation != ast.Query {
		rows.Unfold(op.Variables)
	}
	if op.Operation.Operation == ast.Subscription {
		return r.subscribe(ctx, op, next)
	}
	ctx = r.policy.Begin(ctx)
	p := r.limits.Plan(op)
	l := loaders.New(r.store, viewer.FromContext(ctx), p.Kinds)
	ctx = loaders.NewContext(ctx, l)
	q := &request{Root: r, op: op, plan: p, roots: p.Roots(op), cachedOnly: loaders.NewContext(ctx, l.CachedOnly())}
	var values []any
	if op.Operation.Operation == ast.Query {
		values = r.prefetchQuery(ctx, q.roots)
	} else {
		values = q.tryFast(ctx)
	}
	if data, ok := r.writeData(q.cachedOnly, p, q.roots, values); ok { //nolint:contextcheck // does not block
		r.logSuccess()
		return graphql.OneShot(&graphql.Response{Data: data})
	}
	rows.Unfold(op.Variables)
	op.ResolverMiddleware = q.resolveField
	if q.fastResult != nil {
		return withGrace(next(ctx))
	}
	return next(ctx)
}

// lateGrace is how long the response to a mutation may take after the request's
// timeout.
const lateGrace = time.Second

// withGrace gives an expired request time to respond, because its mutation may have been
// applied.
func withGrace(respond graphql.ResponseHandler) graphql.ResponseHandler {
	return func(ctx context.Context) *graphql.Response {
		if ctx.Err() != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lateGrace)
			defer cancel()
		}
		return respond(ctx)
	}
}

// writeData encodes a response whose root fields have the given values. It returns
// false if there are fewer values than fields, or if the executor must respond for
// another reason.
func (r *Root) writeData(memory context.Context, p *plan.Plan, roots *plan.Selection, values []any) (data []byte, ok bool) {
	if len(values) != len(roots.Fields) {
		return nil, false
	}
	return r.encodePlain(memory, p, func(w *graph.PlainWriter) {
		w.Open()
		for i, value := range values {
			field := &roots.Fields[i]
			w.Entry(i)
			w.Name(field.Alias)
			if nodes, is := value.([]storage.Node); is {
				writeNodes(w, field, nodes)
			} else {
				writeValue(w, field, value)
			}
		}
		w.Close()
	})
}

// writeNodes writes a list of objects of the types that a field can hold. Each may be
// null.
func writeNodes(w *graph.PlainWriter, field *plan.Field, nodes []storage.Node) {
	w.OpenList()
	for i, node := range nodes {
		w.Entry(i)
		if node == nil {
			w.Null(false)
		} else {
			writeValue(w, field, node)
		}
	}
	w.CloseList()
}

// writeValue writes an object or a list of objects of one type.
func writeValue(w *graph.PlainWriter, field *plan.Field, value any) {
	selected := field.Of(graph.PlainType(value))
	if selected == nil || !selected.Writable {
		w.Fail()
		return
	}
	w.Write(selected.Fast, value)
}

// encodePlain returns the JSON that write produces, or false if the executor must
// respond.
func (r *Root) encodePlain(memory context.Context, p *plan.Plan, write func(*graph.PlainWriter)) (text []byte, ok bool) {
	defer func() {
		if recover() != nil { // the executor will panic, too, and report the path
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

// resolveField wraps each resolver of the executor, and replaces the resolver's value
// with JSON if the value can be encoded directly.
func (q *request) resolveField(ctx context.Context, next graphql.Resolver) (any, error) {
	value, err := q.callResolver(ctx, next)
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
	text, ok := q.encodePlain(q.cachedOnly, q.plan, func(w *graph.PlainWriter) { w.Write(selected.Fast, value) }) //nolint:contextcheck // does not block
	if !ok {
		return value, nil
	}
	return plain.Text(text), nil
}

// callResolver calls the resolver of a field. If the field is a mutation that tryFast has
// already run, callResolver returns the result of that run, or repeats its panic.
func (q *request) callResolver(ctx context.Context, next graphql.Resolver) (any, error) {
	if q.fastResult == nil || graphql.GetFieldContext(ctx).Object != "Mutation" {
		return next(ctx)
	}
	if q.fastResult.panicked != nil {
		panic(q.fastResult.panicked)
	}
	return q.fastResult.value, q.fastResult.err
}
