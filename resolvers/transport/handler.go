package transport

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/codes"
	"ovation/api/rate"
	"ovation/api/viewer"
)

// Config configures a Handler.
type Config struct {
	// Auth authenticates viewers. If it is nil, all requests are anonymous.
	Auth *viewer.Authenticator
	// API is an API other than GraphQL, with its own authentication. It is nil for
	// GraphQL.
	API API
	// Operation and Kind are recorded as the operation of every request, for routes that
	// are no API. For KindFile, durations are not measured, because clients determine
	// them.
	Operation, Kind string
	// Logger logs each request that is answered with an error and, if AccessLog is set,
	// all others. If it is nil, slog.Default() is used.
	Logger    *slog.Logger
	AccessLog bool
	// Metrics may be nil.
	Metrics *Metrics
	// Limiter limits the rate of requests. If it is nil, there are no limits.
	Limiter *rate.Limiter
	// Origins decides which web origins may send requests. If it is nil, only the
	// server's own origin may.
	Origins *Origins
}

// Serve answers each request with the first transport that supports it. The last
// transport must be HTTP, which supports all requests. Wrap the result in Handler.
func Serve(exec graphql.GraphExecutor, by ...graphql.Transport) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		supports := func(t graphql.Transport) bool { return t.Supports(r) }
		by[slices.IndexFunc(by, supports)].Do(w, r, exec)
	})
}

// Handler wraps a GraphQL server or another API. It handles cross-origin requests,
// rejects invalid tokens (401), puts the viewer into the context, logs and measures each
// request, and recovers panics.
func Handler(next http.Handler, cfg Config) http.Handler {
	cfg.Logger, cfg.Metrics = cmp.Or(cfg.Logger, slog.Default()), cmp.Or(cfg.Metrics, noMetrics)
	h := &handler{cfg, next}
	if cfg.Origins == nil {
		return h
	}
	return &crossOrigin{cfg.Origins, h}
}

type handler struct {
	Config

	next http.Handler
}

// request is the context of a request, with its record and response writer.
type request struct {
	recordContext

	out countingWriter
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	known := record{
		Identity: viewer.Identity{User: viewer.FromContext(r.Context())}, Config: &h.Config, client: h.Limiter.ClientOf(r),
		operation: h.Operation, kind: h.Kind,
	}
	q := &request{recordContext{graphql.StartOperationTrace(r.Context()), known}, countingWriter{ResponseWriter: w}}
	q.begin()
	r = r.WithContext(q)       //nolint:contextcheck // q is one of the request
	defer func() { q.end() }() //nolint:contextcheck // as above
	defer answerPanic(&q.out, r)
	var denied error
	if h.API != nil || h.Auth != nil {
		var is viewer.Identity
		if is, denied = h.authenticate(r); denied == nil {
			q.record.Identity = is
			q.Context = is.NewContext(q.Context) // the context is not in use yet
		}
	}
	q.record.payer = h.Limiter.Payer(q.record.User, q.record.client, rate.Bucket{})
	if wait := q.record.payer.Take(rate.PerRequest); wait > 0 {
		WriteLimited(&q.out, r, wait)
		return
	}
	if denied != nil {
		if h.API == nil {
			q.out.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		}
		WriteError(&q.out, r, http.StatusUnauthorized, codes.Unauthenticated, denied.Error())
		return
	}
	h.next.ServeHTTP(&q.out, r)
}

// end ends the record. If a handler has set only the status, end derives the code from it.
func (q *request) end() {
	if q.record.code == "" {
		q.record.code = codeOf(q.out.status)
	}
	q.record.end(q, slog.Int("status", q.out.status), slog.Int64("bytes", q.out.bytes))
}

// codeOf returns the code for a status, or "" if the status is no error.
func codeOf(status int) string {
	switch {
	case status < http.StatusBadRequest:
		return ""
	case status == http.StatusUnauthorized:
		return codes.Unauthenticated
	case status == http.StatusNotFound:
		return codes.NotFound
	case status == http.StatusRequestTimeout, status == http.StatusRequestEntityTooLarge:
		return codes.LimitExceeded
	case status == http.StatusTooManyRequests:
		return codes.RateLimited
	case status == http.StatusServiceUnavailable:
		return codes.Unavailable
	case status >= http.StatusInternalServerError:
		return codes.Internal
	}
	return codes.BadUserInput
}

// authenticate returns the identity of a request. It rejects development headers in
// requests from web pages, unless the page belongs to this server or its origin is
// allowed by name.
func (h *handler) authenticate(r *http.Request) (viewer.Identity, error) {
	if h.API != nil {
		return h.API.Authenticate(r)
	}
	if r.Header.Get("Origin") == "" {
		return h.Auth.Authenticate(r)
	}
	var distrusted *viewer.Error
	if viewer.HasDevHeaders(r.Header) {
		distrusted = h.Origins.distrust(h.Auth, r)
	}
	return h.Auth.Credentials(r.Context(), r.Header, distrusted)
}

// answerPanic recovers a panic; it must be deferred. The client receives an id, with
// which the stack trace can be found in the log.
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
		panic(http.ErrAbortHandler) // part of the response is sent: abort the connection
	}
	WriteError(w, r, http.StatusInternalServerError, codes.Internal, message)
}

// countingWriter counts the bytes written through it and keeps the status.
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

// Flush flushes the events of a stream.
func (w *countingWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}
