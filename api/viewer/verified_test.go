package viewer

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// cachedCount returns the number of cached verifications.
func (v *verified) cachedCount() int { return v.known.Len() }

func TestAVerifiedTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthenticator(t, Config{Secret: secret})
		token := sign(t, jwt.SigningMethodHS256, secret, claims(map[string]any{"exp": time.Now().Add(time.Minute).Unix()}), nil)
		for _, step := range []struct {
			after time.Duration
			good  bool
		}{{0, true}, {time.Minute, true}, {leeway - time.Second, true}, {time.Second, false}, {time.Hour, false}} {
			time.Sleep(step.after)
			is, err := a.Token(t.Context(), token)
			if (err == nil) != step.good || step.good && is.User.UserID != "alice" || step.good && !time.Now().Before(is.Until) {
				t.Errorf("%v later: got %v, %v, want the token accepted: %t", step.after, is, err, step.good)
			}
			if !step.good && (err == nil || !strings.Contains(err.Error(), "expired at ")) {
				t.Errorf("%v later: got %v, want an error with \"expired at \"", step.after, err)
			}
			if a.tokens.verified.cachedCount() != 1 {
				t.Errorf("got %d cached tokens, want 1: the test proves nothing", a.tokens.verified.cachedCount())
			}
		}
	})
}

func TestAVerifiedTokenIsNotVerifiedAgain(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret})
	token := sign(t, jwt.SigningMethodHS256, secret, claims(map[string]any{"tenant": "acme"}), nil)
	first, err := a.Token(t.Context(), token)
	must.Succeed(t, err)
	a.tokens.secret = []byte("another secret, also long enough 01234") // a new verification would fail
	if again, err := a.Token(t.Context(), token); err != nil || again != first {
		t.Errorf("the token again: got %v, %v, want the cached %v", again, err, first)
	}
}

func TestRejectedTokensAreNotCached(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret})
	good := sign(t, jwt.SigningMethodHS256, secret, claims(nil), nil)
	for _, token := range []string{
		good[:len(good)-3], good + "A", "words", strings.Repeat("a", MaxTokenBytes+1),
		sign(t, jwt.SigningMethodHS256, secret, claims(map[string]any{"sub": nil}), nil),
		sign(t, jwt.SigningMethodHS256, []byte("another secret, also long enough 01234"), claims(nil), nil),
	} {
		for range 2 {
			if _, err := a.Token(t.Context(), token); err == nil {
				t.Errorf("%.40s: got it accepted, want an error", token)
			}
		}
	}
	if n := a.tokens.verified.cachedCount(); n != 0 {
		t.Errorf("got %d rejected tokens cached, want none", n)
	}
	if _, err := a.Token(t.Context(), good); err != nil {
		t.Error(err)
	}
	for _, token := range []string{good[:len(good)-1], good + "A", strings.ToUpper(good)} {
		if _, err := a.Token(t.Context(), token); err == nil {
			t.Errorf("%s, with the good one cached: got it accepted, want an error", token)
		}
	}
}

func TestKeysThatAreReadAgainVerifyAgain(t *testing.T) {
	server, set, _ := endpoint(t, jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	a := newAuthenticator(t, Config{JWKS: server.URL, Secret: secret, Audience: AnyAudience})
	a.tokens.keys.pause = 0
	first := sign(t, jwt.SigningMethodRS256, keys().rsa, claims(nil), map[string]any{"kid": "1"})
	second := sign(t, jwt.SigningMethodRS256, keys().otherRSA, claims(nil), map[string]any{"kid": "2"})
	good := func(token string) bool {
		_, err := a.Token(t.Context(), token)
		return err == nil
	}
	if one := good(first); !one || a.tokens.verified.cachedCount() != 1 {
		t.Errorf("before the rotation: got the first token accepted: %t, %d cached, want it accepted and 1 cached", one, a.tokens.verified.cachedCount())
	}
	set(jwks(jwk("2", &keys().otherRSA.PublicKey, nil)))
	if !good(first) {
		t.Error("before the keys are read again: got the first token refused, want it accepted")
	}
	a.tokens.keys.refresh(t.Context())
	if one, two := good(first), good(second); one || !two {
		t.Errorf("after the rotation: got the first token accepted: %t, the second: %t, want only the second", one, two)
	}
	if n := a.tokens.verified.cachedCount(); n != 1 {
		t.Errorf("%d tokens are cached, want only the second", n)
	}
	set(jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	if !good(first) { // the key is fetched during its verification
		t.Error("after its key is restored: got the first token refused, want it accepted")
	}
	if _, known := a.tokens.verified.find(sha256.Sum256([]byte(first)), a.tokens.keys.current()); known {
		t.Error("a token verified while the keys changed: got it cached, want it not cached")
	}
}

func TestVerifiedTokensAreBounded(t *testing.T) {
	v := newVerified(10)
	key := func(i int) [sha256.Size]byte { return sha256.Sum256([]byte(strconv.Itoa(i))) }
	until := time.Now().Add(time.Hour)
	for i := range 100 {
		v.add(key(i), Identity{User: storage.User{UserID: strconv.Itoa(i)}, Until: until}, nil, nil)
		if _, known := v.find(key(0), nil); !known { // it is looked up all the time
			t.Fatalf("after %d more tokens: got the first evicted, want it cached", i)
		}
		if v.cachedCount() > 10 {
			t.Fatalf("got %d tokens held, want at most 10", v.cachedCount())
		}
		if is, known := v.find(key(i), nil); !known || is.User.UserID != strconv.Itoa(i) {
			t.Fatalf("the latest token: got %v, known %t, want user %d", is, known, i)
		}
	}
	if _, known := v.find(key(50), nil); known {
		t.Error("an unused token: got it cached, want it evicted")
	}
}
