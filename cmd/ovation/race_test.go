//go:build race

package main

// raceMemoryFactor is the factor by which the race detector increases memory use.
const raceMemoryFactor = 2
