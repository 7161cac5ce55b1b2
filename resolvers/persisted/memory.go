package persisted

import (
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Limits on the documents in memory.
const (
	maxDocuments = 1_000
	maxBytes     = 2 << 20 // of text; a document has 64 KiB at most
)

// key identifies a document by its tenant and its hash.
type key struct {
	tenant string
	hash   [sha256.Size]byte
}

// memory keeps the most recently used documents.
type memory struct {
	maxBytes int // maximum of totalBytes

	mu         sync.Mutex
	texts      *simplelru.LRU[key, string]
	totalBytes int // bytes of text
}

func newMemory(documents, bytes int) *memory {
	m := &memory{maxBytes: bytes}
	m.texts, _ = simplelru.NewLRU(documents, func(_ key, text string) { m.totalBytes -= len(text) }) // fails only for a size below 1
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
	m.totalBytes += len(text)
	for m.texts.Add(of, text); m.totalBytes > m.maxBytes; {
		m.texts.RemoveOldest()
	}
}
