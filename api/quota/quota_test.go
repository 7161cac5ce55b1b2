package quota

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"ovation/storage"
)

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }

// someOwner returns one of a few users and anonymous visitors, at one of a few addresses.
func someOwner(random *rand.Rand) Owner {
	out := Owner{Address: address(random.IntN(3))}
	if user := random.IntN(3); user > 0 {
		out.User = storage.User{Tenant: "default", UserID: fmt.Sprint(user)}
	}
	if random.IntN(6) == 0 {
		out.Address = netip.Addr{}
	}
	return out
}

// hold is what a test holds of a quota.
type hold struct {
	owner Owner
	item  any
	units int
}

// model is how often items are held in shares, and with which units. What is held without
// an item is an item of its own.
type model map[share]map[any]held

// with returns the units that a share would have used if one more were held.
func (m model) with(in share, one hold) (units int) {
	for _, of := range m[in] {
		units += of.units
	}
	if one.item == nil || m[in][one.item].times == 0 {
		units += one.units
	}
	return units
}

// add changes the number of times that one is held by n.
func (m model) add(one *hold, n int) {
	key := one.item
	if key == nil {
		key = one
	}
	for _, in := range one.owner.shares(nil) {
		if m[in] == nil {
			m[in] = map[any]held{}
		}
		of := m[in][key]
		if of.times == 0 {
			of.units = one.units
		}
		if of.times += n; of.times == 0 {
			delete(m[in], key)
		} else {
			m[in][key] = of
		}
	}
}

func release(q *Quota, one *hold) {
	if one.item == nil {
		q.Release(one.owner, one.units)
	} else {
		q.ReleaseItem(one.owner, one.item)
	}
}

// TestSharesHold acquires and releases at random. The owners of an item give it different
// units, as the operations of one document do.
func TestSharesHold(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 0))
		shares := Shares{Total: 100, User: 20, Visitors: 15, Address: 50, Anonymous: 40}
		q, refusals := New(shares), map[Kind]int{}
		var held []*hold
		all := model{}
		for range 300 {
			if len(held) > 0 && random.IntN(3) == 0 {
				at := random.IntN(len(held))
				release(q, held[at])
				all.add(held[at], -1)
				held = slices.Delete(held, at, at+1)
			} else {
				one := &hold{owner: someOwner(random), units: 1 + random.IntN(9)}
				if item := random.IntN(12); item > 0 {
					one.item = item
				}
				exhausted := q.AcquireItem(one.owner, one.item, one.units)
				var want Kind
				for _, in := range one.owner.shares(nil) {
					if (one.item == nil || all[in][one.item].times == 0) && all.with(in, *one) > shares.of(in.kind) && want == None {
						want = in.kind
					}
				}
				if exhausted != want {
					t.Fatalf("seed %d: acquiring %+v: got share %d exhausted, want %d", seed, one, exhausted, want)
				}
				if exhausted == None {
					held = append(held, one)
					all.add(one, 1)
				}
				refusals[exhausted]++
			}
			if want := all.with(whole, hold{}); q.Used() != want {
				t.Fatalf("seed %d: got %d units used, want %d", seed, q.Used(), want)
			}
		}
		for _, one := range held {
			release(q, one)
		}
		if len(q.used) != 0 || len(q.held) != 0 {
			t.Fatalf("seed %d: with everything released, got %v and %v left, want nothing", seed, q.used, q.held)
		}
		if refusals[User] == 0 || refusals[Visitors] == 0 {
			t.Fatalf("seed %d: got refusals %v, want some for users and visitors", seed, refusals)
		}
	}
}

// The networks of one IPv6 site share the site's address share.
func TestASiteIsOneAddress(t *testing.T) {
	q := New(Usual(100, 75))
	held, last := 0, None
	for i := range 20 { // of 65,536
		for range 10 {
			if last = q.Acquire(Owner{Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::", i))}, 1); last == None {
				held++
			}
		}
	}
	if held != AddressPercent || last != Address {
		t.Errorf("the networks of one site: got %d of 100 units, then share %d exhausted, want %d, then %d", held, last, AddressPercent, Address)
	}
	if got := q.Acquire(Owner{Address: netip.MustParseAddr("2001:db8:2::")}, UserPercent); got != None {
		t.Errorf("another site: got share %d exhausted, want none", got)
	}
}

// While enough of the resource is free, an owner may hold more than its share.
func TestSharesApplyOnceUnitsAreScarce(t *testing.T) {
	q := New(Shares{Total: 10, Visitors: 2, Address: 2, Anonymous: 10, Free: 5})
	for i, want := range []Kind{None, None, None, None, None, Visitors} {
		if got := q.Acquire(Owner{Address: address(1)}, 1); got != want {
			t.Errorf("unit %d: got share %d exhausted, want %d", i+1, got, want)
		}
	}
	for i, want := range []Kind{None, None, Visitors} {
		if got := q.Acquire(Owner{Address: address(2)}, 1); got != want {
			t.Errorf("unit %d of another owner: got share %d exhausted, want %d", i+1, got, want)
		}
	}
	q.Release(Owner{Address: address(1)}, 3)
	if got := q.Acquire(Owner{Address: address(1)}, 1); got != None {
		t.Errorf("with units free again: got share %d exhausted, want none", got)
	}
}

func TestSharedItemsCountOnce(t *testing.T) {
	q := New(Shares{Total: 10, User: 6, Visitors: 6, Address: 10, Anonymous: 10})
	alice, bob := Owner{User: storage.User{UserID: "alice"}}, Owner{User: storage.User{UserID: "bob"}}
	for _, one := range []struct {
		owner Owner
		item  string
		want  Kind
	}{
		{alice, "a", None},
		{alice, "a", None},
		{bob, "a", None},
		{bob, "b", User},
		{alice, "b", User},
		{Owner{User: storage.User{UserID: "carol"}}, "b", None},
		{Owner{User: storage.User{UserID: "dave"}}, "c", Total},
	} {
		if got := q.AcquireItem(one.owner, one.item, 5); got != one.want {
			t.Errorf("%s acquires %s: got share %d exhausted, want %d", one.owner.User.UserID, one.item, got, one.want)
		}
	}
	if q.ReleaseItem(alice, "a"); q.Used() != 10 {
		t.Errorf("after the first of three releases: got %d units used, want 10", q.Used())
	}
	q.ReleaseItem(alice, "a")
	if q.ReleaseItem(bob, "a"); q.Used() != 5 {
		t.Errorf("after the last release: got %d units used, want 5", q.Used())
	}
}

func TestAnOwnerEvictsItsOwnEntries(t *testing.T) {
	mallory, others := Owner{Address: address(1)}, func(i int) Owner { return Owner{Address: address(10 + i)} }
	for name, fill := range map[string]func(c *Cache[string, int], i int){
		"by number": func(c *Cache[string, int], i int) { c.Add(fmt.Sprint("mallory ", i), i, 1, mallory) },
		"by size":   func(c *Cache[string, int], i int) { c.Add(fmt.Sprint("mallory ", i), i, 300, mallory) },
		"in growing": func(c *Cache[string, int], i int) {
			c.Add(fmt.Sprint("mallory ", i), i, 1, mallory)
			c.Grow(fmt.Sprint("mallory ", i), 299)
		},
		"in use": func(c *Cache[string, int], i int) {
			c.Add(fmt.Sprint("mallory ", i), i, 300, mallory)
			for j := range i {
				c.Get(fmt.Sprint("mallory ", j), mallory)
			}
		},
		"by several users": func(c *Cache[string, int], i int) {
			c.Add(fmt.Sprint("mallory ", i), i, 300, Owner{storage.User{UserID: fmt.Sprint(i)}, mallory.Address})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dropped := map[string]int{}
			c := NewCache(100, Usual(10_000, 100), func(key string, _ int) { dropped[key[:7]]++ })
			for i := range 20 { // the first to be evicted if all were alike
				c.Add(fmt.Sprint("others ", i), i, 100, others(i))
			}
			for i := range 300 {
				fill(c, i)
				if c.Len() > 100 || c.Size() > 10_000 {
					t.Fatalf("got %d entries of size %d, want at most 100 of 10000", c.Len(), c.Size())
				}
			}
			for i := range 20 {
				if _, found := c.Get(fmt.Sprint("others ", i), others(i)); !found {
					t.Errorf("the entry of another owner was evicted; dropped: %v", dropped)
				}
			}
			if dropped["mallory"] < 200 || dropped["others "] > 0 {
				t.Errorf("got %v dropped, want entries of mallory alone", dropped)
			}
			for i := 20; i < 60; i++ { // others still have room
				c.Add(fmt.Sprint("others ", i), i, 100, others(i))
			}
			if dropped["others "] > 0 {
				t.Errorf("got %v dropped after others have added more, want entries of mallory alone", dropped)
			}
		})
	}
}

// A client cannot move its entries out of its shares by using them as another user at its
// site, or at another site as the same user.
func TestAnOwnerDoesNotShareWithItself(t *testing.T) {
	alice, bob := storage.User{Tenant: "default", UserID: "alice"}, storage.User{Tenant: "default", UserID: "bob"}
	home, away := netip.MustParseAddr("2001:db8:1:1::"), netip.MustParseAddr("2001:db8:1:ffff::")
	for name, test := range map[string]struct {
		first, second Owner
		shared        bool
	}{
		"logged in":                   {Owner{Address: home}, Owner{alice, home}, false},
		"another account":             {Owner{alice, home}, Owner{bob, home}, false},
		"another network of the site": {Owner{Address: home}, Owner{Address: away}, false},
		"at another address":          {Owner{alice, home}, Owner{alice, address(1)}, false},
		"unknown addresses":           {Owner{User: alice}, Owner{User: bob}, false},
		"another visitor":             {Owner{Address: home}, Owner{Address: address(1)}, true},
		"another user":                {Owner{alice, home}, Owner{bob, address(1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCache[string, int](10, Usual(1000, 100), nil)
			c.Add("entry", 1, 100, test.first)
			c.Get("entry", test.second)
			if got := len(c.byKey["entry"].shares) == 1; got != test.shared {
				t.Errorf("after a use by the second: shared %t, want %t", got, test.shared)
			}
		})
	}
}

// An entry that two owners use is evicted only if it is the oldest of all.
func TestSharedEntriesBelongToNoOwner(t *testing.T) {
	c := NewCache[string, int](10, Usual(1000, 100), nil)
	first, second := Owner{Address: address(1)}, Owner{Address: address(2)}
	c.Add("shared", 1, 400, first)
	c.Get("shared", second)
	for i := range 20 {
		c.Add(fmt.Sprint(i), i, 100, first)
		if _, found := c.Get("shared", first); !found {
			t.Fatalf("after %d entries of its first owner, the shared entry is evicted", i+1)
		}
	}
	c.Remove("shared")
	c.Remove("shared")
	if c.Len() != 6 || c.Size() != 600 || c.Contains("shared") {
		t.Errorf("without the shared entry: got %d entries of size %d, want 6 of 600", c.Len(), c.Size())
	}
	for c.EvictOne() {
	}
	if c.Len() != 0 || c.Size() != 0 || len(c.lists) != 1 || len(c.over) != 0 {
		t.Errorf("emptied: got %d entries of size %d in %d lists, %d exceeded, want none", c.Len(), c.Size(), len(c.lists), len(c.over))
	}
}
