package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// Before a collection, garbage may grow to the size of the live memory or to minGarbage
// bytes, whichever is larger. It never grows to more than maxGarbageRatio times the live
// memory.
const (
	minGarbage      = 256 << 20
	maxGarbageRatio = 4
)

// longRunning reports whether the arguments name a command that runs until it is stopped.
func longRunning(args []string) bool {
	return len(args) > 1 && slices.Contains([]string{"dev", "serve", "work", "stack"}, args[1])
}

// delayCollections makes a long-running command collect garbage less often than Go does
// by default. A node has a few tens of megabytes of live memory, and produces as much
// garbage every few hundred milliseconds. If GOGC is set in the environment, it takes
// precedence. GOMEMLIMIT still bounds the memory.
func delayCollections(args []string) {
	if !longRunning(args) || os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * maxGarbageRatio)
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for now := 100 * maxGarbageRatio; ; time.Sleep(time.Second) {
			metrics.Read(live)
			if next := gcPercent(live[0].Value.Uint64()); next != now {
				now = next
				debug.SetGCPercent(now)
			}
		}
	}()
}

// gcPercent returns the percentage of live memory that garbage may reach, for
// debug.SetGCPercent. live is the size of the live memory in bytes. The result is a
// multiple of 25, so that it seldom changes: every change stops the world.
func gcPercent(live uint64) int {
	percent := 100 * minGarbage / max(live, 1)
	return int(min(max(percent/25*25, 100), 100*maxGarbageRatio))
}
