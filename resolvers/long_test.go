//go:build long

package resolvers_test

import "testing"

// The long tier uses fresh seeds and checks more cases than the everyday tests.

func TestLongPlainAnswersAreThoseOfTheExecutor(t *testing.T) {
	TestPlainAnswersAreThoseOfTheExecutor(t)
}

func TestLongPlainEventsAreThoseOfTheExecutor(t *testing.T) { TestPlainEventsAreThoseOfTheExecutor(t) }
