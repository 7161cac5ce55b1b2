//go:build long

package postgres

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongStore(t *testing.T) { TestStore(t) }

func TestLongWritersNeverDeadlock(t *testing.T) { neverDeadlock(t, 600) }
