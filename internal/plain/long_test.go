//go:build long

package plain

import "testing"

// The long tier draws fresh seeds and checks more cases than the everyday tests.

func TestLongScalarsAreThoseOfTheExecutor(t *testing.T) { TestScalarsAreThoseOfTheExecutor(t) }
