//go:build long

package redis

import "testing"

func TestLongInterleavings(t *testing.T) { wantNoViolation(t, 100_000, func(*interleaving) {}) }

func TestLongInterleavingsWithLosses(t *testing.T) { wantNoViolation(t, 40_000, lossy) }

// The tests above are worth something only if they notice a broken rule.

// Marks follow the commit.
func TestLongMarksAfterTheCommitAreCaught(t *testing.T) {
	wantViolation(t, 400_000, func(in *interleaving) { in.markAfterCommit = true })
}

// Direct writers do not invalidate what they change.
func TestLongDirectWritersThatInvalidateNothingAreCaught(t *testing.T) {
	wantViolation(t, 400_000, func(in *interleaving) { in.direct, in.skipDirectInvalidate = true, true })
}

// Workers trust the marks of a worker that died.
func TestLongWorkersThatInvalidateNothingAreCaught(t *testing.T) {
	wantViolation(t, 2_000_000, func(in *interleaving) { in.crash, in.skipRedeliveredInvalidate = true, true })
}

// wantViolation fails the test if this number of steps finds nothing wrong.
func wantViolation(t *testing.T, steps int, rules func(*interleaving)) {
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
	wantViolation(t, 400_000, func(in *interleaving) { in.lossy, in.bypassBarrierQueue = true, true })
}

// Apply reads the counts after the states, instead of before them.
func TestLongInterleavingsFindCountsReadLate(t *testing.T) {
	wantViolation(t, 400_000, func(in *interleaving) { in.countsLast = true })
}
