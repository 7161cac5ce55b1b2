//go:build race

package main

// raceMemoryFactor is how much more memory things take with the race detector.
const raceMemoryFactor = 2
