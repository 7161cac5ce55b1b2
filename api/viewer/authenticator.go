package viewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"ovation/storage"
)

const (
	// MinSecretBytes is the minimum length of a secret: the length of the hash of HS256.
	MinSecretBytes = 32
	// MaxTokenBytes is the maximum length of a token.
	MaxTokenBytes = 8 << 10
)

// Config configures an Authenticator. Without Secret, SiteKeys and JWKS, all tokens are
// rejected and all requests are anonymous.
type Config struct {
	// Secret verifies HS256 tokens. It is empty or at least MinSecretBytes long.
	Secret []byte
	// SiteKeys verify the EdDSA tokens of the site's own accounts.
	SiteKeys []SiteKey
	// Sessions holds the revocations of account tokens. If it is nil, account tokens are
	// rejected.
	Sessions *Sessions
	// JWKS is the file or URL of a JSON Web Key Set that verifies RS256, ES256 and
	// EdDSA tokens, or empty. A URL must be https; http is allowed for loopback hosts.
	JWKS string
	// RefreshEvery is the interval at which the JWKS is read. After a key has been
	// removed, its tokens are accepted for up to this time, and for longer while reads
	// fail. The default is 10 minutes.
	RefreshEvery time.Duration
	// Issuer, if set, is the required "iss" of tokens.
	Issuer string
	// Audience, if set, must be equal to or contained in the "aud" of tokens. It is
	// required with a JWKS, because the keys of a JWKS usually sign tokens for other
	// applications, too. AnyAudience accepts the tokens of all applications.
	Audience string
	// DevHeaders is the policy for X-Ovation-User and X-Ovation-Tenant in requests
	// without a token.
	DevHeaders DevHeaders
	// Logger logs each failure to reload the JWKS, and the first request whose
	// development headers are rejected because it came through a proxy. If it is nil,
	// slog.Default() is used.
	Logger *slog.Logger
}

// AnyAudience is the Audience that accepts tokens with any "aud", or without one.
const AnyAudience = "any"

// Error is the reason why a request is rejected, as shown to the client.
type Error struct {
	Reason string
}

func (e *Error) Error() string { return e.Reason }

func refuse(format string, args ...any) *Error {
	return &Error{Reason: fmt.Sprintf(format, args...)}
}

// Authenticator authenticates users by their tokens. It is safe for concurrent use.
type Authenticator struct {
	tokens      *verifier
	devHeaders  DevHeaders
	log         *slog.Logger
	warnOfProxy sync.Once // only the first proxy is logged
}

// New returns an Authenticator. It reads the JWKS once, under ctx, and returns an error
// if that fails or cfg is invalid. The caller must close the Authenticator.
func New(ctx context.Context, cfg Config) (*Authenticator, error) {
	if n := len(cfg.Secret); n > 0 && n < MinSecretBytes {
		return nil, fmt.Errorf("the secret for tokens is %d bytes long; at least %d are needed", n, MinSecretBytes)
	}
	if cfg.JWKS != "" && cfg.Audience == "" {
		return nil, errors.New(`a JWKS needs an audience, or the tokens of every application that shares its keys would be accepted; "any" accepts them`)
	}
	log := cmp.Or(cfg.Logger, slog.Default())
	var keys *keySet
	if cfg.JWKS != "" {
		var err error
		if keys, err = newKeySet(ctx, cfg.JWKS, cmp.Or(cfg.RefreshEvery, jwksEvery), log); err != nil {
			return nil, err
		}
	}
	return &Authenticator{tokens: newVerifier(cfg, keys), devHeaders: cfg.DevHeaders, log: log}, nil
}

// Close ends the goroutines that New has started and waits for them. It may be called
// twice and always returns nil.
func (a *Authenticator) Close() error {
	if a.tokens.keys != nil {
		a.tokens.keys.close()
	}
	return nil
}

// Identity is the user of a request, with the validity of the credentials.
type Identity struct {
	User storage.User
	// Scope is the scope of the token: names of permissions, separated by spaces.
	Scope string
	// Until is when the credentials expire, or zero if they do not.
	Until time.Time

	// Session is the session of an account, or zero if the token does not belong to an
	// account.
	Session Session

	sessions   *Sessions       // nil unless the token belongs to an account
	keyRemoved context.Context // done once the token's key is removed; nil unless the key is from the key set
}

// OnRevoked calls f, in a goroutine of its own, once the token's key is removed from the
// key set or the token's session is revoked. The returned function stop prevents the call
// of f; it may be called twice.
func (i Identity) OnRevoked(f func()) (stop func() bool) {
	switch {
	case i.sessions != nil:
		return i.sessions.watch(i.User, i.Session.Generation, f)
	case i.keyRemoved == nil:
		return func() bool { return true }
	}
	return context.AfterFunc(i.keyRemoved, f)
}

// Authenticate returns the identity of a request: the user of its bearer token or of
// its development headers, or the anonymous user of storage.DefaultTenant. Every error
// is an *Error.
func (a *Authenticator) Authenticate(r *http.Request) (Identity, error) {
	var distrust *Error
	if a.devHeaders != IgnoreDevHeaders && HasDevHeaders(r.Header) {
		distrust = a.Distrust(r)
	}
	return a.Credentials(r.Context(), r.Header, distrust)
}

// Credentials is like Authenticate, but takes only headers, such as those in
// connection_init. The parameter distrust is the reason why development headers are
// rejected. If it is nil, the headers are accepted, unless the Authenticator ignores
// them.
func (a *Authenticator) Credentials(ctx context.Context, header http.Header, distrust *Error) (Identity, error) {
	tokens := header.Values("Authorization")
	switch {
	case len(tokens) > 1:
		return Identity{}, refuse("there is more than one Authorization header")
	case len(tokens) == 1:
		scheme, token, _ := strings.Cut(tokens[0], " ")
		token = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return Identity{}, refuse(`the Authorization header must be "Bearer" and a token`)
		}
		return a.Token(ctx, token)
	case a.devHeaders == IgnoreDevHeaders || !HasDevHeaders(header):
		return Identity{User: storage.User{Tenant: storage.DefaultTenant}}, nil
	case distrust != nil:
		return Identity{}, distrust
	}
	user, err := fromDevHeaders(header)
	return Identity{User: user}, err
}

// Token returns the identity that a token states. A token is accepted for up to leeway
// after it expires. Every error is an *Error.
func (a *Authenticator) Token(ctx context.Context, token string) (Identity, error) {
	return a.tokens.verify(ctx, token)
}

// reasonOf returns the reason why a user is invalid, as shown to the client.
func reasonOf(err error) string {
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
		return invalid.Error()
	}
	return "out of bounds"
}
