package persisted

import (
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// The bounds of the documents in memory.
const (
	maxDocuments = 1_000
	maxBytes     = 2 << 20 // of text; a document has 64 KiB at most
)

// key identifies a document: by its tenant and its hash.
type key struct {
	tenant string
	hash   [sha256.Size]byte
}

// memory keeps the most recently used documents.
type memory struct {
	bytes int // maximum of held

	mu    sync.Mutex
	texts *simplelru.LRU[key, string]
	held  int // bytes of text
}

func newMemory(documents, bytes int) *memory {
	m := &memory{bytes: bytes}
	m.texts, _ = simplelru.NewLRU(documents, func(_ key, text string) { m.held -= len(text) }) // fails only for a size below 1
	return m
}

func (m *memory) get(of key) (text string, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.texts.Get(of)
}

func (m *memory) put(of key, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts.Contains(of) {
		return
	}
	m.held += len(text)
	for m.texts.Add(of, text); m.held > m.bytes; {
		m.texts.RemoveOldest()
	}
}
