package transport

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"

	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/resolvers/persisted"
)

// maxNameBytes is the maximum length of operation names in the log and the metrics.
const maxNameBytes = 64

// kindWebSocket is the kind of a request that opens a WebSocket. Each operation on it
// has a record of its own.
const kindWebSocket = "websocket"

// Kinds of requests that are no operations of an API. Only the access log has requests of
// KindPage: anyone can cause errors there without end.
const (
	KindFile = "file" // transfers a file of any size
	KindPage = "page" // reads a page or another public document
)

// kindBatch is the kind of an admitted batch. Each of its operations has a record of its
// own.
const kindBatch = "batch"

type recordKey struct{}

// record holds what the log and the metrics report about a request or, on a WebSocket,
// about an operation. It is used only by the goroutine that serves the request or the
// operation.
type record struct {
	viewer.Identity
	*Config

	start     time.Time
	client    rate.Client
	payer     rate.Payer
	operation string // the name, truncated to maxNameBytes
	invalid   bool   // the document was rejected
	kind      string
	code      string // of the first error
	trusted   persisted.Use
}

// recordContext is a context that carries a record.
type recordContext struct {
	context.Context

	record record
}

// Value implements context.Context.
func (c *recordContext) Value(key any) any {
	switch key {
	case recordKey{}:
		return &c.record
	case rate.Key{}:
		return &c.record.payer
	case persisted.Key{}:
		return &c.record.trusted
	}
	return c.Context.Value(key)
}

// begin starts the measurement. Call end to finish it.
func (c *recordContext) begin() {
	c.record.start = time.Now()
	c.record.Metrics.inFlight.Inc()
}

// recordOf returns the record of a request. If no Handler serves the request, it returns
// a record that nothing reads.
func recordOf(ctx context.Context) *record {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		return rec
	}
	return &record{Config: &Config{Logger: slog.Default(), Metrics: noMetrics}, Identity: viewer.Identity{User: viewer.FromContext(ctx)}}
}

// end updates the metrics, and logs the request if it has an error or the access log is
// on.
func (rec *record) end(ctx context.Context, more ...slog.Attr) {
	took := time.Since(rec.start)
	if rec.code == "" {
		rec.code = codeOK
	}
	rec.Metrics.end(rec, took)
	if !rec.AccessLog && (rec.code == codeOK || rec.kind == KindPage) || !rec.Logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	rec.Logger.LogAttrs(ctx, slog.LevelInfo, "request", append([]slog.Attr{
		slog.String("operation", rec.operation),
		slog.String("kind", rec.kind),
		slog.String("user", rec.User.UserID),
		slog.String("tenant", rec.User.Tenant),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("code", rec.code),
	}, more...)...)
}

// setOperation records the name and kind of the operation. If the document was rejected,
// setOperation records the name and kind that firstOperation returns. Recorded names are
// valid GraphQL names.
func (rec *record) setOperation(operation *graphql.OperationContext, params *graphql.RawParams) {
	var name string
	if operation != nil && operation.Operation != nil {
		name, rec.kind = operation.Operation.Name, string(operation.Operation.Operation)
	} else {
		name, rec.kind = firstOperation(params.Query)
		rec.invalid = true
	}
	rec.operation = name[:min(len(name), maxNameBytes)]
}

// firstOperation returns the name and kind of the operation at the start of a document,
// or "" for both if the document starts with something else.
func firstOperation(document string) (name, kind string) {
	tokens := lexer.New(&ast.Source{Input: document})
	token, err := tokens.ReadToken()
	for err == nil && token.Kind == lexer.Comment {
		token, err = tokens.ReadToken()
	}
	switch {
	case err != nil:
		return "", ""
	case token.Kind == lexer.BraceL:
		return "", string(ast.Query)
	case token.Kind != lexer.Name || !slices.Contains([]string{"query", "mutation", "subscription"}, token.Value):
		return "", ""
	}
	kind = token.Value
	if token, err = tokens.ReadToken(); err == nil && token.Kind == lexer.Name {
		name = token.Value
	}
	return name, kind
}

// panicked logs a panic and returns the message for the client. The message has an id,
// under which the log has the stack.
func (rec *record) panicked(ctx context.Context, value any) string {
	id := uuid.NewString()
	rec.Logger.ErrorContext(ctx, "panic while answering a request",
		"id", id, "error", fmt.Sprint(value), "stack", string(debug.Stack()))
	return "internal error; the server's log has it under " + id
}
