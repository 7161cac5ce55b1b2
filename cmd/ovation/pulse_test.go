package main

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// pulse measures what a node and this machine need for a request that asks for
// nothing. What a figure is above that is the product's own.
type pulse struct {
	stop func()
	took []time.Duration
}

// feel takes the pulse of a node, every 10 ms, until over is called.
func feel(t *testing.T, node *server) *pulse {
	t.Helper()
	p := &pulse{}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			due := time.Now()
			node.ready()
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
