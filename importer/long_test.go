//go:build long

package importer

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongImportsOnceDespiteInterruptions(t *testing.T) { TestImportsOnceDespiteInterruptions(t) }
