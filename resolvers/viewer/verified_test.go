package viewer

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/storage"
)

// held returns the number of cached verifications.
func (v *verified) held() int { return v.known.Len() }

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
				t.Errorf("%v later: %v, %v", step.after, is, err)
			}
			if !step.good && (err == nil || !strings.Contains(err.Error(), "expired at ")) {
				t.Errorf("%v later: %v", step.after, err)
			}
			if a.tokens.verified.held() != 1 {
				t.Error("the token was not cached: the test proves nothing")
			}
		}
	})
}

func TestAVerifiedTokenIsNotVerifiedAgain(t *testing.T) {
	a := newAuthenticator(t, Config{Secret: secret})
	token := sign(t, jwt.SigningMethodHS256, secret, claims(map[string]any{"tenant": "acme"}), nil)
	first, err := a.Token(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	a.tokens.secret = []byte("another secret, also long enough 01234") // a new verification would fail
	if again, err := a.Token(t.Context(), token); err != nil || again != first {
		t.Errorf("%v, before %v; %v", again, first, err)
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
				t.Errorf("%.40s passes", token)
			}
		}
	}
	if n := a.tokens.verified.held(); n != 0 {
		t.Errorf("%d tokens are cached", n)
	}
	if _, err := a.Token(t.Context(), good); err != nil {
		t.Error(err)
	}
	for _, token := range []string{good[:len(good)-1], good + "A", strings.ToUpper(good)} {
		if _, err := a.Token(t.Context(), token); err == nil {
			t.Errorf("%s passes beside the good one", token)
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
	if !good(first) || a.tokens.verified.held() != 1 {
		t.Error("the first token is rejected before the rotation")
	}
	set(jwks(jwk("2", &keys().otherRSA.PublicKey, nil)))
	if !good(first) {
		t.Error("the first token is rejected before the keys are read again")
	}
	a.tokens.keys.refresh(t.Context())
	if good(first) || !good(second) {
		t.Error("after the rotation the first token is accepted or the second is rejected")
	}
	if n := a.tokens.verified.held(); n != 1 {
		t.Errorf("%d tokens are cached, want only the second", n)
	}
	set(jwks(jwk("1", &keys().rsa.PublicKey, nil)))
	if !good(first) { // the key is fetched during its verification
		t.Error("the first token is rejected after its key is restored")
	}
	if _, known := a.tokens.verified.find(sha256.Sum256([]byte(first)), a.tokens.keys.current()); known {
		t.Error("a token verified while keys changed is cached")
	}
}

func TestVerifiedTokensAreBounded(t *testing.T) {
	v := newVerified(10)
	key := func(i int) [sha256.Size]byte { return sha256.Sum256([]byte(strconv.Itoa(i))) }
	until := time.Now().Add(time.Hour)
	for i := range 100 {
		v.add(key(i), Identity{User: storage.User{UserID: strconv.Itoa(i)}, Until: until}, nil, nil)
		if _, known := v.find(key(0), nil); !known { // it is looked up all the time
			t.Fatalf("after %d more tokens the first is evicted", i)
		}
		if v.held() > 10 {
			t.Fatalf("%d are held", v.held())
		}
		if is, known := v.find(key(i), nil); !known || is.User.UserID != strconv.Itoa(i) {
			t.Fatalf("the last one is %v, %t", is, known)
		}
	}
	if _, known := v.find(key(50), nil); known {
		t.Error("an unused token is not evicted")
	}
}
