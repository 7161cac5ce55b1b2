package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestRequestsAreParsed(t *testing.T) {
	for body, want := range map[string][]string{
		`{"user":"u","ids":["a","b"]}`: {"a", "b"},
		`{"user":"u","id":"a"}`:        {"a"},
		`{"user":"u","ids":[]}`:        nil,
		`{"ids":["a"]}`:                nil,
		`{"user":"u","ids":["a`:        nil,
		``:                             nil,
	} {
		r := httptest.NewRequest(http.MethodPost, "/page", strings.NewReader(body))
		user, ids, err := readRequest(new(bytes.Buffer), httptest.NewRecorder(), r)
		if !slices.Equal(ids, want) || (err == nil) != (want != nil) || want != nil && user != "u" {
			t.Errorf("%s: got user %q, ids %q, %v, want user u, ids %q", body, user, ids, err, want)
		}
	}
}
