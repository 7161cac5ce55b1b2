package rate

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/codes"
	"ovation/api/quota"
	"ovation/storage"
)

// Prices, in units. A unit is about one microsecond of CPU time of a process of ovation
// dev, its database included. The table of docs/operations.md has the prices of whole
// operations, and TestFigurePricesFollowTheCost of cmd/ovation measures them.
const (
	// PerRequest is the price that is charged for a request, or for an operation on a
	// WebSocket, before it is parsed.
	PerRequest = 25
	// FieldsPerUnit is the number of fields of a response that cost one unit.
	FieldsPerUnit = 2
	// SchemaFieldsPerUnit is the same for introspection, which needs no lookups.
	SchemaFieldsPerUnit = 10
	// PerList is the price of reading a page of a list, without its entries.
	PerList = 25
	// PerAction is the price of a root field of a mutation that has no price of its own.
	PerAction = 250
	// PerRead is the price of an action that records a read. Such actions are persisted
	// together.
	PerRead = 150
	// PerBatchedAction is the price of each action of a batch, which share a transaction.
	PerBatchedAction = 40
	// PerHash is the price of hashing a password.
	PerHash = 20_000
	// PerDownload is the price of a request for a file that is looked up in the blob
	// store.
	PerDownload = 100
	// DownloadBytesPerUnit is how many bytes of a file cost one unit more.
	DownloadBytesPerUnit = 2 << 10
	// PerUpload is the price of a request that uploads a file.
	PerUpload = 500
	// UploadBytesPerUnit is how many bytes of its body cost one unit more.
	UploadBytesPerUnit = 512
)

// Config sets the limits, in units per second. A bucket holds the units of ten seconds. A
// limit of 0 means no limit.
type Config struct {
	// PerUser is the limit for a signed-in user.
	PerUser int
	// PerAddress is the combined limit for all anonymous requests from one IPv4 address
	// or one IPv6 /64. Larger IPv6 networks have the limits that Networks states.
	PerAddress int
	// PerSocket is the limit for one WebSocket.
	PerSocket int
	// MessagesPerUser is the number of messages that a signed-in user may send per
	// minute. The bucket holds the messages of one minute.
	MessagesPerUser int
	// TrustedProxies may name their clients by X-Forwarded-For or Forwarded.
	TrustedProxies []netip.Prefix
	// Logger logs one warning if requests through an untrusted proxy exceed the limit for
	// the proxy's address. If it is nil, slog.Default() is used.
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

// Limiter limits requests. A nil *Limiter limits nothing. It is safe for
// concurrent use.
type Limiter struct {
	users, addresses, sockets *buckets // nil if there is no limit
	messages                  *buckets // of users
	actions                   func() *buckets
	opened                    atomic.Uint64 // number of sockets
	proxies                   []netip.Prefix
	seed                      maphash.Seed
	since                     time.Time
	limited                   *prometheus.CounterVec
	log                       *slog.Logger
	warn                      sync.Once
}

// New returns a Limiter. It panics if its metrics are registered already.
func New(cfg Config) *Limiter {
	l := &Limiter{
		users:     newBuckets(cfg.PerUser, time.Second, burstTime),
		addresses: newBuckets(cfg.PerAddress, time.Second, burstTime),
		sockets:   newBuckets(cfg.PerSocket, time.Second, burstTime),
		messages:  newBuckets(cfg.MessagesPerUser, messageTime, messageTime),
		actions:   sync.OnceValue(func() *buckets { return newBuckets(int(actionTime), actionTime, actionTime) }),
		proxies:   cfg.TrustedProxies, seed: maphash.MakeSeed(), since: time.Now(), log: cmp.Or(cfg.Logger, slog.Default()),
	}
	l.limited = promauto.With(cfg.Registry).NewCounterVec(prometheus.CounterOpts{
		Name: "ovation_rate_limited_total",
		Help: "Requests and operations refused because a client asked for too much in a time, by whose bucket was empty: user, address, network (a /56 or /48 of IPv6), socket, messages (of a user) or action (a limit of the configuration).",
	}, []string{"by"})
	return l
}

// Client is the origin of a request.
type Client struct {
	// Address is an IPv4 address, the first address of an IPv6 /64, or the zero value if
	// the address is not known.
	Address netip.Addr
	// Proxied is true if the request has forwarding headers that do not come from a
	// trusted proxy.
	Proxied bool
}

// Bucket is the token bucket of one client. The zero value has no limit.
type Bucket struct {
	buckets *buckets
	client  uint64
	share   int    // see Network.Share
	by      string // the kind of client, for the metrics
}

// NewSocket returns the bucket of a new WebSocket.
func (l *Limiter) NewSocket() Bucket {
	if l == nil {
		return Bucket{}
	}
	return Bucket{l.sockets, l.opened.Add(1), 1, "socket"}
}

// Payer is charged for a request. The zero value and a nil *Payer have no limit.
type Payer struct {
	limiter *Limiter                // nil if there is no limit
	buckets [1 + MaxNetworks]Bucket // of the socket, and of the user or of the address's networks
	user    storage.User
	from    Client
	tab     *Tab // nil except while a batch is prepared
}

// Address returns the Address of the request's Client.
func (p *Payer) Address() netip.Addr { return p.Owner().Address }

// Owner returns who sends the request, for its share of bounded resources.
func (p *Payer) Owner() quota.Owner {
	if p == nil {
		return quota.Owner{}
	}
	return quota.Owner{User: p.user, Address: p.from.Address}
}

// Payer returns the payer of a user's requests. The requests are charged to the user or,
// if the user is anonymous, to the client's networks. They are also charged to the given
// bucket of the WebSocket on which they arrive; for requests without a WebSocket, the
// bucket is the zero value.
func (l *Limiter) Payer(user storage.User, from Client, on Bucket) Payer {
	if l == nil {
		return Payer{user: user, from: from}
	}
	p := Payer{limiter: l, user: user, from: from}
	p.buckets[0] = on
	if !user.Anonymous() {
		p.buckets[1] = Bucket{l.users, l.client(user), 1, "user"}
		return p
	}
	by := "address"
	all, n := Networks(from.Address)
	for i, network := range all[:n] {
		p.buckets[1+i] = Bucket{l.addresses, maphash.Comparable(l.seed, network.Prefix), network.Share, by}
		by = "network"
	}
	return p
}

func (l *Limiter) client(user storage.User) uint64 {
	return maphash.String(l.seed, user.UserID) + 31*maphash.String(l.seed, user.Tenant)
}

// TakeMessage takes one message from a user's bucket. If none is left, it returns the
// time until there is one.
func (l *Limiter) TakeMessage(user storage.User) (wait time.Duration) {
	if l == nil {
		return 0
	}
	if wait = l.messages.take(l.client(user), 1, l.now(), 1); wait > 0 {
		l.limited.WithLabelValues("messages").Inc()
	}
	return wait
}

// TakeAction takes one action of a type that the payer may do perMinute times a minute, with
// that many at once, on a kind of content. If there is none left, it returns the time until
// there is one. If perMinute is 0, there is no limit.
func (p *Payer) TakeAction(biz, action string, perMinute int) (wait time.Duration) {
	if p == nil || p.limiter == nil || perMinute <= 0 {
		return 0
	}
	l := p.limiter
	from, now, of := l.actions(), l.now(), 31*maphash.String(l.seed, biz)+maphash.String(l.seed, action)
	needs := int(actionTime) / perMinute
	for i, owner := range p.buckets[1:] {
		if owner.share == 0 {
			continue
		}
		if wait = from.take(owner.client^of, owner.share, now, needs); wait == 0 {
			continue
		}
		for _, paid := range p.buckets[1 : 1+i] {
			from.charge(paid.client^of, paid.share, now, -needs)
		}
		l.limited.WithLabelValues("action").Inc()
		return wait
	}
	return 0
}

// Take takes units. If there are too few, it takes none and returns the time until there
// are enough.
func (p *Payer) Take(units int) (wait time.Duration) {
	if p == nil || p.limiter == nil {
		return 0
	}
	now := p.limiter.now()
	for i, from := range p.buckets {
		if wait = from.buckets.take(from.client, from.share, now, units); wait == 0 {
			continue
		}
		for _, paid := range p.buckets[:i] {
			paid.buckets.charge(paid.client, paid.share, now, -units)
		}
		p.limiter.limited.WithLabelValues(from.by).Inc()
		if p.from.Proxied && from.by == "address" {
			p.limiter.warn.Do(p.limiter.warnOfProxy)
		}
		return wait
	}
	return 0
}

// Charge takes units that are already spent. If there are too few, it leaves a debt. A
// negative number gives units back that were taken and are not needed.
func (p *Payer) Charge(units int) { p.chargeOwing(units, burstTime) }

func (p *Payer) chargeOwing(units int, debt time.Duration) {
	if p == nil || p.limiter == nil {
		return
	}
	now := p.limiter.now()
	for _, from := range p.buckets {
		from.buckets.chargeOwing(from.client, from.share, now, units, debt)
	}
}

func (l *Limiter) now() int64 { return int64(time.Since(l.since)) }

func (l *Limiter) warnOfProxy() {
	l.log.Warn("an anonymous request was refused by the rate limit of its address, and says that it was forwarded: if that address is a proxy of this site, name it by --trusted-proxies, or all of its clients share one limit")
}

// Error returns the error for a client that has to wait.
func Error(wait time.Duration) *gqlerror.Error {
	extensions := Extensions(wait)
	return &gqlerror.Error{
		Message:    fmt.Sprintf("rate limit exceeded; try again in %d s", extensions["retryAfter"]),
		Extensions: extensions,
	}
}

// Extensions returns the extensions of the error that Error returns.
func Extensions(wait time.Duration) map[string]any {
	return map[string]any{"code": codes.RateLimited, "retryAfter": max(int(math.Ceil(wait.Seconds())), 1)}
}

// RetryAfter returns the waiting time that an error states, in seconds, or 0 if it states
// none.
func RetryAfter(err *gqlerror.Error) int {
	seconds, _ := err.Extensions["retryAfter"].(int)
	return seconds
}
