package load

import (
	"errors"
	"syscall"
	"time"
)

// sleepUntil sleeps until the given time, to within about a tenth of a millisecond. The
// timers of an idle Go process are a whole millisecond late; this delay would be added to
// the latency.
func sleepUntil(at time.Time) {
	for wait := time.Until(at); wait > 0; wait = time.Until(at) {
		left := syscall.NsecToTimespec(wait.Nanoseconds())
		if err := syscall.Nanosleep(&left, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			time.Sleep(wait)
		}
	}
}
