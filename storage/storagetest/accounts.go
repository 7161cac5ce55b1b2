package storagetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"ovation/storage"
)

// register creates an account of the default tenant.
func (w *world) register(name string) *storage.Account {
	w.Helper()
	return w.registerIn(storage.DefaultTenant, name)
}

func (w *world) registerIn(tenant, name string) *storage.Account {
	w.Helper()
	a, err := w.s.CreateAccount(w.Context(), storage.NewAccount{Tenant: tenant, Name: name, NameKey: strings.ToLower(name), Password: "hash of " + name})
	w.must(err)
	return a
}

func (w *world) accountOf(u storage.User) *storage.Account {
	w.Helper()
	a, err := w.s.AccountOf(w.Context(), u)
	w.must(err)
	return a
}

func (w *world) accountNamed(tenant, key string) *storage.Account {
	w.Helper()
	a, err := w.s.AccountNamed(w.Context(), tenant, key)
	w.must(err)
	return a
}

func (w *world) profile(u storage.User) *storage.Profile {
	w.Helper()
	got, err := w.s.Profiles(w.Context(), []storage.User{u})
	w.must(err)
	return got[0]
}

// accountIDsAreNotReused checks that the id of an account that was lost in a restore is
// not assigned again. Otherwise, the tokens of the lost account would be valid for
// another user.
func accountIDsAreNotReused(w *world) {
	lost := w.register("lost")
	w.db.Edit(w.T, `DELETE FROM account`)
	w.db.Edit(w.T, `DELETE FROM account_name`)
	before, _ := lost.User.AccountID()
	for i := range 3 {
		if id, _ := w.register(fmt.Sprint("new ", i)).User.AccountID(); id <= before {
			w.Errorf("account %d was created after %d, want a higher id", id, before)
		}
	}
}

func accountsAreFoundByNameAndUser(w *world) {
	var last int64
	for i := range 50 {
		name := fmt.Sprintf("User %d", i)
		a := w.register(name)
		id, ok := a.User.AccountID()
		if !ok || id <= last || id >= storage.MaxCommentID {
			w.Fatalf("the id %q was assigned after %d, want a higher number below %d", a.User.UserID, last, storage.MaxCommentID)
		}
		last = id
		w.equal("the account created", *a, storage.Account{
			User: a.User, Profile: storage.Profile{Name: name}, NameKey: strings.ToLower(name),
			Password: "hash of " + name, Generation: 1, Created: a.Created,
		})
		w.equal("the account, by user", w.accountOf(a.User), a)
		w.equal("the account, by name", w.accountNamed(a.User.Tenant, strings.ToLower(name)), a)
	}
	for _, key := range []string{"", "User 1", "user 50", "user 1\x00", "user 1' OR 1=1 --", "\xff"} {
		w.equal("the account "+key, w.accountNamed(storage.DefaultTenant, key), nil)
	}
	for _, id := range []string{"alice", "1", fmt.Sprint("0", last), fmt.Sprint(last, "\x00"), strconv.FormatInt(last+1, 10)} {
		w.equal("the account of "+id, w.accountOf(user(id)), nil)
		w.equal("the profile of "+id, w.profile(user(id)), nil)
	}
}

func accountNamesAreUnique(w *world) {
	alice, bob := w.register("Alice"), w.register("Bob")
	taken := storage.NewAccount{Tenant: storage.DefaultTenant, Name: "ALICE", NameKey: "alice", Password: "x"}
	_, err := w.s.CreateAccount(w.Context(), taken)
	w.wantError("an account of a name that is taken", err, storage.ErrAccountNameTaken)
	rename := func(u storage.User, name string) error {
		_, err := w.s.UpdateProfile(w.Context(), u, storage.ProfileChange{Name: &name, NameKey: strings.ToLower(name)})
		return err
	}
	w.wantError("renaming to a name that is taken", rename(bob.User, "aLICE"), storage.ErrAccountNameTaken)
	w.equal("the account after the refusal", w.accountOf(bob.User), bob)
	w.must(rename(alice.User, "ALICE")) // the same name in another case
	w.equal("the name", w.profile(alice.User).Name, "ALICE")
	w.must(rename(alice.User, "Carol"))
	w.equal("the account, by its old name", w.accountNamed(storage.DefaultTenant, "alice"), nil)
	w.equal("the account, by its new name", w.accountNamed(storage.DefaultTenant, "carol").User, alice.User)
	w.must(rename(bob.User, "Alice")) // the name is free now
	w.wantError("renaming an account that does not exist", rename(user("alice"), "Dave"), storage.ErrNotFound)
}

// concurrentRegistrationsTakeANameOnce has many users try to take one name at the same
// time, by registering or by renaming their accounts. Exactly one of them gets the name.
func concurrentRegistrationsTakeANameOnce(w *world) {
	other := w.open()
	accounts := make([]*storage.Account, 0, 4)
	for i := range cap(accounts) {
		accounts = append(accounts, w.register(fmt.Sprint("before ", i)))
	}
	name := "Wanted"
	var wait sync.WaitGroup
	results := make([]error, 12)
	for i := range results {
		s := w.s
		if i%2 == 1 {
			s = other
		}
		wait.Go(func() {
			if i < len(accounts) {
				_, results[i] = s.UpdateProfile(w.Context(), accounts[i].User, storage.ProfileChange{Name: &name, NameKey: "wanted"})
				return
			}
			_, results[i] = s.CreateAccount(w.Context(), storage.NewAccount{Tenant: storage.DefaultTenant, Name: name, NameKey: "wanted", Password: "x"})
		})
	}
	wait.Wait()
	got := 0
	for _, err := range results {
		if err == nil {
			got++
		} else if !errors.Is(err, storage.ErrAccountNameTaken) {
			w.Errorf("taking the name %q: got %v, want nil or %v", name, err, storage.ErrAccountNameTaken)
		}
	}
	w.equal("accounts that got the name", got, 1)
	winner := w.accountNamed(storage.DefaultTenant, "wanted")
	w.equal("the account of the name", w.accountOf(winner.User), winner)
}

func invalidAccountsAreRejected(w *world) {
	good := storage.NewAccount{Tenant: storage.DefaultTenant, Name: "a", NameKey: "a", Password: "x"}
	for name, change := range map[string]func(*storage.NewAccount){
		"a tenant":             func(a *storage.NewAccount) { a.Tenant = "ACME" },
		"no name":              func(a *storage.NewAccount) { a.Name = "" },
		"a long name":          func(a *storage.NewAccount) { a.Name = strings.Repeat("ä", 33) },
		"a name with NUL":      func(a *storage.NewAccount) { a.Name = "a\x00b" },
		"a name of two lines":  func(a *storage.NewAccount) { a.Name = "a\nb" },
		"a padded name":        func(a *storage.NewAccount) { a.Name = " a" },
		"broken text":          func(a *storage.NewAccount) { a.Name = "\xff" },
		"no key":               func(a *storage.NewAccount) { a.NameKey = "" },
		"a key with NUL":       func(a *storage.NewAccount) { a.NameKey = "\x00" },
		"no hash":              func(a *storage.NewAccount) { a.Password = "" },
		"a hash that is large": func(a *storage.NewAccount) { a.Password = strings.Repeat("x", 513) },
	} {
		bad := good
		change(&bad)
		_, err := w.s.CreateAccount(w.Context(), bad)
		if !errors.Is(err, storage.ErrInvalid) {
			w.Errorf("%s: got %v, want %v", name, err, storage.ErrInvalid)
		}
	}
	a := w.register("alice")
	text := func(s string) *string { return &s }
	for name, change := range map[string]storage.ProfileChange{
		"a script":            {Avatar: text("javascript:alert(1)")},
		"data":                {Avatar: text("data:text/html,<script>")},
		"another host":        {Avatar: text("//evil.example/x")},
		"a backslash":         {Avatar: text("/\\evil.example")},
		"a quote":             {Background: text(`https://example.com/"onerror=x`)},
		"a user":              {Background: text("https://user:pass@example.com/")},
		"a space":             {Background: text("https://example.com/a b")},
		"NUL in a URL":        {Avatar: text("https://example.com/\x00")},
		"a long URL":          {Avatar: text("https://example.com/" + strings.Repeat("a", storage.MaxURLBytes))},
		"a relative path":     {Avatar: text("a/b")},
		"a long signature":    {Signature: text(strings.Repeat("ä", storage.MaxSignatureRunes+1))},
		"NUL in a signature":  {Signature: text("a\x00b")},
		"a name without key":  {Name: text("b")},
		"a name out of bound": {Name: text(strings.Repeat("b", 33)), NameKey: "b"},
	} {
		if _, err := w.s.UpdateProfile(w.Context(), a.User, change); !errors.Is(err, storage.ErrInvalid) {
			w.Errorf("%s: got %v, want %v", name, err, storage.ErrInvalid)
		}
	}
	w.equal("the account after invalid changes", w.accountOf(a.User), a)
}

func profilesAreStoredUnchanged(w *world) {
	const sql = `Robert'); DROP TABLE account;-- <b>\"`
	a, b := w.register(sql[:31]), w.register("bob")
	text := func(s string) *string { return &s }
	got, err := w.s.UpdateProfile(w.Context(), a.User, storage.ProfileChange{
		Avatar: text("https://example.com/a.png?x=1"), Background: text("/media/b.jpg"), Signature: text("  " + sql + "\r\n<script> ✓ "),
	})
	w.must(err)
	want := storage.Profile{Name: sql[:31], Avatar: "https://example.com/a.png?x=1", Background: "/media/b.jpg", Signature: sql + "\n<script> ✓"}
	w.equal("the profile returned", *got, storage.UpdatedProfile{Profile: want, Former: storage.Profile{Name: want.Name}})
	w.equal("the profile read", *w.profile(a.User), want)
	_, err = w.s.UpdateProfile(w.Context(), a.User, storage.ProfileChange{Avatar: text(""), Signature: text(" ")})
	w.must(err)
	want.Avatar, want.Signature = "", ""
	many, err := w.s.Profiles(w.Context(), []storage.User{b.User, user("nobody"), a.User, b.User})
	w.must(err)
	w.equal("profiles in the order asked", many, []*storage.Profile{{Name: "bob"}, nil, &want, {Name: "bob"}})
	none, err := w.s.Profiles(w.Context(), nil)
	w.must(err)
	w.equal("profiles of no users", len(none), 0)
}

// uploadedAvatarsBelongToOneAccount checks which profiles may name an uploaded picture, and
// which files are named.
func uploadedAvatarsBelongToOneAccount(w *world) {
	alice, bob := w.register("alice"), w.register("bob")
	file := func(letter string) string { return strings.Repeat(letter, 26) }
	set := func(of *storage.Account, avatar string, uploaded bool) (*storage.UpdatedProfile, error) {
		return w.s.UpdateProfile(w.Context(), of.User, storage.ProfileChange{Avatar: &avatar, Uploaded: uploaded})
	}
	mustSet := func(of *storage.Account, avatar string, uploaded bool) *storage.UpdatedProfile {
		w.Helper()
		got, err := set(of, avatar, uploaded)
		w.must(err)
		return got
	}
	first, second := storage.AvatarPath(file("a")), storage.AvatarPath(file("b"))
	mustSet(alice, first, true)
	got := mustSet(alice, second, true)
	w.equal("the file that an upload replaces", got.Former.AvatarFile(), file("a"))
	w.equal("the file of the profile", got.AvatarFile(), file("b"))
	mustSet(alice, second, false) // as it is
	for _, other := range []*storage.Account{alice, bob} {
		_, err := set(other, first, false)
		w.wantError("an uploaded picture that is not the account's", err, storage.ErrInvalid)
	}
	_, err := set(bob, second, false)
	w.wantError("the picture of another profile", err, storage.ErrInvalid)
	mustSet(bob, "https://example.com"+second, false) // names no file
	w.equal("the file of a URL", w.profile(bob.User).AvatarFile(), "")

	named := func(files ...string) []bool {
		w.Helper()
		out, err := w.s.NamedAvatars(w.Context(), files)
		w.must(err)
		return out
	}
	w.equal("files that a profile names", named("unknown", file("b"), file("a"), "", "a\x00b", "../x", file("b")), []bool{false, true, false, false, false, false, true})
	w.equal("results for no files", len(named()), 0)
	w.equal("the replaced file", mustSet(alice, "", false).Former.AvatarFile(), file("b"))
	w.equal("files without a profile", named(file("b")), []bool{false})

	mustSet(bob, second, true)
	w.must(w.s.BeginErase(w.Context(), bob.User))
	w.equal("the file of an erased user", named(file("b")), []bool{false})
	_, err = set(bob, first, true)
	w.wantError("an avatar of an erased user", err, storage.ErrNotFound)
}

func passwordsAreReplacedOnce(w *world) {
	a := w.register("alice")
	replaced, err := w.s.ReplacePassword(w.Context(), a.User, storage.PasswordChange{From: a.Password, To: "second"})
	w.must(err)
	w.equal("the generation after a change", replaced.Generation, int64(1))
	_, err = w.s.ReplacePassword(w.Context(), a.User, storage.PasswordChange{From: a.Password, To: "third"})
	w.wantError("a change from the password before", err, storage.ErrNotFound)
	_, err = w.s.ReplacePassword(w.Context(), user("nobody"), storage.PasswordChange{From: "", To: "third"})
	w.wantError("a change of the password of an unknown user", err, storage.ErrNotFound)
	_, err = w.s.ReplacePassword(w.Context(), a.User, storage.PasswordChange{From: "second"})
	w.wantError("a change to an empty password", err, storage.ErrInvalid)
	revoked, err := w.s.ReplacePassword(w.Context(), a.User, storage.PasswordChange{From: "second", To: "third", Revoke: true})
	w.must(err)
	w.equal("the generation after a change that revokes", revoked.Generation, int64(2))
	w.equal("the password", w.accountOf(a.User).Password, "third")
}

func revocationsAreFollowed(w *world) {
	follow := func(after storage.Revocation) (out []storage.Revocation) {
		for {
			page, err := w.s.Revocations(w.Context(), after, 2)
			w.must(err)
			if out = append(out, page...); len(page) < 2 {
				return out
			}
			after = page[len(page)-1]
		}
	}
	users := make([]storage.User, 0, 5)
	for i := range cap(users) {
		users = append(users, w.register(fmt.Sprint("user ", i)).User)
	}
	w.equal("revocations before the first", len(follow(storage.Revocation{})), 0)
	for _, u := range users {
		_, err := w.s.RevokeTokens(w.Context(), u)
		w.must(err)
	}
	first := follow(storage.Revocation{})
	w.equal("revocations", len(first), len(users))
	for i, r := range first {
		w.equal("the generation after a revocation", r.Generation, int64(2))
		if i > 0 && r.At < first[i-1].At {
			w.Errorf("the revocation %+v follows %+v, want them in the order of time", r, first[i-1])
		}
	}
	again, err := w.s.RevokeTokens(w.Context(), first[0].User)
	w.must(err)
	w.equal("the generation after two revocations", again.Generation, int64(3))
	next := follow(first[len(first)-1])
	w.equal("revocations since", len(next), 1)
	w.equal("the user whose tokens were revoked again", next[0].User, first[0].User)
	if next[0].At <= first[0].At {
		w.Errorf("revoked at %d and again at %d, want a later time", first[0].At, next[0].At)
	}
	_, err = w.s.RevokeTokens(w.Context(), user("nobody"))
	w.wantError("RevokeTokens of an unknown user", err, storage.ErrNotFound)

	// The clock is an hour behind, as it may be after a failover.
	w.db.Edit(w.T, `UPDATE account SET revoked = revoked + 3600000000 WHERE revoked <> 0`)
	all := follow(storage.Revocation{})
	latest := all[len(all)-1]
	behind := w.register("behind").User
	_, err = w.s.RevokeTokens(w.Context(), behind)
	w.must(err)
	late := follow(latest)
	w.equal("revocations after the latest, by a clock that is behind", len(late), 1)
	w.equal("the user of that revocation", late[0].User, behind)
}

func accountsAreWalledOff(w *world) {
	here, there := w.registerIn("here", "alice"), w.registerIn("there", "alice")
	moved := storage.User{Tenant: "there", UserID: here.User.UserID}
	if moved != there.User { // accounts of different tenants may have the same id
		w.equal("the account elsewhere", w.accountOf(moved), nil)
		w.equal("the profile elsewhere", w.profile(moved), nil)
		_, err := w.s.RevokeTokens(w.Context(), moved)
		w.wantError("RevokeTokens of a user of another tenant", err, storage.ErrNotFound)
	}
	w.equal("the account there, by name", w.accountNamed("there", "alice"), there)
	w.equal("the account in the default tenant", w.accountNamed(storage.DefaultTenant, "alice"), nil)
}

// namedUsersHaveAccounts checks that a restored account whose id is a name is like others.
func namedUsersHaveAccounts(w *world) {
	alice, other := user("alice"), user("alice-2")
	a := storage.Account{
		User: alice, Profile: storage.Profile{Name: "Alice", Signature: "up early"}, NameKey: "alice", Password: "x", Generation: 2, Created: 5,
	}
	changed, refused := w.restore(&storage.Archive{Accounts: []storage.Account{a}})
	w.equal("changed subjects and refused accounts", []int{changed, len(refused)}, []int{0, 0})
	w.equal("the account, by user", *w.accountOf(alice), a)
	w.equal("the account, by name", *w.accountNamed(storage.DefaultTenant, "alice"), a)
	w.equal("the profile", *w.profile(alice), a.Profile)
	w.equal("the profile of another name", w.profile(other), nil)
	indexed, err := w.s.IndexNext(w.Context(), 10)
	w.must(err)
	w.equal("indexed names", indexed, 1)
	w.findsUsers("alice", "Alice")
	revoked, err := w.s.Revocations(w.Context(), storage.Revocation{}, 10)
	w.must(err)
	if len(revoked) != 1 || revoked[0].User != alice || revoked[0].Generation != 2 {
		w.Errorf("the revocations are %+v, want generation 2 of %v", revoked, alice)
	}
	var exported []storage.Account
	w.must(w.s.Export(w.Context(), storage.ArchiveQuery{Tenant: storage.DefaultTenant, UserID: "alice"}, func(part *storage.Archive) error {
		exported = append(exported, part.Accounts...)
		return nil
	}))
	w.equal("the exported accounts", exported, []storage.Account{a})
	_, err = Erase(w.Context(), w.s, alice, 10, func(storage.Outcome) {})
	w.must(err)
	w.equal("the profile of an erased user", w.profile(alice), nil)
}
