package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// TestPagesOfThisMachineMayAskOvationDev checks that ovation dev accepts requests from
// pages on this machine and from the allowed origins, and rejects requests from other
// origins.
func TestPagesOfThisMachineMayAskOvationDev(t *testing.T) {
	t.Parallel()
	s := serve(t, emptyData(t), "--allowed-origins= http://a.example , http://b.example:1 ")
	for origin, want := range map[string]struct {
		status int
		says   string
	}{
		"http://localhost:5173":   {http.StatusOK, `"viewer":null`},
		"http://127.0.0.1:3000":   {http.StatusOK, `"viewer":null`},
		"http://a.example":        {http.StatusOK, `"viewer":null`},
		"http://b.example:1":      {http.StatusOK, `"viewer":null`},
		"http://192.168.1.5:5173": {http.StatusForbidden, "--allowed-origins http://192.168.1.5:5173"},
	} {
		request, err := http.NewRequest(http.MethodPost, s.url+"/graphql", strings.NewReader(`{"query":"{viewer{userId}}"}`))
		must.Succeed(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Origin", origin)
		response, err := client.Do(request)
		must.Succeed(t, err)
		body, err := io.ReadAll(response.Body)
		must.Succeed(t, errors.Join(err, response.Body.Close()))
		if response.StatusCode != want.status || !strings.Contains(string(body), want.says) || response.Header.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("%s: got %s, origin %q allowed, want %d, %q: %s", origin, response.Status, response.Header.Get("Access-Control-Allow-Origin"), want.status, want.says, body)
		}
	}
	if log := s.stop().stderr; !strings.Contains(log, `"to_admit_them":"--allowed-origins http://a.example,http://b.example:1,http://192.168.1.5:5173"`) {
		t.Errorf("the log does not advise to admit the refused origins:\n%s", log)
	}
}
