package persisted

import (
	"crypto/sha256"
	"sync"

	"ovation/api/quota"
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

// memory keeps the most recently used documents. Every client has a share of it.
type memory struct {
	mu    sync.Mutex
	texts *quota.Cache[key, string] // sized in bytes of text
}

func newMemory(documents, bytes int) *memory {
	return &memory{texts: quota.NewCache[key, string](documents, quota.Usual(bytes, 100), nil)}
}

func (m *memory) get(of key, by quota.Owner) (text string, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.texts.Get(of, by)
}

func (m *memory) put(of key, text string, by quota.Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts.Add(of, text, len(text), by)
}
