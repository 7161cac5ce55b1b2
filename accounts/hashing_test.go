package accounts

import (
	"errors"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"ovation/internal/testing/must"
)

// count returns the number of callers that hash or wait.
func (p *hashPool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// flooded starts callers whose hashes last until the channel release is closed. It returns
// how many callers found a place and a function that waits for them. Floods of one pool
// share the channel, since the callers of one flood may wait for hashes of another.
func (p *hashPool) flooded(t *testing.T, release <-chan struct{}, callers int, by func(i int) caller) (entered int, wait func()) {
	t.Helper()
	var now, most atomic.Int64
	errs := make(chan error, callers)
	busy := 0
	for i := range callers {
		before := p.count()
		go func() {
			errs <- p.run(t.Context(), by(i), func() {
				most.Store(max(most.Load(), now.Add(1)))
				<-release
				now.Add(-1)
			})
		}()
		for p.count() == before && len(errs) == 0 {
			runtime.Gosched()
		}
		if len(errs) > 0 {
			if err := <-errs; !errors.Is(err, ErrBusy) {
				t.Fatalf("a caller beyond the limit: got %v, want %v", err, ErrBusy)
			}
			busy++
		}
	}
	return callers - busy, func() {
		for range callers - busy {
			must.Succeed(t, <-errs)
		}
		if most.Load() > int64(cap(p.slots)) {
			t.Errorf("%d hashes were made at a time, want at most %d", most.Load(), cap(p.slots))
		}
	}
}

func TestHashesAreBounded(t *testing.T) {
	const slots = 2
	p := newHashPool(slots)
	places := slots * (1 + waitingPerHash)
	release := make(chan struct{})
	entered, wait := p.flooded(t, release, 2*places, func(int) caller { return caller{trusted: true} })
	close(release)
	wait()
	if entered != places || p.count() != 0 || len(p.from) != 0 {
		t.Errorf("%d of %d callers found a place, %d places and %d addresses are left, want %d, 0 and 0", entered, 2*places, p.count(), len(p.from), places)
	}
}

// TestUsersAtOneAddressLogInTogether checks that a free pool serves many callers at one
// address.
func TestUsersAtOneAddressLogInTogether(t *testing.T) {
	p := newHashPool(4)
	release := make(chan struct{})
	entered, wait := p.flooded(t, release, 30, func(int) caller { return caller{from: clientAddress} })
	close(release)
	wait()
	if entered != 30 {
		t.Errorf("%d of 30 callers at one address found a place of %d, want all", entered, p.places)
	}
}

// TestNoAddressTakesAllPlaces floods the pool from one address and from one /48, once half
// of its places are taken, and from everywhere, and then asks for a place on behalf of others.
func TestNoAddressTakesAllPlaces(t *testing.T) {
	stranger, owner := caller{from: netip.MustParseAddr("198.51.100.7")}, caller{netip.MustParseAddr("198.51.100.8"), true}
	for name, test := range map[string]struct {
		taken        int // places taken before, by users at known addresses
		by           func(i int) caller
		want         int
		lockStranger bool
	}{
		"an address":        {20, func(int) caller { return caller{from: clientAddress} }, 4, false},
		"a user's address":  {20, func(int) caller { return caller{clientAddress, true} }, 4, false},
		"a /56":             {20, func(i int) caller { return caller{from: in48(i << 8)} }, 8, false},
		"a /48":             {20, func(i int) caller { return caller{from: in48(i)} }, 16, false},
		"everywhere":        {0, func(i int) caller { return caller{from: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})} }, 30, true},
		"unknown addresses": {0, func(int) caller { return caller{} }, 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newHashPool(1)
			release := make(chan struct{})
			taken, waitForTaken := p.flooded(t, release, test.taken, func(i int) caller { return caller{netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), true} })
			entered, wait := p.flooded(t, release, 100, test.by)
			if taken != test.taken || entered != test.want {
				t.Errorf("%d of 100 callers found a place, want %d of %d", entered, test.want, p.places)
			}
			if p.enter(stranger) == test.lockStranger {
				t.Errorf("a stranger found a place: %t, want %t", !test.lockStranger, !test.lockStranger)
			} else if !test.lockStranger {
				p.leave(stranger)
			}
			if !p.enter(owner) {
				t.Error("a user at a known address found no place, want one")
			} else {
				p.leave(owner)
			}
			close(release)
			waitForTaken()
			wait()
		})
	}
}

// TestAProcessorStaysFreeOfHashing checks the default for several numbers of processors.
func TestAProcessorStaysFreeOfHashing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for processors, want := range map[int]int{1: 1, 2: 1, 3: 2, 5: 4, 64: 4} {
		runtime.GOMAXPROCS(processors)
		if got := maxHashes(); got != want {
			t.Errorf("%d processors: got %d hashes at a time, want %d", processors, got, want)
		}
	}
}
