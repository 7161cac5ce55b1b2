package resolvers_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"ovation/api/rate"
	"ovation/internal/testing/must"
)

// TestEveryRouteIsLimitedAndMeasured requests each path, except the health checks, until
// the bucket of the address is empty. It checks that the requests are logged, and counted
// under the name of the path.
func TestEveryRouteIsLimitedAndMeasured(t *testing.T) {
	for path, c := range map[string]struct {
		logged, operation string // in the log and in the metrics
		status            int    // of the first request
	}{
		"/graphql?query={__typename}":              {"", "unnamed", http.StatusOK},
		"/media/videos/aaaaaaaaaaaaaaaaaaaaaa.mp4": {"/media/", "/media/", http.StatusNotFound},
		"/media/placeholders/1.png":                {"/media/", "/media/", http.StatusOK},
		"/media/videos":                            {"/media/videos", "/media/videos", http.StatusMethodNotAllowed},
		"/media/avatars":                           {"/media/avatars", "/media/avatars", http.StatusMethodNotAllowed},
		"/schema.graphqls":                         {"/schema.graphqls", "/schema.graphqls", http.StatusOK},
		"/openapi.json":                            {"/openapi.json", "/openapi.json", http.StatusNotFound},
		"/.well-known/jwks.json":                   {"/.well-known/jwks.json", "/.well-known/jwks.json", http.StatusOK},
		"/metrics":                                 {"/metrics", "/metrics", http.StatusOK},
	} {
		t.Run(path, func(t *testing.T) {
			const perAddress = 203 // 2,030 at once
			s, sent, status := start(t, withVideos, withAccounts, withRates(rate.Config{PerAddress: perAddress})), 0, 0
			for ; status != http.StatusTooManyRequests && sent < 10_000; sent++ {
				response, err := http.Get(s.url + path)
				must.Succeed(t, err)
				_, err = io.Copy(io.Discard, response.Body)
				must.Succeed(t, err)
				must.Succeed(t, response.Body.Close())
				if status = response.StatusCode; sent == 0 && status != c.status {
					t.Errorf("the first request: got status %d, want %d", status, c.status)
				}
				if status == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
					t.Errorf("got %v, want Retry-After", response.Header)
				}
			}
			if status != http.StatusTooManyRequests {
				t.Errorf("after %d requests: got status %d, want 429", sent, status)
			}
			if n := strings.Count(s.log.String(), `"operation":"`+c.logged+`"`); n != sent {
				t.Errorf("the access log has %d requests of %q, want %d", n, c.logged, sent)
			}
			families, err := s.registry.Gather()
			must.Succeed(t, err)
			counted := 0.0
			for _, f := range families {
				for _, m := range f.GetMetric() {
					for _, l := range m.GetLabel() {
						if f.GetName() == "ovation_graphql_requests_total" && l.GetName() == "operation" && l.GetValue() == c.operation {
							counted += m.GetCounter().GetValue()
						}
					}
				}
			}
			if counted != float64(sent) {
				t.Errorf("got %v requests counted for %s, want %d", counted, c.operation, sent)
			}
		})
	}
	s := start(t, withRates(rate.Config{PerAddress: 1}))
	for _, path := range []string{"/healthz", "/readyz"} {
		for range 5 {
			response, err := http.Get(s.url + path)
			must.Succeed(t, err)
			must.Succeed(t, response.Body.Close())
			if response.StatusCode != http.StatusOK {
				t.Errorf("GET %s = %d, want 200: health checks are not limited", path, response.StatusCode)
			}
		}
	}
}
