package viewer

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/storage"
)

// SiteKey is an Ed25519 key with which the site signs the tokens of its own accounts.
type SiteKey struct {
	ID      string // the "kid": the thumbprint of RFC 7638
	private ed25519.PrivateKey
}

// NewSiteKey returns the key that is derived from a seed of 32 random bytes.
func NewSiteKey(seed []byte) (SiteKey, error) {
	if len(seed) != ed25519.SeedSize {
		return SiteKey{}, fmt.Errorf("the seed of a key is %d bytes long, not %d", len(seed), ed25519.SeedSize)
	}
	k := SiteKey{private: ed25519.NewKeyFromSeed(seed)}
	// The members must be in this order, without spaces: RFC 8037, appendix A.3.
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":"%s"}`, k.x()))
	k.ID = base64.RawURLEncoding.EncodeToString(sum[:])
	return k, nil
}

// String returns the id of the key, so that the private key cannot be logged.
func (k SiteKey) String() string { return "site key " + k.ID }

// GoString returns the same as String.
func (k SiteKey) GoString() string { return k.String() }

func (k SiteKey) public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) } //nolint:forcetypeassert // by its documentation

func (k SiteKey) x() string { return base64.RawURLEncoding.EncodeToString(k.public()) }

// KeySet returns a handler that serves the public keys as a JSON Web Key Set, for other
// services that verify the tokens of accounts.
func KeySet(keys []SiteKey) http.Handler {
	type jwk struct {
		KTY string `json:"kty"`
		CRV string `json:"crv"`
		X   string `json:"x"`
		KID string `json:"kid"`
		Use string `json:"use"`
		Alg string `json:"alg"`
	}
	set := struct {
		Keys []jwk `json:"keys"`
	}{[]jwk{}}
	for _, k := range keys {
		set.Keys = append(set.Keys, jwk{"OKP", "Ed25519", k.x(), k.ID, "sig", "EdDSA"})
	}
	text, err := json.Marshal(set)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err != nil { // impossible for texts
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/jwk-set+json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_, _ = w.Write(text)
	})
}

// Signer issues the tokens of accounts. It signs them with Secret by HS256 if there is
// one, and otherwise with Key by EdDSA.
type Signer struct {
	Secret   []byte
	Key      SiteKey
	Issuer   string
	Audience string
	// TTL is how long a token is valid. It must be at least a second.
	TTL time.Duration
}

// Issue returns a token for a user's session, and the time at which the token expires.
func (s *Signer) Issue(user storage.User, of Session) (token string, expires time.Time, err error) {
	method, key, kid := jwt.SigningMethod(jwt.SigningMethodEdDSA), any(s.Key.private), s.Key.ID
	if len(s.Secret) > 0 {
		method, key, kid = jwt.SigningMethodHS256, s.Secret, ""
	}
	now := time.Now()
	claims, err := claimsOf(user, now, s.TTL, Issuer(s.Issuer), Audience(s.Audience))
	if err != nil {
		return "", time.Time{}, err
	}
	claims[generationClaim], claims[loggedInClaim] = of.Generation, of.LoggedIn
	unsigned := jwt.NewWithClaims(method, claims)
	if kid != "" {
		unsigned.Header["kid"] = kid
	}
	if token, err = unsigned.SignedString(key); err != nil {
		return "", time.Time{}, fmt.Errorf("sign token: %w", err)
	}
	return token, time.Unix(now.Add(s.TTL).Unix(), 0).UTC(), nil
}

// The claims that hold a session. An account's token has both.
const (
	generationClaim = "ovation_generation"
	loggedInClaim   = "auth_time" // as in OpenID Connect
)

// sessionOf returns the session in the claims of a token that this site has signed, or
// the zero value if the token does not belong to an account.
func sessionOf(claims jwt.MapClaims) (Session, error) {
	given, has := claims[generationClaim]
	if !has {
		return Session{}, nil
	}
	generation, is := given.(float64)
	loggedIn, was := claims[loggedInClaim].(float64)
	if !is || !was || generation < 1 {
		return Session{}, refuse("the token's %q or %q is not a number", generationClaim, loggedInClaim)
	}
	return Session{int64(generation), int64(loggedIn)}, nil
}
