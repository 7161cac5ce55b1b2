package storage_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ovation/storage"
)

// TestKeysOfAccounts checks that every user who can have an account has a key of their
// own, from which the user follows.
func TestKeysOfAccounts(t *testing.T) {
	ids := rapid.OneOf(rapid.StringMatching(`[a-z][a-z0-9-]{0,11}`), rapid.StringMatching(`[1-9][0-9]{0,14}`))
	rapid.Check(t, func(t *rapid.T) {
		u := storage.User{Tenant: "acme", UserID: ids.Draw(t, "id")}
		key, ok := u.AccountKey()
		_, isNumber := u.AccountID()
		if back := storage.KeyUser("acme", key); !ok || key == 0 || key > 0 != isNumber || back != u {
			t.Errorf("the key of %v is %d, %t, which stands for %v", u, key, ok, back)
		}
	})
	for _, id := range []string{"", "0", "-a", "1a", "Alice", "alice_b", "é", "a b", strings.Repeat("a", 13), "9007199254740992"} {
		if key, ok := (storage.User{UserID: id}).AccountKey(); ok || key != 0 {
			t.Errorf("the key of %q is %d, %t, want none", id, key, ok)
		}
	}
}
