//go:build long

package sqlite_test

import "testing"

// The tests in this file repeat everyday tests with fresh seeds and more cases.

func TestLongStore(t *testing.T) { TestStore(t) }
