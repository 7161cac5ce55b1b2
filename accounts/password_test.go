package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

func TestPasswordsAreBounded(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	alice := s.register(t, "alice")
	for _, password := range []string{"", "short", "a\x00bcdefgh", "line\nbreak", "\xff\xff\xff\xff\xff\xff", strings.Repeat("a", 129), strings.Repeat("a", 10<<20)} {
		for what, err := range map[string]error{
			"register": second(s.Register(t.Context(), credentials("bob", password))),
			"log in":   second(s.LogIn(t.Context(), credentials("alice", password))),
			"current":  second(s.ChangePassword(t.Context(), alice.User, clientAddress, password, "a good password")),
			"new":      second(s.ChangePassword(t.Context(), alice.User, clientAddress, "password of alice", password)),
		} {
			if !errors.Is(err, storage.ErrInvalid) || len(err.Error()) > 200 {
				t.Errorf("%s with %.20q: got %v, want %v in at most 200 bytes", what, password, err, storage.ErrInvalid)
			}
		}
	}
	for i, password := range []string{"1234x6", strings.Repeat("ä", 128), "'; DROP TABLE account; --", "pass word ✓"} {
		name := fmt.Sprint("user ", i)
		_, err := s.Register(t.Context(), credentials(name, password))
		must.Succeed(t, err)
		_, err = s.LogIn(t.Context(), credentials(name, password))
		must.Succeed(t, err)
	}
}

func second[A any](_ A, err error) error { return err }

func isLimited(err error) bool {
	_, is := errors.AsType[*LimitedError](err)
	return is
}

func TestHashesHoldTheirParameters(t *testing.T) {
	h := cheapParams.hash("a password")
	text := h.encode()
	if !strings.HasPrefix(text, "$argon2id$v=19$m=64,t=1,p=1$") || strings.Contains(text, "password") {
		t.Errorf("the encoded hash is %s, want its parameters without the password", text)
	}
	read, err := parseHash(text)
	must.Succeed(t, err)
	if !read.matches("a password") || read.matches("A password") || cheapParams.hash("a password").encode() == text {
		t.Errorf("the hash matches its password: %t, another one: %t; a second hash of it is equal: %t; want true, false, false",
			read.matches("a password"), read.matches("A password"), cheapParams.hash("a password").encode() == text)
	}
	for _, broken := range []string{
		"", "!", text[:len(text)-1], text + "A", strings.Replace(text, "argon2id", "argon2i", 1), strings.Replace(text, "v=19", "v=16", 1),
		strings.Replace(text, "m=64", "m=4294967295", 1), strings.Replace(text, "m=64", "m=064", 1),
		strings.Replace(text, "t=1", "t=0", 1), strings.Replace(text, "t=1", "t=1000", 1), strings.Replace(text, "p=1", "p=0", 1),
	} {
		if _, err := parseHash(broken); !errors.Is(err, errHash) {
			t.Errorf("parseHash(%q) = %v, want %v", broken, err, errHash)
		}
	}
}

func TestLogInRaisesParameters(t *testing.T) {
	store := sqlitetest.Open(t)
	before := start(t, store)
	alice := before.register(t, "alice").User
	raised := Params{Memory: 128, Time: 2, Threads: 1}
	after := start(t, store, func(c *Config) { c.Params = raised })
	for _, s := range []*site{after, after, before} { // the last site has lower parameters and leaves the hash as it is
		if _, err := s.LogIn(t.Context(), credentials("alice", "not her password")); !errors.Is(err, ErrWrongCredentials) {
			t.Fatalf("a wrong password: got %v, want %v", err, ErrWrongCredentials)
		}
		_, err := s.LogIn(t.Context(), credentials("alice", "password of alice"))
		must.Succeed(t, err)
		a, err := store.AccountOf(t.Context(), alice)
		must.Succeed(t, err)
		if h, err := parseHash(a.Password); err != nil || h.Params != raised || a.Generation != 1 {
			t.Fatalf("the stored hash has %+v, generation %d, %v, want %+v, generation 1", h.Params, a.Generation, err, raised)
		}
	}
}

// TestUnknownNamesTakeAsLongAsWrongPasswords checks that an unknown name costs one hash
// with the current parameters, as a wrong password does.
func TestUnknownNamesTakeAsLongAsWrongPasswords(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	s.register(t, "alice")
	known := second(s.LogIn(t.Context(), credentials("alice", "not her password")))
	unknown := second(s.LogIn(t.Context(), credentials("nobody", "not her password")))
	if !errors.Is(known, ErrWrongCredentials) || known.Error() != unknown.Error() {
		t.Errorf("LogIn with a wrong password = %v, with an unknown name = %v, want %v with the same text", known, unknown, ErrWrongCredentials)
	}
	a, err := s.Store.AccountNamed(t.Context(), storage.DefaultTenant, "alice")
	must.Succeed(t, err)
	stored, err := parseHash(a.Password)
	must.Succeed(t, err)
	if s.decoy.Params != stored.Params || len(s.decoy.salt) != len(stored.salt) || len(s.decoy.hash) != len(stored.hash) {
		t.Errorf("the decoy has %+v, %d and %d bytes, want %+v, %d and %d as a stored hash",
			s.decoy.Params, len(s.decoy.salt), len(s.decoy.hash), stored.Params, len(stored.salt), len(stored.hash))
	}
	s.hashPool.slots <- struct{}{} // no slot is free: both calls wait for one
	for range cap(s.hashPool.slots) - 1 {
		s.hashPool.slots <- struct{}{}
	}
	for _, name := range []string{"alice", "nobody"} {
		ctx := overdueContext{t.Context(), make(chan struct{})}
		logged := make(chan error, 1)
		go func() { logged <- second(s.LogIn(ctx, credentials(name, "not her password"))) }()
		await.That(t, "LogIn waits for a slot, or has ended", func() bool { return s.hashPool.count() == 1 || len(logged) == 1 })
		close(ctx.done)
		if err := <-logged; !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("LogIn of %s while no hash can be made = %v, want %v", name, err, storage.ErrUnavailable)
		}
	}
}

// overdueContext is a context whose deadline is exceeded once done is closed.
type overdueContext struct {
	context.Context //nolint:containedctx // it is a context itself

	done chan struct{}
}

func (c overdueContext) Done() <-chan struct{} { return c.done }

func (c overdueContext) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestChangingThePasswordRevokesTokens(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	alice := s.register(t, "alice")
	if _, err := s.ChangePassword(t.Context(), alice.User, clientAddress, "not her password", "a new password"); !errors.Is(err, ErrWrongPassword) {
		t.Errorf("ChangePassword with a wrong password = %v, want %v", err, ErrWrongPassword)
	}
	changed, err := s.ChangePassword(t.Context(), alice.User, clientAddress, "password of alice", "a new password")
	must.Succeed(t, err)
	if err := s.accepts(alice.Token); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("the token of before: got %v, want it revoked", err)
	}
	must.Succeed(t, s.accepts(changed.Token))
	if err := second(s.LogIn(t.Context(), credentials("alice", "password of alice"))); !errors.Is(err, ErrWrongCredentials) {
		t.Errorf("LogIn with the password of before = %v, want %v", err, ErrWrongCredentials)
	}
	_, err = s.LogIn(t.Context(), credentials("alice", "a new password"))
	must.Succeed(t, err)
	if _, err := s.ChangePassword(t.Context(), storage.User{Tenant: "default", UserID: "nobody"}, clientAddress, "not her password", "a new password"); !errors.Is(err, ErrNoAccount) {
		t.Errorf("ChangePassword without an account = %v, want %v", err, ErrNoAccount)
	}
	limited := 0
	for range 50 {
		if isLimited(second(s.ChangePassword(t.Context(), alice.User, clientAddress, "not her password", "a new password"))) {
			limited++
		}
	}
	if limited < 50-pairBurst {
		t.Errorf("%d of 50 guesses were limited, want at least %d", limited, 50-pairBurst)
	}
}

// TestPasswordsChangeOnce checks that only one of many simultaneous requests to change
// a password succeeds.
func TestPasswordsChangeOnce(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	alice := s.register(t, "alice").User
	var wait sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wait.Go(func() {
			_, results[i] = s.ChangePassword(t.Context(), alice, clientAddress, "password of alice", fmt.Sprint("new password ", i))
		})
	}
	wait.Wait()
	if i := slices.Index(results, nil); i < 0 || slices.Contains(results[i+1:], nil) {
		t.Errorf("the changes returned %v, want success once", results)
	}
}
