package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// pulse measures how long a node on this machine takes for an empty request. Only what a
// figure exceeds that by is due to the product.
type pulse struct {
	stop func()
	took []time.Duration
}

// feel takes the pulse of a node, every 10 ms, until over is called.
func feel(t *testing.T, node *server) *pulse {
	t.Helper()
	return often(t, 10*time.Millisecond, func() { node.ready() })
}

// feelDisk measures what the disk needs for a write as small as that of a commit,
// every 20 ms, until over is called.
func feelDisk(t *testing.T) *pulse {
	t.Helper()
	const page, pages = 8 << 10, 1000
	f, err := os.Create(filepath.Join(t.TempDir(), "pulse"))
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	content, n := make([]byte, page), int64(0)
	return often(t, 20*time.Millisecond, func() {
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

// often repeats an operation and records how long each one takes.
func often(t *testing.T, every time.Duration, do func()) *pulse {
	t.Helper()
	p := &pulse{}
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

// over ends it and returns how long 99 of 100 took at most.
func (p *pulse) over() time.Duration {
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
