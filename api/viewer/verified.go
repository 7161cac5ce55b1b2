package viewer

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxVerified is the maximum number of cached verifications. They take about 6 MB.
const maxVerified = 16_384

// verified caches the verifications of the most recently used valid tokens, so that a
// token need not be verified at each request.
//
// Each token is identified by its SHA-256. The cache therefore holds no token that could
// be stolen, the time of a lookup reveals nothing about other tokens, and a long token
// takes no more memory than a short one. Rejected tokens are not cached. The method find
// checks that a token has not expired. Reading the keys again empties the cache.
// verifier.verify checks, after the lookup, that the session of an account has not been
// revoked.
type verified struct {
	mu    sync.Mutex
	under *[]publicKey // the keys that were in use when the tokens were verified
	known *simplelru.LRU[[sha256.Size]byte, Identity]
}

func newVerified(most int) *verified {
	known, _ := simplelru.NewLRU[[sha256.Size]byte, Identity](most, nil) // fails only for a size below 1
	return &verified{known: known}
}

// find returns the cached identity of a token. It returns false if there is none, if the
// token has expired, or if it was verified with another key set than under.
func (v *verified) find(sum [sha256.Size]byte, under *[]publicKey) (Identity, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.under != under {
		return Identity{}, false
	}
	found, ok := v.known.Get(sum)
	return found, ok && time.Now().Before(found.Until)
}

// add caches the identity of a verified token. The parameter before is the key set that
// was in use before the verification, and under is the one in use now. If the two differ,
// the token's key may have been removed in the meantime, and the identity is not cached.
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
