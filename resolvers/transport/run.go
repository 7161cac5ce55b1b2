package transport

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// AnswerTimeout is how long a query or a mutation may be worked on.
const AnswerTimeout = 15 * time.Second

// run executes an operation and gives its responses, one after another: one
// response, or those of a subscription until there are no more, the context
// ends or give returns false. A response without data is the last. A panic
// becomes such a response. A response belongs to give until it returns.
func run(ctx context.Context, exec graphql.GraphExecutor, operation *graphql.OperationContext, give func(*graphql.Response) bool) {
	defer rescue(ctx, give)
	if operation.Operation.Operation != ast.Subscription {
		limited, cancel := context.WithTimeout(ctx, AnswerTimeout)
		defer cancel()
		responses, limited := exec.DispatchOperation(limited, operation)
		response := responses(limited)
		if response == nil {
			// The executor has nothing to say once the context has ended: the
			// client is gone, or the time is up.
			response = failure(codeUnavailable, "the request was given up before it was answered")
		}
		give(response)
		return
	}
	responses, ctx := exec.DispatchOperation(ctx, operation)
	for {
		response := responses(ctx)
		if response == nil || !give(response) || len(response.Data) == 0 {
			return
		}
	}
}

// rescue is deferred around whatever may panic, and gives a response in place
// of the panic.
func rescue(ctx context.Context, give func(*graphql.Response) bool) {
	if value := recover(); value != nil {
		give(failure(codeInternal, recordOf(ctx).panicked(ctx, value)))
	}
}

type parkingKey struct{}

// parking is where a subscription that has nothing to tell leaves word how to
// learn that it has.
type parking struct {
	await func(ready func())
}

// parked is the response of a subscription that has nothing to tell yet.
var parked = new(graphql.Response)

// Park is for a subscription that has nothing to tell yet. Where the transport
// can do without a goroutine meanwhile, Park returns what to respond at once,
// and the next response is asked for when await has called ready. Await must do
// so once, and also when the context ends. Otherwise Park returns nil, and there
// is nothing to do but wait.
func Park(ctx context.Context, await func(ready func())) *graphql.Response {
	if p, ok := ctx.Value(parkingKey{}).(*parking); ok {
		p.await = await
		return parked
	}
	return nil
}
