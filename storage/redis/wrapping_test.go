package redis

import (
	"testing"

	"ovation/internal/testing/wrapping"
	"ovation/storage"
)

func TestEveryCommitIsMarkedAndPublished(t *testing.T) {
	wrapping.CheckReturning[storage.Store, storage.Outcome](t, &Store{}, nil)
	wrapping.Check[storage.Verifier](t, &Store{}, nil)
}

func TestCountsAndStatesAreReadFromRedis(t *testing.T) {
	wrapping.Check[storage.Reader](t, &Store{}, wrapping.Promoted{
		"Redis holds neither folders nor totals": {"FoldersOf", "TotalsOf"},
	})
}
