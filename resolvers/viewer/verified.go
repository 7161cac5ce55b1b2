package viewer

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxVerified is how many tokens are remembered: some 6 MB of them at most.
const maxVerified = 16_384

// verified remembers the tokens used last that were valid, so that the same one
// need not be verified at each request.
//
// The key is the token's SHA-256: nothing is held that could be sent, the time of
// a look-up says nothing about any other token, and a long token takes no more
// room than a short one. A rejected token is not remembered. A valid one is
// accepted until it expires, which is checked at each use, or until the keys are
// read again, which drops all. Revoking a user takes effect when the token
// expires, as it did without this.
type verified struct {
	mu    sync.Mutex
	under *[]publicKey // the keys that were in use when these were verified
	known *simplelru.LRU[[sha256.Size]byte, Identity]
}

func newVerified(most int) *verified {
	known, _ := simplelru.NewLRU[[sha256.Size]byte, Identity](most, nil) // it fails for a size below 1 alone
	return &verified{known: known}
}

// find returns what a token said that was verified under these keys and has
// not expired.
func (v *verified) find(sum [sha256.Size]byte, under *[]publicKey) (Identity, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.under != under {
		return Identity{}, false
	}
	found, ok := v.known.Get(sum)
	return found, ok && time.Now().Before(found.Until)
}

// add remembers a token that is valid under the keys that were in use before it
// was verified. If they are no longer in use, it may have been verified by a key
// that was removed, and is not remembered.
func (v *verified) add(sum [sha256.Size]byte, is Identity, before, under *[]publicKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if before != under {
		return
	}
	if v.under != under {
		v.under = under
		v.known.Purge()
	}
	v.known.Add(sum, is)
}
