package plain

import (
	"io"

	"github.com/99designs/gqlgen/graphql"
)

// Schema has the fields that generated code can write: by type and name, the
// number by which it knows each. Fields with arguments are not among them.
type Schema map[string]map[string]int

// Typename is the field number of __typename, the same in every type.
const Typename = 0

// Field is a selected field, ready to be written.
type Field struct {
	Number int
	Fields []Field // of what it holds

	key string // with what stands before and after it
}

// Select appends a field to those selected of an object.
func Select(fields []Field, number int, alias string, below []Field) []Field {
	key := `"` + alias + `":`
	if len(fields) > 0 {
		key = "," + key
	}
	return append(fields, Field{number, below, key})
}

// Text is a value that is written already.
type Text []byte

var _ graphql.Marshaler = Text(nil)

// MarshalGQL writes it.
func (t Text) MarshalGQL(w io.Writer) {
	_, _ = w.Write(t) // into a buffer
}
