package live

import (
	"testing"

	"ovation/internal/testing/wrapping"
	"ovation/storage"
)

func TestEveryCommitOfCountsNotifies(t *testing.T) {
	wrapping.CheckReturning[storage.Store, storage.Outcome](t, &notifying{}, nil)
	wrapping.Check[storage.Verifier](t, &notifying{}, nil)
}
