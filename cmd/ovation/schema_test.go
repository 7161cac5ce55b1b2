package main

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestSchemaIsPrintedInFull(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../schema.graphqls")
	must(t, err)
	if got := call(t, environment(), "schema"); got.code != 0 || got.stdout != string(want) {
		t.Errorf("ovation schema: got exit code %d, %d bytes, want 0, the %d bytes of schema.graphqls", got.code, len(got.stdout), len(want))
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
