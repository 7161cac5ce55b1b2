package viewer

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/storage"
)

// leeway is the permitted clock skew between the issuer of tokens and this process.
const leeway = 30 * time.Second

// verifier checks tokens.
type verifier struct {
	secret     []byte
	site       map[string]ed25519.PublicKey // by "kid"
	sessions   *Sessions
	keys       *keySet // nil if there is none
	algorithms []string
	issuer     string // empty if any is accepted
	audience   string // empty if any is accepted
	parser     *jwt.Parser
	verified   *verified
}

func newVerifier(cfg Config, keys *keySet) *verifier {
	v := &verifier{
		secret: cfg.Secret, site: make(map[string]ed25519.PublicKey, len(cfg.SiteKeys)), sessions: cfg.Sessions,
		keys: keys, issuer: cfg.Issuer, verified: newVerified(maxVerified),
	}
	for _, key := range cfg.SiteKeys {
		v.site[key.ID] = key.public()
	}
	if cfg.Audience != AnyAudience {
		v.audience = cfg.Audience
	}
	if len(cfg.Secret) > 0 {
		v.algorithms = append(v.algorithms, "HS256")
	}
	if keys != nil {
		v.algorithms = append(v.algorithms, "RS256", "ES256")
	}
	if keys != nil || len(v.site) > 0 {
		v.algorithms = append(v.algorithms, "EdDSA")
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(v.algorithms),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway),
	}
	if cfg.Issuer != "" {
		options = append(options, jwt.WithIssuer(cfg.Issuer))
	}
	if v.audience != "" {
		options = append(options, jwt.WithAudience(v.audience))
	}
	v.parser = jwt.NewParser(options...)
	return v
}

func (v *verifier) verify(ctx context.Context, text string) (Identity, error) {
	if len(v.algorithms) == 0 {
		return Identity{}, refuse("no token is accepted here: the server has neither a secret nor a JWKS to verify it with")
	}
	if len(text) > MaxTokenBytes {
		return Identity{}, refuse("the token is %d bytes long; at most %d are allowed", len(text), MaxTokenBytes)
	}
	sum, before := sha256.Sum256([]byte(text)), v.keys.current()
	is, known := v.verified.find(sum, before)
	if !known {
		var err error
		if is, err = v.check(ctx, text); err != nil {
			return Identity{}, err
		}
		v.verified.add(sum, is, before, v.keys.current())
	}
	if is.sessions != nil && !is.sessions.active(is.User, is.Session.Generation) {
		return Identity{}, refuse("the token was revoked: its user has logged out everywhere, or changed the password")
	}
	return is, nil
}

// check verifies a token without using the cache.
func (v *verifier) check(ctx context.Context, text string) (Identity, error) {
	// Claims are read from a map by their exact names. A struct would accept "Tenant"
	// for "tenant".
	claims := jwt.MapClaims{}
	var candidates []publicKey // of the key set
	token, err := v.parser.ParseWithClaims(text, claims, func(token *jwt.Token) (key any, err error) {
		key, candidates, err = v.key(ctx, token)
		return key, err
	})
	if err != nil {
		return Identity{}, v.explain(token, claims, err)
	}
	user, err := userOf(claims)
	if err != nil {
		return Identity{}, err
	}
	expiry, err := claims.GetExpirationTime()
	if err != nil {
		return Identity{}, refuse(`the token's "exp" is not a time`)
	}
	scope, err := scopeOf(claims)
	if err != nil {
		return Identity{}, err
	}
	out := Identity{User: user, Scope: scope, Until: expiry.Add(leeway), keyRemoved: signer(token, candidates)}
	if len(candidates) > 0 { // signed by another issuer, which manages its own sessions
		return out, nil
	}
	if out.Session, err = sessionOf(claims); err != nil || out.Session.Generation == 0 {
		return out, err
	}
	if out.sessions = v.sessions; out.sessions == nil {
		return Identity{}, refuse("the token is of an account of this site, and accounts are off (--accounts)")
	}
	return out, nil
}

// key returns the key or keys that may verify a token, by the token's algorithm and
// "kid". If the keys are from the key set, key also returns their entries in the set. The
// parser has checked that the algorithm is one of v.algorithms.
func (v *verifier) key(ctx context.Context, token *jwt.Token) (any, []publicKey, error) {
	if _, has := token.Header["crit"]; has {
		return nil, nil, refuse(`the token's header has a "crit" that is not understood`)
	}
	if token.Method.Alg() == "HS256" {
		return v.secret, nil, nil
	}
	kid, isText := token.Header["kid"].(string)
	if _, has := token.Header["kid"]; has && !isText {
		return nil, nil, refuse(`the token's "kid" is not a string`)
	}
	if key, own := v.site[kid]; own && token.Method.Alg() == "EdDSA" {
		return key, nil, nil
	}
	if v.keys == nil {
		return nil, nil, refuse("the token is signed with a key that is not this site's")
	}
	found := v.keys.find(ctx, kid, token.Method.Alg())
	if len(found) == 0 {
		return nil, nil, refuse("the token is signed with a key that is not in the JWKS")
	}
	var keys jwt.VerificationKeySet
	for _, candidate := range found {
		keys.Keys = append(keys.Keys, candidate.key)
	}
	return keys, found, nil
}

// signer finds the key that signed a verified token, and returns the context that ends
// once that key is removed from the key set. It returns nil if there are no candidates.
func signer(token *jwt.Token, candidates []publicKey) context.Context {
	for i, candidate := range candidates {
		signed := token.Raw[:max(strings.LastIndexByte(token.Raw, '.'), 0)]
		if i == len(candidates)-1 || token.Method.Verify(signed, token.Signature, candidate.key) == nil {
			return candidate.removed
		}
	}
	return nil
}

// explain returns an error that states why a token is invalid. The error quotes only the
// times of the token and its algorithm, which is truncated.
func (v *verifier) explain(token *jwt.Token, claims jwt.MapClaims, err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if token != nil && token.Header != nil {
		alg, _ := token.Header["alg"].(string)
		if !slices.Contains(v.algorithms, alg) {
			return refuse("the token's algorithm is %.20q; accepted here: %s", alg, strings.Join(v.algorithms, ", "))
		}
	}
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return refuse("the token is not a JSON Web Token")
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return refuse("the token's signature does not match")
	case errors.Is(err, jwt.ErrInvalidType):
		return refuse(`one of the token's "exp", "nbf", "iat", "iss" and "aud" is of the wrong type`)
	case errors.Is(err, jwt.ErrTokenExpired):
		return refuse("the token expired%s", at(claims.GetExpirationTime()))
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return refuse("the token is not valid yet, only from its \"nbf\" on%s", at(claims.GetNotBefore()))
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return refuse("the token's \"iat\" lies in the future%s", at(claims.GetIssuedAt()))
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return refuse(`the token's "iss" is not the issuer accepted here`)
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return refuse(`the token's "aud" is not the audience accepted here`)
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return refuse("the token has no %s", v.missing(claims))
	}
	return refuse("the token cannot be verified")
}

func at(t *jwt.NumericDate, err error) string {
	if t == nil || err != nil || t.Year() < 1 || t.Year() > 9999 {
		return ""
	}
	return " at " + t.UTC().Format(time.RFC3339)
}

// missing returns the name of the first required claim that a token does not have.
func (v *verifier) missing(claims jwt.MapClaims) string {
	switch {
	case !hasValue(claims["exp"]):
		return `"exp"`
	case v.issuer != "" && !hasValue(claims["iss"]):
		return `"iss"`
	case v.audience != "" && !hasValue(claims["aud"]):
		return `"aud"`
	}
	return "claim of those that are required here"
}

// hasValue reports whether a claim has a value. An "exp" of 0 counts as no value.
func hasValue(claim any) bool { return claim != nil && claim != "" && claim != float64(0) }

func userOf(claims jwt.MapClaims) (storage.User, error) {
	user := storage.User{Tenant: storage.DefaultTenant}
	sub, has := claims["sub"]
	if !has || sub == "" {
		return storage.User{}, refuse(`the token has no "sub"`)
	}
	var isText bool
	if user.UserID, isText = sub.(string); !isText {
		return storage.User{}, refuse(`the token's "sub" is not a string`)
	}
	if tenant, has := claims["tenant"]; has {
		if user.Tenant, isText = tenant.(string); !isText {
			return storage.User{}, refuse(`the token's "tenant" is not a string`)
		}
	}
	if err := user.Validate(); err != nil {
		return storage.User{}, refuse(`the token's "sub" or "tenant" is out of bounds: %s`, reasonOf(err))
	}
	return user, nil
}

// scopeOf returns the scope of a token (RFC 8693): a string of names separated by spaces.
func scopeOf(claims jwt.MapClaims) (string, error) {
	scope, has := claims["scope"]
	text, isText := scope.(string)
	if has && !isText {
		return "", refuse(`the token's "scope" is not a string`)
	}
	return text, nil
}

// usable reports whether a public key can be used with the given algorithm.
func usable(key any, algorithm string) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return algorithm == "RS256" && key.Size() >= 256
	case *ecdsa.PublicKey:
		return algorithm == "ES256" && key.Curve.Params().BitSize == 256
	case ed25519.PublicKey:
		return algorithm == "EdDSA" && len(key) == ed25519.PublicKeySize
	}
	return false
}
