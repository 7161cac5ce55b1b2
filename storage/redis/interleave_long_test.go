//go:build long

package redis

import "testing"

func TestLongInterleavings(t *testing.T) { findNothing(t, 100_000, func(*interleaving) {}) }

func TestLongInterleavingsWithLosses(t *testing.T) { findNothing(t, 40_000, lossy) }

// The tests above are worth something only if they notice a broken rule.

// Marks follow the commit.
func TestLongMarksAfterTheCommitAreCaught(t *testing.T) {
	findSomething(t, 400_000, func(in *interleaving) { in.naive = true })
}

// Direct writers do not invalidate what they change.
func TestLongDirectWritersThatInvalidateNothingAreCaught(t *testing.T) {
	findSomething(t, 400_000, func(in *interleaving) { in.direct, in.careless = true, true })
}

// Workers trust the marks of a worker that died.
func TestLongWorkersThatInvalidateNothingAreCaught(t *testing.T) {
	findSomething(t, 2_000_000, func(in *interleaving) { in.crash, in.trusting = true, true })
}

// findSomething fails the test if this number of steps finds nothing wrong.
func findSomething(t *testing.T, steps int, rules func(*interleaving)) {
	t.Helper()
	taken, found := interleave(t, steps, rules)
	if len(found) == 0 {
		t.Errorf("found nothing wrong in %d steps, want the broken rule to be noticed", taken)
	} else {
		t.Logf("after %d steps: %s", taken, found[0])
	}
}

// Barriers bypass the queue of messages.
func TestLongBarriersPastTheQueueAreCaught(t *testing.T) {
	findSomething(t, 400_000, func(in *interleaving) { in.lossy, in.hasty = true, true })
}

// Apply reads the counts after the states, instead of before them.
func TestLongInterleavingsFindCountsReadLate(t *testing.T) {
	findSomething(t, 400_000, func(in *interleaving) { in.late = true })
}
