//go:build long

package worker_test

import "testing"

// The test below runs an everyday test with fresh seeds and more cases.

func TestLongEveryUserEndsWithTheLastAcknowledgedAction(t *testing.T) {
	TestEveryUserEndsWithTheLastAcknowledgedAction(t)
}
