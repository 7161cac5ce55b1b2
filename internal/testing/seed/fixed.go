//go:build !long

package seed

// fresh is true if each run draws a seed of its own.
const fresh = false
