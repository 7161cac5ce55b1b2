package metered_test

import (
	"testing"

	"ovation/internal/testing/wrapping"
	"ovation/storage"
	"ovation/storage/metered"
)

func TestEveryMethodIsMeasured(t *testing.T) {
	wrapping.Check[storage.Store](t, &metered.Store{}, wrapping.Promoted{
		"it ends the store":                  {"Close"},
		"a probe, also of Redis":             {"Ping"},
		"called once, at start":              {"Secret"},
		"it recounts everything, in minutes": {"Verify"},
		"it reads everything, in minutes":    {"Export"},
	})
}
