package main

import "testing"

func TestGarbageIsBounded(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for live, want := range map[uint64]int{0: 400, 10 * mib: 400, 64 * mib: 400, 128 * mib: 200, 200 * mib: 125, 256 * mib: 100, 10_000 * mib: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("gcPercent(%d MiB) = %d, want %d", live/mib, got, want)
		}
		if garbage := live / 100 * uint64(gcPercent(live)); garbage > max(minGarbage, live) {
			t.Errorf("gcPercent(%d MiB) allows %d MiB of garbage, want at most %d", live/mib, garbage/mib, max(minGarbage, live)/mib)
		}
	}
}
