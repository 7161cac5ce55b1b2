package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"ovation/accounts"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/live"
	"ovation/media"
	"ovation/resolvers"
	"ovation/resolvers/persisted"
	"ovation/resolvers/transport"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a complete embedded service behind HTTP.
type service struct {
	url   string
	store storage.Store
	calls *counting
	log   *lockedBuffer
	// engine executes operations without HTTP.
	engine *executor.Executor
	// ordinary executes operations without HTTP and without the plain writer.
	ordinary *executor.Executor
	hub      *live.Hub
	registry *prometheus.Registry
}

// logged returns what the service has logged so far.
func (s *service) logged() string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.String()
}

type option func(*settings)

type settings struct {
	wrap          func(storage.Store) storage.Store
	introspection bool
	federation    bool
	rates         rate.Config
	streams       transport.StreamOptions
	recorder      worker.RecorderOptions
	accounts      bool
	videos        bool
	cachedAuthors func([]storage.Subject) []string
	trusted       persisted.TrustedOptions
	noTrends      bool
}

// withAccounts enables accounts, with cheap hashes of passwords.
func withAccounts(s *settings) { s.accounts = true }

func withVideos(s *settings) { s.videos = true }

func withRates(rates rate.Config) option { return func(s *settings) { s.rates = rates } }

// withoutIntrospection turns introspection off.
func withoutIntrospection(s *settings) { s.introspection = false }

// withStore replaces the real store by the store that wrap returns for it.
func withStore(wrap func(storage.Store) storage.Store) option {
	return func(s *settings) { s.wrap = wrap }
}

// behind puts front in place of the real store, and assigns the real store to *next.
func behind(front storage.Store, next *storage.Store) option {
	return withStore(func(s storage.Store) storage.Store {
		*next = s
		return front
	})
}

func start(t *testing.T, options ...option) *service {
	t.Helper()
	set := settings{wrap: func(s storage.Store) storage.Store { return s }, introspection: true}
	for _, o := range options {
		o(&set)
	}
	database := sqlitetest.Open(t)
	calls := newCounting(set.wrap(database))

	log := new(lockedBuffer)
	logger := slog.New(slog.NewJSONHandler(log, nil))
	queue := local.NewQueue(local.Options{})
	registry := prometheus.NewRegistry()
	hub := live.New(database, live.Options{Logger: logger, Metrics: live.NewMetrics(registry)})
	news := live.New(live.CommentVersions(database), live.Options{Logger: logger})
	mail := live.New(live.MessageVersions(database), live.Options{Logger: logger})
	told := live.Notifying(calls, hub.Changed, hub.ChangedAll)
	mirror := local.Mirror{Reader: database}
	set.recorder.Logger = logger
	recorder := worker.NewRecorder(queue, mirror, set.recorder)
	w := worker.New(queue, told, mirror, worker.Options{Logger: logger})
	ctx, stop := context.WithCancel(context.Background())
	worked := make(chan error, 1)
	go func() { worked <- w.Run(ctx) }()

	set.rates.Logger, set.rates.Registry = logger, registry
	set.streams.Spread, set.streams.Registry = time.Millisecond, registry
	trust, own, keySet := viewer.Config{DevHeaders: viewer.LocalDevHeaders}, (*accounts.Service)(nil), http.Handler(nil)
	if set.accounts {
		key, err := viewer.NewSiteKey([]byte("the 32 bytes of a seed of a key."))
		must.Succeed(t, err)
		trust.SiteKeys, trust.Sessions, keySet = []viewer.SiteKey{key}, viewer.NewSessions(), viewer.KeySet([]viewer.SiteKey{key})
		own, err = accounts.New(t.Context(), accounts.Config{
			Store: calls, Signer: &viewer.Signer{Key: key, TTL: time.Hour}, Sessions: trust.Sessions, Logger: logger,
			Params: accounts.Params{Memory: 64, Time: 1, Threads: 1}, AttemptsPerAddress: 30,
		})
		must.Succeed(t, err)
	}
	auth, err := viewer.New(t.Context(), trust)
	must.Succeed(t, err)
	comments := worker.NewComments(told, worker.CommentsOptions{Changed: news.Changed, Logger: logger})
	messages := worker.NewMessages(told, worker.MessagesOptions{Changed: mail.Changed, Logger: logger})
	authors := worker.NewAuthors(told, logger)
	batches := worker.NewActionBatches(told, mirror, worker.ActionBatchesOptions{Logger: logger})
	cfg := resolvers.Config{
		Batches: batches, Comments: comments, CommentHub: news, Authors: authors, CachedAuthors: set.cachedAuthors, Now: time.Now,
		Accounts: own, KeySet: keySet,
		Messages: messages, MessageHub: mail,
		Store: told, Recorder: recorder, Folders: worker.NewFolders(told, time.Now), Histories: worker.NewHistories(told, time.Now), Live: hub,
		Auth: auth, Logger: logger, AccessLog: true, Registry: registry, Introspection: set.introspection, Federation: set.federation, MaxBatch: 10,
		Trends: !set.noTrends, Streams: transport.NewStreams(set.streams), Limiter: rate.New(set.rates),
	}
	if set.trusted.Registry = registry; len(set.trusted.Files) > 0 {
		cfg.Trusted = persisted.NewTrusted(set.trusted)
	}
	if set.videos {
		cfg.OpenAPI = http.NotFoundHandler()
		serveVideos(t, &cfg, database)
	}
	handler, err := resolvers.NewHandler(t.Context(), cfg)
	must.Succeed(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		must.Succeed(t, cfg.Streams.Close(context.Background()))
		server.Close()
		must.Succeed(t, recorder.Close(context.Background()))
		must.Succeed(t, comments.Close(context.Background()))
		must.Succeed(t, messages.Close(context.Background()))
		must.Succeed(t, authors.Close(context.Background()))
		must.Succeed(t, batches.Close(context.Background()))
		stop()
		must.Succeed(t, <-worked)
		hub.Close()
		news.Close()
		mail.Close()
		must.Succeed(t, queue.Close())
		must.Succeed(t, auth.Close())
		if own != nil {
			own.Close()
		}
		must.Succeed(t, database.Close())
		http.DefaultClient.CloseIdleConnections()
	})
	return &service{url: server.URL, store: told, calls: calls, log: log, engine: resolvers.NewExecutor(cfg), ordinary: resolvers.NewOrdinaryExecutor(cfg), hub: hub, registry: registry}
}

// serveVideos makes the service serve videos. Their files are in a temporary folder.
func serveVideos(t *testing.T, cfg *resolvers.Config, database storage.Store) {
	t.Helper()
	at, err := media.FolderURL(t.TempDir())
	must.Succeed(t, err)
	blobs, err := media.OpenBlobs(t.Context(), at, database)
	must.Succeed(t, err)
	service := media.New(media.Config{Store: cfg.Store, Blobs: blobs, Accounts: cfg.Store, Logger: cfg.Logger})
	t.Cleanup(func() {
		service.Close()
		blobs.Close()
	})
	cfg.Videos, cfg.Uploads, cfg.Avatars, cfg.Files = service, service.Uploads(), service.Avatars(), media.Files(blobs, cfg.Logger)
}

// answer is a GraphQL response.
type answer struct {
	Data   map[string]any
	Errors []struct {
		Message    string
		Path       []any
		Extensions map[string]any
	}
	status int
	header http.Header
}

// ask sends an operation as a user of the default tenant; "" is the anonymous user.
func (s *service) ask(t *testing.T, user, query string, variables ...any) answer {
	t.Helper()
	return s.askAs(t, storage.User{UserID: user}, query, variables...)
}

// askAs sends an operation as a user. variables holds names and values alternately.
func (s *service) askAs(t *testing.T, user storage.User, query string, variables ...any) answer {
	t.Helper()
	return s.send(t, []string{"X-Ovation-User", user.UserID, "X-Ovation-Tenant", user.Tenant}, query, variables...)
}

// askBy sends an operation with a bearer token.
func (s *service) askBy(t *testing.T, token, query string, variables ...any) answer {
	t.Helper()
	return s.send(t, []string{"Authorization", "Bearer " + token}, query, variables...)
}

// send sends an operation with headers.
func (s *service) send(t *testing.T, headers []string, query string, variables ...any) answer {
	t.Helper()
	values := map[string]any{}
	for i := 0; i < len(variables); i += 2 {
		values[variables[i].(string)] = variables[i+1]
	}
	body, err := json.Marshal(map[string]any{"query": query, "variables": values})
	must.Succeed(t, err)
	status, header, text := s.exchange(t, http.MethodPost, "/graphql", string(body), headers...)
	out := answer{status: status, header: header}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s\ngot %s, want JSON: %v", query, text, err)
	}
	return out
}

// exchange sends a request and returns the response. headers holds names and values
// alternately. Headers with an empty value are not sent.
func (s *service) exchange(t *testing.T, method, path, body string, headers ...string) (status int, header http.Header, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultClient.Do(req)
	must.Succeed(t, err)
	defer func() { must.Succeed(t, res.Body.Close()) }()
	raw, err := io.ReadAll(res.Body)
	must.Succeed(t, err)
	return res.StatusCode, res.Header, string(raw)
}

func (s *service) get(t *testing.T, path string) (status int, header http.Header, body string) {
	t.Helper()
	return s.exchange(t, http.MethodGet, path, "")
}

// askWith executes an operation without HTTP, as a user whose token has the given scope.
func (s *service) askWith(t *testing.T, userID, scope, query string, variables map[string]any) answer {
	t.Helper()
	who := viewer.Identity{User: storage.User{Tenant: storage.DefaultTenant, UserID: userID}, Scope: scope}
	responses, ctx := s.dispatch(t, who.NewContext(t.Context()), query, variables)
	text, err := json.Marshal(responses(ctx))
	must.Succeed(t, err)
	var out answer
	must.Succeed(t, json.Unmarshal(text, &out))
	return out
}

// dispatch starts an operation without HTTP.
func (s *service) dispatch(t *testing.T, ctx context.Context, query string, variables map[string]any) (graphql.ResponseHandler, context.Context) { //nolint:revive // t stands first
	t.Helper()
	ctx = graphql.StartOperationTrace(ctx)
	op, errs := s.engine.CreateOperationContext(ctx, &graphql.RawParams{Query: query, Variables: variables})
	if errs != nil {
		t.Fatal(errs)
	}
	return s.engine.DispatchOperation(ctx, op)
}

// ok sends an operation that must not fail and returns its data.
func (s *service) ok(t *testing.T, user, query string, variables ...any) map[string]any {
	t.Helper()
	got := s.ask(t, user, query, variables...)
	if len(got.Errors) > 0 {
		t.Fatalf("%s\ngot %+v, want no errors", query, got.Errors)
	}
	return got.Data
}

// refused sends an operation that must fail with the code. It returns the message.
func (s *service) refused(t *testing.T, code, user, query string, variables ...any) string {
	t.Helper()
	return s.ask(t, user, query, variables...).refused(t, code, query)
}

// refused returns the message of the answer's only error, which must have the code.
func (a answer) refused(t *testing.T, code, query string) string {
	t.Helper()
	if len(a.Errors) != 1 || a.Errors[0].Extensions["code"] != code {
		t.Fatalf("%s\ngot %+v, want one error with code %s", query, a, code)
	}
	return a.Errors[0].Message
}

// dig follows names and indexes into a decoded response.
func dig(t *testing.T, data any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, is := data.(map[string]any)
			if !is {
				t.Fatalf("%v: got %v, want an object with %q", path, data, step)
			}
			data = object[step]
		case int:
			array, is := data.([]any)
			if !is || step >= len(array) {
				t.Fatalf("%v: got %v, want an array with [%d]", path, data, step)
			}
			data = array[step]
		}
	}
	return data
}

// same compares decoded JSON with the wanted JSON.
func same(t *testing.T, got any, want string) {
	t.Helper()
	var wanted any
	must.Succeed(t, json.Unmarshal([]byte(want), &wanted))
	a, err := json.Marshal(got)
	must.Succeed(t, err)
	b, err := json.Marshal(wanted)
	must.Succeed(t, err)
	if !bytes.Equal(a, b) {
		t.Fatalf("got  %s\nwant %s", a, b)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// act persists actions directly, without the recorder, to prepare many states quickly.
// The versions of the actions count up from the given time, in microseconds.
func (s *service) act(t *testing.T, from time.Time, actions ...storage.Action) {
	t.Helper()
	for i := range actions {
		a := &actions[i]
		a.User.Tenant, a.Subject.Tenant = storage.DefaultTenant, storage.DefaultTenant
		a.Version = storage.Micros(from) + int64(i)
		if a.Kind == storage.KindRead {
			a.Times, a.First = 1, a.Version
		}
	}
	_, err := s.store.Persist(t.Context(), []storage.Message{{ID: uuid.NewString(), Actions: actions}}, nil)
	must.Succeed(t, err)
}
