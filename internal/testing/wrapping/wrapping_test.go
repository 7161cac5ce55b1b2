package wrapping

import (
	"fmt"
	"io"
	"slices"
	"testing"
)

// recorder collects the errors that a test reports.
type recorder struct {
	testing.TB

	errors []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// wrapper declares Read; its Close is promoted.
type wrapper struct{ io.ReadCloser }

func (w *wrapper) Read(to []byte) (int, error) { return w.ReadCloser.Read(to) }

// outer has only promoted methods, from two levels.
type outer struct{ *wrapper }

func TestPromotedMethodsAreFound(t *testing.T) {
	const nothing, asWrapper = "nothing is to be done", "the wrapper does it"
	for name, test := range map[string]struct {
		wrapper  any
		promoted Promoted
		want     []string
	}{
		"listed": {&wrapper{}, Promoted{nothing: {"Close"}}, nil},
		"not listed": {&wrapper{}, nil, []string{
			"*wrapping.wrapper does not declare Close: calls bypass it; declare it, or list it with a reason",
		}},
		"declared": {&wrapper{}, Promoted{nothing: {"Close", "Read"}}, []string{
			"*wrapping.wrapper declares Read: take it off the list (nothing is to be done)",
		}},
		"unknown": {&wrapper{}, Promoted{nothing: {"Close", "Open"}}, []string{
			"io.ReadCloser has no such method Open: take it off the list",
		}},
		"twice": {&wrapper{}, Promoted{nothing: {"Close", "Close"}}, []string{"Close is listed twice"}},
		"of a wrapper of a wrapper": {outer{}, Promoted{nothing: {"Close"}}, []string{
			"wrapping.outer does not declare Read: calls bypass it; declare it, or list it with a reason",
		}},
		"of a wrapper of a wrapper, listed": {outer{}, Promoted{nothing: {"Close"}, asWrapper: {"Read"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			Check[io.ReadCloser](r, test.wrapper, test.promoted)
			if !slices.Equal(r.errors, test.want) {
				t.Errorf("got the errors %q, want %q", r.errors, test.want)
			}
		})
	}
}

func TestOnlyMethodsThatReturnAResultAreFound(t *testing.T) {
	r := &recorder{TB: t}
	CheckReturning[io.ReadCloser, int](r, &wrapper{}, nil) // Close returns no int
	if len(r.errors) > 0 {
		t.Errorf("got the errors %q, want none", r.errors)
	}
	CheckReturning[io.ReadCloser, int](r, outer{}, nil)
	if want := []string{"wrapping.outer does not declare Read: calls bypass it; declare it, or list it with a reason"}; !slices.Equal(r.errors, want) {
		t.Errorf("got the errors %q, want %q", r.errors, want)
	}
}
