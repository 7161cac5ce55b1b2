package viewer

import (
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/storage"
)

// SignOption adds a claim to a token.
type SignOption func(jwt.MapClaims)

// Issuer sets the claim "iss", or omits it if issuer is empty.
func Issuer(issuer string) SignOption { return claim("iss", issuer) }

// Audience sets the claim "aud", or omits it if audience is empty or AnyAudience.
func Audience(audience string) SignOption {
	if audience == AnyAudience {
		audience = ""
	}
	return claim("aud", audience)
}

// Scope sets the claim "scope", or omits it if scope is empty.
func Scope(scope string) SignOption { return claim("scope", scope) }

func claim(name, value string) SignOption {
	return func(claims jwt.MapClaims) {
		if value != "" {
			claims[name] = value
		}
	}
}

// Sign returns an HS256 token that is valid for ttl from now on. It returns an error if
// the secret is shorter than MinSecretBytes or ttl is less than a second, and an
// *storage.InvalidError if the user is anonymous or invalid.
func Sign(secret []byte, user storage.User, ttl time.Duration, options ...SignOption) (string, error) {
	if len(secret) < MinSecretBytes {
		return "", fmt.Errorf("the secret for tokens is %d bytes long; at least %d are needed", len(secret), MinSecretBytes)
	}
	claims, err := claimsOf(user, time.Now(), ttl, options...)
	if err != nil {
		return "", err
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(secret)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return token, nil
}

// claimsOf returns the claims for a user's token.
func claimsOf(user storage.User, now time.Time, ttl time.Duration, options ...SignOption) (jwt.MapClaims, error) {
	if err := storage.ValidateTenant(user.Tenant); err != nil {
		return nil, err
	}
	if err := storage.ValidateUserID(user.UserID); err != nil {
		return nil, err
	}
	if ttl < time.Second {
		return nil, fmt.Errorf("a token must be valid for at least a second, not %s", ttl)
	}
	claims := jwt.MapClaims{
		"sub":    user.UserID,
		"tenant": user.Tenant,
		"iat":    now.Unix(),
		"exp":    now.Add(ttl).Unix(),
	}
	for _, option := range options {
		option(claims)
	}
	return claims, nil
}
