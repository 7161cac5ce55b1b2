package transport

import (
	"cmp"
	"container/list"
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

	"ovation/storage"
)

// StreamOptions bound the connections that stay open. Every zero is replaced
// by the default that its field names.
type StreamOptions struct {
	// MaxStreams is how many WebSockets and event streams a process holds.
	// 20,000.
	MaxStreams int
	// MaxStreamsPerUser is how many of them a signed-in user has. 50.
	MaxStreamsPerUser int
	// MaxStreamsPerAddress is how many of them anonymous users of one address
	// have. 1,000.
	MaxStreamsPerAddress int
	// MaxSubscriptions is how many subscriptions a process holds. 50,000.
	MaxSubscriptions int
	// MaxSubscriptionsPerAddress is how many of them anonymous users of one
	// address have. 5,000.
	MaxSubscriptionsPerAddress int
	// AnonymousPercent is how much of MaxStreams and of MaxSubscriptions
	// anonymous users may take. The rest is reserved for signed-in users. 75.
	AnonymousPercent int
	// MaxPerSocket is how many operations go on at the same time on one
	// WebSocket, subscriptions among them. 100.
	MaxPerSocket int
	// MaxPending is how many WebSockets may be open that have not said
	// connection_init. One more, or one of another client while there is no room
	// otherwise, and the one that is open the longest is closed. Half of
	// MaxStreams: all clients may come back at once.
	MaxPending int
	// InitTimeout is how long a client may take to say connection_init. 5 s.
	InitTimeout time.Duration
	// KeepAlive is the time between two pings on a WebSocket, less a random
	// tenth, and between two comments on an event stream. 25 s.
	KeepAlive time.Duration
	// PongTimeout is how long a client may take to answer a ping. 10 s.
	PongTimeout time.Duration
	// WriteTimeout is how long a client may take to take what is sent. 10 s.
	WriteTimeout time.Duration
	// CloseTimeout is how long a client may take to agree to a close. 2 s.
	CloseTimeout time.Duration
	// Spread is how long Close takes to tell all clients, so that they do not
	// all come back at once. 1 s.
	Spread time.Duration
	// Registry takes the metrics. Nil: there are none.
	Registry prometheus.Registerer
}

func (o StreamOptions) withDefaults() StreamOptions {
	o.MaxStreams = cmp.Or(o.MaxStreams, 20_000)
	o.MaxStreamsPerUser = cmp.Or(o.MaxStreamsPerUser, 50)
	o.MaxStreamsPerAddress = cmp.Or(o.MaxStreamsPerAddress, 1_000)
	o.MaxSubscriptions = cmp.Or(o.MaxSubscriptions, 50_000)
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

// Streams are the connections that stay open: WebSockets and event streams.
// They are bounded, and closed together at the end.
type Streams struct {
	opts    StreamOptions
	metrics *streamMetrics
	running sync.WaitGroup // one for each stream

	mu            sync.Mutex
	closing       bool
	open          map[*stream]struct{}
	pending       list.List // of *stream: WebSockets before connection_init, the oldest first
	perUser       map[storage.User]int
	perAddress    map[netip.Addr]held // of anonymous users
	anonymous     held                // by all of them
	subscriptions int
}

// held is how many streams and subscriptions somebody has.
type held struct{ streams, subscriptions int }

// stream is one connection that stays open.
type stream struct {
	of   *Streams
	kind string
	stop func(ending) // has it end; quick, and may be called more than once

	// Guarded by Streams.mu.
	pending *list.Element
	counted bool         // for the user or, where that is anonymous, the address
	user    storage.User // known once it is counted
	address netip.Addr
}

// The kinds of streams.
const (
	kindSocket = "websocket"
	kindEvents = "events"
)

// NewStreams makes room for streams. Close ends them. It panics where its
// metrics are registered already.
func NewStreams(options StreamOptions) *Streams {
	return &Streams{
		opts: options.withDefaults(), metrics: newStreamMetrics(options.Registry),
		open: map[*stream]struct{}{}, perUser: map[storage.User]int{}, perAddress: map[netip.Addr]held{},
	}
}

// Close tells every stream to end, one after the other, and waits until all
// have ended or ctx has. No stream begins any more. It may be called twice; a
// nil *Streams has none to close.
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
	go func() { // it ends with the last stream; each of them is told to
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

// begin lets in a stream of a user at an address. A WebSocket is pending, and of
// nobody yet, until it is identified. An older one that is pending may have to go
// for a stream: clients that do not say who they are keep nobody out. While those
// close, there may be MaxPending more.
func (s *Streams) begin(kind string, user storage.User, from netip.Addr, stop func(ending)) (*stream, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, s.refuse("stopping", "this server is stopping; connect again")
	}
	one := &stream{of: s, kind: kind, stop: stop, address: from}
	if kind == kindEvents {
		if refused := one.fits(user); refused != nil {
			return nil, refused
		}
	}
	full := len(s.open) >= s.opts.MaxStreams
	if full && (s.pending.Len() == 0 || len(s.open) >= s.opts.MaxStreams+s.opts.MaxPending) {
		return nil, s.refuse("full", "this server holds as many connections as it can; try again")
	}
	if full || kind == kindSocket && s.pending.Len() >= s.opts.MaxPending {
		oldest, _ := s.pending.Remove(s.pending.Front()).(*stream)
		oldest.pending = nil
		oldest.stop(initTimeout)
	}
	if kind == kindEvents {
		one.count(user)
	} else {
		one.pending = s.pending.PushBack(one)
	}
	s.open[one] = struct{}{}
	s.running.Add(1)
	s.metrics.streams.WithLabelValues(kind).Inc()
	return one, nil
}

func (s *Streams) refuse(reason, message string) *refusal {
	s.metrics.refused.WithLabelValues(reason).Inc()
	return &refusal{http.StatusServiceUnavailable, codeUnavailable, message}
}

// limited is a refusal that concerns one user or address, and no others.
func (s *Streams) limited(reason, format string, most int) *refusal {
	s.metrics.refused.WithLabelValues(reason).Inc()
	return &refusal{http.StatusTooManyRequests, codeRateLimited, fmt.Sprintf(format, most)}
}

// identify says whose a WebSocket is.
func (one *stream) identify(user storage.User) *refusal {
	s := one.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.pending != nil {
		s.pending.Remove(one.pending)
		one.pending = nil
	}
	refused := one.fits(user)
	if refused == nil {
		one.count(user)
	}
	return refused
}

// fits refuses a stream of a user where that user, the address of an anonymous
// one, or all anonymous ones together have too many. The lock is held.
func (one *stream) fits(user storage.User) *refusal {
	s := one.of
	switch {
	case !user.Anonymous():
		if s.perUser[user] >= s.opts.MaxStreamsPerUser {
			return s.limited("user", "you have %d connections open, which is the most", s.opts.MaxStreamsPerUser)
		}
	case s.perAddress[one.address].streams >= s.opts.MaxStreamsPerAddress:
		return s.limited("address", "anonymous visitors have %d connections open from your address, which is the most", s.opts.MaxStreamsPerAddress)
	case s.anonymous.streams >= s.share(s.opts.MaxStreams):
		return s.refuse("anonymous", "this server holds as many connections of anonymous visitors as it can; try again, or sign in")
	}
	return nil
}

// count counts a stream for its user or address. The lock is held.
func (one *stream) count(user storage.User) {
	s := one.of
	one.user, one.counted = user, true
	if !user.Anonymous() {
		s.perUser[user]++
		return
	}
	s.anonymous.streams++
	at := s.perAddress[one.address]
	at.streams++
	s.perAddress[one.address] = at
}

// AnonymousPercent is how much of all there is room for anonymous users may take.
func (s *Streams) AnonymousPercent() int {
	if s == nil {
		return 100
	}
	return s.opts.AnonymousPercent
}

// share is how much of something anonymous users may take, rounded up.
func (s *Streams) share(of int) int { return (of*s.opts.AnonymousPercent + 99) / 100 }

// end says that the stream has ended.
func (one *stream) end() {
	s := one.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.pending != nil {
		s.pending.Remove(one.pending)
	}
	switch {
	case !one.counted:
	case one.user.Anonymous():
		s.anonymous.streams--
		s.release(one.address, held{streams: 1})
	default:
		if s.perUser[one.user]--; s.perUser[one.user] == 0 {
			delete(s.perUser, one.user)
		}
	}
	delete(s.open, one)
	s.metrics.streams.WithLabelValues(one.kind).Dec()
	s.running.Done()
}

// release gives back what an address has.
func (s *Streams) release(address netip.Addr, part held) {
	at := s.perAddress[address]
	at.streams -= part.streams
	at.subscriptions -= part.subscriptions
	if s.perAddress[address] = at; at == (held{}) {
		delete(s.perAddress, address)
	}
}

// subscribe makes room for a subscription; unsubscribe gives it back.
func (one *stream) subscribe() *refusal {
	s := one.of
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.perAddress[one.address]
	switch {
	case s.subscriptions >= s.opts.MaxSubscriptions:
		return s.refuse("subscriptions", "this server holds as many subscriptions as it can; try again")
	case !one.user.Anonymous():
	case at.subscriptions >= s.opts.MaxSubscriptionsPerAddress:
		return s.limited("address", "anonymous visitors have %d subscriptions from your address, which is the most", s.opts.MaxSubscriptionsPerAddress)
	case s.anonymous.subscriptions >= s.share(s.opts.MaxSubscriptions):
		return s.refuse("anonymous", "this server holds as many subscriptions of anonymous visitors as it can; try again, or sign in")
	default:
		s.anonymous.subscriptions++
		at.subscriptions++
		s.perAddress[one.address] = at
	}
	s.subscriptions++
	s.metrics.subscriptions.Inc()
	return nil
}

func (one *stream) unsubscribe() {
	s := one.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.user.Anonymous() {
		s.anonymous.subscriptions--
		s.release(one.address, held{subscriptions: 1})
	}
	s.subscriptions--
	s.metrics.subscriptions.Dec()
}

// pause is the time until the next ping.
func (s *Streams) pause() time.Duration {
	return s.opts.KeepAlive - rand.N(s.opts.KeepAlive/10+1) //nolint:gosec // it spreads load, no more
}
