package viewer

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxVerified is how many tokens are remembered: some 5 MB of them at most.
const maxVerified = 16_384

// verified remembers tokens that were found good, so that the same one need
// not be verified at each request.
//
// What it takes for a token is the token's SHA-256, so that it holds nothing
// that could be sent, the time of a look-up tells nothing of a token that
// somebody would guess, and a long one takes no more room than a short one. A
// token that was refused is not remembered. A good one is good until it
// expires, which is asked at each use, or until the keys are read again, which
// forgets all. Who takes away a key, or a user, without that has to wait for
// the token to expire, as before.
//
// It is two maps: once the young one is half of what may be held it becomes
// the old one, and what of that was not asked for since is forgotten.
type verified struct {
	most int // how many are held

	mu         sync.Mutex
	under      *[]publicKey // the keys that were in use when these were verified
	young, old map[[sha256.Size]byte]Identity
}

func newVerified(most int) *verified {
	return &verified{most: most, young: make(map[[sha256.Size]byte]Identity)}
}

// find returns what a token said that was verified under these keys and has
// not expired.
func (v *verified) find(sum [sha256.Size]byte, under *[]publicKey) (Identity, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.under != under {
		return Identity{}, false
	}
	found, ok := v.young[sum]
	if !ok {
		if found, ok = v.old[sum]; ok {
			v.put(sum, found)
		}
	}
	return found, ok && time.Now().Before(found.Until)
}

// add remembers a token that is good under the keys that were in use before it
// was verified. Where those are not in use any more it is not told by which it
// is good, and not remembered.
func (v *verified) add(sum [sha256.Size]byte, is Identity, before, under *[]publicKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if before != under {
		return
	}
	if v.under != under {
		v.under = under
		v.old = nil
		clear(v.young)
	}
	v.put(sum, is)
}

func (v *verified) put(sum [sha256.Size]byte, is Identity) {
	if len(v.young) >= v.most/2 {
		v.old, v.young = v.young, make(map[[sha256.Size]byte]Identity)
	}
	v.young[sum] = is
}
