package rate

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/storage"
)

func user(id string) storage.User {
	return storage.User{Tenant: storage.DefaultTenant, UserID: id}
}

func at(address string) Client { return Client{Address: netip.MustParseAddr(address)} }

// payers returns a payer of each kind, with a bucket of 1,000 units that gains 100 units per
// second.
func payers(l *Limiter) map[string]func() Payer {
	socket := l.NewSocket()
	return map[string]func() Payer{
		"user":    func() Payer { return l.Payer(user("alice"), at("192.0.2.1"), Bucket{}) },
		"address": func() Payer { return l.Payer(user(""), at("192.0.2.1"), Bucket{}) },
		"socket":  func() Payer { return l.Payer(user("bob"), at("192.0.2.2"), socket) },
	}
}

// TestABucketGivesItsBurstAndThenItsRate takes random numbers of units at random times.
func TestABucketGivesItsBurstAndThenItsRate(t *testing.T) {
	for by := range payers(nil) {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				l := New(Config{PerUser: 100, PerAddress: 100, PerSocket: 100})
				payer := payers(l)[by]
				begin, taken, refused := time.Now(), 0, 0
				for range 20_000 {
					p, units := payer(), 1+random.IntN(50)
					if p.Take(units) > 0 {
						refused++
					} else {
						taken += units
					}
					time.Sleep(time.Duration(random.IntN(int(200 * time.Millisecond))))
				}
				seconds := time.Since(begin).Seconds()
				if most := 1000 + 100*seconds; float64(taken) > most || float64(taken) < most-1000-50 || refused == 0 {
					t.Errorf("got %d units taken in %.0f s with %d refusals, want at most %.0f, at least %.0f, and some refusals", taken, seconds, refused, most, most-1000-50)
				}
				time.Sleep(burstTime) // an unused bucket fills, but does not overflow
				p := payer()
				if burst, more := p.Take(1000), p.Take(1); burst > 0 || more == 0 {
					t.Errorf("taking 1000 and 1 of a bucket at rest: got waits of %v and %v, want one only for the second", burst, more)
				}
			})
		})
	}
}

// TestRetryAfterIsEnough waits as long as the error states.
func TestRetryAfterIsEnough(t *testing.T) {
	for by := range payers(nil) {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				l := New(Config{PerUser: 100, PerAddress: 100, PerSocket: 100, Registry: registry})
				p := payers(l)[by]()
				if wait := p.Take(20_000); wait > 0 { // more than the bucket holds: allowed once it is full
					t.Fatalf("the first request has to wait %v, want none", wait)
				}
				for _, units := range []int{1, 50, 999, 20_000} {
					wait := p.Take(units)
					if wait <= 0 {
						t.Fatalf("taking %d of an empty bucket: got a wait of %v, want one", units, wait)
					}
					time.Sleep(wait - time.Nanosecond)
					if p.Take(units) == 0 {
						t.Errorf("taking %d a nanosecond too early: got no wait, want one", units)
					}
					time.Sleep(time.Nanosecond)
					if again := p.Take(units); again > 0 {
						t.Errorf("taking %d after a wait of %v: got another wait of %v, want none", units, wait, again)
					}
				}
				if n := testutil.ToFloat64(l.limited.WithLabelValues(by)); n != 8 {
					t.Errorf("got %v refusals counted, want 8", n)
				}
			})
		})
	}
	for wait, want := range map[time.Duration]int{1: 1, time.Second: 1, time.Second + 1: 2, time.Minute: 60} {
		if err := Error(wait); RetryAfter(err) != want || !strings.HasSuffix(err.Message, fmt.Sprintf("try again in %d s", want)) {
			t.Errorf("%v: got %d s, %v, want %d s", wait, RetryAfter(err), err, want)
		}
	}
}

func TestDebtIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, payer := range payers(New(Config{PerUser: 100, PerAddress: 100, PerSocket: 100})) {
			p := payer()
			for range 100 {
				p.Charge(1 << 40)
			}
			if wait := p.Take(1); wait > burstTime+time.Second {
				t.Errorf("taking one after a large debt: got a wait of %v, want at most %v", wait, burstTime+time.Second)
			}
		}
	})
}

// TestBytesLeaveASmallDebt charges the bytes of large files: soon after the transfer, the
// payer's next request is admitted.
func TestBytesLeaveASmallDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for by, payer := range payers(New(Config{PerUser: 100, PerAddress: 100, PerSocket: 100})) {
			p := payer()
			m := NewMeter(&p, 10)
			for range 99 {
				m.Add(101) // 9,999 bytes cost 999 units
			}
			if one, more := p.Take(1), p.Take(1); one > 0 || more == 0 {
				t.Errorf("%s: taking one unit twice after 999: got waits of %v and %v, want one only for the second", by, one, more)
			}
			for range 100 {
				m.Add(1 << 30)
			}
			if wait := p.Take(1); wait > maxBytesDebt+time.Second/100 || wait < maxBytesDebt {
				t.Errorf("%s: taking one unit after 100 GiB: got a wait of %v, want %v", by, wait, maxBytesDebt+time.Second/100)
			}
		}
	})
}

func TestEachClientHasItsOwnBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{PerUser: 100, PerAddress: 100})
		other := storage.User{Tenant: "other", UserID: "alice"}
		all := []Payer{
			l.Payer(user("alice"), at("192.0.2.1"), Bucket{}), l.Payer(user("bob"), at("192.0.2.1"), Bucket{}), l.Payer(other, at("192.0.2.1"), Bucket{}),
			l.Payer(user(""), at("192.0.2.1"), Bucket{}), l.Payer(user(""), at("192.0.2.2"), Bucket{}), l.Payer(user(""), at("2001:db8::"), Bucket{}), l.Payer(user(""), Client{}, Bucket{}),
		}
		for i := range all {
			if all[i].Take(1000) > 0 {
				t.Errorf("taking the burst of client %d: got a wait, want none", i)
			}
			if all[i].Take(1) == 0 {
				t.Errorf("client %d beyond its burst: got no wait, want one", i)
			}
		}
	})
	for _, l := range []*Limiter{nil, New(Config{})} {
		for _, payer := range payers(l) {
			for range 100 {
				if p := payer(); p.Take(1<<30) > 0 {
					t.Fatalf("taking %d without a limit: got a wait, want none", 1<<30)
				}
			}
		}
	}
}

// TestBucketsAreBounded sends one request from each of 200,000 addresses. The requests
// take no additional memory, and do not evict the bucket of an address that is in debt.
func TestBucketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{PerAddress: 100})
		debtor := l.Payer(user(""), at("192.0.2.1"), Bucket{})
		debtor.Charge(1 << 30)
		i := uint32(0)
		if n := testing.AllocsPerRun(200_000, func() {
			i++
			p := l.Payer(user(""), Client{Address: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})}, Bucket{})
			if p.Take(1) > 0 {
				t.Fatal("the first request of an address: got a wait, want none")
			}
		}); n > 0 {
			t.Errorf("got %v allocations by a request, want none", n)
		}
		if debtor.Take(1) == 0 {
			t.Error("a debtor after 200,000 other clients: got no wait, want one")
		}
	})
}

func TestTheAddressOfAClient(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("127.0.0.1/32")}
	tests := map[string]struct {
		peer      string
		forwarded []string // lines of X-Forwarded-For
		elements  []string // lines of Forwarded
		want      string
		proxied   bool
	}{
		"no proxy":                                       {peer: "192.0.2.1:1234", want: "192.0.2.1"},
		"X-Forwarded-For from an untrusted peer":         {peer: "192.0.2.1:1234", forwarded: []string{"198.51.100.7"}, want: "192.0.2.1", proxied: true},
		"Forwarded from an untrusted peer":               {peer: "192.0.2.1:1234", elements: []string{"for=198.51.100.7"}, want: "192.0.2.1", proxied: true},
		"a proxy":                                        {peer: "10.0.0.1:1234", forwarded: []string{"198.51.100.7"}, want: "198.51.100.7"},
		"a proxy without the header":                     {peer: "10.0.0.1:1234", want: "10.0.0.1"},
		"X-Forwarded-For set by the client before":       {peer: "10.0.0.1:1234", forwarded: []string{"203.0.113.9, 198.51.100.7"}, want: "198.51.100.7"},
		"proxies behind each other":                      {peer: "10.0.0.1:1234", forwarded: []string{"203.0.113.9,198.51.100.7, 10.1.2.3 ,10.9.9.9"}, want: "198.51.100.7"},
		"in several lines":                               {peer: "10.0.0.1:1234", forwarded: []string{"203.0.113.9", "198.51.100.7", "10.1.2.3"}, want: "198.51.100.7"},
		"a client inside":                                {peer: "10.0.0.1:1234", forwarded: []string{"10.5.5.5, 10.1.2.3"}, want: "10.5.5.5"},
		"an invalid address in the list":                 {peer: "10.0.0.1:1234", forwarded: []string{"198.51.100.7, unknown, 10.1.2.3"}, want: "10.1.2.3"},
		"nothing but an invalid address":                 {peer: "10.0.0.1:1234", forwarded: []string{"secret"}, want: "10.0.0.1"},
		"an empty line":                                  {peer: "10.0.0.1:1234", forwarded: []string{""}, want: "10.0.0.1"},
		"with a port":                                    {peer: "10.0.0.1:1234", forwarded: []string{"198.51.100.7:99"}, want: "198.51.100.7"},
		"IPv6":                                           {peer: "10.0.0.1:1234", forwarded: []string{"2001:db8:1:2:3:4:5:6"}, want: "2001:db8:1:2::"},
		"IPv6 in brackets, with a port":                  {peer: "10.0.0.1:1234", forwarded: []string{"[2001:db8:1:2:3:4:5:6]:99"}, want: "2001:db8:1:2::"},
		"IPv6 with a zone":                               {peer: "[fe80::1%eth0]:1234", want: "fe80::"},
		"a peer of IPv6":                                 {peer: "[2001:db8:1:2:ffff::1]:1234", want: "2001:db8:1:2::"},
		"IPv4 in IPv6":                                   {peer: "[::ffff:192.0.2.1]:1234", want: "192.0.2.1"},
		"a proxy by IPv4 in IPv6":                        {peer: "[::ffff:10.0.0.1]:1234", forwarded: []string{"::ffff:198.51.100.7"}, want: "198.51.100.7"},
		"a proxy by IPv6":                                {peer: "[fd00::1]:1234", forwarded: []string{"198.51.100.7"}, want: "198.51.100.7"},
		"Forwarded":                                      {peer: "10.0.0.1:1234", elements: []string{`for=203.0.113.9, for=198.51.100.7;proto=https;by=10.1.1.1, For="10.1.2.3:80"`}, want: "198.51.100.7"},
		"Forwarded of IPv6":                              {peer: "10.0.0.1:1234", elements: []string{`proto=https; for="[2001:db8:1:2::17]:4711"`}, want: "2001:db8:1:2::"},
		"Forwarded with a hidden client":                 {peer: "10.0.0.1:1234", elements: []string{`for=198.51.100.7, for=_hidden`}, want: "10.0.0.1"},
		"Forwarded without for":                          {peer: "10.0.0.1:1234", elements: []string{`proto=https`}, want: "10.0.0.1"},
		"both headers":                                   {peer: "10.0.0.1:1234", forwarded: []string{"198.51.100.7"}, elements: []string{"for=198.51.100.7"}, want: "198.51.100.7"},
		"Forwarded of the client beside X-Forwarded-For": {peer: "10.0.0.1:1234", forwarded: []string{"198.51.100.7"}, elements: []string{"for=203.0.113.9"}, want: "10.0.0.1"},
		"no peer address":                                {peer: "@"},
		"no peer address, with X-Forwarded-For":          {peer: "", forwarded: []string{"198.51.100.7"}, proxied: true},
		"a very long list of trusted proxies":            {peer: "10.0.0.1:1234", forwarded: []string{strings.Repeat("10.1.2.3,", 3000) + "10.1.2.3"}, want: "10.1.2.3"},
	}
	l := New(Config{TrustedProxies: trusted})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for _, line := range test.forwarded {
				header.Add("X-Forwarded-For", line)
			}
			for _, line := range test.elements {
				header.Add("Forwarded", line)
			}
			var want netip.Addr
			if test.want != "" {
				want = netip.MustParseAddr(test.want)
			}
			if got := l.ClientOf(&http.Request{RemoteAddr: test.peer, Header: header}); got.Address != want || got.Proxied != test.proxied {
				t.Errorf("ClientOf: got %+v, want address %v, proxied %t", got, want, test.proxied)
			}
		})
	}
}

// TestAProxyThatIsNotTrustedIsLoggedOnce limits requests that an untrusted proxy forwards.
func TestAProxyThatIsNotTrustedIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	l := New(Config{PerAddress: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
		from := Client{Address: netip.MustParseAddr(address), Proxied: true}
		for range 3 {
			p := l.Payer(user(""), from, Bucket{})
			p.Take(10)
		}
	}
	if n := strings.Count(log.String(), "--trusted-proxies"); n != 1 {
		t.Errorf("got %d log lines about --trusted-proxies, want 1:\n%s", n, log.String())
	}
}

func BenchmarkTake(b *testing.B) {
	l := New(Config{PerUser: 10_000_000, PerAddress: 10_000_000})
	r := &http.Request{RemoteAddr: "192.0.2.1:1234", Header: http.Header{}}
	b.RunParallel(func(pb *testing.PB) {
		u := user(fmt.Sprint(rand.Int()))
		for pb.Next() {
			p := l.Payer(u, l.ClientOf(r), Bucket{})
			p.Take(PerRequest)
			p.Take(300)
		}
	})
}
