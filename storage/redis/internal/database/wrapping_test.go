package database

import (
	"testing"

	"ovation/internal/testing/wrapping"
	"ovation/storage"
)

func TestEveryMethodAsksTheBreaker(t *testing.T) {
	wrapping.Check[storage.Store](t, &Store{}, wrapping.Promoted{
		"the Store of package redis declares it":                                  {"Interactives", "States", "Persist", "EmptyFolder", "ClearReads", "Verify", "Ping", "Close"},
		"called at start, which needs the database":                               {"Secret"},
		"called by commands and workers, which wait for the database in any case": {"Seen", "Prune"},
	})
}
