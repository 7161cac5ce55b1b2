package accounts

import (
	"context"
	"errors"
	"testing"

	"ovation/api/rate"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

// TestRefusedRequestsDoNotPayForHashes pays for the hashes of a request from a bucket that
// holds those of ten, and repeats the request. Refused requests do not empty the bucket.
func TestRefusedRequestsDoNotPayForHashes(t *testing.T) {
	s := start(t, sqlitetest.Open(t), func(c *Config) { c.AttemptsPerAddress = 1 << 20 })
	alice := s.register(t, "alice").User
	logIn := func(ctx context.Context) error {
		return second(s.LogIn(ctx, credentials("bob", "not his password")))
	}
	changePassword := func(ctx context.Context) error {
		return second(s.ChangePassword(ctx, alice, clientAddress, "not her password", "another password"))
	}
	for name, test := range map[string]struct {
		call    func(ctx context.Context) error
		refused error
		hashes  int // paid in advance
		busy    bool
		all     bool // all requests are admitted
	}{
		"a wrong password":         {func(ctx context.Context) error { return second(s.LogIn(ctx, credentials("carol", "not her password"))) }, ErrWrongCredentials, 1, false, false},
		"a wrong password changed": {changePassword, ErrWrongPassword, 2, false, false},
		"a name that is taken": {func(ctx context.Context) error {
			return second(s.Register(ctx, credentials("alice", "some password")))
		}, storage.ErrAccountNameTaken, 1, false, true},
		"no place":                        {logIn, ErrBusy, 1, true, true},
		"no place for a changed password": {changePassword, ErrBusy, 2, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			*s.attempts = *newAttempts(0)
			if test.busy {
				places := s.hashPool.places
				s.hashPool.places = 0
				defer func() { s.hashPool.places = places }()
			}
			l := rate.New(rate.Config{PerAddress: rate.PerHash}) // which gains one hash a second
			admitted := 0
			for range 100 {
				payer := l.Payer(storage.User{}, rate.Client{Address: clientAddress}, rate.Bucket{})
				if payer.Take(test.hashes*rate.PerHash) > 0 {
					break
				}
				admitted++
				if err := test.call(context.WithValue(t.Context(), rate.Key{}, &payer)); !errors.Is(err, test.refused) {
					t.Fatalf("request %d: got %v, want %v", admitted, err, test.refused)
				}
			}
			if all := admitted == 100; all != test.all {
				t.Errorf("%d of 100 requests are admitted, want all: %t", admitted, test.all)
			}
		})
	}
}
