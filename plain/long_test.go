//go:build long

package plain

import "testing"

// The long tier draws new seeds and checks more cases than every run does.

func TestLongScalarsAreThoseOfTheExecutor(t *testing.T) { TestScalarsAreThoseOfTheExecutor(t) }
