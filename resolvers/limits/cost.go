package limits

import (
	"encoding/json"
	"reflect"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/resolvers/rows"
	"ovation/storage"
)

// maxList is the longest list that any field returns or takes. What asks for
// more costs as much as this, and is refused by its resolver with a message
// that says what is wrong.
const maxList = 100

// unknownList is how long a list is taken to be that nothing tells the length
// of.
const unknownList = 10

// cost is how many fields an answer can hold.
//
// Every field counts 1, a folder's texts as much more as they are longer than
// most fields, @skip and @include notwithstanding. What lies below a
// list counts once for each entry: as many as the argument `first` says for a
// list of edges, as many as there are in `subjects` or `ids` for the list that
// they ask for, or to watch. `first` itself counts as well, for those rows are read from
// the database whatever is asked of them. Of a list of one biz all rows count that the
// database may examine for it, storage.MaxListScan.
//
//	interactives(subjects: [100 of them]) {     1
//	  likeCount                                 100 × 1
//	  likers(first: 20) {                       100 × (1 + 20)
//	    edges {                                 100 × 1
//	      node { user { userId } }              100 × 20 × 3
//	    }
//	  }
//	}                                           in all 8,301
//
// What lies below __schema and __type counts apart, with the sizes of lists
// taken from the schema.
type cost struct {
	data, introspection int
	conditionAmiss      bool // a @skip or @include without true or false
}

// coster computes the cost of an operation. The operation is valid and of at
// most MaxFields fields with its fragments filled in, so walking all of it is
// cheap.
type coster struct {
	variables map[string]any
	sizes     map[string]int
	sum       cost
}

func (l *Limits) costOf(operation *graphql.OperationContext) cost {
	c := &coster{variables: operation.Variables, sizes: l.sizes}
	c.sum.data = c.selections(operation.Operation.SelectionSet, 0, false)
	return c.sum
}

// selections is the cost of a selection set, once. Of what lies below a field
// with `first`, page is that number; otherwise it is 0.
func (c *coster) selections(set ast.SelectionSet, page int, introspection bool) int {
	sum := 0
	for _, selection := range set {
		switch selection := selection.(type) {
		case *ast.Field:
			c.conditions(selection.Directives)
			sum += c.field(selection, page, introspection)
		case *ast.InlineFragment:
			c.conditions(selection.Directives)
			sum += c.selections(selection.SelectionSet, page, introspection)
		case *ast.FragmentSpread:
			c.conditions(selection.Directives)
			if selection.Definition != nil {
				sum += c.selections(selection.Definition.SelectionSet, page, introspection)
			}
		}
		sum = min(sum, tooMany)
	}
	return sum
}

func (c *coster) field(field *ast.Field, page int, introspection bool) int {
	if introspects(field) {
		c.sum.introspection = min(c.sum.introspection+c.selections(field.SelectionSet, 0, true), tooMany)
		return 1
	}
	entries, own := 1, 1
	first := c.first(field)
	switch {
	case field.Definition == nil || field.Definition.Type == nil:
	case introspection:
		if field.Definition.Type.Elem != nil {
			entries = max(c.sizes[field.Name], 1)
		}
	case first > 0:
		rows := first
		if biz, given := c.argument(field, "biz"); given && biz != nil {
			rows = storage.Page{First: first}.MaxScan()
		}
		own += rows
	case field.ObjectDefinition != nil && field.ObjectDefinition.Name == "Subscription":
		entries = max(c.longest(field), 1)
	case field.Definition.Type.Elem != nil:
		switch asked := c.longest(field); {
		case asked >= 0:
			entries = asked
		case page > 0:
			entries = page
		default:
			entries = unknownList
		}
	}
	if field.ObjectDefinition != nil {
		own += extra[field.ObjectDefinition.Name+"."+field.Name]
	}
	return min(own+entries*c.selections(field.SelectionSet, first, introspection), tooMany)
}

// extra is by how much more than 1 a field of long text counts. With it an
// answer of the highest cost stays below some 5 MB.
var extra = map[string]int{
	"Folder.description": 19, // up to 4,000 bytes
	"Folder.name":        1,  // up to 400 bytes
}

// first is the value of the argument `first`: 1 to maxList, or 0 where the
// field takes none.
func (c *coster) first(field *ast.Field) int {
	if field.Definition == nil {
		return 0
	}
	definition := field.Definition.Arguments.ForName("first")
	if definition == nil {
		return 0
	}
	value, given := c.argument(field, "first")
	if !given || value == nil {
		if value, _ = definition.DefaultValue.Value(nil); value == nil {
			return maxList
		}
	}
	n := int64(maxList)
	switch value := value.(type) {
	case int64:
		n = value
	case int:
		n = int64(value)
	case json.Number:
		if parsed, err := value.Int64(); err == nil {
			n = parsed
		}
	}
	return int(min(max(n, 1), maxList))
}

// longest is the length of the longest list among the arguments, at most
// maxList, or -1 where there is none.
func (c *coster) longest(field *ast.Field) int {
	longest := -1
	for _, definition := range field.Definition.Arguments {
		if definition.Type.Elem == nil {
			continue
		}
		value, given := c.argument(field, definition.Name)
		if alike, is := value.(*rows.Rows); is {
			longest = max(longest, alike.Len())
			continue
		}
		switch list := reflect.ValueOf(value); {
		case !given || value == nil:
			longest = max(longest, 0)
		case list.Kind() == reflect.Slice:
			longest = max(longest, list.Len())
		default:
			longest = max(longest, 1) // one entry may stand without its brackets
		}
	}
	return min(longest, maxList)
}

func (c *coster) argument(field *ast.Field, name string) (value any, given bool) {
	argument := field.Arguments.ForName(name)
	if argument == nil {
		return nil, false
	}
	if argument.Value.Kind == ast.ListValue {
		return make([]struct{}, len(argument.Value.Children)), true // the length is all that counts
	}
	value, err := argument.Value.Value(c.variables)
	return value, err == nil
}

// conditions looks at @skip and @include: a variable of theirs that is null
// would be a panic of the executor's.
func (c *coster) conditions(directives ast.DirectiveList) {
	for _, directive := range directives {
		if directive.Name != "skip" && directive.Name != "include" {
			continue
		}
		if argument := directive.Arguments.ForName("if"); argument != nil {
			value, err := argument.Value.Value(c.variables)
			if _, is := value.(bool); err != nil || !is {
				c.sum.conditionAmiss = true
			}
		}
	}
}

// introspectionSizes are how long the lists of introspection are on average,
// rounded up.
func introspectionSizes(schema *ast.Schema) map[string]int {
	var fields, arguments, values, inputs, withFields, enums, inputTypes, possible, abstract int
	for _, definition := range schema.Types {
		switch definition.Kind {
		case ast.Object, ast.Interface:
			withFields++
			fields += len(definition.Fields)
			for _, field := range definition.Fields {
				arguments += len(field.Arguments)
			}
		case ast.Enum:
			enums++
			values += len(definition.EnumValues)
		case ast.InputObject:
			inputTypes++
			inputs += len(definition.Fields)
		case ast.Scalar, ast.Union:
		}
		if definition.IsAbstractType() {
			abstract++
			possible += len(schema.GetPossibleTypes(definition))
		}
	}
	average := func(sum, number int) int { return (sum + max(number, 1) - 1) / max(number, 1) }
	return map[string]int{
		"types":         len(schema.Types),
		"directives":    len(schema.Directives),
		"fields":        average(fields, withFields),
		"args":          average(arguments, fields),
		"enumValues":    average(values, enums),
		"inputFields":   average(inputs, inputTypes),
		"possibleTypes": average(possible, abstract),
	}
}
