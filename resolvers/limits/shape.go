package limits

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"

	"ovation/resolvers/plan"
)

// checkTokens limits the number of tokens in a text and the nesting of its brackets, so
// that parsing the text is cheap. A text that is not GraphQL passes, because the parser
// stops at the error.
func checkTokens(text string) *gqlerror.Error {
	scanner := lexer.New(&ast.Source{Input: text})
	tokens, nesting := 0, 0
	for {
		token, err := scanner.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // the server parses it next and tells what is wrong
		}
		if token.Kind == lexer.EOF {
			break
		}
		tokens++
		switch token.Kind { //nolint:exhaustive // the brackets
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			nesting++
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			nesting--
		}
		if nesting > MaxNesting {
			return exceeded("the query nests brackets more than %d levels deep", MaxNesting)
		}
	}
	if tokens > MaxTokens {
		return exceeded("the query has %d tokens; at most %d are allowed", tokens, MaxTokens)
	}
	return nil
}

// shape is the size of a selection with its fragments expanded.
type shape struct {
	fields  int // number of fields and fragments
	aliases int
	// depth counts the levels of fields outside __schema and __type, introspection counts
	// the levels from __schema or __type downwards, and total counts all levels.
	depth, introspection, total int
}

// tooMany is the value at which sums are capped: with nested fragments, they could exceed
// any number.
const tooMany = 1 << 30

func (s *shape) add(o shape) {
	s.fields = min(s.fields+o.fields, tooMany)
	s.aliases = min(s.aliases+o.aliases, tooMany)
	s.depth = max(s.depth, o.depth)
	s.introspection = max(s.introspection, o.introspection)
	s.total = max(s.total, o.total)
}

// shaper measures a document. Each fragment is measured once, so that the time is
// proportional to the length of the text, however many fields the text expands to.
type shaper struct {
	introspects bool // introspection is allowed
	fragments   map[string]*ast.FragmentDefinition
	measured    map[string]shape
	measuring   map[string]bool // fragments that are being measured
	unexpanded  int             // fields and fragments as written, without expanding fragments
	err         *gqlerror.Error // the first error
}

// checkShape returns an error if a document exceeds a limit. The document has been parsed
// but not validated, so it may be invalid in any way.
func (l *Limits) checkShape(document *ast.QueryDocument) *gqlerror.Error {
	if n := len(document.Operations) + len(document.Fragments); n > MaxDefinitions {
		return exceeded("the document has %d operations and fragments; at most %d are allowed", n, MaxDefinitions)
	}
	m := &shaper{
		introspects: l.cfg.Introspection,
		fragments:   make(map[string]*ast.FragmentDefinition, len(document.Fragments)),
		measured:    make(map[string]shape, len(document.Fragments)),
		measuring:   map[string]bool{},
	}
	for _, fragment := range document.Fragments {
		if m.fragments[fragment.Name] != nil {
			// Validation would report this as well, but only later. Until then, one of
			// the two fragments would not be measured.
			return badInput("there is more than one fragment %.40q", fragment.Name)
		}
		m.fragments[fragment.Name] = fragment
	}
	// Fragments that no operation uses are checked, because they are validated, too.
	for _, fragment := range document.Fragments {
		s := m.fragment(fragment.Name)
		s.depth, s.introspection = 0, 0 // these depend on where the fragment is used
		if err := m.check(s); err != nil {
			return err
		}
	}
	for _, operation := range document.Operations {
		m.directives(operation.Directives)
		for _, variable := range operation.VariableDefinitions {
			m.directives(variable.Directives)
		}
		if err := m.check(m.selections(operation.SelectionSet)); err != nil {
			return err
		}
	}
	if m.unexpanded > MaxFields {
		return exceeded("the document has %d fields and fragments; at most %d are allowed", m.unexpanded, MaxFields)
	}
	return nil
}

func (m *shaper) check(s shape) *gqlerror.Error {
	switch {
	case m.err != nil:
		return m.err
	case s.fields >= tooMany:
		return exceeded("the operation asks for more than a billion fields, its fragments filled in; at most %d are allowed", MaxFields)
	case s.fields > MaxFields:
		return exceeded("the operation asks for %d fields and fragments, its fragments filled in; at most %d are allowed", s.fields, MaxFields)
	case s.aliases > MaxAliases:
		return exceeded("the operation has %d aliases; at most %d are allowed", s.aliases, MaxAliases)
	case s.depth > MaxDepth:
		return exceeded("the operation is %d levels deep; at most %d are allowed", s.depth, MaxDepth)
	case s.introspection > MaxIntrospectionDepth:
		return exceeded("the introspection is %d levels deep; at most %d are allowed", s.introspection, MaxIntrospectionDepth)
	case s.total > MaxDepth+MaxIntrospectionDepth:
		return exceeded("a fragment is %d levels deep; at most %d are allowed", s.total, MaxDepth+MaxIntrospectionDepth)
	}
	return nil
}

func (m *shaper) fail(err *gqlerror.Error) {
	if m.err == nil {
		m.err = err
	}
}

func (m *shaper) selections(set ast.SelectionSet) shape {
	var sum shape
	for _, selection := range set {
		if m.err != nil {
			return sum
		}
		m.unexpanded++
		sum.add(shape{fields: 1})
		switch selection := selection.(type) {
		case *ast.Field:
			m.directives(selection.Directives)
			sum.add(m.field(selection))
		case *ast.InlineFragment:
			m.directives(selection.Directives)
			sum.add(m.selections(selection.SelectionSet))
		case *ast.FragmentSpread:
			m.directives(selection.Directives)
			sum.add(m.fragment(selection.Name))
		}
	}
	return sum
}

// field returns the shape of a field. The number of fields in that shape does not include
// the field itself.
func (m *shaper) field(field *ast.Field) shape {
	s := m.selections(field.SelectionSet)
	s.depth++
	s.total++
	if field.Alias != field.Name {
		s.aliases++
	}
	if plan.Introspects(field) {
		if !m.introspects {
			m.fail(badInput("introspection is turned off on this server"))
		}
		s.introspection, s.depth = s.total, 1
	}
	return s
}

func (m *shaper) fragment(name string) shape {
	if s, done := m.measured[name]; done {
		return s
	}
	fragment := m.fragments[name]
	if fragment == nil {
		return shape{} // validation reports it
	}
	if m.measuring[name] {
		m.fail(badInput("the fragment %.40q contains itself", name))
		return shape{}
	}
	m.measuring[name] = true
	m.directives(fragment.Directives)
	s := m.selections(fragment.SelectionSet)
	delete(m.measuring, name)
	m.measured[name] = s
	return s
}

func (m *shaper) directives(directives ast.DirectiveList) {
	if n := len(directives); n > MaxDirectives {
		m.fail(exceeded("there are %d directives at one place; at most %d are allowed", n, MaxDirectives))
	}
}
