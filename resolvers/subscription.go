package resolvers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
	"weak"

	"github.com/99designs/gqlgen/graphql"

	"ovation/graph"
	"ovation/live"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/resolvers/transport"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

const (
	// momentTime is how long what was read together for a viewer is told of.
	// What a slow connection has not taken by then is read again.
	momentTime = 100 * time.Millisecond
	// minRetry and maxRetry bound the wait after what is to be told could not
	// be read.
	minRetry = 100 * time.Millisecond
	maxRetry = 5 * time.Second
	// freshAgain is how often it is looked whether what was told to a viewer as
	// less fresh than it is to everybody is fresh again.
	freshAgain = 10 * time.Second
	// pendingAgain is how often a subject is read again that was sent with an
	// action of the viewer that is not counted yet. Where a later action undoes
	// it before either is persisted, its counts never change.
	pendingAgain = time.Second
)

// Watcher lets subjects be watched. *live.Hub is one.
type Watcher interface {
	Watch(subjects []storage.Subject) *live.Watcher
}

// InteractiveChanged begins to watch. What the stream tells is found when its
// next response is asked for, by subscription.respond. It ends with ctx.
func (r subscriptionResolver) InteractiveChanged(ctx context.Context, inputs []*graph.SubjectInput) (<-chan *storage.Interactive, error) {
	subjects, err := watched(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if r.live == nil {
		return nil, fmt.Errorf("%w: there is no hub", storage.ErrUnavailable)
	}
	s := subscriptionOf(ctx)
	if s == nil {
		return nil, errors.New("a subscription outside of an operation")
	}
	if err := r.room.take(s.keeps, len(subjects)); err != nil {
		return nil, err
	}
	s.watcher, s.out = r.live.Watch(subjects), make(chan *storage.Interactive, 1)
	s.events = make([]*live.Event, 1)
	if !s.me.Anonymous() {
		s.events, s.told = make([]*live.Event, len(subjects)), tellings(subjects)
	}
	context.AfterFunc(ctx, func() {
		s.watcher.Close()
		r.room.give(s.keeps, len(subjects))
	})
	return s.out, nil
}

// watched are the subjects to watch: 1 to maxSubjects, each once.
func watched(ctx context.Context, inputs []*graph.SubjectInput) ([]storage.Subject, error) {
	if len(inputs) == 0 || len(inputs) > maxSubjects {
		return nil, badInput("subjects must be 1 to %d; there are %d", maxSubjects, len(inputs))
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

// subscription is one stream of responses. They are asked for one after
// another, by one goroutine at a time; between them it has none of its own.
type subscription struct {
	*Root
	me   storage.User
	plan *plan.Plan
	// shared says that whoever runs the same operation and is nobody, too, is
	// sent the very same.
	shared  bool
	keeps   kept
	watcher *live.Watcher
	out     chan *storage.Interactive // what the next response is made of

	events []*live.Event // room for what the watcher has
	// Of a viewer: what was read last and is not told yet, and what was told
	// last of each subject.
	moment  []*storage.Interactive
	at      time.Time
	loaders *loaders.Loaders
	told    []telling
	again   time.Time // when to look at what is doubted; zero: nothing is
}

// telling is what a viewer was told last of a subject.
type telling struct {
	storage.Interactive

	told  bool // anything at all
	fresh bool // everybody is told that it is LIVE
	// counted is what everybody is told, without the viewer's pending actions.
	counted storage.Counts
}

// pending reports whether an action of the viewer was told that the counts do not
// include yet.
func (one *telling) pending() bool {
	return one.told && one.counted.Version == one.Version && one.counted != one.Counts
}

func tellings(subjects []storage.Subject) []telling {
	out := make([]telling, len(subjects))
	for i := range subjects {
		out[i].Subject = subjects[i]
	}
	return out
}

// of is what was told of one of the subjects. There are 100 at most, and a map
// would take the memory of ten.
func (s *subscription) of(subject storage.Subject) *telling {
	for i := range s.told {
		if s.told[i].Subject == subject {
			return &s.told[i]
		}
	}
	return &telling{} // nobody asked for it
}

type subscriptionKey struct{}

func subscriptionOf(ctx context.Context) *subscription {
	s, _ := ctx.Value(subscriptionKey{}).(*subscription)
	return s
}

// subscribe gives a subscription its state.
func (r *Root) subscribe(ctx context.Context, op *graphql.OperationContext, next graphql.OperationHandler) graphql.ResponseHandler {
	me := viewer.From(ctx)
	s := &subscription{Root: r, me: me, plan: r.limits.Plan(op)}
	s.keeps = kept{anonymous: me.Anonymous(), document: op.Doc, text: len(op.RawQuery) + s.plan.Fields}
	if s.plan.Varies {
		s.keeps.variables = textIn(op.Variables)
	}
	s.shared = s.me.Anonymous() && !s.plan.Varies
	responses := next(context.WithValue(ctx, subscriptionKey{}, s))
	op.RawQuery, op.Extensions, op.Headers = "", nil, nil // nobody reads them any more
	if !s.plan.Varies {
		op.Variables = nil // they were read, and are the most of what is kept
	}
	return responses
}

// respond waits until there is something to tell and makes a response of it, or
// parks. It returns nil when the stream has ended. Data of a response may be
// shared with others and must not be changed.
func (s *subscription) respond(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	if s.me.Anonymous() {
		return s.respondToAnyone(ctx, next)
	}
	one, parked := s.nextOfViewer(ctx)
	if one == nil {
		return parked
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return s.make(loaders.With(ctx, s.loaders), next, one)
}

// respondToAnyone tells the counts as the hub has them. It is encoded once for
// all who asked the same.
func (s *subscription) respondToAnyone(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	event, parked := s.take(ctx)
	if event == nil {
		return parked
	}
	made := func() *graphql.Response {
		return s.make(loaders.With(ctx, loaders.New(s.store, s.me, s.plan.Kinds)), next, &event.Interactive)
	}
	if !s.shared {
		return made()
	}
	var failed *graphql.Response
	// A document that nobody uses any more is not kept by what it was encoded for.
	data := event.Payload(weak.Make(graphql.GetOperationContext(ctx).Operation), func() []byte {
		made := made()
		if made == nil || len(made.Errors) > 0 || len(made.Extensions) > 0 {
			failed = made
			return nil
		}
		return append([]byte(nil), made.Data...) // the executor writes the next one into the same buffer
	})
	if data == nil {
		return failed
	}
	return &graphql.Response{Data: data}
}

// make makes a response, or has the executor make it.
func (s *subscription) make(ctx context.Context, next graphql.ResponseHandler, one *storage.Interactive) *graphql.Response {
	roots := s.plan.Roots(graphql.GetOperationContext(ctx))
	memory := loaders.With(ctx, loaders.From(ctx).Memory())
	if data, ok := s.write(memory, s.plan, roots, []any{one}); ok {
		s.worked()
		return &graphql.Response{Data: data}
	}
	s.out <- one // the executor has taken the one before
	return next(ctx)
}

// take takes an event, or parks; there is neither when the stream has ended.
func (s *subscription) take(ctx context.Context) (event *live.Event, parked *graphql.Response) {
	for {
		n, err := s.watcher.Take(s.events[:1])
		switch {
		case err != nil:
			return nil, nil
		case n > 0:
			event, s.events[0] = s.events[0], nil
			return event, nil
		}
		if parked = wait(ctx, s.watcher.Await); parked != nil {
			return nil, parked
		}
	}
}

// wait waits until await calls back, unless the transport would rather be told:
// then parked is the response.
func wait(ctx context.Context, await func(ready func())) (parked *graphql.Response) {
	if parked = transport.Park(ctx, await); parked == nil {
		ready := make(chan struct{})
		await(func() { close(ready) })
		<-ready // at the latest when the context has ended
		return nil
	}
	forgetFields(graphql.GetOperationContext(ctx))
	return parked
}

// forgetFields has the executor forget which fields each selection has. It finds
// them again in microseconds; they take 2 KB for ten fields, of each subscription.
func forgetFields(op *graphql.OperationContext) {
	*op = graphql.OperationContext{
		Variables: op.Variables, OperationName: op.OperationName, Doc: op.Doc, Operation: op.Operation,
		DisableIntrospection: op.DisableIntrospection, RecoverFunc: op.RecoverFunc,
		ResolverMiddleware: op.ResolverMiddleware, RootResolverMiddleware: op.RootResolverMiddleware, Stats: op.Stats,
	}
}

// nextOfViewer waits for the next thing to tell a viewer, or parks; there is
// neither when the stream has ended. What has changed at the same moment is read
// by one call, as a query would read it: so the viewer's own actions and the
// counts agree.
func (s *subscription) nextOfViewer(ctx context.Context) (one *storage.Interactive, parked *graphql.Response) {
	for {
		if len(s.moment) == 0 {
			subjects, parked := s.changed(ctx)
			if len(subjects) == 0 || !s.read(ctx, subjects) {
				return nil, parked
			}
		} else if time.Since(s.at) > momentTime {
			old := make([]storage.Subject, len(s.moment))
			for i, one := range s.moment {
				old[i] = one.Subject
			}
			if !s.read(ctx, old) {
				return nil, nil
			}
		}
		for len(s.moment) > 0 {
			one := s.moment[0]
			if s.moment = s.moment[1:]; s.isNews(one) {
				last := s.of(one.Subject)
				last.Interactive, last.told = *one, true
				return one, nil
			}
		}
	}
}

// changed waits until there are subjects to read, or parks; there is neither
// when the stream has ended.
func (s *subscription) changed(ctx context.Context) (subjects []storage.Subject, parked *graphql.Response) {
	for {
		n, err := s.watcher.Take(s.events)
		switch doubted := s.doubted(); {
		case err != nil:
			return nil, nil
		case n > 0:
			subjects = make([]storage.Subject, n)
			for i, event := range s.events[:n] {
				subjects[i], s.events[i] = event.Subject, nil
				of := s.of(event.Subject)
				of.fresh, of.counted = event.Freshness == storage.Live, event.Counts
			}
			return subjects, nil
		case len(doubted) == 0:
			s.again = time.Time{}
		case !s.again.IsZero() && !time.Now().Before(s.again):
			s.again = time.Time{}
			return doubted, nil
		default:
			if again := time.Now().Add(s.lookAgain()); s.again.IsZero() || again.Before(s.again) {
				s.again = again
			}
		}
		s.moment, s.loaders = nil, nil
		if parked = wait(ctx, s.await); parked != nil {
			return nil, parked
		}
	}
}

// await has ready called when the watcher has something, or it is time to look
// again at what is doubted.
func (s *subscription) await(ready func()) {
	if s.again.IsZero() {
		s.watcher.Await(ready)
		return
	}
	once := sync.OnceFunc(ready)
	timer := time.AfterFunc(time.Until(s.again), once)
	s.watcher.Await(func() {
		timer.Stop()
		once()
	})
}

// doubted are the subjects that everybody is told are LIVE, and the viewer was
// not: something the viewer did may not be counted. So are those that were told
// with a pending action of the viewer.
func (s *subscription) doubted() (subjects []storage.Subject) {
	for i := range s.told {
		if one := &s.told[i]; one.told && one.fresh && one.Freshness != storage.Live || one.pending() {
			subjects = append(subjects, one.Subject)
		}
	}
	return subjects
}

// lookAgain is how long to wait before what is doubted is read again. It is
// random, to spread load.
func (s *subscription) lookAgain() time.Duration {
	again := freshAgain
	for i := range s.told {
		if s.told[i].pending() {
			again = pendingAgain
			break
		}
	}
	return again - rand.N(again/2) //nolint:gosec // it spreads load, no more
}

// read reads subjects, and what will be asked of them. While that fails it
// tries again. It returns false when the context has ended.
func (s *subscription) read(ctx context.Context, subjects []storage.Subject) bool {
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		if s.readOnce(ctx, subjects) == nil {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

func (s *subscription) readOnce(ctx context.Context, subjects []storage.Subject) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s.loaders = loaders.New(s.store, s.me, s.plan.Kinds)
	ctx = loaders.With(ctx, s.loaders)
	if err := s.loaders.Fetch(ctx, loaders.Wants{Interactives: subjects}); err != nil {
		return err
	}
	found, err := s.loaders.Interactives(ctx, subjects)
	if err != nil {
		return err
	}
	s.moment, s.at = found, time.Now()
	a := s.newAhead(ctx)
	roots := s.plan.Roots(a.op)
	for i := range roots.Fields {
		for _, one := range found {
			a.look(&roots.Fields[i], one)
		}
	}
	a.run()
	return nil
}

// isNews reports whether one is something to tell after what was told last. It
// is nothing where it is the same, or older. Counts that are not known are
// those that were told.
func (s *subscription) isNews(one *storage.Interactive) bool {
	last := s.of(one.Subject)
	if !last.told {
		return true
	}
	if one.Freshness == storage.Unavailable && last.Freshness != storage.Unavailable {
		*one = last.Interactive
		one.Freshness = storage.Stale
	}
	if one.Version < last.Version && last.Freshness != storage.Unavailable {
		return false
	}
	return one.Counts != last.Counts || one.Freshness != last.Freshness ||
		differ(one.Liked, last.Liked) || differ(one.Collected, last.Collected) || differ(one.Read, last.Read)
}

func differ[T comparable](a, b *T) bool {
	return (a == nil) != (b == nil) || a != nil && *a != *b
}
