package limits

import (
	"container/list"
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/resolvers/plan"
)

// The bounds of the cache of documents. A document takes up to 110 bytes of
// memory for each byte of its text (lists of short values do), and its plan up to
// 140 for each field, so a client that sends ever new documents makes the cache
// take 150 MB at most.
const (
	maxCacheEntries = 1_000
	maxCacheBytes   = 1 << 20 // of text; a field of a plan counts as one, too
)

// cache keeps the documents that were used last. It is the query cache of the
// server, which puts into it what is valid.
type cache struct {
	entries, bytes int // the bounds

	mu    sync.Mutex
	known map[string]*list.Element // by text; of *cached
	of    map[*ast.QueryDocument]*cached
	order *list.List // the one used last in front
	held  int        // the sum of the sizes
}

type cached struct {
	text     string
	size     int // bytes of text, and fields of plans
	document *ast.QueryDocument
	// executed is how the executor began to execute an operation of the
	// document; nil: it has not yet.
	executed *graphql.OperationContext
	plans    map[*ast.OperationDefinition]*plan.Plan
}

var _ graphql.Cache[*ast.QueryDocument] = (*cache)(nil)

func newCache(entries, bytes int) *cache {
	return &cache{
		entries: entries, bytes: bytes,
		known: map[string]*list.Element{}, of: map[*ast.QueryDocument]*cached{}, order: list.New(),
	}
}

// Get returns the document of a text, if it is known.
func (c *cache) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	document, _, known := c.get(text)
	return document, known
}

// get also returns how its execution began before, nil where it has not.
func (c *cache) get(text string) (document *ast.QueryDocument, executed *graphql.OperationContext, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, known := c.known[text]
	if !known {
		return nil, nil, false
	}
	c.order.MoveToFront(element)
	entry := element.Value.(*cached) //nolint:forcetypeassert // the list holds nothing else
	return entry.document, entry.executed, true
}

// Add keeps a document and drops those used longest ago where the bounds ask
// for it.
func (c *cache) Add(_ context.Context, text string, document *ast.QueryDocument) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.known[text]; known {
		return
	}
	entry := &cached{text: text, document: document}
	c.known[text], c.of[document] = c.order.PushFront(entry), entry
	c.grow(entry, len(text))
}

// grow makes an entry larger. It needs the lock.
func (c *cache) grow(entry *cached, by int) {
	entry.size += by
	c.held += by
	for len(c.known) > c.entries || c.held > c.bytes {
		last := c.order.Remove(c.order.Back()).(*cached) //nolint:forcetypeassert // the list holds nothing else
		delete(c.known, last.text)
		delete(c.of, last.document)
		c.held -= last.size
	}
}

// execute notes how the execution of a document began, if it is kept.
func (c *cache) execute(operation *graphql.OperationContext) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.of[operation.Doc]; entry != nil && entry.executed == nil {
		entry.executed = &graphql.OperationContext{ // and nothing of the request
			RecoverFunc: operation.RecoverFunc, ResolverMiddleware: operation.ResolverMiddleware,
			RootResolverMiddleware: operation.RootResolverMiddleware,
		}
	}
}

// plan returns the plan of an operation, which is made once while its document
// is kept, or now and then twice by requests that come at the same time.
func (c *cache) plan(operation *graphql.OperationContext, makePlan func(*ast.OperationDefinition) *plan.Plan) *plan.Plan {
	known := func() (*cached, *plan.Plan) {
		entry := c.of[operation.Doc]
		if entry == nil {
			return nil, nil
		}
		return entry, entry.plans[operation.Operation]
	}
	c.mu.Lock()
	_, before := known()
	c.mu.Unlock()
	if before != nil {
		return before
	}
	made := makePlan(operation.Operation)
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, before := known(); entry != nil && before == nil {
		if entry.plans == nil {
			entry.plans = map[*ast.OperationDefinition]*plan.Plan{}
		}
		entry.plans[operation.Operation] = made
		c.grow(entry, made.Fields)
	}
	return made
}
