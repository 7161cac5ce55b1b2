package quota

import (
	"net/netip"
	"sync"

	"ovation/storage"
)

// Owner identifies the holder of a part of a resource: a signed-in user, or the anonymous
// users at one address. The address is the zero value if it is not known.
type Owner struct {
	User    storage.User
	Address netip.Addr
}

// The usual shares, in percent of a resource. A user, or the anonymous users at one
// address, get UserPercent. An address, which may be that of a whole company, gets
// AddressPercent for all of its users together.
const (
	UserPercent    = 5
	AddressPercent = 25
)

// Shares are the bounds of a resource, in its units.
type Shares struct {
	Total     int // the whole resource
	User      int // of one signed-in user
	Visitors  int // of the anonymous users at one address
	Address   int // of everyone at one address (for IPv6, one /48), if the address is known
	Anonymous int // of all anonymous users
	// Free is the number of units of a Quota for which only the Total counts: the other
	// bounds apply once more than that would be held.
	Free int
}

// Usual returns the usual shares of a resource.
func Usual(total, anonymousPercent int) Shares {
	part := func(percent int) int { return (total*percent + 99) / 100 }
	return Shares{Total: total, User: part(UserPercent), Visitors: part(UserPercent), Address: part(AddressPercent), Anonymous: part(anonymousPercent)}
}

// Kind is a kind of share.
type Kind int

// The kinds of shares.
const (
	None Kind = iota // no share is exhausted
	Total
	User
	Visitors
	Address
	Anonymous
	kinds
)

// of returns the bound of a share.
func (s *Shares) of(kind Kind) int {
	return [kinds]int{Total: s.Total, User: s.User, Visitors: s.Visitors, Address: s.Address, Anonymous: s.Anonymous}[kind]
}

// share identifies the share of one owner, or of a group of owners.
type share struct {
	kind Kind
	Owner
}

// maxShares is the maximum number of shares that an owner belongs to.
const maxShares = 4

// shares appends the shares that an owner belongs to, the narrowest first.
func (o Owner) shares(to []share) []share {
	at := Owner{Address: o.Address}
	if o.User.Anonymous() {
		to = append(to, share{Visitors, at})
	} else {
		to = append(to, share{User, Owner{User: o.User}})
	}
	if o.Address.IsValid() {
		to = append(to, share{Address, Owner{Address: site(o.Address)}})
	}
	if o.User.Anonymous() {
		to = append(to, share{kind: Anonymous})
	}
	return append(to, share{kind: Total})
}

// siteBits is the number of leading bits of an IPv6 address that identify a site. A site
// has 65,536 networks, each of which has the Visitors share of an address.
const siteBits = 48

// site returns an IPv4 address itself, or the first address of the site of an IPv6 address.
func site(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	return netip.PrefixFrom(address, siteBits).Masked().Addr()
}

// mayBe reports whether two owners may be the same client: they have the same user, or are
// at the same site. Owners at unknown addresses are at the same site.
func (o Owner) mayBe(other Owner) bool {
	return !o.User.Anonymous() && o.User == other.User || site(o.Address) == site(other.Address)
}

// Quota counts a resource. It is safe for concurrent use.
type Quota struct {
	shares Shares

	mu   sync.Mutex
	used map[share]int
	held map[holding]held
}

// holding is an item in a share.
type holding struct {
	share
	item any
}

// held is how often an item is held in a share, and the units that it counts there: those
// of its first holder.
type held struct{ times, units int }

// New returns a Quota of which nothing is held.
func New(shares Shares) *Quota {
	return &Quota{shares: shares, used: map[share]int{}, held: map[holding]held{}}
}

// Acquire reserves units for an owner and returns None, or returns the narrowest share
// that has too few left. Call Release with the same arguments to free the units.
func (q *Quota) Acquire(of Owner, units int) (exhausted Kind) { return q.AcquireItem(of, nil, units) }

// Release frees units that Acquire has reserved.
func (q *Quota) Release(of Owner, units int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var room [maxShares]share
	for _, one := range of.shares(room[:0]) {
		q.free(one, units)
	}
}

// AcquireItem is like Acquire, for an item that may be held more than once. An item counts
// once in each share, however often the share's owners hold it, with the units of the
// first of them. A nil item is different from every other. Call ReleaseItem to free the
// item.
func (q *Quota) AcquireItem(of Owner, item any, units int) (exhausted Kind) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var room [maxShares]share
	shares := of.shares(room[:0])
	scarce := q.used[share{kind: Total}]+units > q.shares.Free
	for _, one := range shares {
		if q.held[holding{one, item}].times == 0 && q.used[one]+units > q.shares.of(one.kind) && (scarce || one.kind == Total) {
			return one.kind
		}
	}
	for _, one := range shares {
		if item == nil {
			q.used[one] += units
			continue
		}
		in := q.held[holding{one, item}]
		if in.times++; in.times == 1 {
			in.units = units
			q.used[one] += units
		}
		q.held[holding{one, item}] = in
	}
	return None
}

// ReleaseItem frees an item, which is not nil, that AcquireItem has reserved.
func (q *Quota) ReleaseItem(of Owner, item any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var room [maxShares]share
	for _, one := range of.shares(room[:0]) {
		in := q.held[holding{one, item}]
		if in.times--; in.times > 0 {
			q.held[holding{one, item}] = in
			continue
		}
		delete(q.held, holding{one, item})
		q.free(one, in.units)
	}
}

// free subtracts units from a share. The caller holds the mutex.
func (q *Quota) free(one share, units int) {
	if q.used[one] -= units; q.used[one] == 0 {
		delete(q.used, one)
	}
}

// Bound returns the units of a share of the given kind.
func (q *Quota) Bound(of Kind) int { return q.shares.of(of) }

// Used returns the units that are held of the whole resource.
func (q *Quota) Used() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used[share{kind: Total}]
}
