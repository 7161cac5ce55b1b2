package main

import (
	"os"
	"testing"

	"ovation/internal/testing/must"
)

// TestDocumentOfFlagsIsCurrent compares docs/flags.md with the flags of the commands.
func TestDocumentOfFlagsIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../docs/flags.md")
	must.Succeed(t, err)
	if got := call(t, environment(), "flags").stdout; got != string(want) {
		t.Error("docs/flags.md is not current: run make generate")
	}
}
