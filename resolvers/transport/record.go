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

	"ovation/resolvers/rate"
	"ovation/resolvers/viewer"
)

// maxNameBytes is how much of an operation's name the log and the metrics
// take.
const maxNameBytes = 64

// kindWebSocket is the kind of a request that opened a WebSocket. Each
// operation on it has a record of its own.
const kindWebSocket = "websocket"

type recordKey struct{}

// record is what is known of a request or, on a WebSocket, of an operation,
// for its line in the log. It belongs to the goroutine that serves it.
type record struct {
	viewer.Identity

	start     time.Time
	log       *slog.Logger
	access    bool // it is logged even without an error
	metrics   *Metrics
	auth      *viewer.Authenticator // nil: everybody is anonymous
	limiter   *rate.Limiter         // may be nil
	client    rate.Client
	payer     rate.Payer
	operation string // its name, at most maxNameBytes of it
	invalid   bool   // the document was rejected
	kind      string
	code      string // of the first error
}

// recorded is a context with a record in it.
type recorded struct {
	context.Context

	record record
}

// Value implements context.Context.
func (c *recorded) Value(key any) any {
	switch key {
	case recordKey{}:
		return &c.record
	case rate.Key{}:
		return &c.record.payer
	}
	return c.Context.Value(key)
}

// begin begins to measure what the record is of. Call its end.
func (c *recorded) begin() {
	c.record.start = time.Now()
	c.record.metrics.begin()
}

// recordOf is the record of a request, or one that nobody reads where no
// Handler goes around the server.
func recordOf(ctx context.Context) *record {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		return rec
	}
	return &record{log: slog.Default(), Identity: viewer.Identity{User: viewer.From(ctx)}}
}

// end measures, and writes the line if there is an error or an access log.
func (rec *record) end(ctx context.Context, more ...slog.Attr) {
	took := time.Since(rec.start)
	if rec.code == "" {
		rec.code = codeOK
	}
	rec.metrics.end(rec, took)
	if !rec.access && rec.code == codeOK || !rec.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	rec.log.LogAttrs(ctx, slog.LevelInfo, "request", append([]slog.Attr{
		slog.String("operation", rec.operation),
		slog.String("kind", rec.kind),
		slog.String("user", rec.User.UserID),
		slog.String("tenant", rec.User.Tenant),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("code", rec.code),
	}, more...)...)
}

// see notes what is asked, of a refused document as far as it can be told. A
// name is one by the rules of GraphQL.
func (rec *record) see(operation *graphql.OperationContext, params *graphql.RawParams) {
	var name string
	if operation != nil && operation.Operation != nil {
		name, rec.kind = operation.Operation.Name, string(operation.Operation.Operation)
	} else {
		name, rec.kind = firstOperation(params.Query)
		rec.invalid = true
	}
	rec.operation = name[:min(len(name), maxNameBytes)]
}

// firstOperation is the name and kind of the operation that a document begins
// with, empty where it begins with something else.
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

// panicked logs a panic and returns what its client is told: an id, under
// which the log has the stack.
func (rec *record) panicked(ctx context.Context, value any) string {
	id := uuid.NewString()
	rec.log.ErrorContext(ctx, "panic while answering a request",
		"id", id, "error", fmt.Sprint(value), "stack", string(debug.Stack()))
	return "something went wrong on our side; the log has it under " + id
}
