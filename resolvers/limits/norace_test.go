//go:build !race

package limits

// raceSlowdown is the factor for time limits: 1 without the race detector.
const raceSlowdown = 1
