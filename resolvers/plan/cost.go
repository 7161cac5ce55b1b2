package plan

import (
	"reflect"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/resolvers/rows"
	"ovation/storage"
)

const (
	// maxList is the maximum length of a list that a field returns or takes. A request
	// for a longer list costs as much as one for maxList entries, and the resolver
	// rejects it with a message that names the argument.
	maxList = 100
	// unknownList is the assumed length of lists of unknown length.
	unknownList = 10
	// tooMany is the value at which sums are capped.
	tooMany = 1 << 30
)

// Cost returns an upper bound on the number of fields in a response, separately for data
// and for introspection.
//
// Every field counts 1 plus its FieldInfo.Weight, even if @skip or @include leaves it
// out. The selection below a list counts once for each entry:
//   - A list of edges has as many entries as the argument `first` requests.
//   - A field that takes `subjects` or `ids` returns, or watches, as many entries as that
//     argument has.
//   - commentsChanged and messages have one entry for each event that they load in one
//     read.
//
// The value of `first` is added, because that many rows are read from the database,
// regardless of what is selected from them. If the argument `biz` restricts a list, or if
// FieldInfo.Scans is true, storage.Page.MaxScan is added instead: the number of rows that
// the database may examine for the page.
//
//	interactives(subjects: [100 of them]) {     1
//	  likeCount                                 100 × 1
//	  likers(first: 20) {                       100 × (1 + 20)
//	    edges {                                 100 × 1
//	      node { user { userId } }              100 × 20 × 3
//	    }
//	  }
//	}                                           total: 8,301
//
// Each list in an introspection query is assumed to have the average length of such lists
// in the schema.
//
// The result price is the sum of FieldInfo.Price, which counts as often as its field, and
// of FieldInfo.EntryPrice.
func (p *Plan) Cost(variables map[string]any) (data, introspection, price int) {
	total := p.cost.total(variables, 0)
	return total.fields, p.introspection, total.price
}

// amount is a number of fields, and the sum of their prices.
type amount struct{ fields, price int }

// plus adds an amount n times.
func (a amount) plus(n int, b amount) amount {
	return amount{min(a.fields+n*b.fields, tooMany), min(a.price+n*b.price, tooMany)}
}

// sum is the cost of a selection set: the fields that count once, and the lists whose
// length depends on variables.
type sum struct {
	amount

	lists []list
}

// list is a field whose selection counts once for each of its entries.
type list struct {
	field     *ast.Field
	length    length
	entries   int // minimum
	selection sum
	scans     bool
}

// length is the way in which the number of entries is determined.
type length int

const (
	fixed      length = iota // independent of the variables
	byFirst                  // by the argument `first`; the selection below counts once
	byPage                   // by the `first` of the enclosing field
	byArgument               // by the longest list among the arguments
	byInput                  // by the longest list in the argument `input`
)

func (s *sum) total(variables map[string]any, page int) amount {
	total := s.amount
	for i := range s.lists {
		l := &s.lists[i]
		scanned, entries, first := 0, l.entries, 0
		switch l.length {
		case byFirst:
			first = firstOf(l.field, variables)
			scanned = first
			if l.scans || restrictedToBiz(l.field, variables) {
				scanned = storage.Page{First: first}.MaxScan()
			}
		case byPage:
			entries = page
		case byArgument:
			entries = max(longest(l.field, variables), entries)
		case byInput:
			entries = longestInput(l.field, variables)
		case fixed:
		}
		total = total.plus(1, amount{fields: scanned}).plus(entries, l.selection.total(variables, first))
	}
	return total
}

// place is the position of a selection set: at the root, directly below a field with
// `first`, or below __schema or __type.
type place struct{ root, page, introspection bool }

// selections returns the cost of a selection set. It also sets the fields of p that do
// not depend on variables.
func (p *Plan) selections(set ast.SelectionSet, at place) (all sum) {
	for _, selection := range set {
		var one sum
		switch s := selection.(type) {
		case *ast.Field:
			p.depends(s.Directives)
			one = p.field(s, at)
		case *ast.InlineFragment:
			p.depends(s.Directives)
			one = p.selections(s.SelectionSet, at)
		case *ast.FragmentSpread:
			p.depends(s.Directives)
			if s.Definition != nil {
				one = p.selections(s.Definition.SelectionSet, at)
			}
		}
		all.amount = all.plus(1, one.amount)
		all.lists = append(all.lists, one.lists...)
	}
	return all
}

// depends records the variables on which @skip and @include depend.
func (p *Plan) depends(directives ast.DirectiveList) {
	for _, directive := range directives {
		for _, argument := range directive.Arguments {
			if argument.Value.Kind == ast.Variable && !slices.ContainsFunc(p.conditions, func(v *ast.Value) bool { return v.Raw == argument.Value.Raw }) {
				p.conditions = append(p.conditions, argument.Value)
			}
		}
	}
}

func (p *Plan) field(field *ast.Field, at place) sum {
	p.Fields++
	switch {
	case at.root:
		p.RootFields++
	case slices.ContainsFunc(field.Arguments, func(a *ast.Argument) bool { return isVariable(a.Value) }):
		p.Varies = true
	}
	if Introspects(field) {
		below := p.selections(field.SelectionSet, place{introspection: true})
		p.introspection = min(p.introspection+below.fields, tooMany)
		return sum{amount: amount{fields: 1}}
	}
	var line FieldInfo
	if field.ObjectDefinition != nil {
		line = p.planner.table[field.ObjectDefinition.Name+"."+field.Name]
	}
	p.Kinds |= line.Kinds
	length, entries := p.planner.lengthOf(field, at)
	if line.Entries > 0 {
		entries = line.Entries
	}
	below := p.selections(field.SelectionSet, place{page: length == byFirst, introspection: at.introspection})
	if line.EntryPrice > 0 {
		below.lists = append(below.lists, list{field: field, length: byInput, selection: sum{amount: amount{price: line.EntryPrice}}})
	}
	own := amount{1 + line.Weight, line.Price}
	if length == fixed && (entries == 1 || len(below.lists) == 0) {
		return sum{own.plus(entries, below.amount), below.lists}
	}
	return sum{own, []list{{field, length, entries, below, line.Scans}}}
}

// Introspects reports whether a field queries the schema.
func Introspects(field *ast.Field) bool { return field.Name == "__schema" || field.Name == "__type" }

// isVariable reports whether a value is or contains a variable.
func isVariable(v *ast.Value) bool {
	return v.Kind == ast.Variable ||
		slices.ContainsFunc(v.Children, func(c *ast.ChildValue) bool { return isVariable(c.Value) })
}

// lengthOf returns how the number of entries of a field is determined. The result entries
// is that number if it is fixed, and its minimum otherwise.
func (p *Planner) lengthOf(field *ast.Field, at place) (_ length, entries int) {
	definition := field.Definition
	switch {
	case definition == nil || definition.Type == nil:
	case at.introspection:
		if definition.Type.Elem != nil {
			return fixed, max(p.sizes[field.Name], 1)
		}
	case definition.Arguments.ForName("first") != nil:
		return byFirst, 1
	case field.ObjectDefinition != nil && field.ObjectDefinition == p.schema.Subscription:
		return byArgument, 1
	case definition.Type.Elem == nil:
	case slices.ContainsFunc(definition.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.Elem != nil }):
		return byArgument, 0
	case at.page:
		return byPage, 0
	default:
		return fixed, unknownList
	}
	return fixed, 1
}

// firstOf returns the value of the argument `first`, from 1 to maxList.
func firstOf(field *ast.Field, variables map[string]any) int {
	value := argument(field, "first", variables)
	if value == nil { // null selects the default
		value = defaultOf(field, "first")
	}
	n, err := graphql.UnmarshalInt(value)
	if err != nil || value == nil {
		return maxList
	}
	return min(max(n, 1), maxList)
}

func restrictedToBiz(field *ast.Field, variables map[string]any) bool {
	return argument(field, "biz", variables) != nil
}

// longest returns the length of the longest list among the arguments, at most maxList.
func longest(field *ast.Field, variables map[string]any) (most int) {
	for _, definition := range field.Definition.Arguments {
		if definition.Type.Elem == nil {
			continue
		}
		value := argument(field, definition.Name, variables)
		most = max(most, entriesIn(value))
	}
	return min(most, maxList)
}

// longestInput returns the length of the longest list in the argument `input`, at most
// storage.MaxActionBatch.
func longestInput(field *ast.Field, variables map[string]any) (most int) {
	members, _ := argument(field, "input", variables).(map[string]any)
	for _, value := range members {
		most = max(most, entriesIn(value))
	}
	return min(most, storage.MaxActionBatch)
}

// entriesIn returns the length of a list, or 1 for a single value, which counts as a list of
// one.
func entriesIn(value any) int {
	if table, is := value.(*rows.Rows); is {
		return table.Len()
	}
	switch list := reflect.ValueOf(value); {
	case value == nil:
		return 0
	case list.Kind() == reflect.Slice:
		return list.Len()
	}
	return 1
}

// argument returns the value of an argument as the executor coerces it. It returns the
// default if the argument is omitted or is a variable without a value, and nil if there
// is no default. For a list in the document, it returns a list of the same length without
// the values.
func argument(field *ast.Field, name string, variables map[string]any) any {
	argument := field.Arguments.ForName(name)
	switch {
	case argument == nil:
		return defaultOf(field, name)
	case argument.Value.Kind == ast.ListValue:
		return make([]struct{}, len(argument.Value.Children))
	case argument.Value.Kind == ast.Variable:
		value, given := variables[argument.Value.Raw]
		if !given {
			return defaultOf(field, name)
		}
		return value
	}
	value, _ := argument.Value.Value(variables)
	return value
}

// defaultOf returns the default of an argument, or nil if it has none.
func defaultOf(field *ast.Field, name string) any {
	definition := field.Definition.Arguments.ForName(name)
	if definition == nil || definition.DefaultValue == nil {
		return nil
	}
	value, _ := definition.DefaultValue.Value(nil)
	return value
}

// introspectionSizes maps the name of each introspection field that returns a list to the
// average length of these lists in the schema, rounded up.
func introspectionSizes(schema *ast.Schema) map[string]int {
	sums, lists := map[string]int{}, map[string]int{}
	add := func(name string, n int) { sums[name], lists[name] = sums[name]+n, lists[name]+1 }
	add("types", len(schema.Types))
	add("directives", len(schema.Directives))
	for _, definition := range schema.Types {
		switch definition.Kind {
		case ast.Object, ast.Interface:
			add("fields", len(definition.Fields))
			for _, field := range definition.Fields {
				add("args", len(field.Arguments))
			}
		case ast.Enum:
			add("enumValues", len(definition.EnumValues))
		case ast.InputObject:
			add("inputFields", len(definition.Fields))
		case ast.Scalar, ast.Union:
		}
		if definition.IsAbstractType() {
			add("possibleTypes", len(schema.GetPossibleTypes(definition)))
		}
	}
	for name, n := range lists {
		sums[name] = (sums[name] + n - 1) / n
	}
	return sums
}
