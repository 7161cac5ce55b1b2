package accounts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

// TestCommonPasswordsAreRefused tries frequent passwords in several forms. A password
// that an account already has stays valid.
func TestCommonPasswordsAreRefused(t *testing.T) {
	store := sqlitetest.Open(t)
	s := start(t, store)
	alice := s.register(t, "alice")
	for _, password := range []string{"123456", "password", "PassWord", "ｐａｓｓｗｏｒｄ", "iloveyou", "qwertyuiop", "!qaz2wsx", "1Q2W3E4R5T", "zxcvbnm123"} {
		for what, err := range map[string]error{
			"register": second(s.Register(t.Context(), credentials("bob", password))),
			"change":   second(s.ChangePassword(t.Context(), alice.User, clientAddress, "password of alice", password)),
		} {
			if invalid, is := errors.AsType[*storage.InvalidError](err); !is || !strings.Contains(invalid.Reason, "most common passwords") {
				t.Errorf("%s with %q: got %v, want a refusal as one of the most common passwords", what, password, err)
			}
		}
	}
	for _, password := range []string{"password of bob", "assword\npassw", "MIT Licence", "iloveyou, and not only you"} {
		if isCommon(password) {
			t.Errorf("isCommon(%q) = true, want false", password)
		}
	}
	old, err := store.CreateAccount(t.Context(), storage.NewAccount{Tenant: storage.DefaultTenant, Name: "old", NameKey: "old", Password: cheapParams.hash("123456").encode()})
	must.Succeed(t, err)
	must.Succeed(t, second(s.LogIn(t.Context(), credentials("old", "123456"))))
	must.Succeed(t, second(s.ChangePassword(t.Context(), old.User, clientAddress, "123456", "a password that is new")))
}

// TestTheListOfCommonPasswordsIsFolded checks that each entry is in the form in which
// isCommon looks it up.
func TestTheListOfCommonPasswordsIsFolded(t *testing.T) {
	notice, _, found := strings.Cut(commonPasswordsText, "OTHER DEALINGS IN THE SOFTWARE.\n\n")
	entries := commonPasswords()
	if !found || !strings.Contains(notice, "Copyright (c)") || len(entries) != 10_000 || !slices.IsSorted(entries) {
		t.Fatalf("got a notice: %t, %d entries, sorted: %t, want the notice of the licence and 10,000 sorted entries", found, len(entries), slices.IsSorted(entries))
	}
	for _, entry := range entries {
		if _, err := cleanPassword("password", entry); err != nil || !isCommon(entry) || !isCommon(strings.ToUpper(entry)) {
			t.Errorf("%q: got %v, common: %t, in upper case: %t; want a password of which both are common", entry, err, isCommon(entry), isCommon(strings.ToUpper(entry)))
		}
	}
}

// TestNewPasswordsMeetTheSitesMinimum checks that the minimum applies to new passwords
// only.
func TestNewPasswordsMeetTheSitesMinimum(t *testing.T) {
	store := sqlitetest.Open(t)
	before := start(t, store)
	must.Succeed(t, second(before.Register(t.Context(), credentials("alice", "short ✓"))))
	after := start(t, store, func(c *Config) { c.MinPassword = 10 })
	alice, err := after.LogIn(t.Context(), credentials("alice", "short ✓"))
	must.Succeed(t, err)
	for what, err := range map[string]error{
		"register": second(after.Register(t.Context(), credentials("bob", "too short"))),
		"change":   second(after.ChangePassword(t.Context(), alice.User, clientAddress, "short ✓", "too short")),
	} {
		if invalid, is := errors.AsType[*storage.InvalidError](err); !is || invalid.Reason != "must be 10 to 128 characters of text" {
			t.Errorf("%s: got %v, want the minimum of 10 characters", what, err)
		}
	}
	must.Succeed(t, second(after.ChangePassword(t.Context(), alice.User, clientAddress, "short ✓", "long enough")))
}
