//go:build long

package amqp

import "testing"

// The tests below run everyday tests with fresh seeds and more cases.

func TestLongMessageIsReadAsItWasWritten(t *testing.T) { TestMessageIsReadAsItWasWritten(t) }

func TestLongOnlySettledDeliveriesAreAcknowledged(t *testing.T) {
	TestOnlySettledDeliveriesAreAcknowledged(t)
}
