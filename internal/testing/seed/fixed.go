//go:build !long

package seed

// drawsSeed is true if each run draws a new seed.
const drawsSeed = false
