//go:build long

package faults_test

import (
	"sync"
	"time"
)

// pauses are the times in which this process was ready to run and got no processor:
// delays of the machine, not of any request. The zero value is ready to use.
type pauses struct {
	mu   sync.Mutex
	late []pause
}

type pause struct{ from, to time.Time }

const beat = 5 * time.Millisecond

// measure notes pauses of more than two beats until done is closed.
func (p *pauses) measure(done <-chan struct{}) {
	for last := time.Now(); ; {
		select {
		case <-done:
			return
		case <-time.After(beat):
		}
		now := time.Now()
		if now.Sub(last) > 2*beat {
			p.mu.Lock()
			p.late = append(p.late, pause{last.Add(beat), now})
			p.mu.Unlock()
		}
		last = now
	}
}

// between returns the total duration of the pauses between two moments.
func (p *pauses) between(from, to time.Time) (sum time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.late) - 1; i >= 0 && p.late[i].to.After(from); i-- {
		begin, end := p.late[i].from, p.late[i].to
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
