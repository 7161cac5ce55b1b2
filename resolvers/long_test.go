//go:build long

package resolvers_test

import "testing"

// The long tier draws new seeds and checks more cases than every run does.

func TestLongPlainAnswersAreThoseOfTheExecutor(t *testing.T) {
	TestPlainAnswersAreThoseOfTheExecutor(t)
}

func TestLongPlainEventsAreThoseOfTheExecutor(t *testing.T) { TestPlainEventsAreThoseOfTheExecutor(t) }
