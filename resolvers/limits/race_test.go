//go:build race

package limits

// raceSlowdown is the factor for time limits with the race detector.
const raceSlowdown = 10
