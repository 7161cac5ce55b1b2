package transport

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

// maxNameBytes is how much of an operation's name the log and the metrics
// take.
const maxNameBytes = 64

// Config says how a Handler treats requests.
type Config struct {
	// Auth tells the viewers. Nil: everybody is anonymous.
	Auth *viewer.Authenticator
	// Logger takes a line for each request. Nil: slog.Default().
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// AllowedOrigins are the origins whose web pages may ask, as browsers
	// name them ("https://app.example.com"), or "*" for all. None: pages of
	// the server's own origin alone. Each passes CheckOrigin.
	AllowedOrigins []string
}

// Handler goes around a GraphQL server: it answers for cross-origin requests,
// refuses those whose token is not good (401), puts the viewer into the
// context, logs each request in one line, measures it, and answers for
// panics.
func Handler(next http.Handler, cfg Config) http.Handler {
	h := &handler{next: next, auth: cfg.Auth, log: cfg.Logger, metrics: cfg.Metrics}
	if h.log == nil {
		h.log = slog.Default()
	}
	if len(cfg.AllowedOrigins) == 0 {
		return h
	}
	return newOrigins(cfg.AllowedOrigins, h)
}

type handler struct {
	next    http.Handler
	auth    *viewer.Authenticator
	log     *slog.Logger
	metrics *Metrics
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &record{start: time.Now(), user: viewer.From(r.Context()), log: h.log}
	out := &countingWriter{ResponseWriter: w}
	ctx := context.WithValue(r.Context(), recordKey{}, rec)
	r = r.WithContext(ctx)
	h.metrics.begin()
	defer h.end(ctx, rec, out)
	defer answerPanic(out, r)
	if h.auth != nil {
		user, err := h.auth.Authenticate(r)
		if err != nil {
			out.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			WriteError(out, r, http.StatusUnauthorized, codeUnauthenticated, err.Error())
			return
		}
		rec.user = user
		r = r.WithContext(viewer.With(ctx, user))
	}
	h.next.ServeHTTP(out, r)
}

func (h *handler) end(ctx context.Context, rec *record, out *countingWriter) {
	took := time.Since(rec.start)
	if rec.code == "" {
		rec.code = codeOK
	}
	h.metrics.end(rec.operation, rec.code, took)
	h.log.LogAttrs(ctx, slog.LevelInfo, "request",
		slog.String("operation", rec.operation),
		slog.String("kind", rec.kind),
		slog.String("user", rec.user.UserID),
		slog.String("tenant", rec.user.Tenant),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int("status", out.status),
		slog.String("code", rec.code),
		slog.Int64("bytes", out.bytes),
	)
}

type recordKey struct{}

// record is what is known of a request, for its line in the log. It belongs
// to the goroutine that serves the request.
type record struct {
	start     time.Time
	log       *slog.Logger
	user      storage.User
	operation string // its name, at most maxNameBytes of it
	kind      string
	code      string
}

// recordOf is the record of a request, or one that nobody reads where no
// Handler goes around the server.
func recordOf(ctx context.Context) *record {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		return rec
	}
	return &record{log: slog.Default()}
}

// see notes what is asked, of a refused document as far as it can be told. A
// name is one by the rules of GraphQL.
func (rec *record) see(operation *graphql.OperationContext, params *graphql.RawParams) {
	var name string
	if operation != nil && operation.Operation != nil {
		name, rec.kind = operation.Operation.Name, string(operation.Operation.Operation)
	} else {
		name, rec.kind = firstOperation(params.Query)
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

// answerPanic is deferred around whatever may panic. The client gets an id,
// the log the id and the stack.
func answerPanic(w http.ResponseWriter, r *http.Request) {
	value := recover()
	switch value {
	case nil:
		return
	case http.ErrAbortHandler:
		panic(value)
	}
	id := uuid.NewString()
	recordOf(r.Context()).log.ErrorContext(r.Context(), "panic while answering a request",
		"id", id, "error", fmt.Sprint(value), "stack", string(debug.Stack()))
	if out, ok := w.(*countingWriter); ok && out.status != 0 {
		panic(http.ErrAbortHandler) // an answer is half out: cut the connection
	}
	WriteError(w, r, http.StatusInternalServerError, codeInternal,
		"something went wrong on our side; the log has it under "+id)
}

// countingWriter knows what was written through it.
type countingWriter struct {
	http.ResponseWriter

	status int
	bytes  int64
}

// Unwrap lets http.ResponseController reach the connection.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *countingWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *countingWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Flush lets a stream of events out.
func (w *countingWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}
