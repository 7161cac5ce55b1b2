package accounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cheapParams makes hashes that cost almost nothing.
var cheapParams = Params{Memory: 64, Time: 1, Threads: 1}

var clientAddress = netip.MustParseAddr("192.0.2.1")

// site is a node with accounts.
type site struct {
	*Service

	auth *viewer.Authenticator
	log  *bytes.Buffer // read it only while the site is idle
}

func start(t *testing.T, store storage.Accounts, change ...func(*Config)) *site {
	t.Helper()
	key, err := viewer.NewSiteKey([]byte(strings.Repeat("s", 32)))
	must.Succeed(t, err)
	log := new(bytes.Buffer)
	cfg := Config{
		Store: store, Signer: &viewer.Signer{Key: key, TTL: time.Hour}, Sessions: viewer.NewSessions(),
		Params: cheapParams, PollEvery: 5 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(t.Context(), cfg)
	must.Succeed(t, err)
	auth, err := viewer.New(t.Context(), viewer.Config{SiteKeys: []viewer.SiteKey{key}, Sessions: cfg.Sessions})
	must.Succeed(t, err)
	t.Cleanup(func() {
		s.Close()
		s.Close()
		must.Succeed(t, auth.Close())
	})
	return &site{s, auth, log}
}

func credentials(name, password string) Credentials {
	return Credentials{Tenant: storage.DefaultTenant, Name: name, Password: password, From: clientAddress}
}

func (s *site) register(t *testing.T, name string) Session {
	t.Helper()
	session, err := s.Register(t.Context(), credentials(name, "password of "+name))
	must.Succeed(t, err)
	return session
}

// accepts returns nil if the token is accepted, and otherwise the error.
func (s *site) accepts(token string) error {
	r, _ := http.NewRequest(http.MethodPost, "/", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	_, err := s.auth.Authenticate(r)
	return err
}

func TestRegisteringThenLoggingIn(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	first := s.register(t, "Ann Lee")
	again, err := s.LogIn(t.Context(), credentials(" ann  LEE", "password of Ann Lee"))
	must.Succeed(t, err)
	if again.User != first.User {
		t.Errorf("logged in as %v, want %v as registered", again.User, first.User)
	}
	for _, one := range []Session{first, again} {
		is, err := s.auth.Token(t.Context(), one.Token)
		if err != nil || is.User != first.User || is.Session.Generation != 1 || is.Until.Before(one.Expires) {
			t.Errorf("the token is of %+v, %v, want %v, generation 1, until %v or later", is, err, first.User, one.Expires)
		}
	}
	if _, err := s.Register(t.Context(), credentials("ANN LEE", "another password")); !errors.Is(err, storage.ErrAccountNameTaken) {
		t.Errorf("registering a taken name returned %v, want ErrAccountNameTaken", err)
	}
	elsewhere := credentials("Ann Lee", "password of Ann Lee")
	elsewhere.Tenant = "acme"
	if _, err := s.LogIn(t.Context(), elsewhere); !errors.Is(err, ErrWrongCredentials) {
		t.Errorf("LogIn in another tenant = %v, want %v", err, ErrWrongCredentials)
	}
}

func TestNamesAreFolded(t *testing.T) {
	for _, same := range [][]string{
		{"Alice", "alice", "ALICE", " alice ", "ａｌｉｃｅ", "al\u200dice", "\u2068alice\u2069", "\ufeffalice", "a\u200blice"},
		{"Straße", "STRAßE", "STRASSE", "STRAẞE"},
		{"José", "JOSE\u0301"},
		{"Ann Lee", "ann\u00a0lee", "ANN  LEE"},
		{"ΣΊΣΥΦΟΣ", "σίσυφοσ", "σίσυφος"},
		{"../../etc/passwd", "../../ETC/passwd"},
		{"'; DROP TABLE account; --", "'; drop table account; --"},
		{"<script>alert(1)</script>"},
		{strings.Repeat("ä", 32), strings.Repeat("a\u0308", 32)},
		{strings.Repeat("각", 32), strings.Repeat("\u1100\u1161\u11a8", 32)},
		{"می\u200cخواهم"},
		{"क्\u200dष"},
		{"Ann ❤️", "ann ❤"},
		{"👩\u200d👩\u200d👧", "👩👩👧"},
		{"🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f Scot"},
	} {
		want, err := foldName(same[0])
		must.Succeed(t, err)
		for _, name := range same {
			got, err := foldName(name)
			if err != nil || got.key != want.key {
				t.Errorf("foldName(%q) has the key %q, %v, want %q as %q has", name, got.key, err, want.key, same[0])
			}
			if got.shown != strings.TrimSpace(name) {
				t.Errorf("%+q is shown as %+q, want every code point of it", name, got.shown)
			}
			if again, err := foldName(got.key); err != nil || again.key != got.key {
				t.Errorf("the key %q of %q has the key %q, %v, want itself", got.key, name, again.key, err)
			}
		}
	}
	if a, b := must1(foldName("می\u200cخواهم")), must1(foldName("میخواهم")); a.key == b.key {
		t.Errorf("a Persian name has the same key %q with and without its joiner, want two keys", a.key)
	}
	for name, reason := range map[string]string{
		"": "empty", " ": "empty", "\u00a0": "empty", "\u200d": "empty", "a\x00b": "U+0000", "a\nb": "U+000A", "a\tb": "U+0009", "\x1b[2J": "U+001B",
		"\xff": "UTF-8", "a\u202eb": "U+202E", "a\u2067b": "U+2067", "\ufffe": "U+FFFE", "\ue000": "U+E000",
		strings.Repeat("a", 33): "33 characters", strings.Repeat("a\u0308", 33): "33 characters", strings.Repeat("a", 1<<20): "32 characters",
	} {
		if got, err := foldName(name); !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), reason) {
			t.Errorf("foldName(%.40q) = %.40q, %v, want an error with %q", name, got.shown, err, reason)
		}
	}
}

func must1(name foldedName, _ error) foldedName { return name }

// TestNamesOfAnEarlierRuleAreKept checks that an account whose key follows the earlier
// rule can be used, and that its name is taken.
func TestNamesOfAnEarlierRuleAreKept(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	encoded, err := s.hash(t.Context(), caller{}, "password of σίσυφος")
	must.Succeed(t, err)
	former, err := s.Store.CreateAccount(t.Context(), storage.NewAccount{
		Tenant: storage.DefaultTenant, Name: "Σίσυφος", NameKey: "σίσυφος", Password: encoded,
	})
	must.Succeed(t, err)
	other := s.register(t, "σίσυφοσ")
	session, err := s.LogIn(t.Context(), credentials("ΣίσυΦος", "password of σίσυφος"))
	if err != nil || session.User != former.User {
		t.Errorf("LogIn by a name of the earlier rule = %v, %v, want the user %s", session.User, err, former.User.UserID)
	}
	if _, err := s.Register(t.Context(), credentials("σίσυφος", "another password")); !errors.Is(err, storage.ErrAccountNameTaken) {
		t.Errorf("registering a name of the earlier rule returned %v, want ErrAccountNameTaken", err)
	}
	name := "σίσυφος"
	if _, err := s.UpdateProfile(t.Context(), other.User, ProfileChange{Name: &name}); !errors.Is(err, storage.ErrAccountNameTaken) {
		t.Errorf("renaming to a name of the earlier rule returned %v, want ErrAccountNameTaken", err)
	}
	if _, err := s.UpdateProfile(t.Context(), former.User, ProfileChange{Name: &name}); !errors.Is(err, storage.ErrAccountNameTaken) {
		t.Errorf("renaming to a key that another account has returned %v, want ErrAccountNameTaken", err)
	}
}

// TestNamesThatWereDifferentLogInAsRegistered checks the exception to the uniqueness of
// names: beside an account whose key follows the earlier rule, another can have the name
// that its name folds to.
func TestNamesThatWereDifferentLogInAsRegistered(t *testing.T) {
	s := start(t, sqlitetest.Open(t))
	encoded, err := s.hash(t.Context(), caller{}, "password of the first")
	must.Succeed(t, err)
	first, err := s.Store.CreateAccount(t.Context(), storage.NewAccount{
		Tenant: storage.DefaultTenant, Name: "Straße", NameKey: "straße", Password: encoded,
	})
	must.Succeed(t, err)
	second, err := s.Register(t.Context(), credentials("STRASSE", "password of the second"))
	must.Succeed(t, err)
	for name, want := range map[string]storage.User{"Straße": first.User, "STRASSE": second.User} {
		password := "password of the first"
		if want == second.User {
			password = "password of the second"
		}
		if session, err := s.LogIn(t.Context(), credentials(name, password)); err != nil || session.User != want {
			t.Errorf("LogIn as %s = %v, %v, want the user %s", name, session.User, err, want.UserID)
		}
	}
}

func TestNodesLearnOfRevocations(t *testing.T) {
	store := sqlitetest.Open(t)
	a, b := start(t, store), start(t, store)
	alice, bob := a.register(t, "alice"), a.register(t, "bob")
	must.Succeed(t, b.accepts(alice.Token))
	is, err := b.auth.Token(t.Context(), alice.Token)
	must.Succeed(t, err)
	ended := make(chan struct{})
	is.OnRevoked(func() { close(ended) })
	must.Succeed(t, a.LogOutEverywhere(t.Context(), alice.User))
	if a.accepts(alice.Token) == nil {
		t.Error("the node that revoked the token accepts it")
	}
	<-ended // the other site has read the revocation
	if b.accepts(alice.Token) == nil {
		t.Error("the other node accepts the revoked token")
	}
	must.Succeed(t, b.accepts(bob.Token))
	later := start(t, store) // it reads the earlier revocations
	if later.accepts(alice.Token) == nil {
		t.Error("a node that started later accepts the revoked token")
	}
	again, err := later.LogIn(t.Context(), credentials("alice", "password of alice"))
	must.Succeed(t, err)
	for _, node := range []*site{a, b, later} {
		must.Succeed(t, node.accepts(again.Token))
	}
	if err := a.LogOutEverywhere(t.Context(), storage.User{Tenant: "default", UserID: "nobody"}); !errors.Is(err, ErrNoAccount) {
		t.Errorf("LogOutEverywhere without an account = %v, want %v", err, ErrNoAccount)
	}
}

func TestSessionsAreRefreshed(t *testing.T) {
	now := time.Now()
	s := start(t, sqlitetest.Open(t), func(c *Config) {
		c.Now, c.PollEvery = func() time.Time { return now }, time.Hour
	})
	alice := s.register(t, "alice")
	is, err := s.auth.Token(t.Context(), alice.Token)
	must.Succeed(t, err)
	began := is.Session
	now = now.Add(MaxSession - time.Minute)
	next, err := s.Refresh(t.Context(), alice.User, clientAddress, began)
	must.Succeed(t, err)
	if is, err = s.auth.Token(t.Context(), next.Token); err != nil || is.Session != began {
		t.Errorf("the refreshed token has the session %+v, %v, want %+v", is.Session, err, began)
	}
	now = now.Add(2 * time.Minute)
	if _, err := s.Refresh(t.Context(), alice.User, clientAddress, began); !errors.Is(err, ErrSessionOver) {
		t.Errorf("Refresh after 30 days = %v, want %v", err, ErrSessionOver)
	}
	if _, err := s.Refresh(t.Context(), alice.User, clientAddress, viewer.Session{}); !errors.Is(err, ErrNoAccount) {
		t.Errorf("Refresh with a token that is no account's = %v, want %v", err, ErrNoAccount)
	}
	again, err := s.LogIn(t.Context(), credentials("alice", "password of alice"))
	must.Succeed(t, err)
	is, err = s.auth.Token(t.Context(), again.Token)
	must.Succeed(t, err)
	must.Succeed(t, s.LogOutEverywhere(t.Context(), alice.User))
	if _, err := s.Refresh(t.Context(), alice.User, clientAddress, is.Session); !errors.Is(err, ErrSessionOver) {
		t.Errorf("Refresh of a revoked session = %v, want %v", err, ErrSessionOver)
	}
}

func TestProfilesAreUpdated(t *testing.T) {
	store := sqlitetest.Open(t)
	s := start(t, store)
	alice := s.register(t, "alice").User
	s.register(t, "bob")
	text := func(s string) *string { return &s }
	_, err := s.UpdateProfile(t.Context(), alice, ProfileChange{Name: text("Alice  B"), AvatarURL: text("https://example.com/a"), Signature: text("<b>'; --")})
	must.Succeed(t, err)
	got, err := store.Profiles(t.Context(), []storage.User{alice})
	must.Succeed(t, err)
	if want := (storage.Profile{Name: "Alice  B", Avatar: "https://example.com/a", Signature: "<b>'; --"}); *got[0] != want {
		t.Errorf("the profile is %+v, want %+v", *got[0], want)
	}
	_, err = s.LogIn(t.Context(), credentials("alice b", "password of alice"))
	must.Succeed(t, err)
	for what, one := range map[string]struct {
		change ProfileChange
		want   error
	}{
		"a taken name":   {ProfileChange{Name: text("BOB")}, storage.ErrAccountNameTaken},
		"a bad name":     {ProfileChange{Name: text("a\x00")}, storage.ErrInvalid},
		"a bad URL":      {ProfileChange{AvatarURL: text("javascript:1")}, storage.ErrInvalid},
		"a long text":    {ProfileChange{Signature: text(strings.Repeat("a", 201))}, storage.ErrInvalid},
		"nothing at all": {ProfileChange{}, nil},
	} {
		if _, err := s.UpdateProfile(t.Context(), alice, one.change); !errors.Is(err, one.want) {
			t.Errorf("%s: got %v, want %v", what, err, one.want)
		}
	}
	if _, err := s.UpdateProfile(t.Context(), storage.User{Tenant: "default", UserID: "nobody"}, ProfileChange{}); !errors.Is(err, ErrNoAccount) {
		t.Errorf("UpdateProfile without an account = %v, want %v", err, ErrNoAccount)
	}
}

// failing is a store in which passwords cannot be replaced.
type failing struct{ storage.Accounts }

func (failing) ReplacePassword(context.Context, storage.User, storage.PasswordChange) (*storage.Account, error) {
	return nil, storage.ErrUnavailable
}

func TestErrorsHoldNoSecret(t *testing.T) {
	store := sqlitetest.Open(t)
	before := start(t, store)
	alice := before.register(t, "alice")
	s := start(t, failing{store}, func(c *Config) { c.Params.Time = 2 })
	a, err := store.AccountOf(t.Context(), alice.User)
	must.Succeed(t, err)
	secrets := []string{"password of alice", "not her password", a.Password, alice.Token}
	var said []string
	for _, password := range secrets {
		for _, err := range []error{
			second(s.Register(t.Context(), credentials("alice", password))),
			second(s.LogIn(t.Context(), credentials("alice", password))),
			second(s.ChangePassword(t.Context(), alice.User, clientAddress, password, password)),
		} {
			said = append(said, fmt.Sprintf("%v %+v", err, err))
		}
	}
	said = append(said, fmt.Sprintf("%v %+v %#v", before.Signer.Key, before.Signer.Key, before.Signer.Key), s.log.String(), before.log.String())
	if !strings.Contains(s.log.String(), "could not be raised") {
		t.Errorf("the log is %q, want it to contain \"could not be raised\": without it this test proves little", s.log.String())
	}
	for _, text := range said {
		for _, secret := range append(secrets, strings.Repeat("s", 8)) {
			if strings.Contains(text, secret) {
				t.Errorf("%q reveals %q", text, secret)
			}
		}
	}
}
