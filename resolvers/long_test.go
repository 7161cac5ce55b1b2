//go:build long

package resolvers_test

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongPlainAnswersAreThoseOfTheExecutor(t *testing.T) {
	TestPlainAnswersAreThoseOfTheExecutor(t)
}

func TestLongPlainEventsAreThoseOfTheExecutor(t *testing.T) { TestPlainEventsAreThoseOfTheExecutor(t) }
