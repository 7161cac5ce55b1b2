package accounts

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

func TestWrongPasswordsAreLimited(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	s.register(t, "alice")
	wrong, limited := 0, 0
	for range 1000 {
		err := second(s.LogIn(t.Context(), credentials("ALICE", "not her password")))
		if wait, is := errors.AsType[*LimitedError](err); is && wait.Wait > 0 {
			limited++
		} else if errors.Is(err, ErrWrongCredentials) {
			wrong++
		} else {
			t.Fatalf("LogIn = %v, want %v or a *LimitedError", err, ErrWrongCredentials)
		}
	}
	if wrong != pairBurst || limited != 1000-pairBurst {
		t.Errorf("of 1,000 attempts %d were checked and %d limited, want %d and %d", wrong, limited, pairBurst, 1000-pairBurst)
	}
	if err := second(s.LogIn(t.Context(), credentials("alice", "password of alice"))); !isLimited(err) {
		t.Errorf("LogIn with the right password after too many attempts = %v, want a *LimitedError, which does not reveal that it is right", err)
	}
	elsewhere := credentials("alice", "password of alice")
	elsewhere.From = netip.MustParseAddr("2001:db8:1::")
	if _, err := s.LogIn(t.Context(), elsewhere); err != nil {
		t.Errorf("LogIn from another address = %v, want success", err)
	}
	tried := wrong
	for i := range 1000 { // each from another address
		c := credentials("alice", "not her password")
		c.From = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		if errors.Is(second(s.LogIn(t.Context(), c)), ErrWrongCredentials) {
			tried++
		}
	}
	if tried > nameBurst+pairBurst { // the first address is known, and has a limit of its own
		t.Errorf("%d attempts on one name were checked, want at most %d", tried, nameBurst+pairBurst)
	}
}

func TestAttemptsOfAnAddressAreLimited(t *testing.T) {
	s := start(t, sqlitetest.Open(t), func(c *Config) { c.AttemptsPerAddress = 20 })
	tried := 0
	for i := range 100 {
		err := second(s.LogIn(t.Context(), credentials(fmt.Sprint("name ", i), "some password")))
		if errors.Is(err, ErrWrongCredentials) {
			tried++
		} else if !isLimited(err) {
			t.Fatalf("LogIn = %v, want %v or a *LimitedError", err, ErrWrongCredentials)
		}
	}
	if tried != 20 {
		t.Errorf("%d attempts of one address were checked, want 20", tried)
	}
	if err := second(s.Register(t.Context(), credentials("new", "some password"))); !isLimited(err) {
		t.Errorf("Register after too many attempts = %v, want a *LimitedError", err)
	}
}

// TestLoginsOfAPairAreLimited logs in with the right password again and again, from one
// address and then from many addresses in one IPv6 /48.
func TestLoginsOfAPairAreLimited(t *testing.T) {
	s := start(t, sqlitetest.Open(t), func(c *Config) { c.AttemptsPerAddress = 5 })
	s.register(t, "alice")
	logIns := func(from func(i int) netip.Addr) (succeeded int) {
		for i := range 1000 {
			c := credentials("alice", "password of alice")
			c.From = from(i)
			switch err := second(s.LogIn(t.Context(), c)); {
			case err == nil:
				succeeded++
			case !isLimited(err):
				t.Fatalf("LogIn = %v, want success or a *LimitedError", err)
			}
		}
		return succeeded
	}
	if n := logIns(func(int) netip.Addr { return clientAddress }); n != loginBurst {
		t.Errorf("%d of 1,000 logins of one pair succeeded, want %d", n, loginBurst)
	}
	if n := logIns(in48); n != 4*loginBurst {
		t.Errorf("%d of 1,000 logins to one account from a /48 succeeded, want %d", n, 4*loginBurst)
	}
}

// in48 returns the first address of the i-th /64 of a /48, so that subsequent addresses
// are in different /56 networks.
func in48(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1, byte(i), byte(i >> 8)})
}

// TestGuessesFromA48AreLimited guesses the passwords of many names from as many addresses
// of one /48, and then that of one name.
func TestGuessesFromA48AreLimited(t *testing.T) {
	guess := func(t *testing.T, s *site, name func(i int) string, from func(i int) netip.Addr) (checked int) {
		t.Helper()
		for i := range 1000 {
			c := credentials(name(i), "some password")
			c.From = from(i)
			err := second(s.LogIn(t.Context(), c))
			if errors.Is(err, ErrWrongCredentials) {
				checked++
			} else if !isLimited(err) {
				t.Fatalf("LogIn = %v, want %v or a *LimitedError", err, ErrWrongCredentials)
			}
		}
		return checked
	}
	limited := func(c *Config) { c.AttemptsPerAddress = 20 }
	names := func(i int) string { return fmt.Sprint("name ", i) }
	alice := func(int) string { return "alice" }
	if n := guess(t, start(t, sqlitetest.Open(t), limited), names, in48); n != 80 {
		t.Errorf("%d guesses from a /48 were checked, want 80", n)
	}
	in56 := func(i int) netip.Addr { return in48(i << 8) }
	if n := guess(t, start(t, sqlitetest.Open(t), limited), names, in56); n != 40 {
		t.Errorf("%d guesses from a /56 were checked, want 40", n)
	}
	s := start(t, sqlitetest.Open(t))
	s.register(t, "alice")
	if n := guess(t, s, alice, in48); n != 4*pairBurst {
		t.Errorf("%d guesses of one name from a /48 were checked, want %d", n, 4*pairBurst)
	}
	other := credentials("alice", "password of alice")
	other.From = netip.MustParseAddr("198.51.100.7")
	must.Succeed(t, second(s.LogIn(t.Context(), other))) // one /48 does not lock out the name
}

// TestKnownPairsAreNotLockedOut logs a user in at several addresses, lets others guess
// the user's password until the name is limited, and logs in again.
func TestKnownPairsAreNotLockedOut(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	registered := s.register(t, "Alice")
	is, err := s.auth.Token(t.Context(), registered.Token)
	must.Succeed(t, err)
	home, refreshed, unknown := netip.MustParseAddr("2001:db8:1:fffe::"), netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("198.51.100.8")
	at := func(from netip.Addr, password string) error {
		c := credentials("alice", password)
		c.From = from
		return second(s.LogIn(t.Context(), c))
	}
	must.Succeed(t, at(home, "password of Alice"))
	must.Succeed(t, second(s.Refresh(t.Context(), registered.User, refreshed, is.Session)))
	lockOut := func() {
		for i := range 2000 {
			err := at(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), "not her password")
			if i >= nameBurst+1 && !isLimited(err) {
				t.Fatalf("guess %d: got %v, want a *LimitedError", i, err)
			}
			_ = at(in48(i), "not her password") // neighbours of home
		}
	}
	lockOut()
	for _, known := range []netip.Addr{clientAddress, home, refreshed} {
		if err := at(known, "password of Alice"); err != nil {
			t.Errorf("LogIn from %v, where she has logged in before: got %v, want success", known, err)
		}
	}
	if err := at(unknown, "password of Alice"); !isLimited(err) {
		t.Errorf("LogIn from an unknown address: got %v, want a *LimitedError", err)
	}
	must.Succeed(t, second(s.ChangePassword(t.Context(), registered.User, unknown, "password of Alice", "a new password")))
	must.Succeed(t, at(unknown, "a new password"))
	guesses := 0
	for range 1000 { // a known pair can still not guess freely
		if errors.Is(at(home, "not her password"), ErrWrongCredentials) {
			guesses++
		}
	}
	if guesses != pairBurst {
		t.Errorf("%d guesses of a known pair were checked, want %d", guesses, pairBurst)
	}
}

// TestGuessesOfOthersAtAnAddressLockOutNobody guesses passwords of invented names from the
// address of a user until the address is limited. The user can still log in there.
func TestGuessesOfOthersAtAnAddressLockOutNobody(t *testing.T) {
	s := start(t, sqlitetest.Open(t), func(c *Config) { c.AttemptsPerAddress = 20 })
	s.register(t, "alice")
	for i := range 100 {
		_, _ = s.LogIn(t.Context(), credentials(fmt.Sprint("name ", i), "some password"))
	}
	if err := second(s.LogIn(t.Context(), credentials("another name", "some password"))); !isLimited(err) {
		t.Errorf("LogIn to another name = %v, want a *LimitedError", err)
	}
	must.Succeed(t, second(s.LogIn(t.Context(), credentials("alice", "password of alice"))))
	guesses := 0
	for range 100 {
		if errors.Is(second(s.LogIn(t.Context(), credentials("alice", "not her password"))), ErrWrongCredentials) {
			guesses++
		}
	}
	if guesses != pairBurst {
		t.Errorf("%d guesses of a known pair were checked, want %d", guesses, pairBurst)
	}
}

// TestLoginsWithAnUnreadableHashCostNoAttempt logs in to an account whose stored hash
// cannot be parsed.
func TestLoginsWithAnUnreadableHashCostNoAttempt(t *testing.T) {
	store := sqlitetest.Open(t)
	s := start(t, store)
	alice := s.register(t, "alice").User
	a, err := s.account(t.Context(), alice)
	must.Succeed(t, err)
	must.Succeed(t, second(store.ReplacePassword(t.Context(), alice, storage.PasswordChange{From: a.Password, To: "unreadable"})))
	for range 2 * loginBurst {
		if err := second(s.LogIn(t.Context(), credentials("alice", "password of alice"))); !errors.Is(err, errHash) {
			t.Fatalf("LogIn = %v, want %v", err, errHash)
		}
	}
}

// TestUnknownAddressesAreNotKnown logs in without an address, as behind a proxy that
// names no client. The guesses of others there still count.
func TestUnknownAddressesAreNotKnown(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	s.register(t, "alice")
	c := credentials("alice", "password of alice")
	c.From = netip.Addr{}
	must.Succeed(t, second(s.LogIn(t.Context(), c)))
	attempt, err := s.attempts.logIn(nameOf(c.Tenant, "alice"), c.From)
	must.Succeed(t, err)
	if attempt.known {
		t.Error("a login without an address: the pair is known, want it unknown")
	}
}
