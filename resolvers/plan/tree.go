package plan

import (
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/plain"
)

// Selection is what is selected of objects of one type, fragments filled in and
// fields of one alias merged. A nil Selection selects nothing.
type Selection struct {
	Type   string
	Fields []Field
	// Deeper says that something below has to be looked up.
	Deeper bool
	// Fast are the fields as they are written plainly, all of them or none.
	Fast     []plain.Field
	Writable bool // plainly
}

// Field is a selected field.
type Field struct {
	*ast.Field // the first one of its alias

	Key    string // of its line of the table; empty: it has none
	Deeper bool   // it or something below it has to be looked up
	below  []Selection
}

// selection makes the tree of a selection set for objects of a type.
func (p *Planner) selection(op *graphql.OperationContext, typ *ast.Definition, set ast.SelectionSet) Selection {
	numbers, known := p.fast[typ.Name]
	s := Selection{Type: typ.Name, Writable: known}
	collected := graphql.CollectFields(op, set, append([]string{typ.Name}, typ.Interfaces...))
	s.Fields = make([]Field, 0, len(collected))
	for i := range collected {
		from := &collected[i]
		if s.Field(from.Alias) != nil {
			continue // the executor writes the first, too
		}
		f := Field{Field: from.Field}
		key := typ.Name + "." + from.Name
		if line, is := p.table[key]; is {
			f.Key, f.Deeper = key, line.Loads
		}
		for _, held := range p.objects(from.Definition) {
			below := p.selection(op, held, from.Selections)
			f.Deeper = f.Deeper || below.Deeper
			f.below = append(f.below, below)
		}
		s.Deeper = s.Deeper || f.Deeper
		s.Fields = append(s.Fields, f)
		s.write(&f, numbers, from.IsDeferred())
	}
	return s
}

// write adds a field to those that are written plainly, if it can be.
func (s *Selection) write(f *Field, numbers map[string]int, deferred bool) {
	number, known := numbers[f.Name]
	if f.Name == "__typename" {
		number, known = plain.Typename, true
	}
	below := f.Below()
	s.Writable = s.Writable && known && !deferred && (below == nil || below.Writable)
	switch {
	case !s.Writable:
		s.Fast = nil
	case below == nil:
		s.Fast = plain.Select(s.Fast, number, f.Alias, nil)
	default:
		s.Fast = plain.Select(s.Fast, number, f.Alias, below.Fast)
	}
}

// objects are the object types that a field can hold. What is below
// introspection is the executor's alone.
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

// Field is the field of an alias, nil where there is none.
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

// Named are the fields of a name, one for each alias.
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

// At is the field that the executor is resolving, nil where that is not part of
// the plan. It is a method of the root selection.
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

// Of is what is selected where the field holds objects of a type, nil where it
// holds none. A nil Field holds nothing.
func (f *Field) Of(typ string) *Selection {
	if f != nil {
		for i := range f.below {
			if f.below[i].Type == typ {
				return &f.below[i]
			}
		}
	}
	return nil
}

// Below is what is selected where the field holds objects of one type, nil for
// all others.
func (f *Field) Below() *Selection {
	if len(f.below) != 1 {
		return nil
	}
	return &f.below[0]
}
