package transport

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/api/codes"
	"ovation/api/quota"
	"ovation/storage"
)

// StreamOptions limits long-lived connections. Zero values are replaced by the default
// given for each field.
type StreamOptions struct {
	// MaxStreams is the maximum number of WebSockets and event streams in a process.
	// Default 20,000.
	MaxStreams int
	// MaxStreamsPerUser is the maximum number of streams that one signed-in user may
	// have. Default 50.
	MaxStreamsPerUser int
	// MaxStreamsPerAddress is the maximum number of streams that all anonymous users at
	// one address may have together. Default 1,000.
	MaxStreamsPerAddress int
	// MaxSubscriptions is the maximum number of subscriptions in a process. Default
	// 50,000.
	MaxSubscriptions int
	// MaxSubscriptionsPerUser is the maximum number of subscriptions that one signed-in
	// user may have on all of its streams together. Default 2,500.
	MaxSubscriptionsPerUser int
	// MaxSubscriptionsPerAddress is the maximum number of subscriptions that all
	// anonymous users at one address may have together. Default 5,000.
	MaxSubscriptionsPerAddress int
	// AnonymousPercent is the share of MaxStreams and MaxSubscriptions that anonymous
	// users may take. The rest is reserved for signed-in users. Default 75.
	AnonymousPercent int
	// MaxPerSocket is the maximum number of running operations on one WebSocket,
	// including subscriptions. Default 100.
	MaxPerSocket int
	// MaxPending is the maximum number of WebSockets on which the client has not sent
	// connection_init. If there are more, or if a new stream needs the place, the oldest
	// of these WebSockets is closed: first of an address that has more than its share.
	// Default half of MaxStreams, because all clients may reconnect at the same time.
	MaxPending int
	// InitTimeout is how long a client may take to send connection_init. Default 5 s.
	InitTimeout time.Duration
	// KeepAlive is the interval between pings on a WebSocket, or comments on an event
	// stream. Up to a tenth is subtracted at random. Default 25 s.
	KeepAlive time.Duration
	// PongTimeout is how long a client may take to answer a ping. Default 10 s.
	PongTimeout time.Duration
	// WriteTimeout is how long a write may take. Default 10 s.
	WriteTimeout time.Duration
	// CloseTimeout is how long a client may take to complete the close handshake.
	// Default 2 s.
	CloseTimeout time.Duration
	// Spread is the period over which Close closes the connections, so that the clients
	// do not all reconnect at the same time. Default 1 s.
	Spread time.Duration
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

func (o StreamOptions) withDefaults() StreamOptions {
	o.MaxStreams = cmp.Or(o.MaxStreams, 20_000)
	o.MaxStreamsPerUser = cmp.Or(o.MaxStreamsPerUser, 50)
	o.MaxStreamsPerAddress = cmp.Or(o.MaxStreamsPerAddress, 1_000)
	o.MaxSubscriptions = cmp.Or(o.MaxSubscriptions, 50_000)
	o.MaxSubscriptionsPerUser = cmp.Or(o.MaxSubscriptionsPerUser, 2_500)
	o.MaxSubscriptionsPerAddress = cmp.Or(o.MaxSubscriptionsPerAddress, 5_000)
	o.AnonymousPercent = cmp.Or(o.AnonymousPercent, 75)
	o.MaxPerSocket = cmp.Or(o.MaxPerSocket, 100)
	o.MaxPending = cmp.Or(o.MaxPending, (o.MaxStreams+1)/2)
	o.InitTimeout = cmp.Or(o.InitTimeout, 5*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 25*time.Second)
	o.PongTimeout = cmp.Or(o.PongTimeout, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, 2*time.Second)
	o.Spread = cmp.Or(o.Spread, time.Second)
	return o
}

// Streams holds the long-lived connections: WebSockets and event streams. Their number is
// limited, and Close closes all of them when the server stops.
type Streams struct {
	opts    StreamOptions
	metrics *streamMetrics
	running sync.WaitGroup // counts streams

	mu      sync.Mutex
	closing bool
	open    map[*stream]struct{}
	pending *quota.Cache[*stream, struct{}] // WebSockets before connection_init

	connections   *quota.Quota // streams that are not pending
	subscriptions *quota.Quota
}

// stream is one long-lived connection.
type stream struct {
	streams *Streams
	kind    string
	stop    func(closeReason) // ends the stream; does not block, and may be called more than once

	// Guarded by Streams.mu.
	counted bool // in Streams.connections
	owner   quota.Owner
}

// The kinds of streams.
const (
	kindSocket = "websocket"
	kindEvents = "events"
)

// NewStreams returns an empty Streams. It panics if its metrics are registered already.
// Call Close to end all streams.
func NewStreams(options StreamOptions) *Streams {
	o := options.withDefaults()
	connections := quota.Usual(o.MaxStreams, o.AnonymousPercent)
	connections.User, connections.Visitors = o.MaxStreamsPerUser, o.MaxStreamsPerAddress
	connections.Address = max(connections.Address, o.MaxStreamsPerAddress)
	connections.Total += o.MaxPending // begin bounds the number of streams more exactly
	subscriptions := quota.Usual(o.MaxSubscriptions, o.AnonymousPercent)
	subscriptions.User, subscriptions.Visitors = o.MaxSubscriptionsPerUser, o.MaxSubscriptionsPerAddress
	subscriptions.Address = max(subscriptions.Address, o.MaxSubscriptionsPerAddress)
	return &Streams{
		pending: quota.NewCache(o.MaxPending, quota.Usual(o.MaxPending, 100), func(oldest *stream, _ struct{}) { oldest.stop(initTimeout) }),
		opts:    o, metrics: newStreamMetrics(options.Registry), open: map[*stream]struct{}{},
		connections: quota.New(connections), subscriptions: quota.New(subscriptions),
	}
}

// Close ends all streams one after another, and waits for them to end, at most until ctx
// ends. New streams are refused. Close may be called twice, and on a nil *Streams.
func (s *Streams) Close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closing = true
	all := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	steps := int(max(s.opts.Spread/(10*time.Millisecond), 1))
	step := time.NewTicker(s.opts.Spread / time.Duration(steps))
	defer step.Stop()
	for i, one := range all {
		if i > 0 && i%(len(all)/steps+1) == 0 {
			select {
			case <-step.C:
			case <-ctx.Done():
			}
		}
		one.stop(goingAway)
	}
	ended := make(chan struct{})
	go func() { // ends with the last stream
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close %d WebSockets and event streams: %w", len(all), ctx.Err())
	}
}

// begin admits a user's stream from an address. A WebSocket is pending, without an owner,
// until it is authenticated. A pending WebSocket may be closed in favour of a new
// stream, so that clients that never authenticate do not block others. While these
// WebSockets are closing, the number of streams may exceed MaxStreams by up to
// MaxPending.
func (s *Streams) begin(kind string, user storage.User, from netip.Addr, stop func(closeReason)) (*stream, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, s.refuse("stopping", "this server is stopping; connect again")
	}
	one := &stream{streams: s, kind: kind, stop: stop, owner: quota.Owner{Address: from}}
	if kind == kindEvents {
		if refused := one.setUser(user); refused != nil {
			return nil, refused
		}
	}
	full := len(s.open) >= s.opts.MaxStreams
	if full && (len(s.open) >= s.opts.MaxStreams+s.opts.MaxPending || !s.pending.EvictOne()) {
		one.release()
		return nil, s.refuse("full", "this server holds as many connections as it can; try again")
	}
	if kind == kindSocket {
		s.pending.Add(one, struct{}{}, 1, one.owner)
	}
	s.open[one] = struct{}{}
	s.running.Add(1)
	s.metrics.streams.WithLabelValues(kind).Inc()
	return one, nil
}

func (s *Streams) refuse(reason, message string) *refusal {
	s.metrics.refused.WithLabelValues(reason).Inc()
	return &refusal{http.StatusServiceUnavailable, codes.Unavailable, message}
}

// limited returns a refusal that concerns a single user or address.
func (s *Streams) limited(reason, format string, most int) *refusal {
	s.metrics.refused.WithLabelValues(reason).Inc()
	return &refusal{http.StatusTooManyRequests, codes.RateLimited, fmt.Sprintf(format, most)}
}

// identify sets the user of a pending WebSocket, which is then no longer pending. It
// refuses the WebSocket if setUser does.
func (one *stream) identify(user storage.User) *refusal {
	s := one.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.Remove(one)
	return one.setUser(user)
}

// setUser sets the user of a stream and counts the stream. It refuses the stream if the
// shares that the stream belongs to are exhausted. The caller holds the mutex.
func (one *stream) setUser(user storage.User) *refusal {
	s := one.streams
	one.owner.User = user
	switch exhausted := s.connections.Acquire(one.owner, 1); exhausted {
	case quota.None:
		one.counted = true
	case quota.User:
		return s.limited("user", "you have %d connections open, the most allowed; close one first", s.opts.MaxStreamsPerUser)
	case quota.Visitors:
		return s.limited("address", "anonymous visitors have %d connections open from your address, the most allowed; sign in, or close one first", s.opts.MaxStreamsPerAddress)
	case quota.Address:
		return s.limited("address", "%d connections are open from your address, the most allowed; close one first", s.connections.Bound(exhausted))
	case quota.Anonymous:
		return s.refuse("anonymous", "this server holds as many connections of anonymous visitors as it can; try again, or sign in")
	default:
		return s.refuse("full", "this server holds as many connections as it can; try again")
	}
	return nil
}

// release frees the stream's share. The caller holds the mutex.
func (one *stream) release() {
	if one.counted {
		one.counted = false
		one.streams.connections.Release(one.owner, 1)
	}
}

// AnonymousPercent returns the share of each limit that anonymous users may take, in
// percent.
func (s *Streams) AnonymousPercent() int {
	if s == nil {
		return 100
	}
	return s.opts.AnonymousPercent
}

// end removes the stream.
func (one *stream) end() {
	s := one.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.Remove(one)
	one.release()
	delete(s.open, one)
	s.metrics.streams.WithLabelValues(one.kind).Dec()
	s.running.Done()
}

// subscribe reserves a subscription; unsubscribe releases it.
func (one *stream) subscribe() *refusal {
	s := one.streams
	switch exhausted := s.subscriptions.Acquire(one.owner, 1); exhausted {
	case quota.None:
		s.metrics.subscriptions.Inc()
		return nil
	case quota.User:
		return s.limited("user", "you have %d subscriptions, the most allowed; complete one first", s.opts.MaxSubscriptionsPerUser)
	case quota.Visitors:
		return s.limited("address", "anonymous visitors have %d subscriptions from your address, the most allowed; sign in, or complete one first", s.opts.MaxSubscriptionsPerAddress)
	case quota.Address:
		return s.limited("address", "%d subscriptions are open from your address, the most allowed; complete one first", s.subscriptions.Bound(exhausted))
	case quota.Anonymous:
		return s.refuse("anonymous", "this server holds as many subscriptions of anonymous visitors as it can; try again, or sign in")
	default:
		return s.refuse("subscriptions", "this server holds as many subscriptions as it can; try again")
	}
}

func (one *stream) unsubscribe() {
	one.streams.subscriptions.Release(one.owner, 1)
	one.streams.metrics.subscriptions.Dec()
}

// pause returns the time until the next ping.
func (s *Streams) pause() time.Duration {
	return s.opts.KeepAlive - rand.N(s.opts.KeepAlive/10+1) //nolint:gosec // only spreads load
}
