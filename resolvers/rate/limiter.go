package rate

import (
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/storage"
)

// What requests cost besides the cost of their operations.
const (
	// PerRequest is the cost of a request, or of an operation on a WebSocket,
	// before anything is known of it.
	PerRequest = 10
	// PerAction is the cost of a root field of a mutation.
	PerAction = 20
)

// Config tells how much is allowed, in units a second. A bucket holds ten times
// as much. 0: no limit.
type Config struct {
	// PerUser is for a signed-in user.
	PerUser int
	// PerAddress is for all anonymous requests from one address, or from one
	// /64 of IPv6.
	PerAddress int
	// PerSocket is for one WebSocket.
	PerSocket int
	// TrustedProxies may say by X-Forwarded-For or Forwarded on whose behalf
	// they ask.
	TrustedProxies []netip.Prefix
	// Logger hears of a proxy that is not trusted and limited; slog.Default()
	// if nil.
	Logger *slog.Logger
	// Registry takes the metrics. Nil: there are none.
	Registry prometheus.Registerer
}

// Limiter limits requests. A nil *Limiter limits nothing. It is safe for
// concurrent use.
type Limiter struct {
	users, addresses *buckets // nil: no limit
	socket           *pace    // nil: no limit
	proxies          []netip.Prefix
	seed             maphash.Seed
	since            time.Time
	limited          *prometheus.CounterVec // may be nil
	log              *slog.Logger
	warn             sync.Once
}

// New returns a Limiter. It panics where its metrics are registered already.
func New(cfg Config) *Limiter {
	l := &Limiter{proxies: cfg.TrustedProxies, seed: maphash.MakeSeed(), since: time.Now(), log: cfg.Logger}
	if l.log == nil {
		l.log = slog.Default()
	}
	if cfg.PerUser > 0 {
		l.users = &buckets{pace: newPace(cfg.PerUser)}
	}
	if cfg.PerAddress > 0 {
		l.addresses = &buckets{pace: newPace(cfg.PerAddress)}
	}
	if cfg.PerSocket > 0 {
		l.socket = new(newPace(cfg.PerSocket))
	}
	if cfg.Registry != nil {
		l.limited = prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_rate_limited_total",
			Help: "Requests and operations refused because a client asked for too much in a time, by whose bucket was empty: user, address or socket.",
		}, []string{"by"})
		cfg.Registry.MustRegister(l.limited)
	}
	return l
}

// Client is where a request comes from.
type Client struct {
	// Address is an IPv4 address, the first one of a /64 of IPv6, or the zero
	// value where it is not known.
	Address netip.Addr
	// Proxied reports whether the request says that it was forwarded, by
	// somebody who is not trusted.
	Proxied bool
}

// Payer is who pays for a request. The zero value, and a nil *Payer, pays
// whatever it costs.
type Payer struct {
	limiter *Limiter
	buckets *buckets
	client  uint64
	by      string // whose buckets they are
	proxied bool
	socket  *Socket
}

// Payer returns who pays for a user's requests: the user or, for the anonymous,
// the address.
func (l *Limiter) Payer(user storage.User, from Client, on *Socket) Payer {
	switch {
	case l == nil:
		return Payer{}
	case !user.Anonymous():
		p := Payer{limiter: l, buckets: l.users, by: "user", socket: on}
		if l.users != nil {
			p.client = maphash.String(l.seed, user.UserID) + 31*maphash.String(l.seed, user.Tenant)
		}
		return p
	}
	p := Payer{limiter: l, buckets: l.addresses, by: "address", proxied: from.Proxied, socket: on}
	if l.addresses != nil {
		p.client = maphash.Comparable(l.seed, from.Address)
	}
	return p
}

// Take takes what something costs. Where that is more than there is it takes
// nothing, and returns after what time there is enough.
func (p *Payer) Take(units int) (wait time.Duration) {
	if p == nil || p.limiter == nil {
		return 0
	}
	now := p.limiter.now()
	if wait = p.socket.take(now, units); wait > 0 {
		p.limiter.count("socket")
		return wait
	}
	if p.buckets == nil {
		return 0
	}
	if wait = p.buckets.take(p.client, now, units); wait > 0 {
		p.socket.charge(now, -units)
		p.limiter.count(p.by)
		if p.proxied {
			p.limiter.warn.Do(p.limiter.warnOfProxy)
		}
	}
	return wait
}

// Charge takes what was spent already, as a debt where there is too little.
func (p *Payer) Charge(units int) {
	if p == nil || p.limiter == nil {
		return
	}
	now := p.limiter.now()
	p.socket.charge(now, units)
	if p.buckets != nil {
		p.buckets.charge(p.client, now, units)
	}
}

// Socket is the bucket of a WebSocket. A nil *Socket has no limit.
type Socket struct {
	pace pace

	mu   sync.Mutex
	full int64 // when it is
}

// NewSocket returns the bucket of a new WebSocket.
func (l *Limiter) NewSocket() *Socket {
	if l == nil || l.socket == nil {
		return nil
	}
	return &Socket{pace: *l.socket}
}

func (s *Socket) take(now int64, units int) (wait time.Duration) {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full, wait = s.pace.take(s.full, now, units)
	return wait
}

func (s *Socket) charge(now int64, units int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = s.pace.charge(s.full, now, units)
}

func (l *Limiter) now() int64 { return int64(time.Since(l.since)) }

func (l *Limiter) count(by string) {
	if l.limited != nil {
		l.limited.WithLabelValues(by).Inc()
	}
}

func (l *Limiter) warnOfProxy() {
	l.log.Warn("an anonymous request was refused by the rate limit of its address, and says that it was forwarded: if that address is a proxy of this site, name it by --trusted-proxies, or all of its clients share one limit")
}

// Error tells a client that it has to wait.
func Error(wait time.Duration) *gqlerror.Error {
	extensions := Extensions(wait)
	return &gqlerror.Error{
		Message:    fmt.Sprintf("this is more than is allowed in a time; try again in %d s", extensions["retryAfter"]),
		Extensions: extensions,
	}
}

// Extensions are those of an error for a client that has to wait.
func Extensions(wait time.Duration) map[string]any {
	return map[string]any{"code": "RATE_LIMITED", "retryAfter": max(int(math.Ceil(wait.Seconds())), 1)}
}

// RetryAfter is how many seconds an error says to wait, 0 where it does not.
func RetryAfter(err *gqlerror.Error) int {
	seconds, _ := err.Extensions["retryAfter"].(int)
	return seconds
}
