//go:build long

package storage_test

import "testing"

// These tests repeat, with fresh seeds and more cases, what every run checks.

func TestLongCoalesceKeepsTheLatestOfEachState(t *testing.T) {
	TestCoalesceKeepsTheLatestOfEachState(t)
}

func TestLongCoalesceInParts(t *testing.T) { TestCoalesceInParts(t) }
