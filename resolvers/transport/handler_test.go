package transport_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	gqlhandler "github.com/99designs/gqlgen/graphql/handler"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/graph"
	"ovation/internal/testing/must"
	"ovation/resolvers/transport"
)

func TestAPanicShowsNothingButAnID(t *testing.T) {
	s := around(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a secret of the house") }), transport.Config{})
	got := s.post(t, query("{a}"))
	if got.status != 500 || got.code() != "INTERNAL" || strings.Contains(got.body, "secret") || strings.Contains(got.body, ".go:") {
		t.Fatalf("got status %d, want 500 INTERNAL without the panic's text: %s", got.status, got.body)
	}
	id := got.parsed.Errors[0].Message[strings.LastIndex(got.parsed.Errors[0].Message, " ")+1:]
	log := s.log.text.String()
	for _, want := range []string{`"id":"` + id + `"`, "a secret of the house", "handler_test.go:"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not contain %s: %s", want, log)
		}
	}
	if line := s.log.last(t); line["code"] != "INTERNAL" || line["status"] != 500.0 {
		t.Errorf("got the log line %v, want code INTERNAL, status 500", line)
	}

	half := around(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":`))
		panic("again")
	}), transport.Config{})
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("half a response: got no panic with %v, want one", http.ErrAbortHandler)
		}
	}()
	half.post(t, query("{a}"))
}

func TestARequestIsLoggedInOneLine(t *testing.T) {
	s := newServer(t, transport.Config{})
	long := strings.Repeat("N", 100)
	tests := map[string]struct {
		send func() answer
		want map[string]any
	}{
		"a query": {
			func() answer {
				return s.post(t, query("query Feed{viewer{userId}}"), "X-Ovation-User", "alice", "X-Ovation-Tenant", "acme")
			},
			map[string]any{"operation": "Feed", "kind": "query", "user": "alice", "tenant": "acme", "status": 200.0, "code": "OK"},
		},
		"a mutation": {
			func() answer { return s.post(t, query(`mutation{read(input:{biz:"a",bizId:"1"}){changed}}`)) },
			map[string]any{"operation": "", "kind": "mutation", "user": "", "tenant": "default", "status": 200.0, "code": "OK"},
		},
		"an error": {
			func() answer { return s.post(t, query(`{interactive(biz:"fail",bizId:"1"){id}}`)) },
			map[string]any{"operation": "", "kind": "query", "status": 200.0, "code": "NOT_FOUND"},
		},
		"a long name": {
			func() answer { return s.post(t, query("query "+long+"{__typename}")) },
			map[string]any{"operation": long[:64], "code": "OK"},
		},
		"an invalid operation name": {
			func() answer { return s.post(t, `{"query":"{__typename}","operationName":"a\nb"}`) },
			map[string]any{"operation": "", "kind": "query", "code": "BAD_USER_INPUT"},
		},
		"a refused document": {
			func() answer { return s.post(t, query("# Feed page\nquery Feed{nonsense}")) },
			map[string]any{"operation": "Feed", "kind": "query", "code": "BAD_USER_INPUT"},
		},
		"refused variables": {
			func() answer {
				return s.post(t, query("mutation Like($id: ID!){read(input:{biz:\"a\",bizId:$id}){changed}}"))
			},
			map[string]any{"operation": "Like", "kind": "mutation", "code": "BAD_USER_INPUT"},
		},
		"no document": {
			func() answer { return s.post(t, query("\"\n\" nothing")) },
			map[string]any{"operation": "", "kind": "", "code": "BAD_USER_INPUT"},
		},
		"a refusal": {
			func() answer { return s.send(t, "PUT", "/graphql", "") },
			map[string]any{"operation": "", "kind": "", "status": 405.0, "code": "BAD_USER_INPUT"},
		},
		"a bad token": {
			func() answer { return s.post(t, query("{__typename}"), "Authorization", "Bearer secret") },
			map[string]any{"user": "", "status": 401.0, "code": "UNAUTHENTICATED"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.log.text.Reset()
			got := test.send()
			line := s.log.last(t)
			for key, want := range test.want {
				if line[key] != want {
					t.Errorf("%s: got %v, want %v", key, line[key], want)
				}
			}
			if line["level"] != "INFO" || line["bytes"] != float64(len(got.body)) || line["duration_ms"].(float64) <= 0 {
				t.Errorf("got the log line %v, want level INFO, %d bytes and a duration", line, len(got.body))
			}
			if n := strings.Count(s.log.text.String(), "\n"); n != 1 || strings.Contains(s.log.text.String(), "secret") {
				t.Errorf("got %d log lines, want one without the secret: %s", n, s.log.text.String())
			}
		})
	}
}

func TestOperationNamesAreBounded(t *testing.T) {
	s := newServer(t, transport.Config{})
	s.post(t, query("{__typename}"))
	s.post(t, query("{nonsense}"))
	for i := range 300 { // invalid documents do not use up the places of valid ones
		s.post(t, query(fmt.Sprintf("query Nonsense%d{nonsense}", i)))
	}
	s.post(t, query("query Broken{"))
	s.post(t, query(`query Q7($biz:String!){interactive(biz:$biz,bizId:"1"){biz}}`)) // the variables are invalid
	for i := range 300 {
		s.post(t, query(fmt.Sprintf("query Q%d{__typename}", i)))
	}
	s.post(t, query("query Q7{__typename}"))
	// The series are unnamed, invalid, 200 names (one of them with two codes) and other.
	if n, err := testutil.GatherAndCount(s.registry, "ovation_graphql_requests_total"); err != nil || n != 204 {
		t.Errorf("got %d series of ovation_graphql_requests_total, %v, want 204", n, err)
	}
	families, err := s.registry.Gather()
	must.Succeed(t, err)
	counts := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels strings.Builder
			for _, label := range metric.GetLabel() {
				labels.WriteString(label.GetValue() + " ")
			}
			counts[family.GetName()+" "+labels.String()] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	for series, want := range map[string]float64{
		"ovation_graphql_requests_total OK unnamed ":             1,
		"ovation_graphql_requests_total BAD_USER_INPUT invalid ": 302,
		"ovation_graphql_requests_total BAD_USER_INPUT Q7 ":      1,
		"ovation_graphql_requests_total OK Q7 ":                  2,
		"ovation_graphql_requests_total OK other ":               100,
		"ovation_graphql_request_duration_seconds other ":        100,
		"ovation_graphql_requests_in_flight ":                    0,
	} {
		if counts[series] != want {
			t.Errorf("%s: got %v, want %v", series, counts[series], want)
		}
	}
}

func TestWithoutAnAccessLogOnlyErrorsAreLogged(t *testing.T) {
	for _, access := range []bool{false, true} {
		s := newServer(t, transport.Config{})
		s.Handler = transport.Handler(s.graphql, transport.Config{Auth: s.auth, Logger: s.log.logger(), AccessLog: access})
		for range 3 {
			s.post(t, query("query Fine{__typename}"))
			s.post(t, query("query Wrong{nonsense}"))
			s.post(t, query(`query Failing{interactive(biz:"fail",bizId:"1"){id}}`))
			s.post(t, query(`query Panicking{interactive(biz:"panic",bizId:"1"){id}}`))
			s.post(t, query("{__typename}"), "Authorization", "Bearer nonsense")
		}
		logged := map[string]int{}
		for line := range strings.Lines(s.log.String()) {
			var said struct{ Msg, Operation, Code string }
			must.Succeed(t, json.Unmarshal([]byte(line), &said))
			if said.Msg == "request" {
				logged[said.Operation+" "+said.Code]++
			}
		}
		want := map[string]int{"Wrong BAD_USER_INPUT": 3, "Failing NOT_FOUND": 3, "Panicking INTERNAL": 3, " UNAUTHENTICATED": 3}
		if access {
			want["Fine OK"] = 3
		}
		if !maps.Equal(logged, want) {
			t.Errorf("access log %t: %v, want %v", access, logged, want)
		}
	}
}

func TestItServesWithoutLogAndMetrics(t *testing.T) {
	srv := gqlhandler.New(graph.NewExecutableSchema(graph.Config{Resolvers: root{}}))
	srv.AddTransport(transport.HTTP{})
	for name, h := range map[string]http.Handler{"bare": srv, "wrapped": transport.Handler(srv, transport.Config{})} {
		if got := (&server{Handler: h}).post(t, query("{__typename}")); got.status != 200 {
			t.Errorf("%s: got status %d, want 200: %s", name, got.status, got.body)
		}
	}
}

func TestPagesOfOtherOrigins(t *testing.T) {
	const friend, stranger = "https://app.example.com", "https://evil.example.com"
	preflight := func(s *server, origin string) answer {
		return s.send(t, "OPTIONS", "/graphql", "", "Origin", origin, "Access-Control-Request-Method", "POST")
	}
	post := func(s *server, origin string) answer { return s.post(t, query("{__typename}"), "Origin", origin) }
	off := newServer(t, transport.Config{})
	some := newServer(t, transport.Config{Origins: origins("http://localhost:3000", friend)})
	all := newServer(t, transport.Config{Origins: origins("*")})
	tests := map[string]struct {
		got    answer
		status int
		allow  string
	}{
		"off":                          {post(off, friend), 200, ""},
		"off, preflight":               {preflight(off, friend), 405, ""},
		"an allowed origin":            {post(some, friend), 200, friend},
		"an allowed origin, preflight": {preflight(some, friend), 204, friend},
		"another origin":               {post(some, stranger), 200, ""},
		"another origin, preflight":    {preflight(some, stranger), 403, ""},
		"no origin":                    {some.post(t, query("{__typename}")), 200, ""},
		"any origin":                   {post(all, stranger), 200, "*"},
		"any origin, preflight":        {preflight(all, stranger), 204, "*"},
		"any origin, a bad token":      {all.post(t, query("{__typename}"), "Origin", friend, "Authorization", "Bearer x"), 401, "*"},
		"options without preflight":    {some.send(t, "OPTIONS", "/graphql", "", "Origin", friend), 405, friend},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.got.status != test.status || test.got.header.Get("Access-Control-Allow-Origin") != test.allow {
				t.Errorf("got status %d, origin %q allowed, want %d, %q", test.got.status, test.got.header.Get("Access-Control-Allow-Origin"), test.status, test.allow)
			}
			if test.got.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("got Access-Control-Allow-Credentials, want none")
			}
			allowed := test.got.header.Get("Access-Control-Allow-Headers")
			if (test.status == 204) != strings.Contains(allowed, "Authorization, Content-Type") {
				t.Errorf("got the allowed headers %q, want Authorization, Content-Type: %t", allowed, test.status == 204)
			}
		})
	}
	for origin, good := range map[string]bool{
		"*": true, friend: true, "http://localhost:3000": true, "https://[::1]:8080": true, "https://a.example:8443": true,
		"https://A.example": false, "https://a.example:443": false, "http://a.example:80": false, "https://*.a.example": false,
		"": false, "null": false, friend + "/": false, "app.example.com": false, "ftp://a": false, "https://": false, "https://a?b": false, "https://u@a": false,
	} {
		if err := transport.CheckOrigin(origin); (err == nil) != good {
			t.Errorf("%q: got %v, want a valid origin: %t", origin, err, good)
		}
	}
}

func TestAStreamIsFlushed(t *testing.T) {
	s := around(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
	}), transport.Config{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/graphql", nil))
	if !w.Flushed {
		t.Error("got the response buffered, want it flushed")
	}
}

func BenchmarkPost(b *testing.B) {
	srv := gqlhandler.New(graph.NewExecutableSchema(graph.Config{Resolvers: root{}}))
	srv.AddTransport(transport.HTTP{})
	srv.SetQueryCache(graphql.MapCache[*ast.QueryDocument]{})
	h := transport.Handler(srv, transport.Config{
		Logger: slog.New(slog.DiscardHandler), Metrics: transport.NewMetrics(prometheus.NewRegistry()),
	})
	body := query(`query Q{interactive(biz:"video",bizId:"1"){bizId}}`)
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatalf("got status %d, want 200: %s", w.Code, w.Body)
		}
	}
}
