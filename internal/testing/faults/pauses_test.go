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
	measured  time.Time // pauses until this time are recorded
	ended     bool      // measure has returned
}

type pause struct{ from, to time.Time }

const pauseTick = 5 * time.Millisecond

// measure records pauses of more than two ticks until done is closed.
func (p *pauses) measure(done <-chan struct{}) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = true
	}()
	for last := time.Now(); ; {
		select {
		case <-done:
			return
		case <-time.After(pauseTick):
		}
		now := time.Now()
		p.mu.Lock()
		if p.measured = now; now.Sub(last) > 2*pauseTick {
			p.intervals = append(p.intervals, pause{last.Add(pauseTick), now})
		}
		p.mu.Unlock()
		last = now
	}
}

// await waits until pauses up to the given time are recorded. After a pause, the
// caller may run before measure does.
func (p *pauses) await(until time.Time) {
	for {
		p.mu.Lock()
		recorded := p.ended || p.measured.After(until)
		p.mu.Unlock()
		if recorded {
			return
		}
		time.Sleep(pauseTick)
	}
}

// durationBetween returns the total duration of the pauses in the given interval.
func (p *pauses) durationBetween(from, to time.Time) (sum time.Duration) {
	p.await(to)
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
