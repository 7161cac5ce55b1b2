// Package must ends tests whose preparation fails. Only tests import it.
package must

// TB is the part of testing.TB that package rapid implements as well.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Succeed ends the test if err is not nil.
func Succeed(tb TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
