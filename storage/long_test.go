//go:build long

package storage_test

import "testing"

// These tests run everyday tests with fresh seeds and more cases.

func TestLongCoalesceKeepsTheLatestOfEachState(t *testing.T) {
	TestCoalesceKeepsTheLatestOfEachState(t)
}

func TestLongCoalesceInParts(t *testing.T) { TestCoalesceInParts(t) }
