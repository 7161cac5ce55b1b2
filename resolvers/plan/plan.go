package plan

import (
	"slices"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/plain"
	"ovation/storage"
)

// Line is what a field of the schema needs.
type Line struct {
	// Kinds are the viewer's states of a subject that the field shows.
	Kinds storage.Kinds
	// Weight is by how much more than 1 the field counts in a cost.
	Weight int
	// Loads says that the field is looked up by a key or a query of its own.
	Loads bool
}

// Table has a line for each field that needs one, by "Type.field".
type Table map[string]Line

// Planner makes the plans of one schema.
type Planner struct {
	schema *ast.Schema
	table  Table
	fast   plain.Schema
	sizes  map[string]int // of the lists of introspection
}

// NewPlanner returns a planner. Fields that are not in fast are never written
// plainly.
func NewPlanner(schema *ast.Schema, table Table, fast plain.Schema) *Planner {
	return &Planner{schema, table, fast, introspectionSizes(schema)}
}

// Plan is the plan of one operation. It is safe for concurrent use.
type Plan struct {
	// Kinds are the viewer's states that are asked for anywhere.
	Kinds storage.Kinds
	// Fields is how many fields there are, and RootFields how many of them are on
	// the first level. Fields that would be merged count one by one.
	Fields, RootFields int
	// Varies says that what is selected below the root fields depends on
	// variables. The arguments of the root fields themselves do not count.
	Varies bool
	// Size is how many bytes to reserve for an answer.
	Size atomic.Int64

	planner       *Planner
	cost          sum
	introspection int
	conditions    []*ast.Value // variables that @skip and @include depend on
	known         atomic.Pointer[tree]
}

// tree is what an operation selects while its conditions have some values.
type tree struct {
	conditions []bool
	roots      Selection
}

// Plan makes the plan of a valid operation.
func (p *Planner) Plan(operation *ast.OperationDefinition) *Plan {
	out := &Plan{planner: p}
	out.cost = out.selections(operation.SelectionSet, place{root: true})
	out.Varies = out.Varies || len(out.conditions) > 0
	return out
}

// Conditions are the values of what @skip and @include depend on. It returns
// false where one of them is neither true nor false, which would be a panic of
// the executor's.
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

// Roots are the fields that an operation selects of Query, Mutation or
// Subscription with its present variables, whose conditions are right.
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
