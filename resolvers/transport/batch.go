package transport

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/codes"
	"ovation/api/rate"
)

// batched is an operation of a batch.
type batched struct {
	*recordContext

	ctx       context.Context // with the record
	operation *graphql.OperationContext
	errs      gqlerror.List
}

// answerBatch answers a batch by an array of responses in the order of the operations,
// with status 200, in the media type that the client accepts.
//
// First, all operations are parsed, validated and charged, and the batch is refused as a
// whole, by one response with errors, if its operations exceed a limit together or the
// client has too few units for all of them. Nothing is executed then. After that the
// operations run one after another, whether those before them succeed or not, each with
// loaders of its own: a query sees what the mutations before it have changed. An
// operation that is invalid, or a subscription, has an error in its place. AnswerTimeout
// bounds the whole.
func (h HTTP) answerBatch(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, batch []*graphql.RawParams) {
	ctx, cancel := context.WithTimeout(r.Context(), AnswerTimeout)
	defer cancel()
	if _, accepted := negotiate(r.Header); !accepted {
		WriteError(w, r, http.StatusNotAcceptable, codes.BadUserInput,
			fmt.Sprintf("a batch is answered as %s or %s; the Accept header allows neither", mediaJSON, mediaGraphQL))
		return
	}
	rec, tab := recordOf(ctx), &rate.Tab{}
	tab.Units = (len(batch) - 1) * rate.PerRequest // the first is paid
	operations := make([]*batched, len(batch))
	for i, params := range batch {
		params.Headers = r.Header
		operations[i] = prepareBatched(ctx, rec, tab, exec, params)
		if tab.Refused != nil {
			WriteError(w, r, http.StatusBadRequest, codes.LimitExceeded, tab.Refused.Message)
			return
		}
	}
	if wait := rec.payer.Take(tab.Units); wait > 0 {
		WriteLimited(w, r, wait)
		return
	}
	rec.kind = kindBatch
	body := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(body)
	for i, one := range operations {
		body.WriteByte("[,"[min(i, 1)])
		one.answer(exec, i, rec.payer, func(response *graphql.Response) { encode(body, response) })
	}
	body.WriteByte(']')
	write(w, r, http.StatusOK, body)
}

// prepareBatched prepares an operation and puts its bill on a tab.
func prepareBatched(ctx context.Context, of *record, tab *rate.Tab, exec graphql.GraphExecutor, params *graphql.RawParams) *batched {
	measured := &recordContext{ctx, record{Identity: of.Identity, Config: of.Config, client: of.client, payer: of.payer.On(tab)}}
	out := &batched{recordContext: measured, ctx: graphql.StartOperationTrace(measured)}
	out.operation, out.errs = exec.CreateOperationContext(out.ctx, params) //nolint:contextcheck // ctx is one of the request
	out.record.setOperation(out.operation, params)
	return out
}

// answer executes an operation, if it is valid, and calls give with its response. The
// operation is measured and logged with its index in the batch.
func (b *batched) answer(exec graphql.GraphExecutor, index int, payer rate.Payer, give func(*graphql.Response)) {
	b.begin()
	b.record.payer = payer
	defer func() { b.record.end(b.ctx, slog.Int("batch", index)) }()
	deliver := func(response *graphql.Response) bool {
		if len(response.Data) == 0 {
			response.Errors = coded(response.Errors)
			if len(response.Errors) == 0 {
				response = failure(codes.Internal, "the server has no response to this operation")
			}
		}
		b.record.code = firstCode(response.Errors)
		give(response)
		return true
	}
	switch {
	case b.errs != nil:
		deliver(&graphql.Response{Errors: b.errs})
	case b.operation.Operation.Operation == ast.Subscription:
		deliver(failure(codes.BadUserInput, "a batch must not hold subscriptions: send them over a WebSocket (graphql-transport-ws), or alone with Accept: text/event-stream"))
	case b.ctx.Err() != nil:
		deliver(failure(codes.Unavailable, "the batch was cancelled, or took too long, before this operation was executed"))
	default:
		run(b.ctx, exec, b.operation, deliver)
	}
}
