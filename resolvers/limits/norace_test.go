//go:build !race

package limits

// slower is how much longer things take with the race detector.
const slower = 1
