package limits

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/resolvers/plan"
)

// Limits on the document cache. A document takes up to 110 bytes of memory for each byte
// of its text, if the text consists of lists of short values. Its plan takes up to 140
// bytes for each field. The cache therefore takes at most 150 MB, even if a client keeps
// sending new documents.
const (
	maxCacheEntries = 1_000
	maxCacheBytes   = 1 << 20 // bytes of text, plus one for each field of a plan
)

// cache is an LRU cache of documents. The server uses it as its query cache and adds the
// documents that are valid.
type cache struct {
	size int // maximum sum of the entries' sizes

	mu         sync.Mutex
	byText     *simplelru.LRU[string, *cached] // by text
	byDocument map[*ast.QueryDocument]*cached
	totalSize  int // the sum of the entries' sizes
}

type cached struct {
	size     int // bytes of text, plus one for each field of a plan
	document *ast.QueryDocument
	// executed holds the fields of the operation context that do not depend on the
	// request. They come from the document's first execution; until then, executed is
	// nil.
	executed *graphql.OperationContext
	plans    map[*ast.OperationDefinition]*plan.Plan
}

var _ graphql.Cache[*ast.QueryDocument] = (*cache)(nil)

func newCache(entries, size int) *cache {
	c := &cache{size: size, byDocument: map[*ast.QueryDocument]*cached{}}
	c.byText, _ = simplelru.NewLRU(entries, func(_ string, dropped *cached) { // fails only for a size below 1
		delete(c.byDocument, dropped.document)
		c.totalSize -= dropped.size
	})
	return c
}

// Get returns the cached document with the given text, or false if there is none.
func (c *cache) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	document, _, known := c.get(text)
	return document, known
}

// get is like Get, but also returns the field executed of the cache entry. That field is
// nil before the document's first execution.
func (c *cache) get(text string) (document *ast.QueryDocument, executed *graphql.OperationContext, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, known := c.byText.Get(text)
	if !known {
		return nil, nil, false
	}
	return entry.document, entry.executed, true
}

// Add adds a document. It evicts the least recently used documents if a limit is
// exceeded.
func (c *cache) Add(_ context.Context, text string, document *ast.QueryDocument) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText.Contains(text) {
		return
	}
	entry := &cached{document: document}
	c.byDocument[document] = entry
	c.byText.Add(text, entry)
	c.grow(entry, len(text))
}

// grow adds to the size of an entry, and evicts the least recently used entries if the
// limit is exceeded. The caller holds the mutex.
func (c *cache) grow(entry *cached, by int) {
	entry.size += by
	for c.totalSize += by; c.totalSize > c.size; {
		c.byText.RemoveOldest()
	}
}

// execute keeps some fields of an operation context for later executions of the same
// document. It does nothing if the document is not cached.
func (c *cache) execute(operation *graphql.OperationContext) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.byDocument[operation.Doc]; entry != nil && entry.executed == nil {
		entry.executed = &graphql.OperationContext{ // these fields do not depend on the request
			RecoverFunc: operation.RecoverFunc, ResolverMiddleware: operation.ResolverMiddleware,
			RootResolverMiddleware: operation.RootResolverMiddleware,
		}
	}
}

// plan returns the plan of an operation. The plan is made on first use and kept with the
// document. Concurrent requests may make it more than once.
func (c *cache) plan(operation *graphql.OperationContext, makePlan func(*ast.OperationDefinition) *plan.Plan) *plan.Plan {
	known := func() (*cached, *plan.Plan) {
		entry := c.byDocument[operation.Doc]
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
