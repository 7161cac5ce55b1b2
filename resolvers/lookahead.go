package resolvers

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/storage"
)

// kindsSelected returns which states of the viewer an operation asks for
// anywhere, so that no others are read.
func kindsSelected(op *graphql.OperationContext) storage.Kinds {
	var kinds storage.Kinds
	seen := map[*ast.FragmentDefinition]bool{}
	var walk func(ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, selection := range set {
			switch s := selection.(type) {
			case *ast.Field:
				kinds |= kindOfField(s)
				walk(s.SelectionSet)
			case *ast.InlineFragment:
				walk(s.SelectionSet)
			case *ast.FragmentSpread:
				if s.Definition != nil && !seen[s.Definition] {
					seen[s.Definition] = true
					walk(s.Definition.SelectionSet)
				}
			}
		}
	}
	walk(op.Operation.SelectionSet)
	return kinds
}

func kindOfField(field *ast.Field) storage.Kinds {
	if field.ObjectDefinition == nil || field.ObjectDefinition.Name != "Interactive" {
		return 0
	}
	switch field.Name {
	case "liked":
		return storage.KindsOf(storage.KindReaction)
	case "collected":
		return storage.KindsOf(storage.KindCollection)
	case "read":
		return storage.KindsOf(storage.KindRead)
	}
	return 0
}

// selectionsOf returns what is selected of a child of the field being resolved,
// once for each alias of it.
func selectionsOf(ctx context.Context, child string) []ast.SelectionSet {
	var sets []ast.SelectionSet
	for _, field := range graphql.CollectFieldsCtx(ctx, nil) {
		if field.Name == child {
			sets = append(sets, field.Selections)
		}
	}
	return sets
}

// variesBelowRoot reports whether what is selected of the root fields depends
// on variables. The arguments of the root fields themselves do not count.
func variesBelowRoot(op *ast.OperationDefinition) bool {
	seen := map[*ast.FragmentDefinition]bool{}
	var varies func(set ast.SelectionSet, root bool) bool
	varies = func(set ast.SelectionSet, root bool) bool {
		for _, selection := range set {
			var directives ast.DirectiveList
			var arguments ast.ArgumentList
			var below ast.SelectionSet
			belowRoot := root
			switch s := selection.(type) {
			case *ast.Field:
				if !root {
					arguments = s.Arguments
				}
				directives, below, belowRoot = s.Directives, s.SelectionSet, false
			case *ast.InlineFragment:
				directives, below = s.Directives, s.SelectionSet
			case *ast.FragmentSpread:
				directives = s.Directives
				if s.Definition != nil && !seen[s.Definition] {
					seen[s.Definition] = true
					below = s.Definition.SelectionSet
				}
			}
			for _, d := range directives {
				arguments = append(slices.Clip(arguments), d.Arguments...)
			}
			if slices.ContainsFunc(arguments, func(a *ast.Argument) bool { return isVariable(a.Value) }) || varies(below, belowRoot) {
				return true
			}
		}
		return false
	}
	return varies(op.SelectionSet, true)
}

// isVariable reports whether a value is a variable, or holds one.
func isVariable(v *ast.Value) bool {
	return v.Kind == ast.Variable ||
		slices.ContainsFunc(v.Children, func(c *ast.ChildValue) bool { return isVariable(c.Value) })
}
