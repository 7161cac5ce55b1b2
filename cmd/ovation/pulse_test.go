package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// latencyProbe measures how long a node on this machine takes for an empty request. Only
// the part of a figure that exceeds this time is due to the product.
type latencyProbe struct {
	stop func()
	took []time.Duration
}

// probeNode takes the pulse of a node, every 10 ms, until over is called.
func probeNode(t *testing.T, node *server) *latencyProbe {
	t.Helper()
	return probeEvery(t, 10*time.Millisecond, func() { node.ready() })
}

// probeDisk measures what the disk needs for a write as small as that of a commit,
// every 20 ms, until over is called.
func probeDisk(t *testing.T) *latencyProbe {
	t.Helper()
	const page, pages = 8 << 10, 1000
	f, err := os.Create(filepath.Join(t.TempDir(), "pulse"))
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
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

// probeEvery repeats an operation and records how long each one takes.
func probeEvery(t *testing.T, every time.Duration, do func()) *latencyProbe {
	t.Helper()
	p := &latencyProbe{}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			due := time.Now()
			do()
			p.took = append(p.took, time.Since(due))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	p.stop = sync.OnceFunc(func() { close(done); running.Wait() })
	t.Cleanup(p.stop)
	return p
}

// finish ends it and returns how long 99 of 100 took at most.
func (p *latencyProbe) finish() time.Duration {
	p.stop()
	slices.Sort(p.took)
	return p.took[len(p.took)*99/100]
}

// within fails the test if something took longer than the machine's own pauses and the bound.
func within(t *testing.T, what string, took, pauses, bound time.Duration) {
	t.Helper()
	if took-pauses > bound {
		t.Errorf("%s took %v, want at most %v: %v and the machine's own %v", what, took, bound+pauses, bound, pauses)
	}
}
