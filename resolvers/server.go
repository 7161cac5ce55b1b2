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

	"ovation/accounts"
	"ovation/api/enforce"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/internal/outage"
	"ovation/resolvers/limits"
	"ovation/resolvers/persisted"
	"ovation/resolvers/transport"
	"ovation/storage"
)

const (
	// requestTimeout is the maximum time that it may take to process a request, or to
	// make one response of a subscription.
	requestTimeout = transport.AnswerTimeout
	// readyTimeout is the maximum duration of the store's readiness check.
	readyTimeout = 2 * time.Second
)

// Config configures a handler. Store, Recorder, Folders, Histories, Comments, Authors, Batches,
// Messages and Auth are required; the zero value of the other fields is a good choice.
type Config struct {
	Store     storage.Store
	Recorder  Recorder
	Folders   FolderRemover
	Histories Histories
	Comments  Comments
	Authors   Authors
	Batches   ActionBatches
	Messages  Messages
	Auth      *viewer.Authenticator
	// Policy is what users may do and see. Store, Recorder, Comments, Authors and
	// Batches must be decorated with the same Enforcer. The zero value allows everything.
	Policy enforce.Enforcer
	// CachedAuthors returns the ids of the recent authors of subjects, with "" for
	// unknown authors. It does not wait. What an operation selects from these authors is
	// then loaded together with the subjects. If CachedAuthors is nil, no author is
	// cached.
	CachedAuthors func(subjects []storage.Subject) []string
	// Accounts registers users and logs them in. It is nil if the site has no accounts of
	// its own.
	Accounts *accounts.Service
	// Videos deletes videos, Uploads accepts uploads at POST /media/videos, Avatars at POST
	// /media/avatars, and Files serves paths below /media/. Set all four or none. Without
	// them, the site has no videos of its own.
	Videos  Videos
	Uploads http.Handler
	Avatars http.Handler
	Files   http.Handler
	// Douyin returns the handler for paths below /douyin/. The argument around
	// configures the middleware in front of that handler, the same middleware as for
	// /graphql. If Douyin is nil, these paths are not served.
	Douyin func(around transport.Config) http.Handler
	// OpenAPI is served at /openapi.json. If it is nil, that path is not served.
	OpenAPI http.Handler
	// KeySet is served at /.well-known/jwks.json. If it is nil, that path is not served.
	KeySet http.Handler
	// Trends is true if trends are computed.
	Trends bool
	// Live delivers changed counts. If it is nil, counts cannot be watched.
	Live Watcher
	// CommentHub signals changes to a subject's comments. An event's version is that of
	// the subject's storage.CommentCount. If CommentHub is nil, comments cannot be
	// watched.
	CommentHub Watcher
	// MessageHub signals new messages to or from a user. An event's subject is the user,
	// and its version is the number of the user's latest message, as returned by
	// storage.DirectMessageReader.LatestMessages. If MessageHub is nil, messages cannot
	// be watched.
	MessageHub Watcher
	// Streams limits subscriptions and their connections. The caller closes it. If it is
	// nil, WebSockets and event streams are disabled.
	Streams *transport.Streams
	// Documents shares persisted queries between nodes. If it is nil, each node has its
	// own.
	Documents persisted.Store
	// Trusted are the trusted documents. NewHandler loads them. If it is nil, there are
	// none.
	Trusted *persisted.Trusted
	// Pages serves / and all paths that are not part of the API. If it is nil, there are
	// no pages.
	Pages http.Handler
	// Ready returns an error if a load balancer should take the node out of rotation. The
	// node continues to serve. If Ready is nil, the node is ready if the store is.
	Ready func(context.Context) error
	// Introspection allows clients to query the schema.
	Introspection bool
	// Federation adds the fields of Query that gateways of Apollo Federation use. They
	// show the schema even if Introspection is false.
	Federation bool
	// MaxMutationFields is the maximum number of root fields of a mutation. If it is 0,
	// the maximum is 10.
	MaxMutationFields int
	// MaxBatch is the maximum number of operations in one HTTP request. If it is 0,
	// batches are refused.
	MaxBatch int
	// Limiter limits the rate of requests. If it is nil, there are no rate limits.
	Limiter *rate.Limiter
	// Origins decides which web origins may send requests. If it is nil, only the
	// server's own origin may.
	Origins *transport.Origins
	// Logger logs internal errors and requests with errors. If AccessLog is set, it also
	// logs all other requests. If Logger is nil, slog.Default() is used.
	Logger    *slog.Logger
	AccessLog bool
	// Registry registers the request metrics and is served at /metrics. If it is nil or
	// MetricsElsewhere is set, there is no /metrics.
	Registry         *prometheus.Registry
	MetricsElsewhere bool
	// Now is the clock. If it is nil, time.Now is used.
	Now func() time.Time
}

// NewHandler returns the handler of the service: /graphql, /douyin/, /schema.graphqls,
// /openapi.json, video uploads and files, /healthz, /readyz, /metrics, the key set and the pages. It
// returns an error if the store fails to return the key with which cursors are signed, or
// if a manifest of trusted documents is invalid.
func NewHandler(ctx context.Context, cfg Config) (http.Handler, error) {
	key, err := cfg.Store.Secret(ctx, "cursor")
	if err != nil {
		return nil, fmt.Errorf("get the key of cursors: %w", err)
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	around := transport.Config{Auth: cfg.Auth, Logger: cfg.Logger, AccessLog: cfg.AccessLog, Origins: cfg.Origins, Limiter: cfg.Limiter}
	if cfg.Registry != nil {
		around.Metrics = transport.NewMetrics(cfg.Registry)
	}
	routes := &routes{http.NewServeMux(), around}
	routes.mux.Handle("/graphql", transport.Handler(service(newRoot(cfg, newCursors(key)), cfg), around))
	if err := cfg.Trusted.Load(ctx); err != nil {
		return nil, fmt.Errorf("load the trusted documents: %w", err)
	}
	if cfg.Douyin != nil {
		routes.mux.Handle("/douyin/", cfg.Douyin(around))
	}
	routes.media(cfg)
	routes.open(cfg)
	return routes.mux, nil
}

// videosDisabled answers requests below /media/ on a site without videos.
func videosDisabled(w http.ResponseWriter, r *http.Request) {
	transport.WriteError(w, r, http.StatusNotFound, errVideosDisabled.code, errVideosDisabled.message)
}

// routes are the paths of the service. The requests for all of them, except health checks,
// are limited, logged and measured by transport.Handler, which around configures.
type routes struct {
	mux    *http.ServeMux
	around transport.Config
}

// media adds the paths below /media/.
func (r *routes) media(cfg Config) {
	around := r.around
	around.Kind = transport.KindFile
	for path, handler := range map[string]http.Handler{"videos": cfg.Uploads, "avatars": cfg.Avatars} {
		if handler != nil {
			around.Operation = storage.MediaPath + path
			r.mux.Handle(around.Operation, transport.Handler(uploads(handler), around))
		}
	}
	around.Operation = storage.MediaPath
	if cfg.Files == nil {
		cfg.Files = http.HandlerFunc(videosDisabled)
	}
	r.mux.Handle(around.Operation, transport.Handler(cfg.Files, around))
}

// open adds the paths that anyone may read, where credentials and origins do not matter.
func (r *routes) open(cfg Config) {
	around := r.around
	around.Auth, around.Origins, around.Kind = nil, nil, transport.KindPage
	add := func(path string, h http.Handler) {
		around.Operation = path
		r.mux.Handle("GET "+path, transport.Handler(h, around))
	}
	add("/schema.graphqls", serveSDL(cfg.Introspection))
	if cfg.OpenAPI != nil {
		add("/openapi.json", cfg.OpenAPI)
	}
	if cfg.KeySet != nil {
		add("/.well-known/jwks.json", cfg.KeySet)
	}
	if cfg.Registry != nil && !cfg.MetricsElsewhere {
		add("/metrics", priced(scrapePrice, promhttp.HandlerFor(cfg.Registry, promhttp.HandlerOpts{})))
	}
	if cfg.Pages != nil {
		around.Operation = "/"
		r.mux.Handle("/", transport.Handler(cfg.Pages, around))
	}
	r.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { Probe(w, nil) })
	unavailableLog := outage.New(cfg.Logger, "the store does not answer", "the store answers again")
	r.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { Probe(w, ready(r.Context(), cfg, unavailableLog)) })
}

// scrapePrice is the price of the metrics, in units, in addition to that of a request.
const scrapePrice = 2000

// priced returns a handler whose requests cost the given number of units more.
func priced(units int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait := rate.FromContext(r.Context()).Take(units); wait > 0 {
			transport.WriteLimited(w, r, wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// uploads returns a handler that rejects all methods except POST.
func uploads(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// service returns the transports, with gqlgen's executor behind them. The executor has
// this package's resolvers and limits.
func service(root *Root, cfg Config) http.Handler {
	exec := executor.New(graph.NewExecutableSchema(graph.Config{Schema: servedSchema(cfg.Federation), Resolvers: root}))
	root.install(exec, cfg)
	options := persisted.Options{Store: cfg.Documents, Trusted: cfg.Trusted, Compiler: root.limits}
	if cfg.Registry != nil {
		options.Registry = cfg.Registry
	}
	prepared, answers := persisted.Executor(root.limits.Executor(exec), options), transport.HTTP{Streams: cfg.Streams, MaxBatch: cfg.MaxBatch}
	if cfg.Streams == nil {
		return transport.Serve(prepared, answers)
	}
	return transport.Serve(prepared, transport.WebSocket{Streams: cfg.Streams, Origins: cfg.Origins}, answers)
}

func newRoot(cfg Config, c *cursors) *Root {
	return &Root{
		store: cfg.Store, recorder: cfg.Recorder, remover: cfg.Folders, histories: cfg.Histories, comments: cfg.Comments, authors: cfg.Authors, batches: cfg.Batches, cachedAuthors: cfg.CachedAuthors, messages: cfg.Messages, accounts: cfg.Accounts, videos: cfg.Videos, trends: cfg.Trends,
		policy: cfg.Policy,
		live:   cfg.Live, commentHub: cfg.CommentHub, messageHub: cfg.MessageHub, limiter: cfg.Limiter, cursors: c, now: cfg.Now,
		room:       newRoom(maxWatchedSubjects, maxDocuments, cfg.Streams.AnonymousPercent()),
		plain:      graph.PlainSchema,
		fieldTable: fieldTable,
	}
}

// engine executes operations. A *executor.Executor of gqlgen implements it.
type engine interface {
	limits.Server
	SetErrorPresenter(present graphql.ErrorPresenterFunc)
	SetRecoverFunc(catch graphql.RecoverFunc)
	SetDisableSuggestion(disable bool)
	AroundOperations(around graphql.OperationMiddleware)
	AroundResponses(around graphql.ResponseMiddleware)
}

// install adds the error presenter, the middleware and the limits to the engine.
func (r *Root) install(to engine, cfg Config) {
	unavailable := outage.New(cfg.Logger, "requests cannot be answered in full", "requests are answered in full again")
	r.logSuccess = unavailable.Worked
	to.SetErrorPresenter(presenter(cfg.Logger, unavailable))
	to.SetRecoverFunc(recovered)
	to.SetDisableSuggestion(!cfg.Introspection) // suggestions would reveal the schema, too
	r.limits = limits.Install(to, limits.Config{
		Introspection: cfg.Introspection, MaxMutationFields: cfg.MaxMutationFields, Table: planTable(r.fieldTable, servedSchema(cfg.Federation)), Fast: r.plain,
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
			r.logSuccess()
		}
		return response
	})
}

func ready(ctx context.Context, cfg Config, unavailableLog *outage.Log) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if cfg.Ready != nil {
		return cfg.Ready(ctx)
	}
	if err := cfg.Store.Ping(ctx); err != nil {
		unavailableLog.Failed("error", err)
		return errors.New("the store does not answer")
	}
	unavailableLog.Worked()
	return nil
}

// Probe responds to a health check: with "ok" if err is nil, and otherwise with the
// error.
func Probe(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, err)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
