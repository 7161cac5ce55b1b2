package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/openapitest"
)

// A server serves the OpenAPI document of what it serves. Each operation in it exists, and
// the reply to a request without parameters is one of those described.
func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	s := serveBare(t, emptyData(t))
	printed := call(t, environment(), "schema", "--openapi")
	printed.want(t, 0)
	status, header, text := get(t, s.url+"/openapi.json")
	if status != http.StatusOK || header.Get("Content-Type") != "application/json; charset=utf-8" || string(text) != printed.stdout {
		t.Errorf("GET /openapi.json = %d, %v, %d bytes, want 200, JSON, the %d bytes that ovation schema --openapi prints", status, header, len(text), len(printed.stdout))
	}
	document, err := openapitest.Load()
	must.Succeed(t, err)
	for path, item := range document.Paths {
		at := strings.NewReplacer("{file}", "aaaaaaaaaaaaaaaa.mp4", "{picture}", "7.png").Replace(path)
		for method, op := range item {
			request, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), s.url+at, http.NoBody)
			must.Succeed(t, err)
			response, err := client.Do(request)
			must.Succeed(t, err)
			body, err := io.ReadAll(response.Body)
			must.Succeed(t, err)
			must.Succeed(t, response.Body.Close())
			if op.Responses[strconv.Itoa(response.StatusCode)] == nil || bytes.Contains(body, []byte("no such endpoint")) || bytes.Contains(body, []byte("needs the method")) {
				t.Errorf("%s %s = %d, %s, want one of %v", method, at, response.StatusCode, body, slices.Sorted(maps.Keys(op.Responses)))
			}
			if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
				if err := document.CheckReply(method, path, response.StatusCode, body); err != nil {
					t.Errorf("%s %s: %v", method, at, err)
				}
			}
		}
	}
}

// A server without videos or without the API for mini Douyin clients does not describe
// them.
func TestDocumentHasNothingThatIsOff(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--no-douyin": "/media/", "--no-videos": "/douyin/"} {
		s := serveBare(t, emptyData(t), flag)
		_, _, text := get(t, s.url+"/openapi.json")
		var document struct {
			Paths map[string]any `json:"paths"`
		}
		must.Succeed(t, json.Unmarshal(text, &document))
		if len(document.Paths) == 0 {
			t.Errorf("%s: the document has no paths", flag)
		}
		for path := range document.Paths {
			if !strings.HasPrefix(path, want) {
				t.Errorf("%s: the document has %s", flag, path)
			}
		}
	}
	s := serveBare(t, emptyData(t), "--no-douyin", "--no-videos")
	if status, _, _ := get(t, s.url+"/openapi.json"); status != http.StatusNotFound {
		t.Errorf("without both: GET /openapi.json = %d, want 404", status)
	}
}
