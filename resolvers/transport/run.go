package transport

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/codes"
)

// AnswerTimeout bounds the execution of a query or a mutation.
const AnswerTimeout = 15 * time.Second

// run executes an operation and calls give with each of its responses. A query or a
// mutation has one response. A subscription has responses until the stream ends, the
// context ends or give returns false. A response without data is the last one. After a
// panic, the last response is an error without data. A response is valid until give
// returns.
func run(ctx context.Context, exec graphql.GraphExecutor, operation *graphql.OperationContext, give func(*graphql.Response) bool) {
	defer recoverPanic(ctx, give)
	if operation.Operation.Operation != ast.Subscription {
		limited, cancel := context.WithTimeout(ctx, AnswerTimeout)
		defer cancel()
		responses, limited := exec.DispatchOperation(limited, operation)
		response := responses(limited)
		if response == nil {
			// The executor returns nothing once the context has ended: the client has
			// disconnected, or the timeout has passed.
			response = failure(codes.Unavailable, "the request was cancelled, or took too long, before it was answered")
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

// recoverPanic must be deferred. After a panic, it recovers and calls give with an error
// response.
func recoverPanic(ctx context.Context, give func(*graphql.Response) bool) {
	if value := recover(); value != nil {
		give(failure(codes.Internal, recordOf(ctx).panicked(ctx, value)))
	}
}

type parkingKey struct{}

// parking holds the callback of a parked subscription.
type parking struct {
	await func(ready func())
}

// parked is the response of a subscription that has nothing to send yet.
var parked = new(graphql.Response)

// Park parks a subscription that has nothing to send yet. If the transport can release
// the goroutine in the meantime, Park returns a response, which the subscription must
// return immediately. The transport then passes a function to await, which must arrange
// for that function to be called once, even if the context ends first. The call makes the
// transport request the next response. If the transport cannot release the goroutine,
// Park returns nil, and the subscription has to wait.
func Park(ctx context.Context, await func(ready func())) *graphql.Response {
	if p, ok := ctx.Value(parkingKey{}).(*parking); ok {
		p.await = await
		return parked
	}
	return nil
}
