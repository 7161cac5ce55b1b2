package persisted

import (
	"crypto/sha256"
	"sync"
)

// The bounds of the documents in memory.
const (
	maxDocuments = 1_000
	maxBytes     = 2 << 20 // of text; a document has 64 KiB at most
)

// key names a document.
type key struct {
	tenant string
	hash   [sha256.Size]byte
}

// memory keeps the documents that were used lately. It is two maps: once the
// young one holds half of what may be held it becomes the old one, and what was
// not used since is dropped with the next.
type memory struct {
	documents, bytes int // the bounds

	mu         sync.Mutex
	young, old map[key]string
	held       int // bytes of text in young
}

func newMemory(documents, bytes int) *memory {
	return &memory{documents: documents, bytes: bytes, young: map[key]string{}}
}

func (m *memory) get(of key) (text string, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text, found = m.young[of]; found {
		return text, true
	}
	if text, found = m.old[of]; found {
		m.add(of, text)
	}
	return text, found
}

func (m *memory) put(of key, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.young[of]; !known {
		m.add(of, text)
	}
}

func (m *memory) add(of key, text string) {
	if len(m.young) >= m.documents/2 || m.held+len(text) > m.bytes/2 {
		m.old, m.young, m.held = m.young, map[key]string{}, 0
	}
	m.young[of] = text
	m.held += len(text)
}
