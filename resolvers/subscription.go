package resolvers

import (
	"context"
	"errors"
	"fmt"
	"time"
	"weak"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/live"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/resolvers/transport"
	"ovation/storage"
)

const (
	// snapshotTTL is the maximum time between reading the subjects of a snapshot and
	// sending them. Subjects that have not been sent by then, because the connection is
	// slow, are re-read.
	snapshotTTL = 100 * time.Millisecond
	// minRetry and maxRetry bound the wait after a failed read.
	minRetry = 100 * time.Millisecond
	maxRetry = 5 * time.Second
	// freshnessInterval is how often a subject is re-read if other viewers were sent a
	// fresher state of it.
	freshnessInterval = 10 * time.Second
	// pendingInterval is how often a subject is re-read if it was sent with a pending
	// action of the viewer. If that action is reverted before it is persisted, the counts
	// do not change, and no event would follow without these reads.
	pendingInterval = time.Second
)

// Watcher watches subjects. *live.Hub implements it.
type Watcher interface {
	Watch(subjects []storage.Subject) *live.Watcher
}

// InteractiveChanged watches subjects until ctx ends. The events are determined by
// subscription.respond, when the next response is requested.
func (r subscriptionResolver) InteractiveChanged(ctx context.Context, inputs []*graph.SubjectInput) (<-chan *storage.Interactive, error) {
	subjects, err := validateSubjects(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if r.live == nil {
		return nil, fmt.Errorf("%w: live updates are not available", storage.ErrUnavailable)
	}
	s := subscriptionOf(ctx)
	if s == nil {
		return nil, errors.New("a subscription outside of an operation")
	}
	if err := s.watch(ctx, r.live, subjects, len(subjects)); err != nil {
		return nil, err
	}
	s.out, s.events = make(chan *storage.Interactive, 1), make([]*live.Event, 1)
	if !s.me.Anonymous() {
		s.events, s.sent = make([]*live.Event, len(subjects)), newSentStates(subjects)
	}
	return s.out, nil
}

// watch begins to watch subjects until ctx ends, and reserves memory for the subscription,
// which counts as the given number of subjects.
func (s *subscription) watch(ctx context.Context, of Watcher, subjects []storage.Subject, units int) error {
	if err := s.room.acquire(s.footprint, units); err != nil {
		return err
	}
	release := s.limits.Hold(graphql.GetOperationContext(ctx))
	s.watcher = of.Watch(subjects)
	context.AfterFunc(ctx, func() {
		s.watcher.Close()
		s.room.release(s.footprint, units)
		release()
	})
	return nil
}

// validateSubjects returns the subjects to watch: 1 to maxSubjects, without duplicates.
func validateSubjects(ctx context.Context, inputs []*graph.SubjectInput) ([]storage.Subject, error) {
	if len(inputs) == 0 || len(inputs) > maxSubjects {
		return nil, badInput("subjects must hold 1 to %d entries; it holds %d", maxSubjects, len(inputs))
	}
	subjects, err := subjectsOf(ctx, inputs)
	if err != nil {
		return nil, err
	}
	first := make(map[storage.Subject]int, len(subjects))
	for i, subject := range subjects {
		if before, twice := first[subject]; twice {
			return nil, badInput("subjects[%d] is the same as subjects[%d]; name each once", i, before)
		}
		first[subject] = i
	}
	return subjects, nil
}

// subscription is the state of one stream of responses. Responses are requested one after
// another, by one goroutine at a time. Between two requests, the subscription has no
// goroutine.
type subscription struct {
	*Root
	me   storage.User
	plan *plan.Plan
	// shared is true if all anonymous subscribers to the same operation receive the
	// same response.
	shared    bool
	footprint footprint
	watcher   *live.Watcher
	out       chan *storage.Interactive // passes the value of the next response to the executor

	events []*live.Event // a buffer for events of the watcher
	// The following fields are for signed-in viewers. The field snapshot holds the
	// subjects that have been read but not sent; at is the time when they were read;
	// sent holds, for each subject, the latest state that was sent. A changeStream uses
	// the fields at and loaders, too, for its events.
	snapshot  []*storage.Interactive
	at        time.Time
	loaders   *loaders.Loaders
	sent      []sentState
	recheckAt time.Time // when to re-read stale subjects; zero if there are none

	changes responder // a changeStream; nil for InteractiveChanged
}

// sentState is the state that was last sent to the viewer for a subject.
type sentState struct {
	storage.Interactive

	sent  bool // a state has been sent
	fresh bool // the hub has the subject as LIVE
	// counted holds the counts without the viewer's pending actions.
	counted storage.Counts
	rewinds int // of the latest event
	// rewound is true if a rewind may have lost the state that was sent. The version of
	// that state then cannot be compared with later versions.
	rewound bool
}

// pending reports whether the state that was sent shows an action of the viewer that the
// persisted counts do not include yet.
func (s *sentState) pending() bool {
	return s.sent && s.Freshness != storage.Hidden && s.counted.Version == s.Version && s.counted != s.Counts
}

func newSentStates(subjects []storage.Subject) []sentState {
	out := make([]sentState, len(subjects))
	for i := range subjects {
		out[i].Subject = subjects[i]
	}
	return out
}

// stateOf returns the state that was last sent for a subject. A linear search suffices
// for 100 subjects. A map would take ten times the memory.
func (s *subscription) stateOf(subject storage.Subject) *sentState {
	for i := range s.sent {
		if s.sent[i].Subject == subject {
			return &s.sent[i]
		}
	}
	return &sentState{} // not subscribed to
}

type subscriptionKey struct{}

func subscriptionOf(ctx context.Context) *subscription {
	s, _ := ctx.Value(subscriptionKey{}).(*subscription)
	return s
}

// owner returns the owner of what a subscription holds.
func owner(ctx context.Context, me storage.User) quota.Owner {
	return quota.Owner{User: me, Address: rate.FromContext(ctx).Address()}
}

// subscribe creates the state of a subscription.
func (r *Root) subscribe(ctx context.Context, op *graphql.OperationContext, next graphql.OperationHandler) graphql.ResponseHandler {
	me := viewer.FromContext(ctx)
	s := &subscription{Root: r, me: me, plan: r.limits.Plan(op)}
	s.footprint = footprint{owner: owner(ctx, me), document: op.Doc, text: len(op.RawQuery) + s.plan.Fields}
	if s.plan.Varies {
		s.footprint.variables = textBytes(op.Variables)
	}
	s.shared = s.me.Anonymous() && !s.plan.Varies
	responses := next(context.WithValue(ctx, subscriptionKey{}, s))
	op.RawQuery, op.Extensions, op.Headers = "", nil, nil // no longer used
	if !s.plan.Varies {
		op.Variables = nil // the variables have been read, and take the most memory
	}
	return responses
}

// respond waits for the next event and returns the response to it, or parks the
// subscription (see transport.Park). It returns nil once the stream has ended. The data
// of a response may be shared with other subscriptions and must not be changed.
func (s *subscription) respond(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	ctx = s.policy.Begin(ctx)
	if s.changes != nil {
		return s.changes.respond(ctx, s, next)
	}
	if s.me.Anonymous() {
		return s.respondShared(ctx, next)
	}
	one, parked := s.nextOfViewer(ctx)
	if one == nil {
		return parked
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return s.respondWith(loaders.NewContext(ctx, s.loaders), next, one)
}

// respondShared responds with the counts in the hub's next event. Subscribers to the same
// operation share the encoded response.
func (s *subscription) respondShared(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	event, parked := s.takeEvent(ctx)
	if event == nil {
		return parked
	}
	shown, shared := &event.Interactive, s.shared
	if s.policy.HidesCounts(ctx, shown.Subject) {
		hidden := *shown
		s.policy.Redact(ctx, s.me, &hidden)
		shown, shared = &hidden, false // another policy may be in use before the next event
	}
	made := func() *graphql.Response {
		return s.respondWith(loaders.NewContext(ctx, loaders.New(s.store, s.me, s.plan.Kinds)), next, shown)
	}
	if !shared {
		return made()
	}
	var failed *graphql.Response
	// The pointer is weak, so that a cached response does not keep an unused document in
	// memory.
	data := event.Payload(weak.Make(graphql.GetOperationContext(ctx).Operation), func() []byte {
		made := made()
		if made == nil || len(made.Errors) > 0 || len(made.Extensions) > 0 {
			failed = made
			return nil
		}
		return append([]byte(nil), made.Data...) // the executor reuses its buffer
	})
	if data == nil {
		return failed
	}
	return &graphql.Response{Data: data}
}

// respondWith returns the response for a subject, encoded directly or by the executor.
func (s *subscription) respondWith(ctx context.Context, next graphql.ResponseHandler, one *storage.Interactive) *graphql.Response {
	return respondTo(ctx, s, next, one, s.out)
}

// respondTo returns the response for a value, encoded directly if possible. Otherwise
// respondTo sends the value on the given channel, and the executor encodes the response.
func respondTo[T any](ctx context.Context, s *subscription, next graphql.ResponseHandler, one *T, out chan<- *T) *graphql.Response {
	roots := s.plan.Roots(graphql.GetOperationContext(ctx))
	memory := loaders.NewContext(ctx, loaders.FromContext(ctx).CachedOnly())
	if data, ok := s.writeData(memory, s.plan, roots, []any{one}); ok {
		s.logSuccess()
		return &graphql.Response{Data: data}
	}
	out <- one // does not block: the executor has received the previous value
	return next(ctx)
}

// takeEvent waits for an event and returns it, or parks the subscription. Both results
// are nil once the stream has ended.
func (s *subscription) takeEvent(ctx context.Context) (event *live.Event, parked *graphql.Response) {
	for {
		n, err := s.watcher.Take(s.events[:1])
		switch {
		case err != nil:
			return nil, nil
		case n > 0:
			event, s.events[0] = s.events[0], nil
			return event, nil
		}
		if parked = parkUntil(ctx, s.watcher.Await); parked != nil {
			return nil, parked
		}
	}
}

// parkUntil waits until await calls ready. If the transport supports parking, parkUntil
// does not wait, but returns the response that parks the subscription.
func parkUntil(ctx context.Context, await func(ready func())) (parked *graphql.Response) {
	if parked = transport.Park(ctx, await); parked == nil {
		ready := make(chan struct{})
		await(func() { close(ready) })
		<-ready // await calls ready also when the context ends
		return nil
	}
	resetFields(graphql.GetOperationContext(ctx))
	return parked
}

// resetFields drops the executor's cache of collected fields. Collecting them again takes
// microseconds. Keeping them would take 2 KB per ten fields in each subscription.
func resetFields(op *graphql.OperationContext) {
	*op = graphql.OperationContext{
		Variables: op.Variables, OperationName: op.OperationName, Doc: op.Doc, Operation: op.Operation,
		DisableIntrospection: op.DisableIntrospection, RecoverFunc: op.RecoverFunc,
		ResolverMiddleware: op.ResolverMiddleware, RootResolverMiddleware: op.RootResolverMiddleware, Stats: op.Stats,
	}
}
