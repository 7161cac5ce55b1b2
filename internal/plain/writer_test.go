package plain

import (
	"bytes"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"pgregory.net/rapid"

	"ovation/internal/testing/seed"
)

var _ = seed.ForRapid()

// The writer encodes scalars as the executor does.
func TestScalarsAreThoseOfTheExecutor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		number, truth := rapid.Int64().Draw(t, "number"), rapid.Bool().Draw(t, "truth")
		moment := time.UnixMicro(rapid.Int64Range(-1e17, 1e17).Draw(t, "micros")).UTC()
		for what, pair := range map[string]struct {
			write func(*Writer)
			want  graphql.Marshaler
		}{
			"text":   {func(w *Writer) { w.String(text) }, graphql.MarshalString(text)},
			"number": {func(w *Writer) { w.Int(number) }, graphql.MarshalInt64(number)},
			"truth":  {func(w *Writer) { w.Bool(truth) }, graphql.MarshalBoolean(truth)},
			"time":   {func(w *Writer) { w.Time(moment) }, graphql.MarshalTime(moment)},
		} {
			var w Writer
			var want bytes.Buffer
			pair.write(&w)
			pair.want.MarshalGQL(&want)
			if got, ok := w.Text(); moment.IsZero() == ok && what == "time" || !bytes.Equal(got, want.Bytes()) && ok {
				t.Fatalf("%s: %s, and the executor writes %s", what, got, want.Bytes())
			}
		}
	})
}

func TestNullOfANonNullFieldIsNoResponse(t *testing.T) {
	for name, test := range map[string]struct {
		write func(*Writer)
		ok    bool
	}{
		"null of a nullable field": {func(w *Writer) { w.Null(false) }, true},
		"null of a non-null field": {func(w *Writer) { w.Null(true) }, false},
		"the zero time":            {func(w *Writer) { w.Time(time.Time{}) }, false},
		"a failure":                {func(w *Writer) { w.Fail(); w.Int(1) }, false},
	} {
		var w Writer
		test.write(&w)
		if _, ok := w.Text(); ok != test.ok {
			t.Errorf("%s: the text is valid: %t, want %t", name, ok, test.ok)
		}
	}
}
