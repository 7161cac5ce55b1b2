//go:build !linux

package load

import "time"

// sleepUntil sleeps until the given time, to within about a millisecond.
func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }
