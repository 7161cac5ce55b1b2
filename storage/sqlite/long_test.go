//go:build long

package sqlite_test

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongStore(t *testing.T) { TestStore(t) }
