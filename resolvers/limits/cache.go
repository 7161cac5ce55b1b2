package limits

import (
	"container/list"
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// The bounds of the cache of documents. A document takes up to 110 bytes of
// memory for each byte of its text (lists of short values do), so a client
// that sends ever new documents makes the cache take 120 MB at most.
const (
	maxCacheEntries = 1_000
	maxCacheBytes   = 1 << 20 // of text
)

// cache keeps the documents that were used last. It is the query cache of the
// server, which puts into it what is valid.
type cache struct {
	entries, bytes int // the bounds

	mu    sync.Mutex
	known map[string]*list.Element // by text; of *cached
	order *list.List               // the one used last in front
	held  int                      // bytes of text
}

type cached struct {
	text     string
	document *ast.QueryDocument
}

var _ graphql.Cache[*ast.QueryDocument] = (*cache)(nil)

func newCache(entries, bytes int) *cache {
	return &cache{entries: entries, bytes: bytes, known: map[string]*list.Element{}, order: list.New()}
}

// Get returns the document of a text, if it is known.
func (c *cache) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, known := c.known[text]
	if !known {
		return nil, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*cached).document, true //nolint:forcetypeassert // the list holds nothing else
}

// Add keeps a document and drops those used longest ago where the bounds ask
// for it.
func (c *cache) Add(_ context.Context, text string, document *ast.QueryDocument) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.known[text]; known {
		return
	}
	c.known[text] = c.order.PushFront(&cached{text, document})
	c.held += len(text)
	for len(c.known) > c.entries || c.held > c.bytes {
		last := c.order.Remove(c.order.Back()).(*cached) //nolint:forcetypeassert // the list holds nothing else
		delete(c.known, last.text)
		c.held -= len(last.text)
	}
}
