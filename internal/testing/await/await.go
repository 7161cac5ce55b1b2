// Package await waits for what other goroutines and servers do. Only tests import it.
package await

import (
	"testing"
	"time"
)

// patience is how long a test waits for an event that must occur.
const patience = 2 * time.Minute

// That polls a condition, at growing intervals, until it is true. It fails the test if
// that takes longer than two minutes; what names the condition in the failure.
func That(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	late := time.Now().Add(patience)
	for wait := time.Millisecond; !holds(); wait = min(2*wait, 10*time.Millisecond) {
		if time.Now().After(late) {
			tb.Fatalf("condition not met within %v: %s", patience, what)
		}
		time.Sleep(wait)
	}
}
