package resolvers

import (
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/plain"
	"ovation/storage"
)

// facts are what is known of an operation whatever its variables are. They last
// as long as its document is cached.
type facts struct {
	kinds storage.Kinds // of the viewer's states that are asked for
	plans *plain.Plans
	fixed bool   // what is selected does not depend on variables
	roots []root // of a fixed one
	size  atomic.Int64
}

// root is a field of Query, Mutation or Subscription.
type root struct {
	graphql.CollectedField

	deeper bool // something below it has to be loaded by itself
}

// documentFacts are those of all operations of a document.
type documentFacts struct {
	plans *plain.Plans

	mu sync.Mutex
	of map[*ast.OperationDefinition]*facts
}

func (r *Root) factsOf(op *graphql.OperationContext) *facts {
	kept := r.limits.Remember(op.Doc, func() any {
		return &documentFacts{plans: plain.NewPlans(r.plain, op.RawQuery), of: make(map[*ast.OperationDefinition]*facts)}
	})
	document := kept.(*documentFacts) //nolint:forcetypeassert // it is what the function makes
	document.mu.Lock()
	defer document.mu.Unlock()
	f := document.of[op.Operation]
	if f == nil {
		f = &facts{kinds: kindsSelected(op), plans: document.plans, fixed: plain.Fixed(op.RawQuery)}
		if f.fixed {
			f.roots = rootsOf(op)
		}
		document.of[op.Operation] = f
	}
	return f
}

// rootsOf are the fields that an operation selects with its present variables.
func (f *facts) rootsOf(op *graphql.OperationContext) []root {
	if f.fixed {
		return f.roots
	}
	return rootsOf(op)
}

func rootsOf(op *graphql.OperationContext) []root {
	name := map[ast.Operation]string{ast.Query: "Query", ast.Mutation: "Mutation", ast.Subscription: "Subscription"}[op.Operation.Operation]
	collected := graphql.CollectFields(op, op.Operation.SelectionSet, []string{name})
	roots := make([]root, len(collected))
	for i, field := range collected {
		roots[i] = root{field, deeper(field.Selections)}
	}
	return roots
}

// deeper reports whether a selection may hold fields that something is loaded
// for.
func deeper(set ast.SelectionSet) bool {
	for _, selection := range set {
		var below ast.SelectionSet
		switch s := selection.(type) {
		case *ast.Field:
			switch s.Name {
			case "likers", "interactive", "folder", "items", "likes", "folders", "reads":
				return true
			}
			below = s.SelectionSet
		case *ast.InlineFragment:
			below = s.SelectionSet
		case *ast.FragmentSpread:
			if s.Definition != nil {
				below = s.Definition.SelectionSet
			}
		}
		if deeper(below) {
			return true
		}
	}
	return false
}
