//go:build long

package transport

import "testing"

// The long tier draws new seeds and checks more cases than every run does.

func TestLongScanReadsAnyValues(t *testing.T) { TestScanReadsAnyValues(t) }
