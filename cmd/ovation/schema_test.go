package main

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// A server with --federation returns the schema that ovation schema --federation prints.
func TestServersAreSubgraphsOnRequest(t *testing.T) {
	t.Parallel()
	s := serveBare(t, emptyData(t), "--federation", "--no-introspection")
	var got struct {
		Service struct{ SDL string } `json:"_service"`
	}
	must.Succeed(t, s.graphQL("", "{ _service { sdl } }", &got))
	if want := call(t, environment(), "schema", "--federation").stdout; got.Service.SDL != want || want == "" {
		t.Errorf("got %d bytes, want the %d bytes that ovation schema --federation prints", len(got.Service.SDL), len(want))
	}
}

func TestSchemaIsPrintedInFull(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../schema.graphqls")
	must.Succeed(t, err)
	if got := call(t, environment(), "schema"); got.code != 0 || got.stdout != string(want) {
		t.Errorf("ovation schema: got exit code %d, %d bytes, want 0, the %d bytes of schema.graphqls", got.code, len(got.stdout), len(want))
	}
	const key = `type Interactive implements Node @key(fields: "biz bizId") @key(fields: "id") {`
	if got := call(t, environment(), "schema", "--federation"); got.code != 0 || !strings.Contains(got.stdout, key) || strings.Contains(got.stdout, "_entities") {
		t.Errorf("ovation schema --federation: got exit code %d, %d bytes, want 0, the schema of a subgraph", got.code, len(got.stdout))
	}
	for flag, status := range map[string]int{"--introspection": http.StatusOK, "--no-introspection": http.StatusNotFound} {
		s := serveBare(t, emptyData(t), flag)
		got, header, body := get(t, s.url+"/schema.graphqls")
		kind := header.Get("Content-Type")
		if got != status || !strings.HasPrefix(kind, "text/plain") || bytes.Equal(body, want) != (status == http.StatusOK) {
			t.Errorf("%s: GET /schema.graphqls = %d, %s, %d bytes, want %d, text/plain, the %d bytes of the schema with 200 only", flag, got, kind, len(body), status, len(want))
		}
	}
}
