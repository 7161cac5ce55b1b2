//go:build long

package redis

import "testing"

func TestLongInterleavings(t *testing.T) { wantNoViolation(t, 100_000, func(*interleaving) {}) }

func TestLongInterleavingsWithLosses(t *testing.T) { wantNoViolation(t, 40_000, lossy) }

// The interleaving tests must detect every broken rule. Each test below breaks one rule
// on purpose.

// TestLongMarksAfterTheCommitAreCaught makes workers mark after the commit.
func TestLongMarksAfterTheCommitAreCaught(t *testing.T) {
	wantViolation(t, 400_000, func(in *interleaving) { in.markAfterCommit = true })
}

// TestLongDirectWritersThatInvalidateNothingAreCaught makes direct writers commit without
// invalidating what they change.
func TestLongDirectWritersThatInvalidateNothingAreCaught(t *testing.T) {
	wantViolation(t, 400_000, func(in *interleaving) { in.direct, in.skipDirectInvalidate = true, true })
}

// TestLongWorkersThatInvalidateNothingAreCaught makes workers persist redelivered
// messages without first invalidating the marks of the worker that died.
func TestLongWorkersThatInvalidateNothingAreCaught(t *testing.T) {
	wantViolation(t, 2_000_000, func(in *interleaving) { in.crash, in.skipRedeliveredInvalidate = true, true })
}

// wantViolation fails the test if no violation is found within about the given number of
// steps.
func wantViolation(t *testing.T, steps int, rules func(*interleaving)) {
	t.Helper()
	taken, found := interleave(t, steps, rules)
	if len(found) == 0 {
		t.Errorf("found nothing wrong in %d steps, want the broken rule to be noticed", taken)
	} else {
		t.Logf("after %d steps: %s", taken, found[0])
	}
}

// TestLongBarriersPastTheQueueAreCaught makes barriers bypass the queue of messages.
func TestLongBarriersPastTheQueueAreCaught(t *testing.T) {
	wantViolation(t, 400_000, func(in *interleaving) { in.lossy, in.bypassBarrierQueue = true, true })
}

// TestLongInterleavingsFindCountsReadLate makes Apply read the counts after the states,
// instead of before them.
func TestLongInterleavingsFindCountsReadLate(t *testing.T) {
	wantViolation(t, 400_000, func(in *interleaving) { in.countsLast = true })
}
