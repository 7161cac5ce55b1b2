package plan

import (
	"slices"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/internal/plain"
	"ovation/storage"
)

// FieldInfo describes what a field of the schema needs.
type FieldInfo struct {
	// Kinds are the kinds of the viewer's states that the field shows.
	Kinds storage.Kinds
	// Weight is added to the field's cost of 1.
	Weight int
	// Price is the CPU time that the field takes, in units of package rate, in addition to
	// that of a field in a response.
	Price int
	// EntryPrice is the same for each entry of the longest list in the argument `input`.
	EntryPrice int
	// Loads is true if the field is looked up by a key or a query of its own.
	Loads bool
	// Entries is the maximum length of a list without arguments, where 0 stands for
	// unknownList. For a subscription that takes no list, it is the number of events that
	// are loaded in one read, where 0 stands for 1.
	Entries int
	// Scans is true if the database may examine up to storage.MaxListScan rows for a page
	// of the list, even if few entries are requested.
	Scans bool
}

// Table maps "Type.field" to the FieldInfo of that field. A field without an entry has
// the zero FieldInfo.
type Table map[string]FieldInfo

// Planner makes the plans of one schema.
type Planner struct {
	schema *ast.Schema
	table  Table
	fast   plain.Schema
	sizes  map[string]int // average lengths of introspection lists, by field name
}

// NewPlanner returns a planner. The parameter fast is the schema of the fields that may
// be encoded directly.
func NewPlanner(schema *ast.Schema, table Table, fast plain.Schema) *Planner {
	return &Planner{schema, table, fast, introspectionSizes(schema)}
}

// Plan is the plan of one operation. It is safe for concurrent use.
type Plan struct {
	// Kinds are the kinds of the viewer's states that the operation selects anywhere.
	Kinds storage.Kinds
	// Fields is the number of fields in the operation, and RootFields the number of root
	// fields. Fields that the executor would merge count separately.
	Fields, RootFields int
	// Varies is true if the selections below the root fields depend on variables. The
	// arguments of the root fields do not count.
	Varies bool
	// Size is the number of bytes to reserve for a response.
	Size atomic.Int64

	planner       *Planner
	cost          sum
	introspection int
	conditions    []*ast.Value // variables that @skip and @include depend on
	known         atomic.Pointer[tree]
}

// tree is what an operation selects for given values of its conditions.
type tree struct {
	conditions []bool
	roots      Selection
}

// Plan returns the plan of a valid operation.
func (p *Planner) Plan(operation *ast.OperationDefinition) *Plan {
	out := &Plan{planner: p}
	out.cost = out.selections(operation.SelectionSet, place{root: true})
	out.Varies = out.Varies || len(out.conditions) > 0
	return out
}

// Conditions returns the values of the variables on which @skip and @include depend. It
// returns false if one of them is not a boolean, which would make the executor panic.
func (p *Plan) Conditions(variables map[string]any) (values []bool, ok bool) {
	for _, condition := range p.conditions {
		value, err := condition.Value(variables)
		holds, is := value.(bool)
		if err != nil || !is {
			return nil, false
		}
		values = append(values, holds)
	}
	return values, true
}

// Roots returns the fields of Query, Mutation or Subscription that an operation selects
// with its variables. All conditions of the operation must be booleans.
func (p *Plan) Roots(op *graphql.OperationContext) *Selection {
	conditions, _ := p.Conditions(op.Variables)
	known := p.known.Load()
	if known == nil || !slices.Equal(known.conditions, conditions) {
		root := p.planner.schema.Query
		switch op.Operation.Operation {
		case ast.Mutation:
			root = p.planner.schema.Mutation
		case ast.Subscription:
			root = p.planner.schema.Subscription
		case ast.Query:
		}
		known = &tree{conditions, p.planner.selection(op, root, op.Operation.SelectionSet)}
		p.known.Store(known)
	}
	return &known.roots
}
