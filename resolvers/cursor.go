package resolvers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strings"
	"sync"

	"ovation/storage"
)

// cursors encodes and decodes the cursors of lists. A cursor is a position, with a MAC of
// the list's name and the position. Clients can therefore neither forge a cursor nor use
// it for another list.
type cursors struct {
	macs sync.Pool // of hash.Hash
}

// macBytes is the length of the truncated HMAC-SHA-256: 96 bits cannot be guessed
// online.
const macBytes = 12

// maxCursorBytes exceeds the length of every encoded cursor.
const maxCursorBytes = 512

var errCursor = &storage.InvalidError{
	Field:  "after",
	Reason: "is not a cursor of this list; use the endCursor of the page before",
}

func newCursors(key []byte) *cursors {
	return &cursors{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// encode returns the cursor for a position in the list with the given name. No other list
// may have that name.
func (c *cursors) encode(list string, at storage.Position) string {
	raw := make([]byte, 0, macBytes+binary.MaxVarintLen64+len(at.Biz)+1+len(at.ID))
	raw = raw[:macBytes]
	raw = binary.AppendVarint(raw, at.Version)
	raw = append(raw, at.Biz...)
	raw = append(raw, 0)
	raw = append(raw, at.ID...)
	c.sign(raw[:0], list, raw[macBytes:])
	return base64.RawURLEncoding.EncodeToString(raw)
}

// decode returns the position that a cursor holds. It returns errCursor if the cursor is
// invalid or belongs to another list.
func (c *cursors) decode(list, cursor string) (storage.Position, error) {
	if len(cursor) > maxCursorBytes {
		return storage.Position{}, errCursor
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= macBytes {
		return storage.Position{}, errCursor
	}
	payload := raw[macBytes:]
	if !hmac.Equal(raw[:macBytes], c.sign(nil, list, payload)) {
		return storage.Position{}, errCursor
	}
	version, n := binary.Varint(payload)
	biz, id, ok := strings.Cut(string(payload[max(n, 0):]), "\x00")
	if n <= 0 || !ok {
		return storage.Position{}, errCursor
	}
	return storage.Position{Version: version, Biz: biz, ID: id}, nil
}

// sign appends the MAC of the list's name and the payload to dst.
func (c *cursors) sign(dst []byte, list string, payload []byte) []byte {
	mac, _ := c.macs.Get().(hash.Hash)
	defer c.macs.Put(mac)
	mac.Reset()
	// The length prefix separates list and payload.
	mac.Write(binary.AppendUvarint(nil, uint64(len(list))))
	mac.Write([]byte(list))
	mac.Write(payload)
	return append(dst, mac.Sum(nil)[:macBytes]...)
}
