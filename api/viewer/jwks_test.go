package viewer

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/internal/testing/must"
)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func jwk(kid string, key crypto.PublicKey, more map[string]any) map[string]any {
	fields := map[string]any{"kid": kid}
	switch key := key.(type) {
	case *rsa.PublicKey:
		maps.Copy(fields, map[string]any{"kty": "RSA", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes())})
	case *ecdsa.PublicKey:
		point, _ := key.Bytes()
		maps.Copy(fields, map[string]any{"kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])})
	case ed25519.PublicKey:
		maps.Copy(fields, map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(key)})
	}
	maps.Copy(fields, more)
	return fields
}

func jwks(keys ...map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	return text
}

func jwksFile(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	must.Succeed(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestKeysAreNotConfused(t *testing.T) {
	public := &keys().rsa.PublicKey
	der, err := x509.MarshalPKIXPublicKey(public)
	must.Succeed(t, err)
	file := jwksFile(t, jwks(
		jwk("r", public, nil),
		jwk("e", &keys().ec.PublicKey, nil),
		jwk("enc", &keys().otherRSA.PublicKey, map[string]any{"use": "enc"}),
		map[string]any{"kty": "oct", "kid": "o", "k": b64(secret)},
		map[string]any{"kty": "unheard of", "kid": "u"},
	))
	onlyKeys := newAuthenticator(t, Config{JWKS: file, Audience: AnyAudience})
	both := newAuthenticator(t, Config{JWKS: file, Secret: secret, Audience: AnyAudience})
	hs, rs, es := jwt.SigningMethodHS256, jwt.SigningMethodRS256, jwt.SigningMethodES256
	tests := map[string]struct {
		token          string
		onlyKeys, both bool
	}{
		"RS256 by kid":                     {sign(t, rs, keys().rsa, claims(nil), map[string]any{"kid": "r"}), true, true},
		"RS256 without kid":                {sign(t, rs, keys().rsa, claims(nil), nil), true, true},
		"ES256 by kid":                     {sign(t, es, keys().ec, claims(nil), map[string]any{"kid": "e"}), true, true},
		"ES256 without kid":                {sign(t, es, keys().ec, claims(nil), nil), true, true},
		"HS256":                            {sign(t, hs, secret, claims(nil), nil), false, true},
		"HS256 with a symmetric JWK":       {sign(t, hs, secret, claims(nil), map[string]any{"kid": "o"}), false, true},
		"HS256 with the public key as DER": {sign(t, hs, der, claims(nil), map[string]any{"kid": "r"}), false, false},
		"HS256 with the public key as PEM": {
			sign(t, hs, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), claims(nil), map[string]any{"kid": "r"}), false, false,
		},
		"HS256 with the modulus":    {sign(t, hs, public.N.Bytes(), claims(nil), map[string]any{"kid": "r"}), false, false},
		"RS256 of another's key":    {sign(t, rs, keys().otherRSA, claims(nil), map[string]any{"kid": "r"}), false, false},
		"RS256 of a key to encrypt": {sign(t, rs, keys().otherRSA, claims(nil), map[string]any{"kid": "enc"}), false, false},
		"RS256 with the kid of EC":  {sign(t, rs, keys().rsa, claims(nil), map[string]any{"kid": "e"}), false, false},
		"RS384":                     {sign(t, jwt.SigningMethodRS384, keys().rsa, claims(nil), map[string]any{"kid": "r"}), false, false},
		"PS256":                     {sign(t, jwt.SigningMethodPS256, keys().rsa, claims(nil), map[string]any{"kid": "r"}), false, false},
		"unknown kid":               {sign(t, rs, keys().rsa, claims(nil), map[string]any{"kid": "x"}), false, false},
		"kid is a number":           {sign(t, rs, keys().rsa, claims(nil), map[string]any{"kid": 1}), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := onlyKeys.Token(t.Context(), test.token); (err == nil) != test.onlyKeys {
				t.Errorf("with the JWKS: got %v, want the token accepted: %t", err, test.onlyKeys)
			}
			if _, err := both.Token(t.Context(), test.token); (err == nil) != test.both {
				t.Errorf("with secret and JWKS: got %v, want the token accepted: %t", err, test.both)
			}
		})
	}
}

// endpoint serves a JWKS and counts the reads. The returned function set replaces the
// JWKS. If the JWKS is nil, reads fail.
func endpoint(t *testing.T, text []byte) (server *httptest.Server, set func([]byte), reads *atomic.Int64) {
	t.Helper()
	var current atomic.Pointer[[]byte]
	current.Store(&text)
	reads = new(atomic.Int64)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		text := *current.Load()
		if text == nil {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return server, func(text []byte) { current.Store(&text) }, reads
}

func TestAKeyThatIsNewIsFetched(t *testing.T) {
	server, set, reads := endpoint(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	a := newAuthenticator(t, Config{JWKS: server.URL, Audience: AnyAudience})
	a.tokens.keys.pause = 0
	first := sign(t, jwt.SigningMethodRS256, keys().rsa, claims(nil), map[string]any{"kid": "1"})
	second := sign(t, jwt.SigningMethodRS256, keys().otherRSA, claims(nil), map[string]any{"kid": "2"})
	good := func(token string) bool {
		_, err := a.Token(t.Context(), token)
		return err == nil
	}
	if one, two := good(first), good(second); !one || two {
		t.Errorf("before the rotation: got the first token accepted: %t, the second: %t, want only the first", one, two)
	}
	set(jwks(jwk("2", &keys().otherRSA.PublicKey, nil)))
	if two, one := good(second), good(first); !two || one {
		t.Errorf("after the rotation: got the first token accepted: %t, the second: %t, want only the second", one, two)
	}
	before := reads.Load()
	if two := good(second); !two || reads.Load() != before {
		t.Errorf("a token of a known key: got it accepted: %t, %d reads of the endpoint, want it accepted without one", two, reads.Load()-before)
	}
	set(nil)
	if one, two := good(first), good(second); one || !two || reads.Load() == before {
		t.Errorf("after the endpoint failed: got the first token accepted: %t, the second: %t, %d reads, want only the second, and a read", one, two, reads.Load()-before)
	}
}

func TestUnknownKeysDoNotFloodTheEndpoint(t *testing.T) {
	server, _, reads := endpoint(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	a := newAuthenticator(t, Config{JWKS: server.URL, Audience: AnyAudience})
	forged := sign(t, jwt.SigningMethodRS256, keys().otherRSA, claims(nil), map[string]any{"kid": "2"})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { _, _ = a.Token(t.Context(), forged) })
	}
	all.Wait()
	if got := reads.Load(); got != 1 {
		t.Errorf("50 tokens of unknown keys: got %d reads of the endpoint, want 1", got)
	}
}

func TestAFileIsReadAgainForANewKey(t *testing.T) {
	path := jwksFile(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	a := newAuthenticator(t, Config{JWKS: path, Audience: AnyAudience})
	a.tokens.keys.pause = 0
	must.Succeed(t, os.WriteFile(path, jwks(jwk("2", &keys().ec.PublicKey, map[string]any{"alg": "ES256", "use": "sig"})), 0o600))
	if _, err := a.Token(t.Context(), sign(t, jwt.SigningMethodES256, keys().ec, claims(nil), map[string]any{"kid": "2"})); err != nil {
		t.Error(err)
	}
}

// The keys of a set usually sign the tokens of several applications.
func TestTokensOfOtherApplicationsAreRefused(t *testing.T) {
	file := jwksFile(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	own := newAuthenticator(t, Config{JWKS: file, Audience: "ovation"})
	everybody := newAuthenticator(t, Config{JWKS: file, Audience: AnyAudience})
	for name, test := range map[string]struct {
		audience any
		own      bool
	}{
		"the audience":              {"ovation", true},
		"the audience among others": {[]string{"billing", "ovation"}, true},
		"another audience":          {"billing", false},
		"no audience":               {nil, false},
		"the audience any":          {"any", false},
		"a prefix of the audience":  {"ovat", false},
	} {
		token := sign(t, jwt.SigningMethodRS256, keys().rsa, claims(map[string]any{"aud": test.audience}), nil)
		if _, err := own.Token(t.Context(), token); (err == nil) != test.own {
			t.Errorf("%s: got %v, want the token accepted: %t", name, err, test.own)
		}
		if _, err := everybody.Token(t.Context(), token); err != nil {
			t.Errorf("%s, where any audience is accepted: got %v, want the token accepted", name, err)
		}
	}
}

func TestAKeyThatIsRemovedRevokesItsTokensOnly(t *testing.T) {
	first, second, third := jwk("1", &keys().rsa.PublicKey, nil), jwk("2", &keys().otherRSA.PublicKey, nil), jwk("3", &keys().ec.PublicKey, nil)
	server, set, _ := endpoint(t, jwks(first, second, third))
	a := newAuthenticator(t, Config{JWKS: server.URL, Secret: secret, Audience: AnyAudience})
	a.tokens.keys.pause = 0
	revoked := make(chan string, 10)
	identify := func(name string, method jwt.SigningMethod, key any, header map[string]any) func() bool {
		is, err := a.Token(t.Context(), sign(t, method, key, claims(nil), header))
		must.Succeed(t, err)
		return is.OnRevoked(func() { revoked <- name })
	}
	rs := jwt.SigningMethodRS256
	identify("first", rs, keys().rsa, map[string]any{"kid": "1"})
	identify("second", rs, keys().otherRSA, map[string]any{"kid": "2"})
	identify("second", rs, keys().otherRSA, nil) // the key is found by the signature
	identify("third", jwt.SigningMethodES256, keys().ec, map[string]any{"kid": "3"})
	identify("secret", jwt.SigningMethodHS256, secret, nil)
	if ended := identify("third, ended", jwt.SigningMethodES256, keys().ec, nil); !ended() {
		t.Error("ending the watch of a valid token: got false, want true")
	}
	wants := func(step string, names ...string) {
		t.Helper()
		for _, want := range names {
			if got := <-revoked; got != want {
				t.Errorf("%s: got %s revoked, want %s", step, got, want)
			}
		}
		if len(revoked) > 0 {
			t.Errorf("%s: got %s revoked too, want only %v", step, <-revoked, names)
		}
	}
	for _, step := range []struct {
		name string
		set  []byte
		want []string
	}{
		{"the same keys", jwks(third, second, first), nil},
		{"no answer", nil, nil},
		{"the first one removed", jwks(second, third), []string{"first"}},
		{"the second one replaced under its name", jwks(jwk("2", &keys().rsa.PublicKey, nil), third), []string{"second", "second"}},
		{"the third one for another algorithm", jwks(first, jwk("3", &keys().ec.PublicKey, map[string]any{"alg": "ES384"})), []string{"third"}},
	} {
		set(step.set)
		a.tokens.keys.refresh(t.Context())
		wants(step.name, step.want...)
	}
	is, err := a.Token(t.Context(), sign(t, rs, keys().rsa, claims(nil), map[string]any{"kid": "1"}))
	must.Succeed(t, err)
	set(jwks(second))
	a.tokens.keys.refresh(t.Context())
	is.OnRevoked(func() { revoked <- "late" }) // its key was removed during the request
	wants("afterwards", "late")
}

func TestKeyLookupHonoursItsContext(t *testing.T) {
	a := newAuthenticator(t, Config{JWKS: jwksFile(t, jwks(jwk("1", &keys().rsa.PublicKey, nil))), Audience: AnyAudience})
	a.tokens.keys.pause = 0
	reading, ended := make(chan struct{}), make(chan struct{})
	a.tokens.keys.read = func(ctx context.Context) ([]byte, error) { // a key set that hangs
		close(reading)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}
	unknown := sign(t, jwt.SigningMethodRS256, keys().otherRSA, claims(nil), map[string]any{"kid": "2"})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 { // one goroutine reads, and the others wait for it
		all.Go(func() {
			if _, err := a.Token(ctx, unknown); err == nil {
				t.Error("a token of an unknown key: got it accepted, want an error")
			}
		})
	}
	<-reading
	cancel()
	all.Wait()
	select {
	case <-ended:
		t.Error("the lookup returned after the key set was read, want it as soon as its context ended")
	default:
	}
}

// A client that disconnects ends only its own wait, and not the read. If the read ended,
// a new key would be unknown until the next read is allowed.
func TestCancelledLookupStillFetchesANewKey(t *testing.T) {
	server, set, reads := endpoint(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	a := newAuthenticator(t, Config{JWKS: server.URL, Audience: AnyAudience})
	a.tokens.keys.pause = 0
	read, reading, goOn := a.tokens.keys.read, make(chan struct{}), make(chan struct{})
	a.tokens.keys.read = func(ctx context.Context) ([]byte, error) {
		close(reading)
		<-goOn
		return read(ctx)
	}
	set(jwks(jwk("2", &keys().otherRSA.PublicKey, nil)))
	token := sign(t, jwt.SigningMethodRS256, keys().otherRSA, claims(nil), map[string]any{"kid": "2"})
	ctx, cancel := context.WithCancel(t.Context())
	var hungUp sync.WaitGroup
	hungUp.Go(func() { _, _ = a.Token(ctx, token) })
	<-reading
	cancel()
	hungUp.Wait()
	a.tokens.keys.pause = time.Hour // no second read
	close(goOn)
	if _, err := a.Token(t.Context(), token); err != nil || reads.Load() != 2 {
		t.Errorf("a token of a new key: got %v after %d reads, want it accepted after 2", err, reads.Load())
	}
}

// One invalid key does not make the others unusable. If a set without any valid key is
// read, the known keys stay in use.
func TestABrokenKeyLeavesTheOthers(t *testing.T) {
	good := jwk("1", &keys().rsa.PublicKey, nil)
	broken := jwk("2", &keys().ec.PublicKey, map[string]any{"x": b64([]byte("not on the curve"))})
	server, set, _ := endpoint(t, jwks(broken, good))
	a := newAuthenticator(t, Config{JWKS: server.URL, Audience: AnyAudience})
	a.tokens.keys.pause = 0
	token := sign(t, jwt.SigningMethodRS256, keys().rsa, claims(nil), map[string]any{"kid": "1"})
	for _, text := range [][]byte{jwks(broken, good), jwks(), jwks(broken)} {
		set(text)
		a.tokens.keys.refresh(t.Context())
		if _, err := a.Token(t.Context(), token); err != nil {
			t.Errorf("after %s: got %v, want the token accepted", text, err)
		}
	}
}
