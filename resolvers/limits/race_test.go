//go:build race

package limits

// slower is the factor for time limits with the race detector.
const slower = 10
