//go:build long

package redis

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongStore(t *testing.T) { TestStore(t) }

func TestLongReactionsMergeInAnyOrder(t *testing.T) { TestReactionsMergeInAnyOrder(t) }
