package pending

import (
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
)

// simulateLag simulates a new caller every 20 ms, and workers that persist an action once
// it is as old as lag. It returns the number of callers that waited, and the number of
// all callers.
func simulateLag(w *waiters, during, lag time.Duration) (waited, callers int) {
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		callers++
		if w.add(make([]storage.Action, 1)) != nil {
			waited++
		}
		some := w.batch()
		persisted := make([]bool, len(some))
		for i, one := range some {
			persisted[i] = time.Since(one.began) >= lag
		}
		w.record(some, persisted)
	}
	return waited, callers
}

// Workers that are always too late still make progress, so every caller waits.
func TestLateWorkersAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := waiters{wake: make(chan struct{}, 1)}
		if waited, callers := simulateLag(&w, 20*time.Second, maxWait+100*time.Millisecond); waited != callers {
			t.Errorf("%d of %d callers wait, want all", waited, callers)
		}
	})
}

// While workers persist nothing, every caller waits during the first second, and later
// only one caller at a time. Once workers persist actions again, every caller waits.
func TestStalledWorkersAreWaitedForByFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := waiters{wake: make(chan struct{}, 1)}
		simulateLag(&w, stallTimeout, time.Hour)
		if waited, callers := simulateLag(&w, 20*time.Second, time.Hour); waited < 5 || waited > 10 {
			t.Errorf("%d of %d callers wait, want 5 to 10, one every %v", waited, callers, watchTime)
		}
		simulateLag(&w, 2*watchTime, 0) // the next caller that waits detects progress
		if waited, callers := simulateLag(&w, 5*time.Second, 0); waited != callers {
			t.Errorf("afterwards %d of %d callers wait, want all", waited, callers)
		}
	})
}

// A stall that was long ago does not affect later callers.
func TestAStallIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := waiters{wake: make(chan struct{}, 1)}
		simulateLag(&w, 5*time.Second, time.Hour)
		time.Sleep(time.Minute)
		w.batch()
		if waited, callers := simulateLag(&w, stallTimeout, time.Hour); waited != callers {
			t.Errorf("%d of %d callers wait, want all", waited, callers)
		}
	})
}
