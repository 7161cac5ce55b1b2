package resolvers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ovation/graph"
	"ovation/outage"
	"ovation/resolvers/limits"
	"ovation/resolvers/persisted"
	"ovation/resolvers/rate"
	"ovation/resolvers/transport"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

const (
	// requestTimeout is how long a request, or one response of a subscription,
	// may be worked on.
	requestTimeout = transport.AnswerTimeout
	// readyTimeout is how long the store may take to say that it is there.
	readyTimeout = 2 * time.Second
)

// Config is what a handler serves from. Store, Recorder, Folders and Auth are
// needed; the zero value of the others is a good choice.
type Config struct {
	Store    storage.Store
	Recorder Recorder
	Folders  FolderRemover
	Auth     *viewer.Authenticator
	// Live tells of changes. Nil: nothing can be watched.
	Live Watcher
	// Streams bound the connections of subscriptions. Whoever made them closes
	// them. Nil: there are neither WebSockets nor event streams.
	Streams *transport.Streams
	// Documents shares persisted queries between nodes. Nil: each has its own.
	Documents persisted.Store
	// Pages are served at / and below, beside the API. Nil: nothing is.
	Pages http.Handler
	// Ready, where it returns an error, takes the service out of a balancer's
	// rotation while it goes on answering. Nil: it is ready with the store.
	Ready func(context.Context) error
	// Introspection lets clients ask for the schema.
	Introspection bool
	// MaxMutationFields is how many root fields a mutation may have; 10 if 0.
	MaxMutationFields int
	// Limiter limits how much a client may ask. Nil: nothing does.
	Limiter *rate.Limiter
	// AllowedOrigins are the origins of web pages that may ask, see
	// transport.Config.
	AllowedOrigins []string
	// Logger takes a line for each fault and each request with an error, and with
	// AccessLog for every other request; slog.Default() if nil.
	Logger    *slog.Logger
	AccessLog bool
	// Registry takes the metrics of requests and is what /metrics shows. Nil, or
	// with MetricsElsewhere: there is no /metrics.
	Registry         *prometheus.Registry
	MetricsElsewhere bool
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// NewHandler returns the service: /graphql, /healthz, /readyz, /metrics and
// the pages. It asks the store for the key that cursors are signed with, and
// fails where it does not get it.
func NewHandler(ctx context.Context, cfg Config) (http.Handler, error) {
	key, err := cfg.Store.Secret(ctx, "cursor")
	if err != nil {
		return nil, fmt.Errorf("get the key of cursors: %w", err)
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	mux := http.NewServeMux()
	around := transport.Config{Auth: cfg.Auth, Logger: cfg.Logger, AccessLog: cfg.AccessLog, AllowedOrigins: cfg.AllowedOrigins, Limiter: cfg.Limiter}
	if cfg.Registry != nil {
		around.Metrics = transport.NewMetrics(cfg.Registry)
		if !cfg.MetricsElsewhere {
			mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Registry, promhttp.HandlerOpts{}))
		}
	}
	mux.Handle("/graphql", transport.Handler(service(newRoot(cfg, newCursors(key)), cfg), around))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, nil) })
	away := outage.New(cfg.Logger, "the store does not answer", "the store answers again")
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { say(w, ready(r.Context(), cfg, away)) })
	if cfg.Pages != nil {
		mux.Handle("/", cfg.Pages)
	}
	return mux, nil
}

// service is gqlgen's executor with our resolvers and limits, behind our
// transports.
func service(root *Root, cfg Config) http.Handler {
	exec := executor.New(graph.NewExecutableSchema(graph.Config{Resolvers: root}))
	root.install(exec, cfg)
	options := persisted.Options{Store: cfg.Documents}
	if cfg.Registry != nil {
		options.Registry = cfg.Registry
	}
	prepared, answers := persisted.Executor(root.limits.Executor(exec), options), transport.HTTP{Streams: cfg.Streams}
	if cfg.Streams == nil {
		return transport.Serve(prepared, answers)
	}
	return transport.Serve(prepared, transport.WebSocket{Streams: cfg.Streams, AllowedOrigins: cfg.AllowedOrigins}, answers)
}

func newRoot(cfg Config, c *cursors) *Root {
	return &Root{
		store: cfg.Store, recorder: cfg.Recorder, remover: cfg.Folders, live: cfg.Live, cursors: c, now: cfg.Now,
		room:  room{maxSubjects: maxWatched, maxText: maxDocuments, anonymousPercent: cfg.Streams.AnonymousPercent()},
		plain: graph.PlainSchema,
		lines: lines,
	}
}

// engine is what executes operations: a *executor.Executor of gqlgen, or a
// *handler.Server around one.
type engine interface {
	limits.Server
	SetErrorPresenter(present graphql.ErrorPresenterFunc)
	SetRecoverFunc(catch graphql.RecoverFunc)
	SetDisableSuggestion(disable bool)
	AroundOperations(around graphql.OperationMiddleware)
	AroundResponses(around graphql.ResponseMiddleware)
}

// install puts what goes around resolvers into the engine.
func (r *Root) install(to engine, cfg Config) {
	unavailable := outage.New(cfg.Logger, "requests cannot be answered in full", "requests are answered in full again")
	r.worked = unavailable.Worked
	to.SetErrorPresenter(presenter(cfg.Logger, unavailable))
	to.SetRecoverFunc(recovered)
	to.SetDisableSuggestion(!cfg.Introspection) // it would tell the schema too
	r.limits = limits.Install(to, limits.Config{
		Introspection: cfg.Introspection, MaxMutationFields: cfg.MaxMutationFields, Table: planTable(r.lines), Fast: r.plain,
	})
	to.AroundOperations(r.begin)
	to.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		if s := subscriptionOf(ctx); s != nil {
			return s.respond(ctx, next)
		}
		return next(ctx)
	})
	to.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		response := next(ctx)
		if response != nil && len(response.Errors) == 0 {
			r.worked()
		}
		return response
	})
}

func ready(ctx context.Context, cfg Config, away *outage.Log) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if cfg.Ready != nil {
		return cfg.Ready(ctx)
	}
	if err := cfg.Store.Ping(ctx); err != nil {
		away.Failed("error", err)
		return errors.New("the store does not answer")
	}
	away.Worked()
	return nil
}

// say answers a probe.
func say(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, err)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
