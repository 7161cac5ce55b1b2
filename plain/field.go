package plain

import (
	"io"

	"github.com/99designs/gqlgen/graphql"
)

// Schema maps the fields that generated code can write, by type and name, to the
// numbers by which the code identifies them. It has no fields with arguments.
type Schema map[string]map[string]int

// Typename is the field number of __typename, the same in every type.
const Typename = 0

// Field is a selected field, ready to be written.
type Field struct {
	Number int
	Fields []Field // selected of the object or objects that the field holds

	key string // the quoted alias and a colon, after a comma except in the first field
}

// Select appends a field to the selected fields of an object. below are the fields
// selected of what the field holds.
func Select(fields []Field, number int, alias string, below []Field) []Field {
	key := `"` + alias + `":`
	if len(fields) > 0 {
		key = "," + key
	}
	return append(fields, Field{number, below, key})
}

// Text is a value that is already encoded as JSON.
type Text []byte

var _ graphql.Marshaler = Text(nil)

// MarshalGQL implements graphql.Marshaler. It writes the text as it is.
func (t Text) MarshalGQL(w io.Writer) {
	_, _ = w.Write(t) // w is a buffer and does not fail
}
