//go:build race

package main

// heavier is how much more memory things take with the race detector.
const heavier = 2
