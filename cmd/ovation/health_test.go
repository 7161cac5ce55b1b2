package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

func TestHealthAsksANode(t *testing.T) {
	s := serve(t, emptyData(t))
	host := strings.TrimPrefix(s.url, "http://")
	_, port, err := net.SplitHostPort(host)
	must.Succeed(t, err)
	call(t, environment(), "health", s.url).want(t, 0, s.url+"/readyz answers ok")
	call(t, environment(), "health", "--live", s.url+"/").want(t, 0, s.url+"/healthz answers ok")
	call(t, environment("OVATION_ADDR", host), "health").want(t, 0, "/readyz answers ok")
	call(t, environment("OVATION_ADDR", "0.0.0.0:"+port), "health").want(t, 0, "http://127.0.0.1:"+port+"/readyz answers ok")
	call(t, environment("OVATION_ADDR", ":"+port), "health").want(t, 0, "http://127.0.0.1:"+port+"/readyz answers ok")
	s.stop()
	call(t, environment(), "health", s.url).want(t, 1, s.url+"/readyz does not answer", "refused")
}

func TestHealthFailsUnlessTheNodeIsWell(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
			http.Error(w, "the queue\ndoes not deliver", http.StatusServiceUnavailable)
		case "/healthz":
			http.Redirect(w, r, "/", http.StatusFound)
		}
	}))
	defer node.Close()
	call(t, environment(), "health", node.URL).want(t, 1, "answers 503 Service Unavailable: the queue does not deliver\n")
	call(t, environment(), "health", "--live", node.URL).want(t, 1, "answers 302 Found")
	call(t, environment("OVATION_HEALTH_LIVE", "true"), "health", node.URL).want(t, 1, "/healthz answers 302 Found")
}

func TestHealthRejectsInvalidAddresses(t *testing.T) {
	for _, at := range []string{"127.0.0.1:8080", "ftp://x", "http://", "http://x/graphql"} {
		call(t, environment(), "health", at).want(t, exitUsage, "is not the address of a node: write http://host:port")
	}
	call(t, environment(), "health", "--addr=127.0.0.1:0").want(t, exitUsage, "name the port")
	for _, at := range []string{"http://user:hush-hush@127.0.0.1:1", "ftp://user:hush-hush@127.0.0.1:1", "http://user:hush-hush@ /"} {
		if got := call(t, environment(), "health", at); got.code == 0 || strings.Contains(got.stdout+got.stderr, "hush") {
			t.Errorf("%s: got exit code %d, %s%s, want an error without the password", at, got.code, got.stdout, got.stderr)
		}
	}
}
