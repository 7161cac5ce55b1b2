package media

import (
	"net/netip"
	"sync"

	"ovation/storage"
)

// Owner is the owner of an upload or a download.
type Owner struct {
	User    storage.User // anonymous if the user is not known, or not known yet
	Address netip.Addr   // of the client; all clients of unknown addresses share the zero value
}

// places bounds how many transfers are in progress at the same time: in total, and the
// share of each user, of each address and of all anonymous owners. A share of 0 means
// that only the other bounds apply. It is safe for concurrent use.
type places struct {
	total, perUser, perAddress, anonymous int

	mu             sync.Mutex
	taken          int
	takenAnonymous int
	users          map[storage.User]int
	addresses      map[netip.Addr]int
}

// take takes a place. It reports false if there is none, or none in a share of the owner.
// The returned function releases the place and may be called twice.
func (p *places) take(by Owner) (release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unknown := by.User.Anonymous()
	switch {
	case p.taken >= p.total,
		isFull(p.addresses[by.Address], p.perAddress),
		unknown && isFull(p.takenAnonymous, p.anonymous),
		!unknown && isFull(p.users[by.User], p.perUser):
		return nil, false
	}
	p.count(by, 1)
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.count(by, -1)
	}), true
}

func isFull(n, share int) bool { return share > 0 && n >= share }

// count changes the number of an owner's places by n. The caller holds the mutex.
func (p *places) count(by Owner, n int) {
	if p.users == nil {
		p.users, p.addresses = map[storage.User]int{}, map[netip.Addr]int{}
	}
	p.taken += n
	if by.User.Anonymous() {
		p.takenAnonymous += n
	}
	add(p.users, by.User, n)
	add(p.addresses, by.Address, n)
}

// add adds n to an entry, and deletes the entry if it is 0.
func add[K comparable](to map[K]int, key K, n int) {
	if to[key] += n; to[key] == 0 {
		delete(to, key)
	}
}

// minRate returns the minimum rate of a transfer in bytes a second. While at most half of
// the places are taken, it is minBytesPerSecond. It doubles with each further sixth of
// the places, up to eight times minBytesPerSecond when none is left, so that slow
// transfers make room.
func (p *places) minRate() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return minBytesPerSecond << max(0, (6*p.taken-3*p.total)/p.total)
}
