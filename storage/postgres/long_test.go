//go:build long

package postgres

import "testing"

// The tests in this file repeat everyday tests with fresh seeds and more cases.

func TestLongStore(t *testing.T) { TestStore(t) }

func TestLongWritersNeverDeadlock(t *testing.T) { neverDeadlock(t, 600) }
