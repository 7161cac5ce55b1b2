package plain

import (
	"io"

	"github.com/99designs/gqlgen/graphql"
)

// Schema holds the fields that generated code can write. It maps a type name and a field
// name to the number that identifies the field in that code. Fields with arguments are
// not in it.
type Schema map[string]map[string]int

// Typename is the field number of __typename, which is the same in every type.
const Typename = 0

// Field is a selected field, ready to be written.
type Field struct {
	Number int
	Fields []Field // fields selected on the object or objects that this field holds

	key   string  // the quoted alias and a colon; begins with a comma, except in the first field
	types []Below // instead of Fields, if the field can hold objects of several types
}

// Below holds the fields that are selected on objects of one type.
type Below struct {
	Type   string
	Fields []Field
}

// Select appends a field to the selected fields of an object. The parameter below lists
// the fields that are selected on the object or objects that the new field holds, for
// each type that they can have.
func Select(fields []Field, number int, alias string, below ...Below) []Field {
	key := `"` + alias + `":`
	if len(fields) > 0 {
		key = "," + key
	}
	field := Field{Number: number, key: key}
	if len(below) == 1 {
		field.Fields = below[0].Fields
	} else {
		field.types = below
	}
	return append(fields, field)
}

// On returns the fields that are selected on objects of one of the types that the field
// can hold. It returns false if the field can hold no such object.
func (f *Field) On(typ string) (fields []Field, ok bool) {
	for i := range f.types {
		if f.types[i].Type == typ {
			return f.types[i].Fields, true
		}
	}
	return nil, false
}

// Text is a value that is already encoded as JSON.
type Text []byte

var _ graphql.Marshaler = Text(nil)

// MarshalGQL implements graphql.Marshaler. It writes the text as it is.
func (t Text) MarshalGQL(w io.Writer) {
	_, _ = w.Write(t) // w is a buffer and does not fail
}
