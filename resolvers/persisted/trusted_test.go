package persisted

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/api/codes"
	"ovation/graph"
	"ovation/resolvers/limits"
)

// site is an executor with trusted documents, and the manifest that they come from.
type site struct {
	asker

	trusted *Trusted
	file    string
}

func newSite(t *testing.T, only bool) *site {
	t.Helper()
	exec := executor.New(graph.NewExecutableSchema(graph.Config{}))
	compiler := limits.Install(exec, limits.Config{})
	registry := prometheus.NewRegistry()
	s := &site{asker{nil, registry}, nil, filepath.Join(t.TempDir(), "manifest.json")}
	s.trusted = NewTrusted(TrustedOptions{Files: []string{s.file}, Only: only, Registry: registry})
	s.exec = Executor(compiler.Executor(exec), Options{Trusted: s.trusted, Compiler: compiler, Registry: registry})
	return s
}

// load writes the manifest and loads it.
func (s *site) load(t *testing.T, manifest string) error {
	t.Helper()
	if err := os.WriteFile(s.file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.trusted.Load(t.Context())
}

func (s *site) mustLoad(t *testing.T, manifest string) {
	t.Helper()
	if err := s.load(t, manifest); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
}

// byID returns the text that an id stands for, or the code of the error.
func (s *site) byID(t *testing.T, id string) string {
	t.Helper()
	params := new(graphql.RawParams)
	Identify(params, id)
	operation, errs := s.exec.CreateOperationContext(graphql.StartOperationTrace(t.Context()), params)
	if len(errs) > 0 {
		return code(errs)
	}
	return operation.RawQuery
}

func digits(h hash.Hash, text string) string {
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const feedQuery = "query Feed($ids: [ID!]!) {\n  nodes(ids: $ids) {\n    id\n  }\n}\n"

func TestManifestsOfEveryCompilerAreRead(t *testing.T) {
	hashed := digits(sha256.New(), viewerQuery)
	for name, step := range map[string]struct{ manifest, id string }{
		"Relay":                        {quote(map[string]string{digits(md5.New(), viewerQuery): viewerQuery, digits(md5.New(), likeQuery): likeQuery}), digits(md5.New(), viewerQuery)},
		"Relay with ids of its own":    {`{"feed/1": ` + quote(viewerQuery) + `}`, "feed/1"},
		"Code Generator":               {quote(map[string]string{digits(sha1.New(), viewerQuery): viewerQuery}), digits(sha1.New(), viewerQuery)},
		"Code Generator with SHA-256":  {quote(map[string]string{hashed: viewerQuery}), hashed},
		"a prefix":                     {quote(map[string]string{"sha256:" + hashed: viewerQuery}), "sha256:" + hashed},
		"any id also by its hash":      {quote(map[string]string{"a": viewerQuery}), "sha256:" + hashed},
		"a mark of the byte order":     {"\ufeff" + quote(map[string]string{"a": viewerQuery}), "a"},
		"the same text twice":          {`{"a": ` + quote(viewerQuery) + `, "b": ` + quote(viewerQuery) + `, "a": ` + quote(viewerQuery) + `}`, "b"},
		"Apollo":                       {`{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{"id": "` + hashed + `", "name": "", "type": "query", "body": ` + quote(viewerQuery) + `, "clientName": "ios"}]}`, hashed},
		"Apollo in another order":      {`{"operations": [{"body": ` + quote(viewerQuery) + `, "id": "x"}], "more": {}, "version": 1, "format": "apollo-persisted-query-manifest"}`, "x"},
		"Apollo with names and kinds":  {`{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{"id": "feed", "name": "Feed", "type": "query", "body": ` + quote(feedQuery) + `}, {"id": "x", "name": "", "type": "query", "body": ` + quote(viewerQuery) + `}]}`, "x"},
		"a manifest that has no query": {quote(map[string]string{"like": likeQuery, "me": viewerQuery}), "me"},
	} {
		s := newSite(t, false)
		s.mustLoad(t, step.manifest)
		if got := s.byID(t, step.id); got != viewerQuery {
			t.Errorf("%s: got %s for %s, want %s", name, got, step.id, viewerQuery)
		}
		if got := s.byID(t, "unknown"); got != codes.PersistedQueryNotFound {
			t.Errorf("%s: an unknown id: got %s, want %s", name, got, codes.PersistedQueryNotFound)
		}
		if got := s.ask(t, "default", "", named(viewerQuery)); got != viewerQuery {
			t.Errorf("%s: by the hash: got %s, want %s", name, got, viewerQuery)
		}
	}
	s := newSite(t, false)
	s.mustLoad(t, `{}`)
	if got := s.byID(t, "a"); got != codes.PersistedQueryNotFound {
		t.Errorf("an empty manifest: got %s, want %s", got, codes.PersistedQueryNotFound)
	}
}

// A manifest that is invalid anywhere changes nothing, and the error says what is wrong.
func TestBadManifestsAreRefused(t *testing.T) {
	s := newSite(t, true)
	s.mustLoad(t, quote(map[string]string{"old": viewerQuery}))
	wrong := digits(sha256.New(), "another text")
	apolloWith := func(operations string) string {
		return `{"format": "apollo-persisted-query-manifest", "version": 1, "operations": ` + operations + `}`
	}
	many := map[string]string{}
	for i := range MaxTrustedDocuments + 1 {
		many[strconv.Itoa(i)] = fmt.Sprintf("query Q%d { viewer { id } }", i)
	}
	for name, step := range map[string]struct{ manifest, want string }{
		"nothing":                   {``, "not valid JSON: line 1, byte 0: unexpected end"},
		"no JSON":                   {"{\n  \"a\": \"{viewer{id}}\",\n}", "not valid JSON: line 3, byte 1: invalid character '}'"},
		"more after the end":        {`{} {}`, "not valid JSON"},
		"a list":                    {`["{viewer{id}}"]`, "it must be a JSON object"},
		"null":                      {`null`, "it must be a JSON object"},
		"no texts":                  {`{"a": {"text": "{viewer{id}}"}}`, `no manifest of Relay, Apollo or GraphQL Code Generator: "a" is not the text`},
		"null for a text":           {`{"a": null}`, `"a" is not the text`},
		"invalid UTF-8":             {"{\"a\": \"{viewer{id}} #\xff\"}", "not valid UTF-8"},
		"another format":            {`{"format": "acme", "version": 1, "operations": []}`, `the "format" is "acme"`},
		"no format":                 {`{"version": 1, "operations": []}`, `the "format" is ""`},
		"another version":           {`{"format": "apollo-persisted-query-manifest", "version": 2, "operations": []}`, `the "version" of Apollo's manifest is "2"; 1 is`},
		"operations of no list":     {apolloWith(`{}`), `"operations" of Apollo's manifest: `},
		"no id":                     {apolloWith(`[{"id": "a", "body": "{viewer{id}}"}, {"name": "Feed", "body": "{viewer{id}}"}]`), `operation 1, "Feed", has no "id"`},
		"no body":                   {apolloWith(`[{"id": "a"}]`), `document "a": the document has no operation`},
		"another name":              {apolloWith(`[{"id": "a", "name": "Feed", "type": "query", "body": "query Other {viewer{id}}"}]`), `document "a": the text has no query "Feed"`},
		"another kind":              {apolloWith(`[{"id": "a", "name": "Other", "type": "mutation", "body": "query Other {viewer{id}}"}]`), `the text has no mutation "Other"`},
		"a wrong SHA-256":           {quote(map[string]string{wrong: viewerQuery}), `document "` + wrong + `": the id has the form of a SHA-256, but that of the text is ` + digits(sha256.New(), viewerQuery)},
		"a wrong SHA-256, prefixed": {quote(map[string]string{"sha256:" + wrong: viewerQuery}), "form of a SHA-256"},
		"half a SHA-256":            {quote(map[string]string{"sha256:" + wrong[:40]: viewerQuery}), "form of a SHA-256"},
		"a wrong SHA-1":             {quote(map[string]string{wrong[:40]: viewerQuery}), "form of a SHA-1, but"},
		"a wrong MD5":               {quote(map[string]string{wrong[:32]: viewerQuery}), "form of a MD5, but"},
		"an id with two texts":      {`{"a": ` + quote(viewerQuery) + `, "a": ` + quote(likeQuery) + `}`, `document "a": the id occurs once more, with another text`},
		"an empty id":               {quote(map[string]string{"": viewerQuery}), "the id is empty"},
		"an id with a line break":   {quote(map[string]string{"a\nb": viewerQuery}), `document "a\nb": the id has control characters`},
		"a long id":                 {quote(map[string]string{strings.Repeat("x", maxIDBytes+1): viewerQuery}), "the id is 257 bytes long; at most 256"},
		"no GraphQL":                {quote(map[string]string{"a": "query {\n  viewer {"}), `document "a": line 2, column `},
		"an unknown field":          {quote(map[string]string{"good": likeQuery, "bad": "query {\n  viewer { nonsense }\n}"}), `document "bad": line 2, column 12: Cannot query field "nonsense"`},
		"a fragment alone":          {quote(map[string]string{"a": "fragment F on User { id }"}), "no operation"},
		"introspection":             {quote(map[string]string{"a": "{ __schema { types { name } } }"}), `document "a": introspection is turned off`},
		"a deep document":           {quote(map[string]string{"a": strings.Repeat("{ viewer ", 16) + "{ id }" + strings.Repeat("}", 16)}), "levels deep; at most"},
		"a long document":           {quote(map[string]string{"a": viewerQuery + strings.Repeat(" ", limits.MaxQueryBytes)}), "bytes long; at most 65536"},
		"too many documents":        {quote(many), "too many documents: at most 10000, and 16 MiB of text"},
		"50 MB":                     {quote(map[string]string{"a": strings.Repeat(" ", 50_000_000)}), "it has 47 MiB; at most 16 MiB are allowed"},
	} {
		err := s.load(t, step.manifest)
		if err == nil || !strings.HasPrefix(err.Error(), s.file+": ") || !strings.Contains(err.Error(), step.want) || len(err.Error()) > 1_000 {
			t.Errorf("%s: got the error %v, want the file and %q", name, err, step.want)
		}
		if got := s.byID(t, "old"); got != viewerQuery {
			t.Errorf("%s: got %s for the id of the manifest before, want %s", name, got, viewerQuery)
		}
		for _, id := range []string{"a", "good"} {
			if got := s.byID(t, id); got != codes.UntrustedDocument {
				t.Errorf("%s: got %s for an id of the bad manifest, want %s", name, got, codes.UntrustedDocument)
			}
		}
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Remove(s.file))
	if err := s.trusted.Load(t.Context()); err == nil || !strings.Contains(err.Error(), s.file+": no such file") {
		t.Errorf("a missing manifest: got the error %v", err)
	}
	must(os.Mkdir(s.file, 0o700))
	if err := s.trusted.Load(t.Context()); err == nil || !strings.Contains(err.Error(), s.file+": it is a folder") {
		t.Errorf("a folder: got the error %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	must(os.Remove(s.file))
	must(os.WriteFile(s.file, []byte(quote(map[string]string{"a": likeQuery})), 0o600))
	if err := s.trusted.Load(stopped); err == nil {
		t.Error("a load that is cancelled: got no error")
	}
	if got := s.byID(t, "old"); got != viewerQuery {
		t.Errorf("at the end: got %s, want %s", got, viewerQuery)
	}
}

// Ids of several manifests must not contradict each other.
func TestManifestsAreOneSet(t *testing.T) {
	s := newSite(t, false)
	second := filepath.Join(t.TempDir(), "second.json")
	s.trusted.Files = append(s.trusted.Files, second)
	write := func(text string) {
		if err := os.WriteFile(second, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(quote(map[string]string{"a": viewerQuery, "c": likeQuery}))
	s.mustLoad(t, quote(map[string]string{"a": viewerQuery, "b": viewerQuery}))
	for id, want := range map[string]string{"a": viewerQuery, "b": viewerQuery, "c": likeQuery} {
		if got := s.byID(t, id); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
	write(quote(map[string]string{"a": likeQuery}))
	if err := s.trusted.Load(t.Context()); err == nil || !strings.Contains(err.Error(), second+`: document "a": the id occurs once more`) {
		t.Errorf("contradicting manifests: got the error %v", err)
	}
	long := func(name string) string {
		texts := map[string]string{}
		for i := range maxTrustedBytes / 2 / limits.MaxQueryBytes {
			texts[fmt.Sprint(name, i)] = fmt.Sprintf("query %s%d { viewer { id } } #", name, i) + strings.Repeat("x", limits.MaxQueryBytes-64)
		}
		return quote(texts)
	}
	write(long("Second") + "\n")
	s.mustLoad(t, quote(map[string]string{"c": likeQuery}))
	if err := s.load(t, long("First")); err != nil {
		t.Errorf("manifests of nearly 16 MiB: %v", err)
	}
	s.trusted.Files = append(s.trusted.Files, filepath.Join(t.TempDir(), "third.json"))
	if err := os.WriteFile(s.trusted.Files[2], []byte(long("Third")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.trusted.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "16 MiB of text, are allowed in all manifests together") {
		t.Errorf("manifests of 24 MiB: got the error %.300v", err)
	}
}

func TestOnlyTrustedDocumentsAreExecuted(t *testing.T) {
	s := newSite(t, true)
	s.mustLoad(t, quote(map[string]string{"me": viewerQuery}))
	const other = "{ viewer { id } }"
	for _, step := range []struct {
		text      string
		extension any
		want      string
	}{
		{viewerQuery, nil, viewerQuery}, // the text of a trusted document is one
		{viewerQuery, named(viewerQuery), viewerQuery},
		{"", named(viewerQuery), viewerQuery},
		{viewerQuery + " ", nil, codes.UntrustedDocument},
		{other, nil, codes.UntrustedDocument},
		{other, named(other), codes.UntrustedDocument}, // and is not registered
		{"", named(other), codes.UntrustedDocument},
		{"{", nil, codes.UntrustedDocument},
		{"", nil, codes.UntrustedDocument},
		{viewerQuery, named(other), codes.BadUserInput},
	} {
		if got := s.ask(t, "default", step.text, step.extension); got != step.want {
			t.Errorf("%q with %v: got %s, want %s", step.text, step.extension, got, step.want)
		}
	}
	if got := s.byID(t, "you"); got != codes.UntrustedDocument {
		t.Errorf("an unknown id: got %s, want %s", got, codes.UntrustedDocument)
	}
	for outcome, want := range map[string]float64{"trusted": 1, "trusted_text": 2, "untrusted_text": 4, "not_found": 3, "registered": 0} {
		if got := testutil.ToFloat64(s.exec.(*persistedExecutor).requests.WithLabelValues(outcome)); got != want {
			t.Errorf("%s: got %v requests counted, want %v", outcome, got, want)
		}
	}
}

// Beside trusted documents, automatic persisted queries work as without them.
func TestAutomaticQueriesBesideTrustedOnes(t *testing.T) {
	s := newSite(t, false)
	s.mustLoad(t, quote(map[string]string{"me": viewerQuery}))
	for _, step := range []struct{ text, extensionOf, want string }{
		{"", likeQuery, codes.PersistedQueryNotFound},
		{likeQuery, likeQuery, likeQuery},
		{"", likeQuery, likeQuery},
		{"", viewerQuery, viewerQuery},
	} {
		if got := s.ask(t, "default", step.text, named(step.extensionOf)); got != step.want {
			t.Errorf("%q with the hash of %q: got %s, want %s", step.text, step.extensionOf, got, step.want)
		}
	}
}

// A document that leaves or enters the manifests while requests use it fails none of
// them: each gets the text that its id stands for before or after a load.
func TestManifestsAreReloadedUnderRequests(t *testing.T) {
	s := newSite(t, true)
	versions := []string{viewerQuery, likeQuery}
	s.mustLoad(t, quote(map[string]string{"it": versions[0], "me": feedQuery}))
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := s.byID(t, "it"); got != versions[0] && got != versions[1] {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	for i := range 60 {
		s.mustLoad(t, quote(map[string]string{"it": versions[i%2]}))
		if got := s.byID(t, "it"); got != versions[i%2] {
			t.Errorf("after load %d: got %s, want %s", i, got, versions[i%2])
		}
		if s.load(t, `{`) == nil {
			t.Error("a bad manifest is loaded")
		}
	}
	close(stop)
	all.Wait()
	if got := s.byID(t, "me"); got != codes.UntrustedDocument {
		t.Errorf("an id that has left the manifest: got %s, want %s", got, codes.UntrustedDocument)
	}
	if got := testutil.ToFloat64(s.trusted.metrics.documents); got != 1 {
		t.Errorf("got %v documents counted, want 1", got)
	}
}

// However many documents there are, the number of series is bounded, and those of
// documents that have left the manifests are deleted.
func TestSeriesOfTrustedDocumentsAreBounded(t *testing.T) {
	s := newSite(t, true)
	many := map[string]string{}
	for i := range maxLabels + 500 {
		many[fmt.Sprint("id-", i)] = fmt.Sprintf("query Q%d { viewer { id } }", i)
	}
	s.mustLoad(t, quote(many))
	for id := range many {
		s.trusted.current.Load().byID[id].series.done("OK", 1)
	}
	count := func() int {
		n, err := testutil.GatherAndCount(s.registry, "ovation_trusted_document_requests_total")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := count(); got != maxLabels+1 {
		t.Errorf("got %d series, want %d", got, maxLabels+1)
	}
	s.mustLoad(t, quote(map[string]string{"me": viewerQuery, "feed": feedQuery}))
	for _, id := range []string{"me", "feed"} {
		s.trusted.current.Load().byID[id].series.done("OK", 1)
	}
	if got := count(); got != 2 {
		t.Errorf("after a reload: got %d series, want 2", got)
	}
	for _, label := range []string{"me", "Feed"} { // an id, and the name of an operation
		if got := testutil.ToFloat64(s.trusted.metrics.requests.WithLabelValues(label, "OK")); got != 1 {
			t.Errorf("%s: got %v requests, want 1", label, got)
		}
	}
}
