//go:build !race

package limits

// slower is the factor for time limits: 1 without the race detector.
const slower = 1
