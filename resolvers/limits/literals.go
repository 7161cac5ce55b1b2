package limits

import (
	"encoding/json"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// validationRules returns the rules of validation. Literals are checked as variables are,
// by checkValue, instead of by the rule ValuesOfCorrectType, which accepts other numbers
// than checkValue does. If introspection is off, errors suggest no names of the schema.
func (l *Limits) validationRules() *rules.Rules {
	all := rules.NewDefaultRules()
	all.RemoveRule(rules.ValuesOfCorrectTypeRule.Name)
	all.AddRule("Literals", l.checkLiterals)
	if !l.cfg.Introspection {
		all.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
		all.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	}
	return all
}

// checkLiterals is the rule that literals are of the types of their arguments, and
// defaults of those of their variables.
func (l *Limits) checkLiterals(observers *core.Events, addError core.AddErrFunc) {
	check := func(what string, typ *ast.Type, value *ast.Value) {
		if typ == nil || value == nil || l.schema.Types[typ.Name()] == nil {
			return // other rules report unknown types
		}
		if found := l.checkValue(typ, literalValue(value)); found != nil {
			addError(core.Message("%.80s %s", what+found.path, found.reason), core.At(value.Position))
		}
	}
	arguments := func(definitions ast.ArgumentDefinitionList, given ast.ArgumentList) {
		for _, argument := range given {
			if definition := definitions.ForName(argument.Name); definition != nil {
				check("the argument "+argument.Name, definition.Type, argument.Value)
			}
		}
	}
	observers.OnValue(func(_ *core.Walker, value *ast.Value) {
		// A number is an id by its digits, however many they are.
		if value.Kind == ast.IntValue && value.Definition != nil && value.Definition.Name == "ID" {
			value.Kind = ast.StringValue
		}
	})
	observers.OnField(func(_ *core.Walker, field *ast.Field) {
		if field.Definition != nil {
			arguments(field.Definition.Arguments, field.Arguments)
		}
	})
	observers.OnDirective(func(_ *core.Walker, directive *ast.Directive) {
		if directive.Definition != nil {
			arguments(directive.Definition.Arguments, directive.Arguments)
		}
	})
	observers.OnOperation(func(_ *core.Walker, operation *ast.OperationDefinition) {
		for _, variable := range operation.VariableDefinitions {
			check("the default of $"+variable.Variable, variable.Type, variable.DefaultValue)
		}
	})
}

// Values of literals that JSON does not have.
type (
	enumName   string   // the name of an enum value
	quotedEnum string   // a string where the name of an enum value is expected
	variable   struct{} // a variable, whose value is checked by itself
)

// literalValue returns a literal as the value that JSON has for it: numbers are
// json.Number. The validator has determined the types of its parts.
func literalValue(value *ast.Value) any {
	switch value.Kind {
	case ast.Variable:
		return variable{}
	case ast.IntValue, ast.FloatValue:
		return json.Number(value.Raw)
	case ast.StringValue, ast.BlockValue:
		if value.Definition != nil && value.Definition.Kind == ast.Enum {
			return quotedEnum(value.Raw)
		}
		return value.Raw
	case ast.BooleanValue:
		return value.Raw == "true"
	case ast.EnumValue:
		return enumName(value.Raw)
	case ast.ListValue:
		out := make([]any, len(value.Children))
		for i, child := range value.Children {
			out[i] = literalValue(child.Value)
		}
		return out
	case ast.ObjectValue:
		out := make(map[string]any, len(value.Children))
		for _, child := range value.Children {
			out[child.Name] = literalValue(child.Value)
		}
		return out
	case ast.NullValue:
	}
	return nil
}
