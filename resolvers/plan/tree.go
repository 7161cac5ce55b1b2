package plan

import (
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/internal/plain"
)

// Selection is what an operation selects from objects of one type, with fragments
// expanded and fields with the same alias merged. A nil Selection selects nothing.
type Selection struct {
	Type   string
	Fields []Field
	// Deeper is true if a field at any depth has to be looked up.
	Deeper bool
	// Fast holds all fields in the form for direct encoding. It is nil if the object
	// cannot be encoded directly.
	Fast     []plain.Field
	Writable bool // whether the object can be encoded directly
}

// Field is a selected field.
type Field struct {
	*ast.Field // the first field with its alias

	Key       string // of its entry in the table; "" if it has none
	Deeper    bool   // the field or one below it has to be looked up
	selection []Selection
}

// selection makes the tree of a selection set for objects of the given type.
func (p *Planner) selection(op *graphql.OperationContext, typ *ast.Definition, set ast.SelectionSet) Selection {
	numbers, known := p.fast[typ.Name]
	s := Selection{Type: typ.Name, Writable: known}
	groups := p.schema.GetImplements(typ) // interfaces and unions
	satisfies := append(make([]string, 0, 1+len(groups)), typ.Name)
	for _, of := range groups {
		satisfies = append(satisfies, of.Name)
	}
	collected := graphql.CollectFields(op, set, satisfies)
	s.Fields = make([]Field, 0, len(collected))
	for i := range collected {
		from := &collected[i]
		if s.Field(from.Alias) != nil {
			continue // the executor also writes the first only
		}
		f := Field{Field: from.Field}
		key := typ.Name + "." + from.Name
		if line, is := p.table[key]; is {
			f.Key, f.Deeper = key, line.Loads
		}
		for _, held := range p.objects(from.Definition) {
			below := p.selection(op, held, from.Selections)
			f.Deeper = f.Deeper || below.Deeper
			f.selection = append(f.selection, below)
		}
		s.Deeper = s.Deeper || f.Deeper
		s.Fields = append(s.Fields, f)
		s.write(&f, numbers, from.IsDeferred())
	}
	return s
}

// write adds a field to Fast, if the field can be encoded directly.
func (s *Selection) write(f *Field, numbers map[string]int, deferred bool) {
	number, known := numbers[f.Name]
	if f.Name == "__typename" {
		number, known = plain.Typename, true
	}
	s.Writable = s.Writable && known && !deferred
	below := make([]plain.Below, len(f.selection))
	for i := range f.selection {
		of := &f.selection[i]
		s.Writable = s.Writable && of.Writable
		below[i] = plain.Below{Type: of.Type, Fields: of.Fast}
	}
	if !s.Writable {
		s.Fast = nil
		return
	}
	s.Fast = plain.Select(s.Fast, number, f.Alias, below...)
}

// objects returns the object types that a field can hold. Fields of introspection are
// left to the executor.
func (p *Planner) objects(field *ast.FieldDefinition) []*ast.Definition {
	if field == nil {
		return nil
	}
	switch typ := p.schema.Types[field.Type.Name()]; {
	case typ == nil, !typ.IsCompositeType(), strings.HasPrefix(typ.Name, "__"):
		return nil
	default:
		return p.schema.GetPossibleTypes(typ)
	}
}

// Field returns the field with the given alias, or nil if there is none.
func (s *Selection) Field(alias string) *Field {
	if s != nil {
		for i := range s.Fields {
			if s.Fields[i].Alias == alias {
				return &s.Fields[i]
			}
		}
	}
	return nil
}

// Named returns the fields with the given name, one for each alias.
func (s *Selection) Named(name string) (out []*Field) {
	if s != nil {
		for i := range s.Fields {
			if s.Fields[i].Name == name {
				out = append(out, &s.Fields[i])
			}
		}
	}
	return out
}

// At returns the field that the executor is resolving, or nil if it is not part of the
// plan. It must be called on the root selection.
func (s *Selection) At(fc *graphql.FieldContext) *Field {
	switch {
	case fc == nil:
		return nil
	case fc.Field.Field == nil: // an entry of a list
		return s.At(fc.Parent)
	case fc.Object == s.Type:
		return s.Field(fc.Field.Alias)
	}
	return s.At(fc.Parent).Of(fc.Object).Field(fc.Field.Alias)
}

// Of returns the selection for objects of the given type, or nil if the field does not
// hold any. A nil Field holds nothing.
func (f *Field) Of(typ string) *Selection {
	if f != nil {
		for i := range f.selection {
			if f.selection[i].Type == typ {
				return &f.selection[i]
			}
		}
	}
	return nil
}

// Below returns the selection if the field holds objects of one type, and nil
// otherwise.
func (f *Field) Below() *Selection {
	if len(f.selection) != 1 {
		return nil
	}
	return &f.selection[0]
}
