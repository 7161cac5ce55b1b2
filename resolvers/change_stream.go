package resolvers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"ovation/live"
	"ovation/loaders"
	"ovation/storage"
)

const (
	// maxChanges is the maximum number of changes in one read. A subscription is charged
	// for maxChanges events, and counts as maxChanges watched subjects.
	maxChanges = 20
	// maxWaiting is the maximum number of bytes of text that a subscription buffers,
	// unless a single event is larger.
	maxWaiting = 32 << 10
)

// changeStream streams events of type E about a subject, in the order of their versions.
// The watcher only signals that there are more events. The events are read from the
// database shortly before they are sent, so that none is lost if the subscriber is slow.
type changeStream[E any] struct {
	name    string // streams with the same name, version and known share a read
	subject storage.Subject
	version int64 // of the last event sent
	read    func(ctx context.Context, after int64, first int) ([]*E, error)
	at      func(*E) int64 // returns the version of an event
	size    func(*E) int   // returns the bytes of an event's text

	known    int64 // the newest version reported by the watcher
	waiting  []*E
	prepared int  // the number of events at the start of waiting that are prefetched
	more     bool // the last read was cut short, so the database may hold more events
	out      chan *E
}

// responder provides the responses of a subscription. Its method respond waits for the
// next event and returns the response to it, or parks the subscription (see
// transport.Park). The method returns nil once the stream has ended.
type responder interface {
	respond(ctx context.Context, s *subscription, next graphql.ResponseHandler) *graphql.Response
}

// stream watches the subject until ctx ends, for the subscription that ctx carries. The
// events are read by subscription.respond, when the next response is requested.
func (c *changeStream[E]) stream(ctx context.Context, of Watcher) (<-chan *E, error) {
	s := subscriptionOf(ctx)
	switch {
	case of == nil:
		return nil, fmt.Errorf("%w: live updates are not available", storage.ErrUnavailable)
	case s == nil:
		return nil, errors.New("a subscription outside of an operation")
	}
	if err := s.watch(ctx, of, []storage.Subject{c.subject}, maxChanges); err != nil {
		return nil, err
	}
	c.out = make(chan *E, 1)
	s.changes, s.events = c, make([]*live.Event, 1)
	return c.out, nil
}

// respond waits for the next event and returns the response to it, or parks the
// subscription. It returns nil once the stream has ended.
func (c *changeStream[E]) respond(ctx context.Context, s *subscription, next graphql.ResponseHandler) *graphql.Response {
	for len(c.waiting) == 0 {
		if !c.more {
			news, parked, ended := c.await(ctx, s)
			switch {
			case parked != nil || ended:
				return parked
			case !news:
				continue
			}
		}
		if !retry(ctx, func() error { return c.readMore(ctx, s) }) {
			return nil
		}
	}
	if !retry(ctx, func() error { return c.prepare(ctx, s) }) {
		return nil
	}
	one := c.waiting[0]
	c.waiting, c.version, c.prepared = c.waiting[1:], c.at(one), c.prepared-1
	ctx, cancel := context.WithTimeout(loaders.NewContext(ctx, s.loaders), requestTimeout)
	defer cancel()
	return respondTo(ctx, s, next, one, c.out)
}

// await waits for an event from the watcher, or parks the subscription. The result news
// reports whether the event is newer than the last event sent, parked is the response
// that parks the subscription, and ended reports whether the stream has ended.
func (c *changeStream[E]) await(ctx context.Context, s *subscription) (news bool, parked *graphql.Response, ended bool) {
	s.loaders, c.waiting = nil, nil
	event, parked := s.takeEvent(ctx)
	if event == nil {
		return false, parked, parked == nil
	}
	c.known = max(c.known, event.Version)
	return event.Version > c.version, nil, false
}

// readMore reads the events after c.version. Streams with the same name share a read if
// their version and known fields are equal. The field known is the newest version that
// the watcher has reported. A read that began before that version was committed would
// miss it, and the watcher reports each version only once.
func (c *changeStream[E]) readMore(ctx context.Context, s *subscription) error {
	found, err, _ := s.flights.Do(fmt.Sprintf("%q %d %d", c.name, c.version, c.known), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		return c.read(ctx, c.version, maxChanges)
	})
	if err != nil {
		return err
	}
	c.waiting, _ = found.([]*E)
	c.more = len(c.waiting) == maxChanges
	text := 0
	for i, one := range c.waiting {
		if text += c.size(one); i > 0 && text > maxWaiting {
			c.waiting, c.more = slices.Clone(c.waiting[:i]), true // a clone does not keep the rest alive
			break
		}
	}
	s.loaders, c.prepared = nil, 0
	return nil
}

// prepare prefetches what the operation selects from the next event, unless the event was
// prefetched within the last snapshotTTL. The first call after a read prefetches all
// waiting events, and later calls prefetch one event each. A slow subscriber therefore
// loads each event at most twice.
func (c *changeStream[E]) prepare(ctx context.Context, s *subscription) error {
	n := 1
	switch {
	case s.loaders == nil:
		n = len(c.waiting)
	case c.prepared > 0 && time.Since(s.at) <= snapshotTTL:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l, began := loaders.New(s.store, s.me, s.plan.Kinds), time.Now()
	a := s.newPrefetch(loaders.NewContext(ctx, l))
	roots := s.plan.Roots(a.op)
	for i := range roots.Fields {
		for _, one := range c.waiting[:n] {
			a.visit(&roots.Fields[i], one)
		}
	}
	if a.run(); a.unavailable != nil {
		return a.unavailable
	}
	s.loaders, s.at, c.prepared = l, began, n
	return nil
}
