package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	gqlhandler "github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.uber.org/goleak"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/internal/testing/must"
	"ovation/resolvers/transport"
	"ovation/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// root is a resolver that returns its arguments.
type root struct{ graph.ResolverRoot }

type (
	queries       struct{ graph.QueryResolver }
	mutations     struct{ graph.MutationResolver }
	subscriptions struct{ graph.SubscriptionResolver }
)

func (root) Query() graph.QueryResolver               { return queries{} }
func (root) Mutation() graph.MutationResolver         { return mutations{} }
func (root) Subscription() graph.SubscriptionResolver { return subscriptions{} }

func (queries) Interactive(ctx context.Context, biz, bizID string) (*storage.Interactive, error) {
	switch biz {
	case "panic":
		panic("a secret of the house")
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "events":
		channel, _ := eventChannels.LoadOrStore(bizID, make(chan *storage.Interactive))
		return <-channel.(chan *storage.Interactive), nil
	case "fail":
		return nil, &gqlerror.Error{Message: "no such thing", Extensions: map[string]any{"code": "NOT_FOUND"}}
	}
	return &storage.Interactive{
		Subject:   storage.Subject{Tenant: viewer.FromContext(ctx).Tenant, Biz: biz, BizID: bizID},
		Freshness: storage.Live,
	}, nil
}

// InteractiveChanged sends events about the only subject. The subject's biz determines
// them: none ("wait"), endlessly many ("flood"), as many as the number in the bizId
// ("count"), or one for each value from the channel of the bizId in eventChannels
// ("events"). For "panic" it panics, and for "fail" it returns an error.
func (subscriptions) InteractiveChanged(ctx context.Context, subjects []*graph.SubjectInput) (<-chan *storage.Interactive, error) {
	if len(subjects) != 1 {
		return nil, &gqlerror.Error{Message: "one subject, please", Extensions: map[string]any{"code": "BAD_USER_INPUT"}}
	}
	one := &storage.Interactive{
		Subject:   storage.Subject{Tenant: viewer.FromContext(ctx).Tenant, Biz: subjects[0].Biz, BizID: subjects[0].BizID},
		Freshness: storage.Live,
	}
	switch one.Biz {
	case "panic":
		panic("a secret of the house")
	case "fail":
		return nil, &gqlerror.Error{Message: "no such thing", Extensions: map[string]any{"code": "NOT_FOUND"}}
	case "events":
		channel, _ := eventChannels.LoadOrStore(one.BizID, make(chan *storage.Interactive))
		return channel.(chan *storage.Interactive), nil
	}
	n, err := strconv.Atoi(one.BizID)
	if err != nil || one.Biz == "wait" {
		n = 0
	}
	events := make(chan *storage.Interactive)
	go func() {
		for i := 0; i < n || one.Biz == "flood"; i++ {
			event := *one
			event.Version = int64(i + 1)
			select {
			case events <- &event:
			case <-ctx.Done():
				return
			}
		}
		if one.Biz == "count" {
			close(events)
		}
	}()
	return events, nil
}

// eventChannels holds the channels of the subjects of "events", by bizId.
var eventChannels sync.Map

func (queries) Viewer(ctx context.Context) (*storage.User, error) {
	if user := viewer.FromContext(ctx); !user.Anonymous() {
		return &user, nil
	}
	return nil, nil //nolint:nilnil // null is the answer
}

func (mutations) Read(_ context.Context, in graph.ReadInput) (*graph.ReadPayload, error) {
	return &graph.ReadPayload{Changed: new(true), Durability: storage.Persisted, Interactive: storage.Interactive{
		Subject: storage.Subject{Tenant: "default", Biz: in.Biz, BizID: in.BizID},
	}}, nil
}

// server serves root over HTTP, with its log and its metrics.
type server struct {
	http.Handler

	log      *logBuffer
	registry *prometheus.Registry
	graphql  http.Handler // the handler that Handler wraps
	auth     *viewer.Authenticator
}

func newServer(t *testing.T, cfg transport.Config) *server {
	t.Helper()
	srv := gqlhandler.New(graph.NewExecutableSchema(graph.Config{Resolvers: root{}}))
	srv.AddTransport(transport.HTTP{})
	srv.Use(extension.Introspection{})
	srv.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		response := next(ctx)
		if response != nil && response.Data == nil {
			t.Errorf("an interceptor ran around an operation that was not executed: got %v", response.Errors)
		}
		return response
	})
	return around(t, srv, cfg)
}

func around(t *testing.T, next http.Handler, cfg transport.Config) *server {
	t.Helper()
	auth, err := viewer.New(t.Context(), viewer.Config{DevHeaders: viewer.TrustDevHeaders})
	must.Succeed(t, err)
	s := &server{log: &logBuffer{}, registry: prometheus.NewRegistry(), graphql: next, auth: auth}
	cfg.Auth, cfg.AccessLog = auth, true
	cfg.Logger = s.log.logger()
	cfg.Metrics = transport.NewMetrics(s.registry)
	s.Handler = transport.Handler(next, cfg)
	return s
}

// logBuffer is a log that tests can read.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

// String returns the whole log.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// last returns the last line.
func (l *logBuffer) last(t *testing.T) map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(strings.TrimSpace(l.text.String()), "\n")
	var line map[string]any
	must.Succeed(t, json.Unmarshal([]byte(all[len(all)-1]), &line))
	return line
}

type answer struct {
	status int
	header http.Header
	body   string
	parsed struct {
		Errors []struct {
			Message    string         `json:"message"`
			Extensions map[string]any `json:"extensions"`
		} `json:"errors"`
	}
}

func (a answer) code() string {
	if len(a.parsed.Errors) == 0 {
		return "OK"
	}
	code, _ := a.parsed.Errors[0].Extensions["code"].(string)
	return code
}

// send sends a request. header holds names and values alternately.
func (s *server) send(t *testing.T, method, target, body string, header ...string) answer {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return s.serve(t, r)
}

func (s *server) serve(t *testing.T, r *http.Request) answer {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	res := w.Result()
	text, err := io.ReadAll(res.Body)
	must.Succeed(t, err)
	got := answer{status: res.StatusCode, header: res.Header, body: string(text)}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &got.parsed); err != nil {
			t.Fatalf("got the body %s, want JSON: %v", text, err)
		}
	}
	return got
}

func (s *server) post(t *testing.T, body string, header ...string) answer {
	t.Helper()
	return s.send(t, http.MethodPost, "/graphql", body, append([]string{"Content-Type", "application/json"}, header...)...)
}

// query returns the body of a request for a query.
func query(text string) string {
	body, err := json.Marshal(map[string]any{"query": text})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// at returns the URL of a GET request. members holds names and values alternately.
func at(members ...string) string {
	values := url.Values{}
	for i := 0; i < len(members); i += 2 {
		values.Add(members[i], members[i+1])
	}
	return "/graphql?" + values.Encode()
}
