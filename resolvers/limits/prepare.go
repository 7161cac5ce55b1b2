package limits

import (
	"context"
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/rate"
	"ovation/resolvers/plan"
	"ovation/resolvers/rows"
)

// Executor wraps an executor. A document that was executed before is not parsed or
// validated again; only the variables and the cost of the operation are checked.
func (l *Limits) Executor(exec graphql.GraphExecutor) graphql.GraphExecutor {
	return preparing{exec, l}
}

// preparing is an executor that prepares an operation itself if its document was executed
// before. It passes all other requests to the embedded executor.
type preparing struct {
	graphql.GraphExecutor

	limits *Limits
}

// CreateOperationContext implements graphql.GraphExecutor. The variables in the returned
// context may contain *rows.Rows if those in params do.
func (e preparing) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	if operation, bill := e.limits.prepare(ctx, params); operation != nil {
		if refused := e.limits.charge(ctx, bill); refused != nil {
			return operation, gqlerror.List{refused}
		}
		return operation, nil
	}
	if _, known := e.limits.cache.Get(ctx, params.Query); !known {
		if refused := chargeText(ctx, params.Query); refused != nil {
			return &graphql.OperationContext{}, gqlerror.List{refused}
		}
	}
	rows.Unfold(params.Variables)
	operation, errs := e.GraphExecutor.CreateOperationContext(ctx, params)
	if len(errs) == 0 {
		e.limits.cache.execute(operation)
	}
	return operation, errs
}

// prepare returns the operation context that the executor would create for a request, and
// the bill for the operation. It returns nil if the executor has to create the context,
// and if the operation is rejected; the executor then reports the error.
func (l *Limits) prepare(ctx context.Context, params *graphql.RawParams) (_ *graphql.OperationContext, bill rate.Bill) {
	document, executed, _ := l.cache.get(ctx, params.Query)
	if executed == nil {
		return nil, bill
	}
	operation := document.Operations.ForName(params.OperationName)
	if operation == nil {
		return nil, bill
	}
	variables, ok := l.coerce(operation, params.Variables)
	if !ok {
		return nil, bill
	}
	out := &graphql.OperationContext{
		RawQuery: params.Query, OperationName: params.OperationName, Variables: variables, Doc: document, Operation: operation,
		Extensions: params.Extensions, Headers: params.Headers, RecoverFunc: executed.RecoverFunc,
		ResolverMiddleware: executed.ResolverMiddleware, RootResolverMiddleware: executed.RootResolverMiddleware,
		Stats: graphql.Stats{Read: params.ReadTime, OperationStart: graphql.GetStartTime(ctx)},
	}
	bill, err := l.bill(out)
	if err != nil {
		return nil, bill
	}
	return out, bill
}

// coerce returns the variables as the executor would coerce them, except that *rows.Rows
// remain unchanged. It returns false if a value is not of its variable's type, or if that
// type needs a coercion that is not implemented here. The executor then has to coerce the
// variables. coerce does not modify values.
func (l *Limits) coerce(operation *ast.OperationDefinition, values map[string]any) (map[string]any, bool) {
	if len(operation.VariableDefinitions) == 0 {
		return map[string]any{}, true
	}
	if l.checkVariables(operation, values) != nil {
		return nil, false
	}
	out := make(map[string]any, len(operation.VariableDefinitions))
	for _, variable := range operation.VariableDefinitions {
		value, given := values[variable.Variable]
		switch {
		case !given && variable.DefaultValue != nil:
			return nil, false
		case !given:
			continue
		case variable.Type.NamedType == "Int" && value != nil:
			number, isNumber := value.(json.Number)
			n, err := number.Int64()
			if !isNumber || err != nil {
				return nil, false
			}
			value = n
		case !l.needsNoCoercion(variable.Type, value):
			return nil, false
		}
		out[variable.Variable] = value
	}
	return out, true
}

// needsNoCoercion reports whether coercion to a type would leave a value unchanged.
func (l *Limits) needsNoCoercion(typ *ast.Type, value any) bool {
	switch value.(type) {
	case nil, *rows.Rows:
		return true
	}
	if typ.Elem == nil {
		return l.uncoerced[typ.NamedType]
	}
	_, isList := value.([]any)
	return isList && typ.Elem.Elem == nil && l.uncoerced[typ.Elem.NamedType]
}

// typesWithoutCoercion returns the types whose values from JSON are not changed by
// coercion: no number in them is converted, and no single value becomes a list.
func typesWithoutCoercion(schema *ast.Schema) map[string]bool {
	same := map[string]bool{"String": true, "ID": true, "Boolean": true, "_Any": true}
	for name, definition := range schema.Types {
		if definition.Kind == ast.Enum {
			same[name] = true
		}
	}
	for name, definition := range schema.Types {
		if definition.Kind != ast.InputObject {
			continue
		}
		flat := true // nested input objects are left to the executor
		for _, field := range definition.Fields {
			of := schema.Types[field.Type.NamedType]
			flat = flat && of != nil && of.Kind != ast.InputObject && same[field.Type.NamedType]
		}
		if flat {
			same[name] = true
		}
	}
	return same
}

// Plan returns the plan of an operation. The plan is cached with the document.
func (l *Limits) Plan(operation *graphql.OperationContext) *plan.Plan {
	return l.cache.plan(operation, l.planner.Plan)
}

// Hold keeps the document of a subscription in memory until release is called. Other
// operations with the same text then share the document.
func (l *Limits) Hold(operation *graphql.OperationContext) (release func()) {
	return l.cache.hold(operation.Doc)
}
