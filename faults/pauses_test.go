//go:build long

package faults_test

import (
	"sync"
	"time"
)

// pauses holds the intervals in which this process was ready to run but was not
// scheduled. The machine causes these delays, not a request. The zero value is ready to
// use.
type pauses struct {
	mu        sync.Mutex
	intervals []pause
}

type pause struct{ from, to time.Time }

const pauseTick = 5 * time.Millisecond

// measure records pauses of more than two ticks until done is closed.
func (p *pauses) measure(done <-chan struct{}) {
	for last := time.Now(); ; {
		select {
		case <-done:
			return
		case <-time.After(pauseTick):
		}
		now := time.Now()
		if now.Sub(last) > 2*pauseTick {
			p.mu.Lock()
			p.intervals = append(p.intervals, pause{last.Add(pauseTick), now})
			p.mu.Unlock()
		}
		last = now
	}
}

// durationBetween returns the total duration of the pauses in the given interval.
func (p *pauses) durationBetween(from, to time.Time) (sum time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.intervals) - 1; i >= 0 && p.intervals[i].to.After(from); i-- {
		begin, end := p.intervals[i].from, p.intervals[i].to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(0, end.Sub(begin))
	}
	return sum
}
