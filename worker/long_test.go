//go:build long

package worker_test

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongEveryUserEndsWithTheLastAcknowledgedAction(t *testing.T) {
	TestEveryUserEndsWithTheLastAcknowledgedAction(t)
}
