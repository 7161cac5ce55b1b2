package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/internal/outage"
	"ovation/storage"
)

// Errors that a Service returns, in addition to ErrBusy and the errors of package
// storage.
var (
	// ErrWrongCredentials means that there is no such account, or that the password is
	// wrong.
	ErrWrongCredentials = errors.New("the name or the password is wrong")
	// ErrWrongPassword means that the current password, given to confirm a change, is
	// wrong.
	ErrWrongPassword = errors.New("the current password is wrong")
	// ErrNoAccount means that the viewer has no account on this site.
	ErrNoAccount = errors.New("the viewer has no account")
	// ErrSessionOver means that the user has to log in again.
	ErrSessionOver = errors.New("the session has ended")
)

// LimitedError is returned after too many attempts.
type LimitedError struct {
	Wait time.Duration // time until the next attempt is allowed
}

func (e *LimitedError) Error() string { return "too many attempts" }

// MaxTokenTTL is the longest Signer.TTL. Revocations are kept for so long, because tokens
// of earlier processes, whose TTL was longer, may still be in use.
const MaxTokenTTL = MaxSession

// MaxSession is the time after a login during which the session can be refreshed.
const MaxSession = 30 * 24 * time.Hour

// Config configures a Service. Store, Signer and Sessions are required.
type Config struct {
	Store storage.Accounts
	// Signer issues the tokens. Its TTL is at most MaxTokenTTL.
	Signer *viewer.Signer
	// Sessions receives revocations. It must be the Sessions of the authenticator.
	Sessions *viewer.Sessions
	// AttemptsPerAddress is the number of registrations and failed logins that an address
	// may make without waiting. After that, the address may make one more every 10 s. Larger
	// IPv6 networks have the shares that rate.Networks states. If AttemptsPerAddress is 0,
	// there is no limit.
	AttemptsPerAddress int
	// MinPassword is the minimum length of new passwords, in characters, from
	// MinPasswordRunes to MaxPasswordRunes. If it is 0, MinPasswordRunes applies.
	MinPassword int
	// Params is the cost of new hashes. If it is zero, DefaultParams is used.
	Params Params
	// MaxHashes is the maximum number of hashes that are computed at the same time. If it
	// is 0, the limit is GOMAXPROCS-1, but at least 1 and at most 4.
	MaxHashes int
	// PollEvery is the interval at which revocations are read. If it is 0, the interval
	// is half a second.
	PollEvery time.Duration
	// Logger logs failures that are not returned to a caller. If it is nil,
	// slog.Default() is used.
	Logger *slog.Logger
	// Now is the clock. If it is nil, time.Now is used.
	Now func() time.Time
}

// Service manages accounts. It is safe for concurrent use.
type Service struct {
	Config

	hashPool *hashPool
	decoy    passwordHash
	attempts *attempts

	lastRevocation int64 // the time of the latest revocation read by follow, in microseconds since 1970; 0 if there is none
	outage         *outage.Log
	cancel         context.CancelFunc
	done           sync.WaitGroup
}

// New returns a Service that has read all revocations. The Service reads new revocations
// until Close is called. Errors: those of the store.
func New(ctx context.Context, cfg Config) (*Service, error) {
	cfg.Params = cmp.Or(cfg.Params, DefaultParams)
	cfg.MinPassword = cmp.Or(cfg.MinPassword, MinPasswordRunes)
	cfg.MaxHashes = cmp.Or(cfg.MaxHashes, maxHashes())
	cfg.PollEvery = cmp.Or(cfg.PollEvery, time.Second/2)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Signer.TTL > MaxTokenTTL {
		return nil, fmt.Errorf("tokens would be valid for %v; at most %v are allowed", cfg.Signer.TTL, MaxTokenTTL)
	}
	s := &Service{
		Config: cfg, hashPool: newHashPool(cfg.MaxHashes), decoy: cfg.Params.decoy(),
		attempts: newAttempts(cfg.AttemptsPerAddress),
		outage:   outage.New(cfg.Logger, "revoked tokens cannot be read; those known stay revoked", "revoked tokens are read again"),
	}
	if err := s.follow(ctx); err != nil {
		return nil, fmt.Errorf("read revoked tokens: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.done.Go(func() { s.poll(running) })
	return s, nil
}

// Close ends the goroutine that New started and waits for it. It may be called twice.
func (s *Service) Close() {
	s.cancel()
	s.done.Wait()
}

// Session is the session of a logged-in user.
type Session struct {
	User    storage.User
	Token   string
	Expires time.Time
}

// Credentials identifies a user.
type Credentials struct {
	Tenant, Name, Password string
	// From is the client's address, or the zero value if it is unknown.
	From netip.Addr
}

// prepaid is the number of hashes of a request that it has been charged for and that are
// not computed yet. Callers of Register, LogIn and ChangePassword charge rate.PerHash for
// each hash.
type prepaid int

// giveBack gives the price of the hashes that were not computed back to the rate.Payer of
// the request, so that a refused request costs little.
func (p *prepaid) giveBack(ctx context.Context) {
	rate.FromContext(ctx).Charge(-int(*p) * rate.PerHash)
}

// Register creates an account and logs the user in. Errors: storage.ErrInvalid,
// storage.ErrAccountNameTaken, *LimitedError, ErrBusy.
func (s *Service) Register(ctx context.Context, c Credentials) (Session, error) {
	unused := prepaid(1)
	defer unused.giveBack(ctx)
	password, err := s.newPassword("password", c.Password)
	if err != nil {
		return Session{}, err
	}
	name, err := foldName(c.Name)
	if err != nil {
		return Session{}, err
	}
	if err := s.attempts.register(c.From); err != nil {
		return Session{}, err
	}
	known, err := s.accountNamed(ctx, c.Tenant, name)
	if err == nil && known != nil {
		err = storage.ErrAccountNameTaken // checked before a hash is computed
	}
	if err != nil {
		return Session{}, err
	}
	encoded, err := s.hash(ctx, caller{from: c.From}, password)
	if err != nil {
		return Session{}, err
	}
	unused--
	a, err := s.Store.CreateAccount(ctx, storage.NewAccount{Tenant: c.Tenant, Name: name.shown, NameKey: name.key, Password: encoded})
	if err != nil {
		return Session{}, err
	}
	s.attempts.remember(nameOf(c.Tenant, name.key), c.From)
	return s.begin(ctx, a)
}

// LogIn logs a user in. Errors: storage.ErrInvalid, ErrWrongCredentials,
// *LimitedError, ErrBusy.
func (s *Service) LogIn(ctx context.Context, c Credentials) (Session, error) {
	unused := prepaid(1)
	defer unused.giveBack(ctx)
	password, err := cleanPassword("password", c.Password)
	if err != nil {
		return Session{}, err
	}
	name, err := foldName(c.Name)
	if err != nil {
		return Session{}, err
	}
	attempt, err := s.attempts.logIn(nameOf(c.Tenant, name.key), c.From)
	if err != nil {
		return Session{}, err
	}
	a, err := s.accountNamed(ctx, c.Tenant, name)
	if err != nil {
		attempt.cancelled()
		return Session{}, err
	}
	of := s.decoy
	if a != nil {
		if of, err = parseHash(a.Password); err != nil {
			attempt.cancelled()
			return Session{}, fmt.Errorf("log in user %s: %w", a.User.UserID, err)
		}
	}
	by := caller{c.From, attempt.known}
	matches, err := s.matches(ctx, by, of, password)
	if err != nil {
		attempt.cancelled()
		return Session{}, err
	}
	unused--
	if a == nil || !matches {
		attempt.failed()
		return Session{}, ErrWrongCredentials
	}
	attempt.succeeded()
	if of.weakerThan(s.Params) {
		s.upgradeHash(ctx, by, a, password)
	}
	return s.begin(ctx, a)
}

// nameOf returns the key of a folded name for the limits on attempts.
func nameOf(tenant, key string) string { return tenant + "\x00" + key }

// nameOfAccount returns the same for the name of an account.
func nameOfAccount(a *storage.Account) string {
	name, err := foldName(a.Name)
	if err != nil { // by an earlier rule
		return nameOf(a.User.Tenant, a.NameKey)
	}
	return nameOf(a.User.Tenant, name.key)
}

// upgradeHash hashes a password again with the current parameters and stores the hash. If
// that fails, the next login tries again.
func (s *Service) upgradeHash(ctx context.Context, by caller, a *storage.Account, password string) {
	encoded, err := s.hash(ctx, by, password)
	if err == nil {
		_, err = s.Store.ReplacePassword(ctx, a.User, storage.PasswordChange{From: a.Password, To: encoded})
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) { // not found: the password has been changed in the meantime
		s.Logger.WarnContext(ctx, "the parameters of a password hash could not be raised", "user", a.User.UserID, "error", err)
	}
}

// begin starts a session for an account. If the database has lost a revocation that this
// node knows, begin restores it first: this node would reject the token.
func (s *Service) begin(ctx context.Context, a *storage.Account) (Session, error) {
	a, err := s.restore(ctx, a, s.Sessions.Generation(a.User))
	if err != nil {
		return Session{}, err
	}
	return s.session(a, s.Now().Unix())
}

func (s *Service) session(a *storage.Account, loggedIn int64) (Session, error) {
	token, expires, err := s.Signer.Issue(a.User, viewer.Session{Generation: a.Generation, LoggedIn: loggedIn})
	return Session{a.User, token, expires}, err
}

func (s *Service) hash(ctx context.Context, by caller, password string) (encoded string, err error) {
	err = s.hashPool.run(ctx, by, func() { encoded = s.Params.hash(password).encode() })
	return encoded, err
}

func (s *Service) matches(ctx context.Context, by caller, h passwordHash, password string) (matches bool, err error) {
	err = s.hashPool.run(ctx, by, func() { matches = h.matches(password) })
	return matches, err
}
