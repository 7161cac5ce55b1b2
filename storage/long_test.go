//go:build long

package storage_test

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongCoalesceKeepsTheLatestOfEachState(t *testing.T) {
	TestCoalesceKeepsTheLatestOfEachState(t)
}

func TestLongCoalesceInParts(t *testing.T) { TestCoalesceInParts(t) }
