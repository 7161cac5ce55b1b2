package sqlite

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(killed); path != "" {
		fmt.Fprintln(os.Stderr, persistUntilKilled(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
