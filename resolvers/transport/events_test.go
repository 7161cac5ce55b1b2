package transport_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/resolvers/transport"
)

const stream = "text/event-stream"

// events requests an event stream, and reads all of it.
func (s *site) events(t *testing.T, body string, header ...string) answer {
	t.Helper()
	res := s.open(t, http.MethodPost, "/graphql", body, header...)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	got := answer{status: res.StatusCode, header: res.Header, body: string(text)}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/") {
		if err := json.Unmarshal(text, &got.parsed); err != nil {
			t.Error(err)
		}
	}
	return got
}

// open sends a request that accepts an event stream, unless header has another Accept.
func (s *site) open(t *testing.T, method, path, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	must.Succeed(t, err)
	r.Header.Set("Accept", stream)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	return res
}

func TestOperationsAsEventStreams(t *testing.T) {
	s := newSite(t, siteOptions{})
	const complete = "event: complete\ndata:\n\n"
	tests := map[string]struct{ query, want string }{
		"a subscription": {watching("count", "2"), "event: next\ndata: {\"data\":{\"interactiveChanged\":{\"bizId\":\"2\",\"version\":1}}}\n\n" +
			"event: next\ndata: {\"data\":{\"interactiveChanged\":{\"bizId\":\"2\",\"version\":2}}}\n\n" + complete},
		"a query":    {`{viewer{userId}}`, "event: next\ndata: {\"data\":{\"viewer\":null}}\n\n" + complete},
		"a mutation": {`mutation{read(input:{biz:"a",bizId:"1"}){changed}}`, "event: next\ndata: {\"data\":{\"read\":{\"changed\":true}}}\n\n" + complete},
		"an invalid document": {`{nonsens}`, "event: next\ndata: {\"errors\":[{\"message\":\"Cannot query field \\\"nonsens\\\" on type \\\"Query\\\". Did you mean \\\"nodes\\\"?\"," +
			"\"locations\":[{\"line\":1,\"column\":2}],\"extensions\":{\"code\":\"BAD_USER_INPUT\"}}]}\n\n" + complete},
		"a refused subscription": {watching("fail", "1"), "event: next\ndata: {\"errors\":[{\"message\":\"no such thing\"," +
			"\"path\":[\"interactiveChanged\"],\"locations\":[{\"line\":1,\"column\":14}],\"extensions\":{\"code\":\"NOT_FOUND\"}}]}\n\n" + complete},
		"a field error": {`{interactive(biz:"fail",bizId:"1"){bizId}}`, "event: next\ndata: {\"errors\":[{\"message\":\"no such thing\"," +
			"\"path\":[\"interactive\"],\"locations\":[{\"line\":1,\"column\":2}],\"extensions\":{\"code\":\"NOT_FOUND\"}}],\"data\":null}\n\n" + complete},
	}
	for name, test := range tests {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			t.Run(name+" by "+method, func(t *testing.T) {
				path, body := "/graphql", query(test.query)
				if method == http.MethodGet {
					path, body = at("query", test.query), ""
				}
				res := s.open(t, method, path, body)
				defer func() { _ = res.Body.Close() }()
				text, err := io.ReadAll(res.Body)
				must.Succeed(t, err)
				if strings.HasPrefix(test.query, "mutation") && method == http.MethodGet {
					if res.StatusCode != http.StatusMethodNotAllowed {
						t.Errorf("a mutation by GET: got status %d, want 405: %s", res.StatusCode, text)
					}
					return
				}
				if res.StatusCode != http.StatusOK || string(text) != ":\n\n"+test.want {
					t.Errorf("got status %d, %q, want 200, %q", res.StatusCode, text, ":\n\n"+test.want)
				}
				if media := res.Header.Get("Content-Type"); media != "text/event-stream; charset=utf-8" || res.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("got the headers %v, want text/event-stream in UTF-8, not stored", res.Header)
				}
			})
		}
	}
	s.wantMetric(t, "ovation_streams events", 0)
	s.wantMetric(t, "ovation_subscriptions", 0)
}

func TestAcceptDecidesOnAnEventStream(t *testing.T) {
	s := newSite(t, siteOptions{})
	tests := map[string]struct {
		accept, query string
		status        int
		media         string
	}{
		"a query, both types accepted":          {"application/json, " + stream, `{__typename}`, 200, "application/json; charset=utf-8"},
		"an invalid query, both types accepted": {"application/json, " + stream, `{`, 200, "application/json; charset=utf-8"},
		"a subscription, both types accepted":   {"application/json, " + stream, watching("count", "0"), 200, "text/event-stream; charset=utf-8"},
		"a subscription, any type accepted":     {"*/*", watching("count", "0"), 400, "application/json; charset=utf-8"},
		"a subscription, neither type accepted": {"text/html", watching("count", "0"), 406, "application/json; charset=utf-8"},
		"events with quality 0":                 {stream + ";q=0", watching("count", "0"), 406, "application/json; charset=utf-8"},
		"events in another charset":             {stream + ";charset=latin1", watching("count", "0"), 406, "application/json; charset=utf-8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := s.events(t, query(test.query), "Accept", test.accept)
			if got.status != test.status || got.header.Get("Content-Type") != test.media {
				t.Errorf("got status %d, %q, want %d, %q: %s", got.status, got.header.Get("Content-Type"), test.status, test.media, got.body)
			}
		})
	}
	for name, got := range map[string]answer{
		"no JSON":     s.events(t, "garbage"),
		"a bad token": s.events(t, query(watching("wait", "1")), "Authorization", "Bearer x"),
		"a form":      s.events(t, "query=x", "Content-Type", "application/x-www-form-urlencoded"),
	} {
		if got.status < 400 || got.code() == "OK" {
			t.Errorf("%s: got status %d, code %q, want an error: %s", name, got.status, got.code(), got.body)
		}
	}
}

func TestAnEventStreamIsKeptAliveUntilItsClientGoes(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{KeepAlive: 20 * time.Millisecond}})
	res := s.open(t, http.MethodPost, "/graphql", query(watching("events", "kept")))
	lines := bufio.NewScanner(res.Body)
	line := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		t.Fatalf("the stream ended, want another line: %v", lines.Err())
		return ""
	}
	for range 3 {
		if got := line(); got != ":" {
			t.Errorf("got the line %q, want the comment \":\"", got)
		}
	}
	sendEvent(t, "kept", 1)
	for got := line(); got != "event: next"; got = line() {
		if got != ":" {
			t.Errorf("before the event: got the line %q, want the comment \":\"", got)
		}
	}
	if got := line(); got != `data: {"data":{"interactiveChanged":{"bizId":"kept","version":1}}}` {
		t.Errorf("after event: next: got the line %q, want version 1 of the subject kept", got)
	}
	s.wantMetric(t, "ovation_subscriptions", 1)
	s.wantMetric(t, "ovation_graphql_requests_in_flight", 0)
	must.Succeed(t, res.Body.Close())
	s.wantMetric(t, "ovation_subscriptions", 0)
	s.wantMetric(t, "ovation_streams events", 0)
}

func TestAnEventStreamThatIsNotReadIsCutOff(t *testing.T) {
	s := newSite(t, siteOptions{StreamOptions: transport.StreamOptions{WriteTimeout: 200 * time.Millisecond}})
	res := s.open(t, http.MethodPost, "/graphql", query(flood))
	await.That(t, "events are sent", func() bool { return s.value(t, "ovation_subscription_responses_total") > 0 })
	s.wantMetric(t, "ovation_subscriptions", 0) // although the client has read nothing
	must.Succeed(t, res.Body.Close())
}

func TestAPanicEndsAnEventStream(t *testing.T) {
	s := newSite(t, siteOptions{})
	got := s.events(t, query(strings.Replace(watching("wait", "1"), "subscription", "subscription Kaboom", 1)))
	if !strings.Contains(got.body, "INTERNAL") || strings.Contains(got.body, "secret") || !strings.HasSuffix(got.body, "event: complete\ndata:\n\n") {
		t.Errorf("got %q, want INTERNAL without the panic's text, then event: complete", got.body)
	}
}
