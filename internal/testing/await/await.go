// Package await waits for conditions that other goroutines and servers establish. Only
// tests import it.
package await

import (
	"testing"
	"time"
)

// timeout is how long a test waits for an event that must occur.
const timeout = 2 * time.Minute

// That polls a condition, at increasing intervals, until it is true. It fails the test
// after two minutes. The parameter what describes the condition in the failure message.
func That(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	late := time.Now().Add(timeout)
	for wait := time.Millisecond; !holds(); wait = min(2*wait, 10*time.Millisecond) {
		if time.Now().After(late) {
			tb.Fatalf("condition not met within %v: %s", timeout, what)
		}
		time.Sleep(wait)
	}
}
