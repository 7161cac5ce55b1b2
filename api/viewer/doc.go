// Package viewer authenticates requests. It turns the Authorization header of a
// request, or the token of a WebSocket, into a storage.User and carries that user in a
// context.
//
// # Invariants
//
//   - A request never falls back to anonymous: a token either identifies its user or is
//     rejected, and only a request without a token is anonymous:
//     TestInvalidTokenIsRejected.
//   - Development headers are accepted only with LocalDevHeaders, from this machine, or
//     with TrustDevHeaders, from every client. They are rejected if there is evidence of
//     a proxy: TestHeadersAreAcceptedInDevelopmentOnly, TestAProxyTurnsDevHeadersOff.
//   - A key is used only with its own algorithm: HS256 with the secret; RS256, ES256 and
//     EdDSA with the keys of the JWKS; and EdDSA with the keys of the site:
//     TestKeysAreNotConfused, TestSiteKeysAreNotConfused.
//   - An account's revoked token is rejected and its streams end, even if its
//     verification is cached: TestRevokedTokensAreRefused.
//   - Tokens of other applications that are signed with the keys of the same JWKS are
//     rejected, unless the configuration accepts any audience:
//     TestTokensOfOtherApplicationsAreRefused.
//   - Removing a key from the JWKS revokes the tokens of that key and no others:
//     TestAKeyThatIsRemovedRevokesItsTokensOnly.
//   - A cached verification applies to one token. It ends when the token expires or when
//     the keys are read again: TestAVerifiedTokenExpires,
//     TestKeysThatAreReadAgainVerifyAgain, TestVerifiedTokensAreBounded.
//   - An error states the reason, without any key or part of the token:
//     TestInvalidTokenIsRejected.
//
// This package imports storage and no other package of this module.
package viewer

import (
	"context"
	"slices"
	"strings"

	"ovation/storage"
)

type contextKey struct{}

// contextValue is the identity in a context.
type contextValue struct {
	user    storage.User
	scope   string
	session Session
}

// NewContext returns a copy of ctx that has the identity's user as its viewer, with the
// scope and session of the token.
func (i Identity) NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, &contextValue{i.User, i.Scope, i.Session})
}

// Moderate is the scope that permits changing the comments of other users.
const Moderate = "moderate"

// WriteSubjects is the scope that permits declaring the authors of subjects.
const WriteSubjects = "subjects:write"

// WriteActions is the scope that permits recording the actions of other users.
const WriteActions = "actions:write"

// HasScope reports whether the viewer's token has the given scope.
func HasScope(ctx context.Context, scope string) bool {
	of := identityFrom(ctx)
	return of != nil && slices.Contains(strings.Fields(of.scope), scope)
}

// SessionFrom returns the session of the viewer's token, or the zero value if the token
// does not belong to an account.
func SessionFrom(ctx context.Context) Session {
	if of := identityFrom(ctx); of != nil {
		return of.session
	}
	return Session{}
}

// NewContext returns a copy of ctx with the given user as its viewer.
func NewContext(ctx context.Context, user storage.User) context.Context {
	return context.WithValue(ctx, contextKey{}, &contextValue{user: user})
}

// FromContext returns the viewer of ctx, or the anonymous user of storage.DefaultTenant
// if ctx has none.
func FromContext(ctx context.Context) storage.User {
	if of := identityFrom(ctx); of != nil {
		return of.user
	}
	return storage.User{Tenant: storage.DefaultTenant}
}

func identityFrom(ctx context.Context) *contextValue {
	of, _ := ctx.Value(contextKey{}).(*contextValue)
	return of
}
