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
	// MinSecretBytes is the shortest secret: as long as the hash of HS256.
	MinSecretBytes = 32
	// MaxTokenBytes is the longest token.
	MaxTokenBytes = 8 << 10
)

// Config says whom to believe. With neither Secret nor JWKS every token is
// refused and visitors are anonymous.
type Config struct {
	// Secret verifies HS256 tokens: at least MinSecretBytes, or empty.
	Secret []byte
	// JWKS is the file or URL of a JSON Web Key Set that verifies RS256 and
	// ES256 tokens, or empty. A URL is https; http serves for loopback hosts.
	JWKS string
	// RefreshEvery is how often the JWKS is read again, and so how long after its
	// key has left the set a token is accepted at most. Zero: 10 minutes.
	RefreshEvery time.Duration
	// Issuer, where set, is what a token's "iss" must be.
	Issuer string
	// Audience, where set, is what a token's "aud" must be or contain. It is
	// required with a JWKS, whose keys also sign the tokens of other
	// applications; AnyAudience accepts those too.
	Audience string
	// DevHeaders is how to treat X-Ovation-User and X-Ovation-Tenant in requests
	// without a token.
	DevHeaders DevHeaders
	// Logger hears of a JWKS that cannot be read again. Nil: slog.Default().
	Logger *slog.Logger
}

// AnyAudience is the Audience that accepts every "aud", or none.
const AnyAudience = "any"

// Error says why a request is refused, in words for whoever sent it.
type Error struct {
	Reason string
}

func (e *Error) Error() string { return e.Reason }

func refuse(format string, args ...any) *Error {
	return &Error{Reason: fmt.Sprintf(format, args...)}
}

// Authenticator tells users by their tokens. It is safe for concurrent use.
type Authenticator struct {
	tokens     *verifier
	devHeaders DevHeaders
	log        *slog.Logger
	proxied    sync.Once // the log has been told
}

// New makes an Authenticator. It reads the JWKS once, under ctx, and fails
// where it cannot or where a value of cfg is out of bounds. Close ends it.
func New(ctx context.Context, cfg Config) (*Authenticator, error) {
	if n := len(cfg.Secret); n > 0 && n < MinSecretBytes {
		return nil, fmt.Errorf("the secret for tokens is %d bytes long; at least %d are needed", n, MinSecretBytes)
	}
	if cfg.JWKS != "" && cfg.Audience == "" {
		return nil, errors.New(`a JWKS needs an audience, or the tokens of every application that shares its keys would be accepted; "any" accepts them`)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.Default()
	}
	var keys *keySet
	if cfg.JWKS != "" {
		var err error
		if keys, err = newKeySet(ctx, cfg.JWKS, cmp.Or(cfg.RefreshEvery, jwksEvery), log); err != nil {
			return nil, err
		}
	}
	return &Authenticator{tokens: newVerifier(cfg, keys), devHeaders: cfg.DevHeaders, log: log}, nil
}

// Close ends what New has started and waits for it. It may be called twice
// and always returns nil.
func (a *Authenticator) Close() error {
	if a.tokens.keys != nil {
		a.tokens.keys.close()
	}
	return nil
}

// Identity is the user of a request and how long that holds.
type Identity struct {
	User storage.User
	// Until is when the credentials expire; zero: never.
	Until time.Time

	listed context.Context // of the key that signed the token; nil: no key of a set
}

// OnRevoked calls f, in a goroutine of its own, once the key set no longer holds
// the key that signed the token. Stop prevents that, and may be called twice.
func (i Identity) OnRevoked(f func()) (stop func() bool) {
	if i.listed == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(i.listed, f)
}

// Authenticate returns who sent a request: the user of its bearer token, or of
// its development headers, or the anonymous visitor of storage.DefaultTenant.
// Every error is an *Error.
func (a *Authenticator) Authenticate(r *http.Request) (Identity, error) {
	var distrust *Error
	if a.devHeaders != IgnoreDevHeaders && hasDevHeaders(r.Header) {
		distrust = a.Distrust(r)
	}
	return a.Credentials(r.Context(), r.Header, distrust)
}

// Credentials is Authenticate for headers that came by other means than a
// request, such as in connection_init. Distrust says why development headers
// among them are rejected; nil accepts them where the Authenticator does.
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
	case a.devHeaders == IgnoreDevHeaders || !hasDevHeaders(header):
		return Identity{User: storage.User{Tenant: storage.DefaultTenant}}, nil
	case distrust != nil:
		return Identity{}, distrust
	}
	user, err := fromDevHeaders(header)
	return Identity{User: user}, err
}

// Token returns the identity that a token proves, until leeway after it expires.
// Every error is an *Error.
func (a *Authenticator) Token(ctx context.Context, token string) (Identity, error) {
	return a.tokens.verify(ctx, token)
}

// reasonOf is what is wrong with a user, in words for whoever sent it.
func reasonOf(err error) string {
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
		return invalid.Error()
	}
	return "out of bounds"
}
