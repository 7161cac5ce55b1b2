package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// latencyProbe measures how long this machine takes for a trivial operation, such as an
// empty request to a node or a small write to the disk. Tests subtract that time from
// their figures, because it is not due to the product.
type latencyProbe struct {
	stop func()
	took []time.Duration
	runs []period // of each operation, from the time when it was due
}

// period is a period of time.
type period struct{ from, to time.Time }

func (p period) length() time.Duration { return p.to.Sub(p.from) }

// probeNode measures how long a node takes for an empty request. It does so every 10 ms
// until finish or worst is called.
func probeNode(t *testing.T, node *server) *latencyProbe {
	t.Helper()
	return probeEvery(t, 10*time.Millisecond, func() { node.ready() })
}

// probeDisk measures how long the disk takes for a small write, such as a commit makes.
// It does so every 20 ms until finish or worst is called.
func probeDisk(t *testing.T) *latencyProbe {
	t.Helper()
	const page, pages = 8 << 10, 1000
	f, err := os.Create(filepath.Join(t.TempDir(), "pulse"))
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, f.Close()) })
	content, n := make([]byte, page), int64(0)
	return probeEvery(t, 20*time.Millisecond, func() {
		_, err := f.WriteAt(content, page*(n%pages))
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			t.Error(err)
		}
		n++
	})
}

// probeEvery calls the function do at the given interval and records how long each call
// takes.
func probeEvery(t *testing.T, every time.Duration, do func()) *latencyProbe {
	t.Helper()
	p := &latencyProbe{}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for due := time.Now(); ; {
			begun := time.Now()
			do()
			ended := time.Now()
			p.took, p.runs = append(p.took, ended.Sub(begun)), append(p.runs, period{due, ended})
			select {
			case <-done:
				return
			case due = <-tick.C: // when the machine stalls, the next call also begins late
			}
			if due.Before(ended) {
				due = ended
			}
		}
	})
	p.stop = sync.OnceFunc(func() { close(done); running.Wait() })
	t.Cleanup(p.stop)
	return p
}

// finish ends the probe and returns the 99th percentile of the times that it recorded.
func (p *latencyProbe) finish() time.Duration {
	p.stop()
	slices.Sort(p.took)
	return p.took[len(p.took)*99/100]
}

// worst ends the probe and returns the measured call that took the longest in relation to
// the longest probe during the call, and the time for which the two ran together. A
// maximum is compared with this time because a single stall can cause the maximum, but
// hardly changes a percentile of all probes.
func (p *latencyProbe) worst(calls ...period) (took, pause time.Duration) {
	p.stop()
	for i, call := range calls {
		var longest time.Duration
		for _, run := range p.runs {
			from, to := call.from, call.to
			if run.from.After(from) {
				from = run.from
			}
			if run.to.Before(to) {
				to = run.to
			}
			longest = max(longest, to.Sub(from))
		}
		if i == 0 || call.length()-longest > took-pause {
			took, pause = call.length(), longest
		}
	}
	return took, pause
}

// within fails the test if the duration took exceeds the sum of bound and pauses, where
// pauses is the time that the machine takes for a trivial operation.
func within(t *testing.T, what string, took, pauses, bound time.Duration) {
	t.Helper()
	if took-pauses > bound {
		t.Errorf("%s took %v, want at most %v: %v and the machine's own %v", what, took, bound+pauses, bound, pauses)
	}
}
