package rate

import (
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestNetworksOfAnAddress(t *testing.T) {
	for address, want := range map[string][]string{
		"192.0.2.1":                  {"192.0.2.1/32 1"},
		"2001:db8:1:fffe::":          {"2001:db8:1:fffe::/64 1", "2001:db8:1:ff00::/56 2", "2001:db8:1::/48 4"},
		"2001:db8:1:fffe:1:2:3:4444": {"2001:db8:1:fffe::/64 1", "2001:db8:1:ff00::/56 2", "2001:db8:1::/48 4"},
		"":                           {"invalid Prefix 1"},
	} {
		at, _ := netip.ParseAddr(address)
		all, n := Networks(at)
		var got []string
		for _, network := range all[:n] {
			got = append(got, network.String()+" "+strconv.Itoa(network.Share))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Networks(%s) = %v, want %v", address, got, want)
		}
	}
}

// TestWiderNetworksAreLimited floods the service from all /64 networks of one customer.
// Other customers, and the customer's neighbours in a wider network, are not affected.
func TestWiderNetworksAreLimited(t *testing.T) {
	const rate, burst, seconds = 100, 1000, 60
	for name, test := range map[string]struct {
		address   func(i int) netip.Addr
		share     int
		neighbour string
	}{
		"IPv4":  {func(int) netip.Addr { return netip.MustParseAddr("192.0.2.1") }, 1, "192.0.2.2"},
		"a /64": {func(int) netip.Addr { return in48(0) }, 1, "2001:db8:1:1::"},
		"a /56": {func(i int) netip.Addr { return in48(i % 256) }, 2, "2001:db8:1:100::"},
		"a /48": {in48, 4, "2001:db8:2::"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				l := New(Config{PerAddress: rate, Registry: registry})
				taken := 0
				for i := range 10_000 * seconds / 10 {
					p := l.Payer(user(""), Client{Address: test.address(i)}, Bucket{})
					if p.Take(7) == 0 {
						taken += 7
					}
					time.Sleep(time.Millisecond)
				}
				if most := test.share * (burst + rate*seconds); taken > most || taken < most*95/100 {
					t.Errorf("got %d units taken in %d s, want at most %d, and about as much", taken, seconds, most)
				}
				p := l.Payer(user(""), Client{Address: netip.MustParseAddr(test.neighbour)}, Bucket{})
				if p.Take(7) > 0 {
					t.Error("a neighbour: got a wait, want none")
				}
				if n := testutil.ToFloat64(l.limited.WithLabelValues("network")); (n > 0) != (test.share > 1) {
					t.Errorf("got %v refusals by wider networks, want some: %t", n, test.share > 1)
				}
			})
		})
	}
}

// in48 returns the first address of the i-th /64 of a /48.
func in48(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1, byte(i >> 8), byte(i)})
}

// TestARefusedRequestIsNotCharged empties the bucket of a /48 and checks that requests
// refused by it leave the bucket of a /64 as it was.
func TestARefusedRequestIsNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{PerAddress: 100})
		for i := range 8 {
			p := l.Payer(user(""), Client{Address: in48(i << 8)}, Bucket{})
			p.Take(1000)
		}
		quiet := l.Payer(user(""), Client{Address: in48(0xfe00)}, Bucket{})
		for range 100 {
			if quiet.Take(500) == 0 {
				t.Fatal("a request of a /48 whose bucket is empty: got no wait, want one")
			}
		}
		time.Sleep(3 * time.Second) // the /48 gains 1,200 units, the /64 was full
		if quiet.Take(1000) > 0 {
			t.Error("the whole bucket of the /64: got a wait, want none")
		}
	})
}

// TestLargePricesAreAdmitted takes more than a bucket holds, after the price of the
// request.
func TestLargePricesAreAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{PerUser: 1000})
		p := l.Payer(user("alice"), Client{}, Bucket{})
		for range 3 {
			if p.Take(50) > 0 || p.Take(30_000) > 0 {
				t.Fatal("an operation that costs more than a bucket holds: got a wait, want none")
			}
			wait := p.Take(50)
			if wait == 0 {
				t.Fatal("the next request: got no wait, want one")
			}
			time.Sleep(wait + burstTime)
		}
	})
}

// TestAKeyDisplacesItsOwnPairs adds one key from as many networks as there are slots.
func TestAKeyDisplacesItsOwnPairs(t *testing.T) {
	r, home := NewRecent(), in48Network(0)
	for i := range 1000 {
		r.Add(home, strconv.Itoa(i))
	}
	for i := range setCount * setSize {
		r.Add(in48Network(i), "mallory")
	}
	forgotten := 0
	for i := range 1000 {
		if !r.Has(home, strconv.Itoa(i)) {
			forgotten++
		}
	}
	if forgotten > 2 { // a few may share the set of mallory, and five of them its slots
		t.Errorf("%d of 1,000 other keys are forgotten, want at most 2", forgotten)
	}
	remembered := 0
	for i := range setCount * setSize {
		if r.Has(in48Network(i), "mallory") {
			remembered++
		}
	}
	if remembered != pairsOfKey || !r.Has(in48Network(setCount*setSize-1), "mallory") {
		t.Errorf("%d pairs of one key are remembered, want the last %d", remembered, pairsOfKey)
	}
}

func in48Network(i int) Network {
	all, _ := Networks(in48(i))
	return all[0]
}

func TestRecentKeysAreRemembered(t *testing.T) {
	r := NewRecent()
	if r.Has(anywhere, "alice") {
		t.Error("a key that was not added: got true, want false")
	}
	for i := range 5000 {
		r.Add(anywhere, strconv.Itoa(i))
	}
	r.Add(anywhere, "alice")
	for i := range 5000 {
		r.Has(anywhere, "unknown "+strconv.Itoa(i)) // a lookup evicts nothing
	}
	if !r.Has(anywhere, "alice") || r.Has(anywhere, "bob") {
		t.Errorf("got %t for a key that was added and %t for another, want true and false", r.Has(anywhere, "alice"), r.Has(anywhere, "bob"))
	}
	for i := range 10 * setCount * setSize { // memory is bounded
		r.Add(anywhere, "new "+strconv.Itoa(i))
	}
	if r.Has(anywhere, "0") {
		t.Error("a key that was added before 655,360 others: got true, want false")
	}
}
