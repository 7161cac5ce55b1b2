package viewer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
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
	// Issuer, where set, is what a token's "iss" must be.
	Issuer string
	// Audience, where set, is what a token's "aud" must be or contain.
	Audience string
	// DevHeaders says what to make of X-Ovation-User and X-Ovation-Tenant
	// where there is no token.
	DevHeaders DevHeaders
	// Logger hears of a JWKS that cannot be read again. Nil: slog.Default().
	Logger *slog.Logger
}

// DevHeaders is what to make of the headers that name a user without proof.
type DevHeaders int

const (
	// IgnoreDevHeaders is for production.
	IgnoreDevHeaders DevHeaders = iota
	// RefuseDevHeaders refuses requests that bring them, for developers who
	// would wonder why they are nobody.
	RefuseDevHeaders
	// LocalDevHeaders believes them where the request was sent to this machine
	// by one of its own names. Nobody else must be able to connect; that the
	// names are checked keeps web pages out whose host name was made to point
	// here (DNS rebinding).
	LocalDevHeaders
	// BelieveDevHeaders believes them whoever sends them.
	BelieveDevHeaders
)

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
}

// New makes an Authenticator. It reads the JWKS once, under ctx, and fails
// where it cannot or where a value of cfg is out of bounds. Close ends it.
func New(ctx context.Context, cfg Config) (*Authenticator, error) {
	if n := len(cfg.Secret); n > 0 && n < MinSecretBytes {
		return nil, fmt.Errorf("the secret for tokens is %d bytes long; at least %d are needed", n, MinSecretBytes)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.Default()
	}
	var keys *keySet
	if cfg.JWKS != "" {
		var err error
		if keys, err = newKeySet(ctx, cfg.JWKS, log); err != nil {
			return nil, err
		}
	}
	return &Authenticator{tokens: newVerifier(cfg, keys), devHeaders: cfg.DevHeaders}, nil
}

// Close ends what New has started and waits for it. It may be called twice
// and always returns nil.
func (a *Authenticator) Close() error {
	if a.tokens.keys != nil {
		a.tokens.keys.close()
	}
	return nil
}

// Authenticate returns the user of a request and until when that is believed,
// the zero time being for ever: that of its bearer token, or with DevHeaders
// the one its headers name, or the anonymous visitor of storage.DefaultTenant.
// Every error is an *Error.
func (a *Authenticator) Authenticate(r *http.Request) (storage.User, time.Time, error) {
	header := r.Header.Values("Authorization")
	switch {
	case len(header) > 1:
		return storage.User{}, time.Time{}, refuse("there is more than one Authorization header")
	case len(header) == 1:
		scheme, token, _ := strings.Cut(header[0], " ")
		token = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return storage.User{}, time.Time{}, refuse(`the Authorization header must be "Bearer" and a token`)
		}
		return a.Token(r.Context(), token)
	case a.devHeaders != IgnoreDevHeaders && (r.Header.Get(userHeader) != "" || r.Header.Get(tenantHeader) != ""):
		user, err := a.fromDevHeaders(r)
		return user, time.Time{}, err
	}
	return storage.User{Tenant: storage.DefaultTenant}, time.Time{}, nil
}

// The headers that name a user without proof.
const (
	userHeader   = "X-Ovation-User"
	tenantHeader = "X-Ovation-Tenant"
)

// Token returns the user of a token and from when on it would be refused:
// leeway after it expires. Every error is an *Error.
func (a *Authenticator) Token(ctx context.Context, token string) (storage.User, time.Time, error) {
	return a.tokens.verify(ctx, token)
}

func (a *Authenticator) fromDevHeaders(r *http.Request) (storage.User, error) {
	switch {
	case a.devHeaders == RefuseDevHeaders:
		return storage.User{}, refuse("X-Ovation-User is believed by ovation dev alone, and only where no other machine can connect: send a bearer token (Authorization: Bearer …)")
	case a.devHeaders == LocalDevHeaders && !local(r.Host):
		return storage.User{}, refuse("X-Ovation-User is believed only from this machine, at localhost or 127.0.0.1: send a token")
	}
	user := storage.User{Tenant: storage.DefaultTenant}
	for name, field := range map[string]*string{userHeader: &user.UserID, tenantHeader: &user.Tenant} {
		switch values := r.Header.Values(name); {
		case len(values) > 1:
			return storage.User{}, refuse("there is more than one %s header", name)
		case len(values) == 1 && values[0] != "":
			*field = values[0]
		}
	}
	if err := user.Validate(); err != nil {
		return storage.User{}, refuse("the X-Ovation headers name nobody: %s", reasonOf(err))
	}
	return user, nil
}

// local reports whether a Host header names this machine by itself.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// reasonOf is what is wrong with a user, in words for whoever sent it.
func reasonOf(err error) string {
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
		return invalid.Error()
	}
	return "out of bounds"
}
