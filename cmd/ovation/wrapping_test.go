package main

import (
	"testing"

	"ovation/internal/testing/wrapping"
	"ovation/storage"
)

func TestEveryCommitPastRedisIsRefused(t *testing.T) {
	wrapping.CheckReturning[storage.Store, storage.Outcome](t, unmirrored{}, nil)
	wrapping.Check[storage.Verifier](t, unmirrored{}, nil)
}

func TestEveryWriteOfAWorkerIsPaced(t *testing.T) {
	wrapping.Check[storage.Persister](t, &rateLimited{}, wrapping.Promoted{
		"it persists no actions": {"Seen", "Prune"},
	})
}
