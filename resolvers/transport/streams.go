package transport

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
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
	// MaxSubscriptions is how many subscriptions a process holds. 50,000.
	MaxSubscriptions int
	// MaxPerSocket is how many operations go on at the same time on one
	// WebSocket, subscriptions among them. 100.
	MaxPerSocket int
	// MaxPending is how many WebSockets may be open that have not said
	// connection_init. One more, and the one that is open the longest is
	// closed. Half of MaxStreams: all clients may come back at once.
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
	o.MaxSubscriptions = cmp.Or(o.MaxSubscriptions, 50_000)
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
	subscriptions int
}

// stream is one connection that stays open.
type stream struct {
	of   *Streams
	kind string
	stop func(ending) // has it end; quick, and may be called more than once

	// Guarded by Streams.mu.
	pending *list.Element
	user    storage.User // counted, unless it is anonymous
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
		open: map[*stream]struct{}{}, perUser: map[storage.User]int{},
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

// begin lets a stream in. A WebSocket is pending until it is identified; an
// older one may have to go for it.
func (s *Streams) begin(kind string, stop func(ending)) (*stream, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return nil, s.refuse("stopping", "this server is stopping; connect again")
	case len(s.open) >= s.opts.MaxStreams:
		return nil, s.refuse("full", "this server holds as many connections as it can; try again")
	}
	one := &stream{of: s, kind: kind, stop: stop}
	if kind == kindSocket {
		if s.pending.Len() >= s.opts.MaxPending {
			oldest, _ := s.pending.Remove(s.pending.Front()).(*stream)
			oldest.pending = nil
			oldest.stop(initTimeout)
		}
		one.pending = s.pending.PushBack(one)
	}
	s.open[one] = struct{}{}
	s.running.Add(1)
	s.metrics.opened(kind, 1)
	return one, nil
}

func (s *Streams) refuse(reason, message string) *refusal {
	s.metrics.refuse(reason)
	return &refusal{http.StatusServiceUnavailable, codeUnavailable, message}
}

// identify says whose the stream is. It fails where that user has too many.
func (one *stream) identify(user storage.User) *refusal {
	s := one.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.pending != nil {
		s.pending.Remove(one.pending)
		one.pending = nil
	}
	if user.Anonymous() {
		return nil
	}
	if s.perUser[user] >= s.opts.MaxStreamsPerUser {
		s.metrics.refuse("user")
		return &refusal{
			http.StatusTooManyRequests, codeLimitExceeded,
			fmt.Sprintf("you have %d connections open, which is the most", s.opts.MaxStreamsPerUser),
		}
	}
	one.user = user
	s.perUser[user]++
	return nil
}

// end says that the stream has ended.
func (one *stream) end() {
	s := one.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.pending != nil {
		s.pending.Remove(one.pending)
	}
	if !one.user.Anonymous() {
		if s.perUser[one.user]--; s.perUser[one.user] == 0 {
			delete(s.perUser, one.user)
		}
	}
	delete(s.open, one)
	s.metrics.opened(one.kind, -1)
	s.running.Done()
}

// subscribe makes room for a subscription; unsubscribe gives it back.
func (s *Streams) subscribe() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscriptions >= s.opts.MaxSubscriptions {
		s.metrics.refuse("subscriptions")
		return false
	}
	s.subscriptions++
	s.metrics.subscribed(1)
	return true
}

func (s *Streams) unsubscribe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions--
	s.metrics.subscribed(-1)
}

// pause is the time until the next ping.
func (s *Streams) pause() time.Duration {
	return s.opts.KeepAlive - rand.N(s.opts.KeepAlive/10+1) //nolint:gosec // it spreads load, no more
}
