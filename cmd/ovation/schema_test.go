package main

import (
	"errors"
	"io"
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
		t.Errorf("ovation schema ends with %d and prints %d bytes, want %d", got.code, len(got.stdout), len(want))
	}
	for flag, status := range map[string]int{"--introspection": http.StatusOK, "--no-introspection": http.StatusNotFound} {
		s := serveBare(t, emptyData(t), flag)
		response, err := client.Get(s.url + "/schema.graphqls")
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, errors.Join(err, response.Body.Close()))
		if response.StatusCode != status || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") ||
			(string(body) == string(want)) != (status == http.StatusOK) {
			t.Errorf("with %s the response is %s, %d bytes", flag, response.Status, len(body))
		}
	}
}
