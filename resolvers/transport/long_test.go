//go:build long

package transport

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongScanReadsAnyValues(t *testing.T) { TestScanReadsAnyValues(t) }
