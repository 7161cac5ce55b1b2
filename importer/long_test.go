//go:build long

package importer

import "testing"

// Fresh seeds and more cases of what every run checks.

func TestLongImportsOnceWhateverHappens(t *testing.T) { TestImportsOnceWhateverHappens(t) }
