//go:build !race

package main

const raceMemoryFactor = 1
