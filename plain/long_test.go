//go:build long

package plain

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongScalarsAreThoseOfTheExecutor(t *testing.T) { TestScalarsAreThoseOfTheExecutor(t) }
