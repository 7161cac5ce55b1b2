package plain

import (
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Schema has the object types by name. Generated code makes it.
type Schema map[string]Type

// Type is an object type.
type Type struct {
	// Implements are the names of the type and of its interfaces.
	Implements []string
	// Fields are those that generated code can write, by name. Those with
	// arguments are not among them.
	Fields map[string]FieldType
}

// FieldType is a field of an object type.
type FieldType struct {
	Number int    // by which the generated code knows it
	Object string // the type of the object or objects that it holds, if any
}

// Typename is the number of __typename of every type.
const Typename = 0

// Field is a selected field, ready to be written.
type Field struct {
	Number int
	Fields []Field // of what it holds

	alias string
	key   string // with what stands before and after it
}

// compile returns the fields of a selection of objects of a type. It returns
// false where one of them cannot be written.
func (s Schema) compile(op *graphql.OperationContext, typ string, set ast.SelectionSet) ([]Field, bool) {
	of, known := s[typ]
	if !known {
		return nil, false
	}
	collected := graphql.CollectFields(op, set, of.Implements)
	out := make([]Field, 0, len(collected))
	for i := range collected {
		from := &collected[i]
		if slices.ContainsFunc(out, func(f Field) bool { return f.alias == from.Alias }) {
			continue // the executor writes the first, too
		}
		is, known := of.Fields[from.Name]
		if from.Name == "__typename" {
			is, known = FieldType{Number: Typename}, true
		}
		if !known || from.IsDeferred() {
			return nil, false
		}
		field := Field{Number: is.Number, alias: from.Alias, key: `"` + from.Alias + `":`}
		if len(out) > 0 {
			field.key = "," + field.key
		}
		if is.Object != "" {
			var ok bool
			if field.Fields, ok = s.compile(op, is.Object, from.Selections); !ok {
				return nil, false
			}
		}
		out = append(out, field)
	}
	return out, true
}

// Plans are the compiled selections of one document. They are kept for as long
// as it is.
type Plans struct {
	schema Schema
	// Fixed says that no selection depends on variables.
	fixed bool

	mu sync.RWMutex
	of map[place]plan
}

type place struct {
	field *ast.Field
	typ   string
}

type plan struct {
	fields []Field
	ok     bool
}

// NewPlans returns the plans of a document.
func NewPlans(schema Schema, text string) *Plans {
	return &Plans{schema: schema, fixed: Fixed(text), of: make(map[place]plan)}
}

// Fixed reports whether the fields that a document selects are the same whatever
// its variables are: without a directive they are.
func Fixed(text string) bool { return !strings.Contains(text, "@") }

// Of returns how to write what a field holds, objects of a type. It returns
// false where that cannot be written.
func (p *Plans) Of(op *graphql.OperationContext, field graphql.CollectedField, typ string) ([]Field, bool) {
	if !p.fixed || len(field.Selections) != len(field.SelectionSet) { // it is merged from several
		return p.schema.compile(op, typ, field.Selections)
	}
	at := place{field.Field, typ}
	p.mu.RLock()
	known, ok := p.of[at]
	p.mu.RUnlock()
	if !ok {
		known.fields, known.ok = p.schema.compile(op, typ, field.Selections)
		p.mu.Lock()
		p.of[at] = known
		p.mu.Unlock()
	}
	return known.fields, known.ok
}

// Text is a value that is written already.
type Text []byte

var _ graphql.Marshaler = Text(nil)

// MarshalGQL writes it.
func (t Text) MarshalGQL(w io.Writer) {
	_, _ = w.Write(t) // into a buffer
}
