package viewer

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/internal/testing/must"
	"ovation/storage"
)

func siteKey(t *testing.T, letter string) SiteKey {
	t.Helper()
	key, err := NewSiteKey([]byte(strings.Repeat(letter, ed25519.SeedSize)))
	must.Succeed(t, err)
	return key
}

var accountHolder = storage.User{Tenant: storage.DefaultTenant, UserID: "890000000000001"}

func issue(t *testing.T, by *Signer, generation int64) string {
	t.Helper()
	token, _, err := by.Issue(accountHolder, Session{generation, 1_700_000_000})
	must.Succeed(t, err)
	return token
}

func TestATokenOfAnAccountIsItsSession(t *testing.T) {
	key := siteKey(t, "k")
	a := newAuthenticator(t, Config{Secret: secret, SiteKeys: []SiteKey{key}, Sessions: NewSessions(), Issuer: "me", Audience: "you"})
	for name, by := range map[string]*Signer{
		"EdDSA": {Key: key, Issuer: "me", Audience: "you", TTL: time.Hour},
		"HS256": {Secret: secret, Key: key, Issuer: "me", Audience: "you", TTL: time.Hour},
	} {
		token, expires, err := by.Issue(accountHolder, Session{3, 1_700_000_000})
		must.Succeed(t, err)
		is, err := a.Token(t.Context(), token)
		if err != nil || is.User != accountHolder || is.Session != (Session{3, 1_700_000_000}) || !is.Until.Equal(expires.Add(leeway)) {
			t.Errorf("%s: got %+v, %v, want %v in session 3 until %v", name, is, err, accountHolder, expires.Add(leeway))
		}
		if got := SessionFrom(is.NewContext(t.Context())); got != is.Session {
			t.Errorf("%s: got %+v in the context, want %+v", name, got, is.Session)
		}
	}
	if got := SessionFrom(NewContext(t.Context(), accountHolder)); got != (Session{}) {
		t.Errorf("without a token: got %+v, want no session", got)
	}
}

func TestSiteKeysAreNotConfused(t *testing.T) {
	key, other := siteKey(t, "k"), siteKey(t, "o")
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	file := jwksFile(t, jwks(jwk("theirs", public, nil), jwk(key.ID, &keys().rsa.PublicKey, nil)))
	all := newAuthenticator(t, Config{SiteKeys: []SiteKey{key}, Sessions: NewSessions(), JWKS: file, Audience: AnyAudience})
	site := newAuthenticator(t, Config{SiteKeys: []SiteKey{key}, Sessions: NewSessions()})
	off := newAuthenticator(t, Config{Secret: secret})
	with := func(kid string) map[string]any { return map[string]any{"kid": kid} }
	session := map[string]any{generationClaim: 1, loggedInClaim: 1}
	for name, test := range map[string]struct {
		by    *Authenticator
		token string
		good  bool
	}{
		"a key of the site":                {site, issue(t, &Signer{Key: key, TTL: time.Hour}, 1), true},
		"a key of the site beside a JWKS":  {all, issue(t, &Signer{Key: key, TTL: time.Hour}, 1), true},
		"another key":                      {site, issue(t, &Signer{Key: other, TTL: time.Hour}, 1), false},
		"another key with the same kid":    {site, sign(t, jwt.SigningMethodEdDSA, private, claims(nil), with(key.ID)), false},
		"a key of the JWKS":                {all, sign(t, jwt.SigningMethodEdDSA, private, claims(nil), with("theirs")), true},
		"a key of the JWKS, without kid":   {all, sign(t, jwt.SigningMethodEdDSA, private, claims(nil), nil), true},
		"RSA with the kid of the site":     {all, sign(t, jwt.SigningMethodRS256, keys().rsa, claims(nil), with(key.ID)), true}, // the JWKS has the key
		"HMAC with the site's public key":  {all, sign(t, jwt.SigningMethodHS256, []byte(key.public()), claims(nil), with(key.ID)), false},
		"a session while accounts are off": {off, issue(t, &Signer{Secret: secret, TTL: time.Hour}, 1), false}, // accounts are off
		"a generation that is a string": {
			newAuthenticator(t, Config{Secret: secret, Sessions: NewSessions()}),
			sign(t, jwt.SigningMethodHS256, secret, claims(map[string]any{generationClaim: "1", loggedInClaim: 1}), nil), false,
		},
		"generation 0": {
			newAuthenticator(t, Config{Secret: secret, Sessions: NewSessions()}),
			sign(t, jwt.SigningMethodHS256, secret, claims(map[string]any{generationClaim: 0, loggedInClaim: 1}), nil), false,
		},
	} {
		if is, err := test.by.Token(t.Context(), test.token); (err == nil) != test.good {
			t.Errorf("%s: got %+v, %v, want the token accepted: %t", name, is, err, test.good)
		}
	}
	is, err := all.Token(t.Context(), sign(t, jwt.SigningMethodEdDSA, private, claims(session), with("theirs")))
	if err != nil || is.Session != (Session{}) {
		t.Errorf("a session claimed by another issuer: got %+v, %v, want no session", is, err)
	}
}

func TestRevokedTokensAreRefused(t *testing.T) {
	key, sessions := siteKey(t, "k"), NewSessions()
	a := newAuthenticator(t, Config{SiteKeys: []SiteKey{key}, Sessions: sessions})
	by := &Signer{Key: key, TTL: time.Hour}
	first, second := issue(t, by, 1), issue(t, by, 2)
	var ended []string
	var wait sync.WaitGroup
	var mu sync.Mutex
	for name, token := range map[string]string{"first": first, "second": second} {
		is, err := a.Token(t.Context(), token)
		must.Succeed(t, err)
		wait.Add(1)
		is.OnRevoked(func() {
			defer wait.Done()
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, name)
		})
		stop := is.OnRevoked(func() { t.Error("the callback was called after stop") })
		if !stop() || stop() {
			t.Error("stop called twice: want true, then false")
		}
	}
	refused := func(token string) bool { _, err := a.Token(t.Context(), token); return err != nil }

	sessions.Revoke(storage.Revocation{User: storage.User{Tenant: "acme", UserID: accountHolder.UserID}, Generation: 9, At: 1})
	if one, two := refused(first), refused(second); one || two {
		t.Errorf("after a revocation of another tenant: got the first token refused: %t, the second: %t, want neither", one, two)
	}
	sessions.Revoke(storage.Revocation{User: accountHolder, Generation: 2, At: 10})
	sessions.Revoke(storage.Revocation{User: accountHolder, Generation: 1, At: 9}) // an earlier revocation that arrives late
	if one, two := refused(first), refused(second); !one || two {
		t.Errorf("after a revocation of generation 2: got the first token refused: %t, the second: %t, want only the first", one, two)
	}
	sessions.Prune(10)
	if !refused(first) {
		t.Error("after Prune(10): got the first token accepted, want it still refused")
	}
	sessions.Revoke(storage.Revocation{User: accountHolder, Generation: 3, At: 20})
	wait.Wait()
	if !refused(second) || !slices.Equal(ended, []string{"first", "second"}) && !slices.Equal(ended, []string{"second", "first"}) {
		t.Errorf("got the ended streams %v, want first and second", ended)
	}
	is, done := Identity{User: accountHolder, Session: Session{Generation: 2}, sessions: sessions}, make(chan struct{})
	is.OnRevoked(func() { close(done) })
	<-done // immediately, because the session was revoked before
	sessions.Prune(21)
	if len(sessions.revoked) != 0 || len(sessions.watched) != 0 {
		t.Errorf("got %d revocations and %d watches left, want none", len(sessions.revoked), len(sessions.watched))
	}
}

func TestTheKeySetHoldsPublicKeysOnly(t *testing.T) {
	// The key and its thumbprint are those of RFC 8037, appendix A.
	rfc, err := NewSiteKey([]byte("\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4\x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60"))
	must.Succeed(t, err)
	if rfc.ID != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("got the thumbprint %s, want that of RFC 8037", rfc.ID)
	}
	w := httptest.NewRecorder()
	KeySet([]SiteKey{rfc}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/jwks.json", nil))
	const want = `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",` +
		`"kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k","use":"sig","alg":"EdDSA"}]}`
	if w.Body.String() != want {
		t.Errorf("got the key set %s, want %s", w.Body, want)
	}
	w = httptest.NewRecorder()
	KeySet(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/jwks.json", nil))
	var set map[string][]any
	if err := json.Unmarshal(w.Body.Bytes(), &set); err != nil || set["keys"] == nil || len(set["keys"]) != 0 {
		t.Errorf("without keys: got the key set %s, %v, want an empty list", w.Body, err)
	}
	if _, err := NewSiteKey([]byte("short")); err == nil {
		t.Error("NewSiteKey of 5 bytes: got no error, want one")
	}
}
