package transport_test

import (
	"fmt"
	"strings"
	"testing"

	"ovation/api/viewer"
	"ovation/resolvers/transport"
)

// origins returns the Origins of a server that is not in development.
func origins(allowed ...string) *transport.Origins {
	return transport.NewOrigins(transport.OriginOptions{Allowed: allowed})
}

// inDevelopment starts a server as ovation dev does, and returns it with its log.
func inDevelopment(t *testing.T, allowed ...string) (*server, *logBuffer) {
	t.Helper()
	log := &logBuffer{}
	return newServer(t, transport.Config{Origins: transport.NewOrigins(transport.OriginOptions{
		Allowed: allowed, Development: true, Logger: log.logger(),
	})}), log
}

func TestPagesInDevelopment(t *testing.T) {
	const ask = `{viewer{userId}}`
	for _, test := range []struct {
		name, origin string
		allowed      []string
		header       []string
		status       int
		want         string
	}{
		{"vite", "http://localhost:5173", nil, nil, 200, `"viewer":null`},
		{"an IPv4 loopback address", "http://127.0.0.1:3000", nil, nil, 200, `"viewer":null`},
		{"an IPv6 loopback address", "https://[::1]:3000", nil, nil, 200, `"viewer":null`},
		{"another machine", "http://192.168.1.5:5173", nil, nil, 403, "start ovation dev with --allowed-origins http://192.168.1.5:5173"},
		{"another machine, not allowed by the list", "http://192.168.1.5:5173", []string{"https://a.example"}, nil, 403, "start ovation dev with --allowed-origins http://192.168.1.5:5173"},
		{"named", "http://192.168.1.5:5173", []string{"http://192.168.1.5:5173"}, nil, 200, `"viewer":null`},
		{"a host that begins with localhost", "http://localhost.evil.example", nil, nil, 403, "start ovation dev with"},
		{"an extension", "chrome-extension://localhost", nil, nil, 403, "serve the page from http://localhost"},
		{"a file", "null", nil, nil, 403, "serve the page from http://localhost"},
		{"a user", "http://localhost:5173", nil, []string{"X-Ovation-User", "bob"}, 401, "add --allowed-origins http://localhost:5173, or send a token"},
		{"a tenant", "http://localhost:5173", nil, []string{"X-Ovation-Tenant", "b"}, 401, "X-Ovation-User is not accepted from other origins"},
		{"a user with any origin allowed", "http://evil.example", []string{"*"}, []string{"X-Ovation-User", "bob"}, 401, "X-Ovation-User is not accepted"},
		{"a user on an allowed origin", "http://localhost:5173", []string{"http://localhost:5173"}, []string{"X-Ovation-User", "bob"}, 200, `"userId":"bob"`},
		{"a user on the server's own page", "http://example.com", nil, []string{"X-Ovation-User", "bob"}, 200, `"userId":"bob"`},
		{"a user through a proxy, same origin", "http://localhost:5173", nil, []string{"X-Ovation-User", "bob", "Sec-Fetch-Site", "same-origin"}, 200, `"userId":"bob"`},
		{"a user on another port, same site", "http://localhost:5173", nil, []string{"X-Ovation-User", "bob", "Sec-Fetch-Site", "same-site"}, 401, "X-Ovation-User is not accepted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _ := inDevelopment(t, test.allowed...)
			allow := test.origin
			if strings.Join(test.allowed, "") == "*" {
				allow = "*"
			}
			preflight := s.send(t, "OPTIONS", "/graphql", "", "Origin", test.origin, "Access-Control-Request-Method", "POST")
			if preflight.status != 204 || preflight.header.Get("Access-Control-Allow-Origin") != allow ||
				!strings.Contains(preflight.header.Get("Access-Control-Allow-Headers"), "X-Ovation-User") {
				t.Errorf("the preflight: got status %d, headers %v, want 204, Access-Control-Allow-Origin %q and X-Ovation-User allowed", preflight.status, preflight.header, allow)
			}
			got := s.post(t, query(ask), append([]string{"Origin", test.origin}, test.header...)...)
			if got.status != test.status || !strings.Contains(got.body, test.want) || got.header.Get("Access-Control-Allow-Origin") != allow {
				t.Errorf("got status %d, headers %v, want %d, Access-Control-Allow-Origin %q; body %s, want %q in it", got.status, got.header, test.status, allow, got.body, test.want)
			}
			if executed := strings.Contains(got.body, `"data"`); executed != (test.status == 200) {
				t.Errorf("got %s, want it executed: %t", got.body, test.status == 200)
			}
		})
	}
}

// TestAllowedPagesSendAnyHeader shows which of the headers that a page asks for in its
// preflight it may send.
func TestAllowedPagesSendAnyHeader(t *testing.T) {
	const friend = "https://app.example.com"
	tracing := "traceparent,tracestate,baggage,sentry-trace,apollo-require-preflight,apollographql-client-name,apollographql-client-version"
	for name, test := range map[string]struct {
		allowed, requested string
		want, not          []string
	}{
		"tracing and clients":            {friend, tracing, strings.Split(tracing, ","), nil},
		"any page":                       {"*", tracing, strings.Split(tracing, ","), []string{"x-ovation-user"}},
		"development headers":            {friend, "x-ovation-user, X-Ovation-Tenant", []string{"x-ovation-user", "x-ovation-tenant"}, nil},
		"development headers, any page":  {"*", "a, x-ovation-user,X-OVATION-TENANT", []string{"a"}, []string{"x-ovation-user", "x-ovation-tenant"}},
		"the headers of proxies":         {friend, "forwarded,x-forwarded-for,X-Real-IP,b", []string{"b"}, []string{"forwarded", "x-forwarded-for", "x-real-ip"}},
		"none":                           {friend, "", []string{"accept", "authorization", "content-type"}, []string{""}},
		"not a name":                     {friend, "ok, a b\u0001", []string{"accept"}, []string{"ok", "a b"}},
		"the longest list of short ones": {friend, strings.Repeat("x,", 63) + "x", []string{"x"}, nil},
		"too many":                       {friend, strings.Repeat("x,", 64) + "x", []string{"accept"}, []string{"x"}},
		"too long":                       {friend, strings.Repeat("x", 2049), []string{"accept"}, []string{strings.Repeat("x", 2049)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, transport.Config{Origins: origins(test.allowed)})
			got := s.send(t, "OPTIONS", "/graphql", "", "Origin", friend, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", test.requested)
			allowed := map[string]bool{}
			for one := range strings.SplitSeq(got.header.Get("Access-Control-Allow-Headers"), ",") {
				allowed[strings.ToLower(strings.TrimSpace(one))] = true
			}
			for _, one := range test.want {
				if !allowed[one] {
					t.Errorf("got the headers %v allowed, want %s, too", allowed, one)
				}
			}
			for _, one := range test.not {
				if allowed[one] {
					t.Errorf("got the headers %v allowed, want no %s", allowed, one)
				}
			}
			vary := strings.Join(got.header["Vary"], ",")
			if got.status != 204 || got.header.Get("Access-Control-Max-Age") != "7200" || !strings.Contains(vary, "Access-Control-Request-Headers") ||
				strings.Contains(vary, "Origin") != (test.allowed != "*") {
				t.Errorf("got status %d, headers %v, want 204, Access-Control-Max-Age 7200, and Vary on what the response depends on", got.status, got.header)
			}
			if vary := strings.Join(s.post(t, query("{__typename}"), "Origin", friend).header["Vary"], ","); strings.Contains(vary, "Request-Headers") {
				t.Errorf("after a preflight, another response varies on %s", vary)
			}
		})
	}
}

func TestRefusedOriginsAreLogged(t *testing.T) {
	preflight := func(s *server, origin string) {
		s.send(t, "OPTIONS", "/graphql", "", "Origin", origin, "Access-Control-Request-Method", "POST")
	}
	t.Run("in development", func(t *testing.T) {
		s, log := inDevelopment(t, "https://a.example")
		for range 2 {
			preflight(s, "http://localhost:3000")
			preflight(s, "http://192.168.1.5:3000")
		}
		line := log.last(t)
		if strings.Count(log.String(), "\n") != 1 || line["level"] != "WARN" || line["origin"] != "http://192.168.1.5:3000" ||
			line["to_admit_them"] != "--allowed-origins https://a.example,http://192.168.1.5:3000" {
			t.Errorf("got the log %s, want one warning, with --allowed-origins for http://192.168.1.5:3000", log)
		}
		for i := range 1000 {
			preflight(s, fmt.Sprintf("https://%d.example%s", i, strings.Repeat("x", 1000)))
		}
		if n := strings.Count(log.String(), "\n"); n != 101 || len(log.String()) > 101*600 {
			t.Errorf("got %d log lines of %d bytes, want 101 of at most %d", n, len(log.String()), 101*600)
		}
		if last := log.last(t)["msg"]; last != "further origins that are refused will not be logged" {
			t.Errorf("the last log line: got %q, want further origins that are refused will not be logged", last)
		}
	})
	for name, allowed := range map[string][]string{"of nobody": nil, "of others": {"https://a.example"}} {
		t.Run(name, func(t *testing.T) {
			log := &logBuffer{}
			s := newServer(t, transport.Config{Origins: transport.NewOrigins(transport.OriginOptions{Allowed: allowed, Logger: log.logger()})})
			s.post(t, query("{__typename}"), "Origin", "https://b.example") // perhaps the server's own, behind a proxy
			s.post(t, query("{__typename}"), "Origin", "https://b.example", "Sec-Fetch-Site", "same-origin")
			if log.String() != "" {
				t.Errorf("got the log %s, want none about the server's own origin", log)
			}
			s.post(t, query("{__typename}"), "Origin", "https://b.example", "Sec-Fetch-Site", "cross-site")
			preflight(s, "http://localhost:3000")
			preflight(s, "http://localhost:3000")
			if strings.Count(log.String(), "\n") != 2 || log.last(t)["origin"] != "http://localhost:3000" {
				t.Errorf("got the log %s, want two lines, the last about http://localhost:3000", log)
			}
		})
	}
}

func TestSocketsOfPagesInDevelopment(t *testing.T) {
	s := newSite(t, siteOptions{dev: viewer.LocalDevHeaders, forDevelopers: true, origins: []string{"http://localhost:5174"}})
	const bob = `{"type":"connection_init","payload":{"X-Ovation-User":"bob"}}`
	for _, origin := range []string{"http://localhost:5173", "http://127.0.0.1:1"} {
		c := s.dial(t, "Origin", origin)
		c.say(`{"type":"connection_init"}`)
		c.receives(`{"type":"connection_ack"}`)
		c = s.dial(t, "Origin", origin)
		c.say(bob)
		c.isClosed(4403, "X-Ovation-User is not accepted from other origins: add --allowed-origins "+origin)
	}
	for _, header := range [][]string{{"Origin", "http://localhost:5174"}, {"Origin", "http://localhost:5173", "Sec-Fetch-Site", "same-origin"}} {
		c := s.dial(t, header...)
		c.say(bob)
		c.receives(`{"type":"connection_ack"}`)
	}
	s.dial(t, "Origin", "http://192.168.1.5:5173").isClosed(4403, "start ovation dev with --allowed-origins http://192.168.1.5:5173")
	s.dial(t, "Origin", "null").isClosed(4403, "serve the page from http://localhost")
	if log := s.log.String(); !strings.Contains(log, `"level":"WARN","msg":"pages of another origin are refused","origin":"http://192.168.1.5:5173"`) {
		t.Errorf("got the log %s, want a warning about http://192.168.1.5:5173", log)
	}
}
