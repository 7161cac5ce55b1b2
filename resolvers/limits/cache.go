package limits

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/quota"
	"ovation/api/rate"
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
// documents that are valid. Every client has a share of it.
type cache struct {
	mu         sync.Mutex
	byText     *quota.Cache[string, *cached] // sized in bytes of text, plus one for each field of a plan
	byDocument map[*ast.QueryDocument]*cached
	held       map[string]*cached // by text; also in byDocument
	pinned     map[string]*cached // by text; also in byDocument; never evicted
}

type cached struct {
	text     string
	document *ast.QueryDocument
	// executed holds the fields of the operation context that do not depend on the
	// request. They come from the document's first execution; until then, executed is
	// nil.
	executed *graphql.OperationContext
	plans    map[*ast.OperationDefinition]*plan.Plan
	holds    int // number of subscriptions that hold the document
}

var _ graphql.Cache[*ast.QueryDocument] = (*cache)(nil)

func newCache(entries, size int) *cache {
	c := &cache{byDocument: map[*ast.QueryDocument]*cached{}, held: map[string]*cached{}}
	c.byText = quota.NewCache(entries, quota.Usual(size, 100), func(_ string, dropped *cached) {
		c.forget(dropped)
	})
	return c
}

// forget removes an entry that is not in byText any more, unless it is held or pinned.
func (c *cache) forget(entry *cached) {
	if entry.holds == 0 && c.pinned[entry.text] != entry {
		delete(c.byDocument, entry.document)
	}
}

// find returns the entry of a text, which an owner is about to use, or nil if there is
// none. No text has more than one entry.
func (c *cache) find(text string, by quota.Owner) *cached {
	if entry := c.pinned[text]; entry != nil {
		return entry
	}
	if entry, known := c.byText.Get(text, by); known {
		return entry
	}
	return c.held[text]
}

// Get returns the cached document with the given text, or false if there is none.
func (c *cache) Get(ctx context.Context, text string) (*ast.QueryDocument, bool) {
	document, _, known := c.get(ctx, text)
	return document, known
}

// get is like Get, but also returns the field executed of the cache entry. That field is
// nil before the document's first execution.
func (c *cache) get(ctx context.Context, text string) (document *ast.QueryDocument, executed *graphql.OperationContext, known bool) {
	owner := rate.FromContext(ctx).Owner()
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.find(text, owner)
	if entry == nil {
		return nil, nil, false
	}
	return entry.document, entry.executed, true
}

// peek returns the document with the given text that is cached, or nil if there is none.
func (c *cache) peek(text string) *ast.QueryDocument {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.find(text, quota.Owner{}); entry != nil {
		return entry.document
	}
	return nil
}

// Add adds a document. It evicts other documents if a limit is exceeded.
func (c *cache) Add(ctx context.Context, text string, document *ast.QueryDocument) {
	owner := rate.FromContext(ctx).Owner()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText.Contains(text) || c.held[text] != nil || c.pinned[text] != nil {
		return
	}
	entry := &cached{text: text, document: document}
	c.byDocument[document] = entry
	c.byText.Add(text, entry, len(text), owner)
}

// hold keeps a document after its eviction until the returned function is called, so that
// later subscriptions with the same text share it. A document that is not in the cache any
// more is not held.
func (c *cache) hold(document *ast.QueryDocument) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.byDocument[document]
	if entry == nil {
		return func() {}
	}
	entry.holds++
	c.held[entry.text] = entry
	return entry.release(c)
}

// release returns a function that ends a hold.
func (entry *cached) release(from *cache) func() {
	return func() {
		from.mu.Lock()
		defer from.mu.Unlock()
		if entry.holds--; entry.holds > 0 {
			return
		}
		delete(from.held, entry.text)
		if !from.byText.Contains(entry.text) {
			from.forget(entry)
		}
	}
}

// pin keeps the given documents, by text, until pin is called again, and no longer keeps
// those of the call before. A text that is cached keeps its document.
func (c *cache) pin(documents map[string]*ast.QueryDocument) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.pinned
	next := make(map[string]*cached, len(documents))
	for text, document := range documents {
		entry := c.find(text, quota.Owner{})
		if entry == nil {
			entry = &cached{text: text, document: document}
			c.byDocument[document] = entry
		}
		next[text] = entry
	}
	c.pinned = next
	for text, entry := range before {
		if !c.byText.Contains(text) {
			c.forget(entry)
		}
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
		c.byText.Grow(entry.text, made.Fields)
	}
	return made
}
