//go:build long

package amqp

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongMessageIsReadAsItWasWritten(t *testing.T) { TestMessageIsReadAsItWasWritten(t) }

func TestLongOnlySettledDeliveriesAreAcknowledged(t *testing.T) {
	TestOnlySettledDeliveriesAreAcknowledged(t)
}
