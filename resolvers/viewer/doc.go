// Package viewer says who is asking. It turns the Authorization header of a
// request (or the token of a WebSocket) into a storage.User and carries that
// user in a context.
//
// # Invariants
//
//   - Never by mistake anonymous: a request that brings a token is that
//     token's user or refused; only one that brings none is anonymous.
//     TestATokenThatIsNotGoodIsRefused.
//   - Development headers are accepted only from this machine and through no
//     visible proxy: TestHeadersAreBelievedForDevelopmentOnly,
//     TestAProxyTurnsDevHeadersOff.
//   - A key is used with its own algorithm alone: HS256 with the secret, RS256
//     and ES256 with the keys of the JWKS. TestKeysAreNotConfused.
//   - Of the tokens that the keys of a JWKS sign, those of other applications are
//     refused, unless the configuration accepts any:
//     TestTokensOfOtherApplicationsAreRefused.
//   - A key that leaves the JWKS revokes its tokens and no others:
//     TestAKeyThatIsRemovedRevokesItsTokensOnly.
//   - What was verified before is believed no longer than it would be verified:
//     not after it has expired, not after the keys were read again, and it is
//     of this very token. TestAVerifiedTokenExpires,
//     TestKeysThatAreReadAgainVerifyAgain, TestVerifiedTokensAreBounded.
//   - A refusal tells the reason and no key, no part of the token:
//     TestATokenThatIsNotGoodIsRefused.
//
// This package imports storage and nothing else of this module.
package viewer

import (
	"context"

	"ovation/storage"
)

type contextKey struct{}

// With is ctx with user as its viewer.
func With(ctx context.Context, user storage.User) context.Context {
	return context.WithValue(ctx, contextKey{}, user)
}

// From is the viewer of ctx: the anonymous visitor of storage.DefaultTenant
// where there is none.
func From(ctx context.Context) storage.User {
	if user, ok := ctx.Value(contextKey{}).(storage.User); ok {
		return user
	}
	return storage.User{Tenant: storage.DefaultTenant}
}
