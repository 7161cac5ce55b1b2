//go:build long

package transport

import "testing"

// The long tier uses fresh seeds and checks more cases than the everyday tests.

func TestLongScanReadsAnyValues(t *testing.T) { TestScanReadsAnyValues(t) }
