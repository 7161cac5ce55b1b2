package counts

import (
	"context"
	"errors"
	"sync"
	"time"

	"ovation/storage"
)

// flights let one of those who miss the same counts at the same time ask for
// all of them.
type flights struct {
	mu sync.Mutex
	of map[storage.Subject]*flight
}

type flight struct {
	done   chan struct{}
	counts storage.Counts
	err    error
}

// load returns the counts of each subject: those that nobody else is loading
// by one call, which no caller's going away cuts short, and the others when
// they come. own are the indices of the former.
func (f *flights) load(
	ctx context.Context, subjects []storage.Subject,
	load func(context.Context, []storage.Subject) ([]storage.Counts, error),
) (out []storage.Counts, own []int, err error) {
	all := make([]*flight, len(subjects))
	var mine []*flight
	f.mu.Lock()
	if f.of == nil {
		f.of = make(map[storage.Subject]*flight)
	}
	for i, subject := range subjects {
		if all[i] = f.of[subject]; all[i] == nil {
			all[i] = &flight{done: make(chan struct{})}
			f.of[subject] = all[i]
			mine, own = append(mine, all[i]), append(own, i)
		}
	}
	f.mu.Unlock()
	if len(mine) > 0 {
		f.fly(ctx, pick(subjects, own), mine, load)
	}
	out = make([]storage.Counts, len(all))
	for i, one := range all {
		select {
		case <-one.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if one.err != nil {
			return nil, nil, one.err
		}
		out[i] = one.counts
	}
	return out, own, nil
}

// flightTime bounds a flight that its caller no longer bounds.
const flightTime = 5 * time.Second

func (f *flights) fly(
	ctx context.Context, subjects []storage.Subject, own []*flight,
	load func(context.Context, []storage.Subject) ([]storage.Counts, error),
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTime)
	defer cancel()
	var counts []storage.Counts
	err := errors.New("counts were not loaded") // where load panics
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, one := range own {
			if one.err = err; err == nil {
				one.counts = counts[i]
			}
			delete(f.of, subjects[i])
			close(one.done)
		}
	}()
	counts, err = load(ctx, subjects)
}
