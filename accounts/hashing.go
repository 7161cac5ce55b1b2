package accounts

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync"

	"ovation/api/rate"
	"ovation/storage"
)

// ErrBusy is returned if too many passwords are being hashed.
var ErrBusy = errors.New("too many passwords are being checked")

// waitingPerHash is the maximum number of waiting callers per running hash. A hash with
// DefaultParams takes about 40 ms, so that no caller waits longer than about 1.6 s.
const waitingPerHash = 40

// Shares of the places of a hashPool, as fractions: of the callers at one address, which
// may have Network.Share times as many in its wider networks, and of those that are not
// trusted. The shares of addresses apply once half of the places are taken, because an
// address may be that of many users.
const (
	addressFraction    = 10 // one tenth
	strangersNumerator = 3  // three quarters
	strangersFraction  = 4
)

// maxHashes returns the default of Config.MaxHashes. One processor stays free for other
// requests, if there is more than one.
func maxHashes() int { return min(max(runtime.GOMAXPROCS(0)-1, 1), 4) }

// caller is the origin of a request that needs a hash.
type caller struct {
	from netip.Addr // the zero value if it is unknown
	// trusted is true if the user has logged in from this address before, or has a valid
	// token.
	trusted bool
}

// hashPool limits how many callers wait and how many hashes are computed at the same
// time, since each hash takes memory and a processor. A place is taken by a caller that
// hashes or waits. No address takes all places, nor do all untrusted callers together, so
// that users can log in while others flood the service with logins.
type hashPool struct {
	slots  chan struct{}
	places int

	mu               sync.Mutex
	taken, strangers int
	from             map[netip.Prefix]int // places by network
}

func newHashPool(most int) *hashPool {
	return &hashPool{slots: make(chan struct{}, most), places: most * (1 + waitingPerHash), from: map[netip.Prefix]int{}}
}

// run calls f, which computes one hash. Errors: ErrBusy if the caller finds no place, and
// the error that storage.Ended returns if ctx ends first.
func (p *hashPool) run(ctx context.Context, by caller, f func()) error {
	if !p.enter(by) {
		return ErrBusy
	}
	defer p.leave(by)
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return storage.Ended(ctx, "wait to hash a password")
	}
	defer func() { <-p.slots }()
	f()
	return nil
}

// enter takes a place, and reports whether there was one.
func (p *hashPool) enter(by caller) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.places || !by.trusted && p.strangers >= p.places*strangersNumerator/strangersFraction {
		return false
	}
	networks, n := rate.Networks(by.from)
	if by.from.IsValid() {
		for _, network := range networks[:n] {
			if p.taken >= p.places/2 && p.from[network.Prefix] >= max(p.places/addressFraction, 1)*network.Share {
				return false
			}
		}
	}
	p.add(by, 1)
	return true
}

func (p *hashPool) leave(by caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(by, -1)
}

// add changes the number of places of a caller. The caller of add holds the mutex.
func (p *hashPool) add(by caller, n int) {
	p.taken += n
	if !by.trusted {
		p.strangers += n
	}
	if !by.from.IsValid() {
		return
	}
	networks, count := rate.Networks(by.from)
	for _, network := range networks[:count] {
		if p.from[network.Prefix] += n; p.from[network.Prefix] == 0 {
			delete(p.from, network.Prefix)
		}
	}
}
