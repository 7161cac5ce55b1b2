package persisted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/codes"
	"ovation/api/quota"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/storage"
)

// asker sends requests to an executor that validates against the real schema.
type asker struct {
	exec     graphql.GraphExecutor
	registry *prometheus.Registry
}

func newAsker(store Store) asker {
	registry := prometheus.NewRegistry()
	exec := executor.New(graph.NewExecutableSchema(graph.Config{}))
	return asker{Executor(exec, Options{Store: store, Registry: registry}), registry}
}

// ask returns the text that was accepted, or the code of the error.
func (a asker) ask(t *testing.T, tenant, text string, extension any) string {
	t.Helper()
	ctx := viewer.NewContext(graphql.StartOperationTrace(t.Context()), storage.User{Tenant: tenant})
	params := &graphql.RawParams{Query: text}
	if extension != nil {
		params.Extensions = map[string]any{Extension: extension}
	}
	operation, errs := a.exec.CreateOperationContext(ctx, params)
	if len(errs) > 0 {
		return code(errs)
	}
	return operation.RawQuery
}

func code(errs gqlerror.List) string {
	code, _ := errs[0].Extensions["code"].(string)
	return code
}

// named returns the extension that identifies a text by its hash.
func named(text string) map[string]any {
	sum := sha256.Sum256([]byte(text))
	return map[string]any{"version": json.Number("1"), "sha256Hash": hex.EncodeToString(sum[:])}
}

const (
	viewerQuery = `{ viewer { userId } }`
	likeQuery   = `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`
)

func TestAHashStandsForItsText(t *testing.T) {
	a := newAsker(nil)
	for _, step := range []struct{ text, extensionOf, want string }{
		{"", viewerQuery, codes.PersistedQueryNotFound},
		{viewerQuery, viewerQuery, viewerQuery},
		{"", viewerQuery, viewerQuery},
		{"", likeQuery, codes.PersistedQueryNotFound},
		{likeQuery, viewerQuery, codes.BadUserInput}, // the hash stays unknown
		{"", likeQuery, codes.PersistedQueryNotFound},
		{"", viewerQuery, viewerQuery},
		{likeQuery, likeQuery, likeQuery},
		{"", likeQuery, likeQuery},
	} {
		if got := a.ask(t, "default", step.text, named(step.extensionOf)); got != step.want {
			t.Errorf("%q with the hash of %q: got %s, want %s", step.text, step.extensionOf, got, step.want)
		}
	}
	if got := a.ask(t, "default", viewerQuery, nil); got != viewerQuery {
		t.Errorf("without the extension: got %s, want %s", got, viewerQuery)
	}
	for outcome, want := range map[string]float64{"found": 3, "not_found": 3, "registered": 2, "failed": 0} {
		e := a.exec.(*persistedExecutor)
		if got := testutil.ToFloat64(e.requests.WithLabelValues(outcome)); got != want {
			t.Errorf("%s: got %v requests counted, want %v", outcome, got, want)
		}
	}
	good := named(viewerQuery)["sha256Hash"].(string)
	for name, extension := range map[string]any{
		"null":               nil,
		"a text":             good,
		"a list":             []any{good},
		"empty":              map[string]any{},
		"no version":         map[string]any{"sha256Hash": good},
		"version 2":          map[string]any{"version": json.Number("2"), "sha256Hash": good},
		"a version of texts": map[string]any{"version": map[string]any{}, "sha256Hash": good},
		"no hash":            map[string]any{"version": json.Number("1")},
		"a short hash":       map[string]any{"version": json.Number("1"), "sha256Hash": good[1:]},
		"a long hash":        map[string]any{"version": json.Number("1"), "sha256Hash": good + "0"},
		"no digits":          map[string]any{"version": json.Number("1"), "sha256Hash": strings.Repeat("x", 64)},
	} {
		for _, text := range []string{"", viewerQuery} {
			params := &graphql.RawParams{Query: text, Extensions: map[string]any{Extension: extension}}
			_, errs := a.exec.CreateOperationContext(graphql.StartOperationTrace(t.Context()), params)
			if len(errs) != 1 || code(errs) != codes.BadUserInput || !strings.Contains(errs[0].Message, "persistedQuery") {
				t.Errorf("%s: got %v, want BAD_USER_INPUT alone, naming persistedQuery", name, errs)
			}
		}
	}
}

func TestOnlyValidDocumentsAreKept(t *testing.T) {
	a := newAsker(nil)
	for _, text := range []string{"{", "{ nonsense }", "query Q($a: Int!) { viewer { userId } }", "query A { viewer { userId } } query B { viewer { userId } }"} {
		if got := a.ask(t, "default", text, named(text)); got == text {
			t.Errorf("the invalid %s: got its result, want an error", text)
		}
		if got := a.ask(t, "default", "", named(text)); got != codes.PersistedQueryNotFound {
			t.Errorf("the hash of the invalid %s: got %s, want %s", text, got, codes.PersistedQueryNotFound)
		}
	}
}

func TestTenantsShareNoDocuments(t *testing.T) {
	a := newAsker(nil)
	a.ask(t, "acme", viewerQuery, named(viewerQuery))
	if got := a.ask(t, "default", "", named(viewerQuery)); got != codes.PersistedQueryNotFound {
		t.Errorf("another tenant: got %s, want %s", got, codes.PersistedQueryNotFound)
	}
	if got := a.ask(t, "acme", "", named(viewerQuery)); got != viewerQuery {
		t.Errorf("its own tenant: got %s, want %s", got, viewerQuery)
	}
}

func TestDocumentsAreBounded(t *testing.T) {
	held := func(m *memory) (documents, bytes int) { return m.texts.Len(), m.texts.Size() }
	nobody := quota.Owner{}
	of := func(i int) key { return key{"default", sha256.Sum256([]byte{byte(i), byte(i >> 8)})} }
	for name, test := range map[string]struct {
		documents, bytes int
		text             string
	}{"many": {10, 1 << 20, "{a}"}, "long": {1 << 20, 1000, strings.Repeat("a", 100)}} {
		m := newMemory(test.documents, test.bytes)
		for i := range 1000 {
			m.put(of(i), test.text, nobody)
			if documents, bytes := held(m); documents > test.documents || bytes > test.bytes {
				t.Fatalf("%s: got %d documents of %d bytes, want at most %d of %d", name, documents, bytes, test.documents, test.bytes)
			}
			if _, found := m.get(of(0), nobody); !found { // the first document is looked up all the time
				t.Fatalf("%s: after %d more documents the first is evicted, want it cached", name, i)
			}
			if _, found := m.get(of(i), nobody); !found {
				t.Fatalf("%s: got document %d not found, want it cached", name, i)
			}
		}
		if _, found := m.get(of(500), nobody); found {
			t.Errorf("%s: got the least recently used document, want it evicted", name)
		}
	}
}

// broken is a Store whose server does not respond.
type broken struct{ calls int }

var errBroken = errors.New("it does not answer")

func (b *broken) Document(context.Context, string, string) (string, error) {
	b.calls++
	return "", errBroken
}

func (b *broken) KeepDocument(context.Context, string, string, string) error {
	b.calls++
	return errBroken
}

func TestAFailingStoreFailsNoQuery(t *testing.T) {
	store := new(broken)
	a := newAsker(store)
	for _, step := range []struct{ text, want string }{
		{"", codes.PersistedQueryNotFound}, {viewerQuery, viewerQuery}, {"", viewerQuery}, {viewerQuery, viewerQuery}, // the last two from memory
	} {
		if got := a.ask(t, "default", step.text, named(viewerQuery)); got != step.want {
			t.Errorf("%q: got %s, want %s", step.text, got, step.want)
		}
	}
	if store.calls != 2 {
		t.Errorf("the store was called %d times, want one read and one registration", store.calls)
	}
}

// lying is a Store that returns a text other than the registered one.
type lying struct{ Store }

func (lying) Document(context.Context, string, string) (string, error) { return likeQuery, nil }

func TestATextThatIsNotOfItsHashIsNotExecuted(t *testing.T) {
	if got := newAsker(lying{}).ask(t, "default", "", named(viewerQuery)); got != codes.PersistedQueryNotFound {
		t.Errorf("another text than that of the hash: got %q, want %q", got, codes.PersistedQueryNotFound)
	}
}

func BenchmarkByHash(b *testing.B) {
	e := Executor(executor.New(graph.NewExecutableSchema(graph.Config{})), Options{}).(*persistedExecutor)
	sum := sha256.Sum256([]byte(viewerQuery))
	e.memory.put(key{storage.DefaultTenant, sum}, viewerQuery, quota.Owner{})
	extensions := map[string]any{Extension: named(viewerQuery)}
	for b.Loop() {
		if hash, err := hashOf(extensions[Extension]); err != nil || e.find(b.Context(), key{storage.DefaultTenant, hash}) == "" {
			b.Fatalf("the registered query is not found: %v", err)
		}
	}
}
