package resolvers

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"ovation/loaders"
	"ovation/storage"
)

// nextOfViewer waits for the next event for a signed-in viewer, or parks the
// subscription. Both results are nil once the stream has ended. Subjects that change
// together are read by one call, as in a query, so that the viewer's own actions agree
// with the counts.
func (s *subscription) nextOfViewer(ctx context.Context) (one *storage.Interactive, parked *graphql.Response) {
	for {
		if len(s.snapshot) == 0 {
			subjects, parked := s.nextChanged(ctx)
			if len(subjects) == 0 || !s.read(ctx, subjects) {
				return nil, parked
			}
		} else if time.Since(s.at) > snapshotTTL {
			old := make([]storage.Subject, len(s.snapshot))
			for i, one := range s.snapshot {
				old[i] = one.Subject
			}
			if !s.read(ctx, old) {
				return nil, nil
			}
		}
		for len(s.snapshot) > 0 {
			one := s.snapshot[0]
			if s.snapshot = s.snapshot[1:]; s.isNew(one) {
				last := s.stateOf(one.Subject)
				last.Interactive, last.sent = *one, true
				return one, nil
			}
		}
	}
}

// nextChanged waits until there are subjects to read, or parks the subscription. Both
// results are nil once the stream has ended.
func (s *subscription) nextChanged(ctx context.Context) (subjects []storage.Subject, parked *graphql.Response) {
	for {
		n, err := s.watcher.Take(s.events)
		switch doubted := s.staleSubjects(); {
		case err != nil:
			return nil, nil
		case n > 0:
			subjects = make([]storage.Subject, n)
			for i, event := range s.events[:n] {
				subjects[i], s.events[i] = event.Subject, nil
				of := s.stateOf(event.Subject)
				of.fresh, of.counted = event.Freshness == storage.Live, event.Counts
				of.rewound = of.rewound || of.sent && of.rewinds != event.Rewinds
				of.rewinds = event.Rewinds
			}
			return subjects, nil
		case len(doubted) == 0:
			s.recheckAt = time.Time{}
		case !s.recheckAt.IsZero() && !time.Now().Before(s.recheckAt):
			s.recheckAt = time.Time{}
			return doubted, nil
		default:
			if again := time.Now().Add(s.recheckDelay()); s.recheckAt.IsZero() || again.Before(s.recheckAt) {
				s.recheckAt = again
			}
		}
		s.snapshot, s.loaders = nil, nil
		if parked = parkUntil(ctx, s.await); parked != nil {
			return nil, parked
		}
	}
}

// await arranges for ready to be called when the watcher has events or when the stale
// subjects are due to be re-read.
func (s *subscription) await(ready func()) {
	if s.recheckAt.IsZero() {
		s.watcher.Await(ready)
		return
	}
	once := sync.OnceFunc(ready)
	timer := time.AfterFunc(time.Until(s.recheckAt), once)
	s.watcher.Await(func() {
		timer.Stop()
		once()
	})
}

// staleSubjects returns the subjects that must be re-read without an event. Some were
// sent as STALE or UNAVAILABLE although they are LIVE in the hub, because one of the
// viewer's actions may not be counted yet. Others were sent in a state that includes a
// pending action of the viewer.
func (s *subscription) staleSubjects() (subjects []storage.Subject) {
	for i := range s.sent {
		if one := &s.sent[i]; one.sent && one.fresh && one.Freshness != storage.Live && one.Freshness != storage.Hidden || one.pending() {
			subjects = append(subjects, one.Subject)
		}
	}
	return subjects
}

// recheckDelay returns how long to wait before stale subjects are re-read. The delay is
// random, to spread the load.
func (s *subscription) recheckDelay() time.Duration {
	again := freshnessInterval
	for i := range s.sent {
		if s.sent[i].pending() {
			again = pendingInterval
			break
		}
	}
	return again - rand.N(again/2) //nolint:gosec // only spreads load
}

// read reads subjects and prefetches what the operation selects from them. It retries
// until it succeeds. It returns false if the context ends first.
func (s *subscription) read(ctx context.Context, subjects []storage.Subject) bool {
	return retry(ctx, func() error { return s.readOnce(ctx, subjects) })
}

// retry calls the given function until the function returns no error. It returns false if
// the context ends first.
func retry(ctx context.Context, do func() error) bool {
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		if do() == nil {
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
	ctx = loaders.NewContext(ctx, s.loaders)
	found, err := loaders.Interactives.FetchMany(ctx, subjects)
	if err != nil {
		return err
	}
	s.snapshot, s.at = found, time.Now()
	a := s.newPrefetch(ctx)
	roots := s.plan.Roots(a.op)
	for i := range roots.Fields {
		for _, one := range found {
			a.visit(&roots.Fields[i], one)
		}
	}
	a.run()
	return nil
}

// isNew reports whether a subject's new state must be sent. This is the case if the
// subject was never sent, if the state sent last may have been lost, or if the new state
// differs from the state sent last and is not older. A new version of hidden counts is no
// difference. If the new state is UNAVAILABLE, isNew overwrites it with the state sent last,
// marked as STALE.
func (s *subscription) isNew(one *storage.Interactive) bool {
	last := s.stateOf(one.Subject)
	if !last.sent {
		return true
	}
	if one.Freshness == storage.Unavailable && last.Freshness != storage.Unavailable {
		*one = last.Interactive
		if one.Freshness != storage.Hidden {
			one.Freshness = storage.Stale
		}
	} else if last.rewound {
		last.rewound = false
		return true
	}
	if one.Version < last.Version && last.Freshness != storage.Unavailable {
		return false
	}
	counts := last.Counts
	if one.Freshness == storage.Hidden {
		counts.Version = one.Version
	}
	return one.Counts != counts || one.Freshness != last.Freshness ||
		differ(one.Liked, last.Liked) || differ(one.Collected, last.Collected) || differ(one.Read, last.Read) ||
		differ(one.Followed, last.Followed)
}

func differ[T comparable](a, b *T) bool {
	return (a == nil) != (b == nil) || a != nil && *a != *b
}
