//go:build long

package importer

import "testing"

// The tests in this file repeat everyday tests with fresh seeds and more cases.

func TestLongImportsOnceDespiteInterruptions(t *testing.T) { TestImportsOnceDespiteInterruptions(t) }
