package redis

import (
	"fmt"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage/redis/internal/keyspace"
)

func TestPersistedQueriesAreShared(t *testing.T) {
	one, server, _ := openNew(t, Options{})
	other := open(t, Options{URL: server.url(), Database: openDatabase(t), Prefix: "other"})
	must.Succeed(t, one.KeepDocument(t.Context(), "acme", "ab", "{a}"))
	must.Succeed(t, one.KeepDocument(t.Context(), "acme", "ab", "{a}"))
	for name, c := range map[string]struct {
		s                  *Store
		tenant, hash, want string
	}{
		"its own":        {one, "acme", "ab", "{a}"},
		"another hash":   {one, "acme", "cd", ""},
		"another tenant": {one, "default", "ab", ""},
		"another prefix": {other, "acme", "ab", ""},
	} {
		if got, err := c.s.Document(t.Context(), c.tenant, c.hash); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
	if left, err := server.command("PTTL", keyspace.Documents(one.opts.Prefix, "acme")).AsInt64(); err != nil || left <= 0 || left > documentTTL.Milliseconds() {
		t.Errorf("the documents expire in %d ms, %v, want 1 to %d", left, err, documentTTL.Milliseconds())
	}
	// A key of another type is replaced.
	must.Succeed(t, server.command("SET", keyspace.Documents(one.opts.Prefix, "default"), "x").Error())
	if got, err := one.Document(t.Context(), "default", "ab"); err != nil || got != "" {
		t.Errorf("a key of another type: got %q, %v, want no document", got, err)
	}
	must.Succeed(t, one.KeepDocument(t.Context(), "default", "ab", "{b}"))
	if got, err := one.Document(t.Context(), "default", "ab"); err != nil || got != "{b}" {
		t.Errorf("after it is replaced: got %q, %v, want {b}", got, err)
	}
}

func TestPersistedQueriesAreBounded(t *testing.T) {
	s, server, _ := openNew(t, Options{})
	for name, c := range map[string]struct{ documents, bytes, size, held int }{
		"many": {10, 1 << 20, 5, 10},
		"long": {1000, 1000, 300, 3},
		"huge": {1000, 1000, 2000, 1}, // the latest document stays, however long it is
	} {
		for i := range 40 {
			must.Succeed(t, s.keepDocument(t.Context(), name, fmt.Sprintf("%064d", i), strings.Repeat("x", c.size), c.documents, c.bytes))
			must.Succeed(t, s.keepDocument(t.Context(), name, fmt.Sprintf("%064d", i), strings.Repeat("x", c.size), c.documents, c.bytes))
		}
		for i := range 40 {
			text, err := s.Document(t.Context(), name, fmt.Sprintf("%064d", i))
			if want := i >= 40-c.held; err != nil || (len(text) == c.size) != want {
				t.Errorf("%s: document %d is stored: %t, want %t; %v", name, i, text != "", want, err)
			}
		}
		fields, err := server.command("HGETALL", keyspace.Documents(s.opts.Prefix, name)).AsStrMap()
		if must.Succeed(t, err); len(fields) != 2*c.held+3 || fields["~bytes"] != fmt.Sprint(c.held*c.size) {
			t.Errorf("%s: got %d fields, %s bytes, want %d fields, %d bytes", name, len(fields), fields["~bytes"], 2*c.held+3, c.held*c.size)
		}
	}
}

func TestPersistedQueriesOfARedisThatHangsAreUnavailable(t *testing.T) {
	s, server, _ := openNew(t, Options{RedisTimeout: short})
	server.hang()
	defer server.resume()
	if _, err := s.Document(t.Context(), "default", "ab"); err == nil {
		t.Error("Document from a Redis that hangs: got no error")
	}
	if err := s.KeepDocument(t.Context(), "default", "ab", "{a}"); err == nil {
		t.Error("KeepDocument in a Redis that hangs: got no error")
	}
}
