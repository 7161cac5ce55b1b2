package counts

import (
	"context"
	"errors"
	"sync"
	"time"

	"ovation/storage"
)

// flightGroup loads counts once for all callers that miss them at the same time.
type flightGroup struct {
	mu         sync.Mutex
	flights    map[storage.Subject]*flight
	lastNumber int64 // number of the latest flight
}

// flight is one load of the counts of a subject. Callers wait until done is closed.
type flight struct {
	number int64
	done   chan struct{}
	counts storage.Counts
	err    error
}

// load returns the counts of each subject as of a moment after the call began. If another
// caller is already loading a subject, the call waits for the flight of that caller. It
// loads the other subjects itself, through the parameter load. A load continues even if
// its caller cancels. A flight that began before the call may return counts that are
// older than those that the caller has seen. The subject of such a flight is loaded once
// more. The result own holds the indices of the subjects that this call has loaded.
func (f *flightGroup) load(
	ctx context.Context, subjects []storage.Subject,
	load func(context.Context, []storage.Subject) ([]storage.Counts, error),
) (out []storage.Counts, own []int, err error) {
	out = make([]storage.Counts, len(subjects))
	f.mu.Lock()
	began := f.lastNumber
	f.mu.Unlock()
	left := make([]int, len(subjects))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		all, mine := f.join(subjects, left)
		if len(mine) > 0 {
			f.run(ctx, pick(subjects, mine), load)
			own = append(own, mine...)
		}
		var again []int
		for k, i := range left {
			select {
			case <-all[k].done:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			if all[k].err != nil {
				return nil, nil, all[k].err
			}
			if out[i] = all[k].counts; all[k].number <= began {
				again = append(again, i)
			}
		}
		left = again
	}
	return out, own, nil
}

// join returns the flights of some of the subjects. The parameter at holds the indices of
// these subjects. If a subject has no flight, join begins one. The result mine holds the
// indices of the subjects for which join has begun a flight.
func (f *flightGroup) join(subjects []storage.Subject, at []int) (all []*flight, mine []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flights == nil {
		f.flights = make(map[storage.Subject]*flight)
	}
	f.lastNumber++
	all = make([]*flight, len(at))
	for k, i := range at {
		if all[k] = f.flights[subjects[i]]; all[k] == nil {
			all[k] = &flight{number: f.lastNumber, done: make(chan struct{})}
			f.flights[subjects[i]] = all[k]
			mine = append(mine, i)
		}
	}
	return all, mine
}

// flightTimeout bounds a flight, which continues even if its caller cancels.
const flightTimeout = 5 * time.Second

// run loads the subjects whose flights the caller has begun, and ends the flights.
func (f *flightGroup) run(
	ctx context.Context, subjects []storage.Subject,
	load func(context.Context, []storage.Subject) ([]storage.Counts, error),
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTimeout)
	defer cancel()
	var counts []storage.Counts
	err := errors.New("counts were not loaded") // if load panics
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, subject := range subjects {
			one := f.flights[subject]
			if one.err = err; err == nil {
				one.counts = counts[i]
			}
			delete(f.flights, subject)
			close(one.done)
		}
	}()
	counts, err = load(ctx, subjects)
}
