package limits

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/resolvers/plan"
)

func TestCacheEvictsLeastRecentlyUsed(t *testing.T) {
	c, ctx := newCache(3, 100), t.Context()
	add := func(texts ...string) {
		for _, text := range texts {
			c.Add(ctx, text, &ast.QueryDocument{})
		}
	}
	keeps := func(what string, want ...string) {
		t.Helper()
		for _, text := range want {
			if _, known := c.Get(ctx, text); !known {
				t.Errorf("%s: got %q evicted, want it cached", what, text)
			}
		}
		held := len(strings.Join(want, ""))
		if c.byText.Len() != len(want) || len(c.byDocument) != len(want) || c.byText.Size() != held {
			t.Errorf("%s: got %d entries, %d by document, %d bytes, want %d, %d, %d", what, c.byText.Len(), len(c.byDocument), c.byText.Size(), len(want), len(want), held)
		}
	}
	add("a", "b", "c", "a")
	keeps("as many as fit", "b", "c", "a")
	add("d")
	keeps("one more", "c", "a", "d")
	big := strings.Repeat("x", 99)
	add(big)
	keeps("a long one", "d", big)
	add(strings.Repeat("y", 101))
	keeps("one that is too long")
}

// A short text whose fragments select many fields does not make the cache large.
func TestTheCacheCountsTheFieldsOfPlans(t *testing.T) {
	c := newCache(3, 100)
	for i := range 3 {
		operation := &graphql.OperationContext{Doc: new(ast.QueryDocument), Operation: new(ast.OperationDefinition)}
		c.Add(t.Context(), fmt.Sprint(i), operation.Doc)
		for range 2 {
			c.plan(operation, func(*ast.OperationDefinition) *plan.Plan { return &plan.Plan{Fields: 40} })
		}
	}
	if c.byText.Len() != 2 || c.byText.Size() != 2*(1+40) || len(c.byDocument) != 2 {
		t.Errorf("got %d documents, %d by document, %d bytes and fields, want 2, 2, %d", c.byText.Len(), len(c.byDocument), c.byText.Size(), 2*(1+40))
	}
}

func TestAHeldDocumentIsShared(t *testing.T) {
	c, ctx, document := newCache(2, 100), t.Context(), new(ast.QueryDocument)
	c.Add(ctx, "held", document)
	first, second := c.hold(document), c.hold(document)
	for i := range 5 {
		c.Add(ctx, fmt.Sprint(i), new(ast.QueryDocument))
	}
	if got, known := c.Get(ctx, "held"); got != document || !known || c.byText.Len() != 2 {
		t.Errorf("a held document: got %p with %d others cached, want %p with 2", got, c.byText.Len(), document)
	}
	c.Add(ctx, "held", new(ast.QueryDocument)) // another request has parsed it meanwhile
	first()
	if got, _ := c.Get(ctx, "held"); got != document {
		t.Errorf("a document that is held once more: got %p, want %p", got, document)
	}
	second()
	if _, known := c.Get(ctx, "held"); known || len(c.held) != 0 || len(c.byDocument) != 2 {
		t.Errorf("a released document: got it known: %t, with %d held, %d by document, want neither and 2", known, len(c.held), len(c.byDocument))
	}
	cached := new(ast.QueryDocument)
	c.Add(ctx, "cached", cached)
	c.hold(cached)()
	if got, _ := c.Get(ctx, "cached"); got != cached || c.byDocument[cached] == nil {
		t.Errorf("a released document that is still cached: got %p, want %p", got, cached)
	}
}

func TestPinnedDocumentsAreNotEvicted(t *testing.T) {
	c, ctx := newCache(2, 100), t.Context()
	cached, pinned := new(ast.QueryDocument), new(ast.QueryDocument)
	c.Add(ctx, "cached", cached)
	c.pin(map[string]*ast.QueryDocument{"pinned": pinned, "cached": new(ast.QueryDocument)})
	fill := func() {
		for i := range 5 {
			c.Add(ctx, fmt.Sprint(i), new(ast.QueryDocument))
		}
	}
	want := func(when string, documents map[string]*ast.QueryDocument, others int) {
		t.Helper()
		for text, want := range documents {
			if got, _ := c.Get(ctx, text); got != want {
				t.Errorf("%s: %s: got %p, want %p", when, text, got, want)
			}
		}
		if c.byText.Len() != others || len(c.byDocument) != others+len(documents) {
			t.Errorf("%s: got %d others and %d documents, want %d, %d", when, c.byText.Len(), len(c.byDocument), others, others+len(documents))
		}
	}
	fill()
	c.Add(ctx, "pinned", new(ast.QueryDocument)) // another request has parsed it meanwhile
	want("pinned", map[string]*ast.QueryDocument{"cached": cached, "pinned": pinned}, 2)
	release := c.hold(pinned)
	next := new(ast.QueryDocument)
	c.pin(map[string]*ast.QueryDocument{"next": next})
	fill()
	want("held", map[string]*ast.QueryDocument{"pinned": pinned, "next": next}, 2)
	c.pin(nil)
	want("unpinned", map[string]*ast.QueryDocument{"pinned": pinned}, 2)
	release()
	want("released", nil, 2)
}

// The first request for a pinned document finds its plan, and a document that is pinned
// once more is not parsed again.
func TestCompiledDocumentsAreReady(t *testing.T) {
	s := newService(t, Config{})
	const text = "query A { viewer { id } } query B { viewer { userId } }"
	document, err := s.limits.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	s.limits.Pin(map[string]*ast.QueryDocument{text: document})
	for _, operation := range document.Operations {
		if s.limits.cache.byDocument[document].plans[operation] == nil {
			t.Errorf("%s has no plan", operation.Name)
		}
	}
	if again, err := s.limits.Compile(text); again != document || err != nil {
		t.Errorf("compiled once more: got %p, %v, want %p", again, err, document)
	}
	for text, want := range map[string]string{
		"query {": "", "{ viewer { nonsense } }": "", "{ __schema { types { name } } }": "introspection", "": "no operation", nested(16): "levels deep",
		strings.Repeat(" ", MaxQueryBytes+1): "bytes long",
	} {
		if _, err := s.limits.Compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got the error %v, want %q", text, err, want)
		}
	}
}

func TestTheCacheIsSafeForManyAtOnce(t *testing.T) {
	s := newService(t, Config{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				if _, errs := s.ask(t, fmt.Sprintf("query Q%d{viewer{id}}", (i+j)%20), ""); errs != nil {
					t.Error(errs)
				}
			}
		})
	}
	all.Wait()
	if n := s.limits.cache.byText.Len(); n != 20 {
		t.Errorf("got %d cached documents, want 20", n)
	}
}

func TestInvalidDocumentsAreNotCached(t *testing.T) {
	s := newService(t, Config{MaxCost: 2})
	for _, query := range []string{"{nothing}", "{", nested(16), "{__schema{types{name}}}"} {
		for range 2 {
			if _, errs := s.ask(t, query, ""); errs == nil {
				t.Errorf("%s: got no errors, want some", query)
			}
		}
	}
	if n := s.limits.cache.byText.Len(); n != 0 {
		t.Errorf("got %d cached documents, want none", n)
	}
	for range 2 { // the cost depends on the variables, so it is checked each time
		if _, errs := s.ask(t, "{viewer{id userId}}", ""); errs == nil {
			t.Error("a query beyond the maximum cost: got no errors, want some")
		}
	}
}

func BenchmarkKnownPage(b *testing.B) {
	s := newService(b, Config{})
	const query = "query Feed($s:[SubjectInput!]!){interactives(subjects:$s){id biz bizId readCount likeCount dislikeCount collectCount liked{reaction at} collected{folder{id name} at} version freshness}}"
	operation, errs := s.ask(b, query, manySubjects)
	if errs != nil {
		b.Fatal(errs)
	}
	var values map[string]any
	decode(b, manySubjects, &values)
	for b.Loop() {
		if _, known := s.limits.cache.Get(b.Context(), query); !known {
			b.Fatal("the document is not cached")
		}
		if err := s.limits.checkVariables(operation.Operation, values); err != nil {
			b.Fatal(err)
		}
		if err := s.limits.MutateOperationContext(b.Context(), operation); err != nil {
			b.Fatal(err)
		}
	}
}
