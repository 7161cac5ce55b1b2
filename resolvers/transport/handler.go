package transport

import (
	"log/slog"
	"net/http"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/resolvers/rate"
	"ovation/resolvers/viewer"
)

// Config says how a Handler treats requests.
type Config struct {
	// Auth tells the viewers. Nil: everybody is anonymous.
	Auth *viewer.Authenticator
	// Logger takes a line for each request that is answered with an error, and
	// with AccessLog for every other. Nil: slog.Default().
	Logger    *slog.Logger
	AccessLog bool
	// Metrics may be nil.
	Metrics *Metrics
	// Limiter limits how much a client may ask. Nil: nothing does.
	Limiter *rate.Limiter
	// AllowedOrigins are the origins whose web pages may ask, as browsers
	// name them ("https://app.example.com"), or "*" for all. None: pages of
	// the server's own origin alone. Each passes CheckOrigin.
	AllowedOrigins []string
}

// Serve answers each request by the first transport that supports it; the last
// one supports all, as HTTP does. Handler goes around it.
func Serve(exec graphql.GraphExecutor, by ...graphql.Transport) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		supports := func(t graphql.Transport) bool { return t.Supports(r) }
		by[slices.IndexFunc(by, supports)].Do(w, r, exec)
	})
}

// Handler goes around a GraphQL server: it answers for cross-origin requests,
// refuses those whose token is not good (401), puts the viewer into the
// context, logs it in one line, measures it, and answers for
// panics.
func Handler(next http.Handler, cfg Config) http.Handler {
	h := &handler{next: next, auth: cfg.Auth, log: cfg.Logger, access: cfg.AccessLog, metrics: cfg.Metrics, limiter: cfg.Limiter}
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
	access  bool
	metrics *Metrics
	limiter *rate.Limiter
}

// request is the context of a request, and what is written in reply.
type request struct {
	recorded

	out countingWriter
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	known := record{
		Identity: viewer.Identity{User: viewer.From(r.Context())}, log: h.log, access: h.access, metrics: h.metrics, auth: h.auth,
		limiter: h.limiter, client: h.limiter.ClientOf(r),
	}
	q := &request{recorded{graphql.StartOperationTrace(r.Context()), known}, countingWriter{ResponseWriter: w}}
	q.begin()
	r = r.WithContext(q)                                                                                   //nolint:contextcheck // q is one of the request
	defer func() { q.record.end(q, slog.Int("status", q.out.status), slog.Int64("bytes", q.out.bytes)) }() //nolint:contextcheck // as above
	defer answerPanic(&q.out, r)
	var denied error
	if h.auth != nil {
		var is viewer.Identity
		if is, denied = h.auth.Authenticate(r); denied == nil {
			q.record.Identity = is
			q.Context = viewer.With(q.Context, is.User) // nobody has asked it for anything yet
		}
	}
	q.record.payer = h.limiter.Payer(q.record.User, q.record.client, nil)
	if wait := q.record.payer.Take(rate.PerRequest); wait > 0 {
		respondWithout(&q.out, r, &graphql.Response{Errors: gqlerror.List{rate.Error(wait)}})
		return
	}
	if denied != nil {
		q.out.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		WriteError(&q.out, r, http.StatusUnauthorized, codeUnauthenticated, denied.Error())
		return
	}
	h.next.ServeHTTP(&q.out, r)
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
	message := recordOf(r.Context()).panicked(r.Context(), value)
	if out, ok := w.(*countingWriter); ok && out.status != 0 {
		panic(http.ErrAbortHandler) // an answer is half out: cut the connection
	}
	WriteError(w, r, http.StatusInternalServerError, codeInternal, message)
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
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
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
