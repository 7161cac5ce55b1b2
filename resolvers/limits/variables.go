package limits

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/resolvers/rows"
)

// valueError is an error about a value within a variable, with the value's path. The path
// is assembled only when the error is returned, so that valid values cost nothing.
type valueError struct {
	path   string // for example [3].biz
	reason string
}

func (w *valueError) in(place string) *valueError {
	w.path = place + w.path
	return w
}

// checkVariables checks that each value is of the type that its variable declares, as the
// GraphQL specification requires. The executor checks less, and its errors name Go types.
// Types that are not in the schema are left to validation.
func (l *Limits) checkVariables(operation *ast.OperationDefinition, values map[string]any) *gqlerror.Error {
	for _, variable := range operation.VariableDefinitions {
		value, given := values[variable.Variable]
		var found *valueError
		switch {
		case variable.Type == nil || l.schema.Types[variable.Type.Name()] == nil:
		case given:
			found = l.checkValue(variable.Type, value)
		case variable.Type.NonNull && variable.DefaultValue == nil:
			found = missing(variable.Type)
		}
		if found != nil {
			return badInput("the variable %.80s %s", "$"+variable.Variable+found.path, found.reason)
		}
	}
	return nil
}

func (l *Limits) checkValue(typ *ast.Type, value any) *valueError {
	switch value.(type) {
	case nil:
		if typ.NonNull {
			return mismatch("of type "+typ.String(), value)
		}
		return nil
	case variable:
		return nil
	}
	if alike, is := value.(*rows.Rows); is {
		return l.checkRows(typ, alike)
	}
	if typ.Elem != nil {
		list, isList := value.([]any)
		if !isList {
			return l.checkValue(typ.Elem, value) // a single value counts as a list with one entry
		}
		for i, entry := range list {
			if found := l.checkValue(typ.Elem, entry); found != nil {
				return found.in("[" + strconv.Itoa(i) + "]")
			}
		}
		return nil
	}
	switch definition := l.schema.Types[typ.NamedType]; {
	case definition == nil:
	case definition.Kind == ast.Enum:
		if name := nameOf(value); name == "" || definition.EnumValues.ForName(name) == nil {
			return mismatch("one of "+namesOf(definition), value)
		}
	case definition.Kind == ast.InputObject:
		return l.checkObject(definition, value)
	case !isScalar(typ.NamedType, value):
		want := "of type " + typ.NamedType
		switch typ.NamedType {
		case "Int":
			want += " (a whole number of 32 bits)"
		case "Time":
			want += " (RFC 3339, such as 2026-01-31T12:00:00Z)"
		}
		return mismatch(want, value)
	}
	return nil
}

func (l *Limits) checkObject(definition *ast.Definition, value any) *valueError {
	members, isObject := value.(map[string]any)
	if !isObject {
		return mismatch("of type "+definition.Name, value)
	}
	known := 0
	for _, field := range definition.Fields {
		member, given := members[field.Name]
		var found *valueError
		switch {
		case given:
			known++
			found = l.checkValue(field.Type, member)
		case field.Type.NonNull && field.DefaultValue == nil:
			found = missing(field.Type)
		}
		if found != nil {
			return found.in("." + field.Name)
		}
	}
	if known == len(members) {
		return nil
	}
	var unknown []string
	for name := range members {
		if definition.Fields.ForName(name) == nil {
			unknown = append(unknown, name)
		}
	}
	return &valueError{reason: fmt.Sprintf("has a member %.40q, which %s does not have", slices.Min(unknown), definition.Name)}
}

// nameOf returns the name of an enum value in JSON or in a document, or "".
func nameOf(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case enumName:
		return string(value)
	}
	return ""
}

// checkRows returns nil if the member names in value are enough to show that all objects
// are valid: typ is a list of _Any, or typ is a list of an input type, all members are
// fields of type String or ID, and no required field is missing. In all other cases it returns an error, even if the
// objects are valid.
func (l *Limits) checkRows(typ *ast.Type, value *rows.Rows) *valueError {
	if typ.Elem == nil || l.schema.Types[typ.Elem.NamedType] == nil {
		return mismatch("of type "+typ.String(), value)
	}
	if typ.Elem.NamedType == "_Any" {
		return nil
	}
	definition, known := l.schema.Types[typ.Elem.NamedType], 0
	for _, field := range definition.Fields {
		given := value.Column(field.Name) >= 0
		if given {
			known++
		}
		isText := field.Type.NamedType == "String" || field.Type.NamedType == "ID"
		if given && !isText || !given && field.Type.NonNull && field.DefaultValue == nil {
			return mismatch("of type "+typ.String(), value)
		}
	}
	if definition.Kind != ast.InputObject || known < len(value.Names) {
		return mismatch("of type "+typ.String(), value)
	}
	return nil
}

// isScalar reports whether a value from JSON is valid for a scalar type. For the custom
// scalars of this schema other than Time it rejects only lists and objects, because these
// scalars validate their values themselves.
func isScalar(name string, value any) bool {
	number, isNumber := value.(json.Number)
	switch name {
	case "Int":
		_, err := strconv.ParseInt(number.String(), 10, 32)
		return isNumber && err == nil
	case "Float":
		return isNumber
	case "String":
		_, is := value.(string)
		return is
	case "Boolean":
		_, is := value.(bool)
		return is
	case "ID":
		_, isText := value.(string)
		return isText || isNumber && !strings.ContainsAny(number.String(), ".eE")
	case "_Any":
		_, is := value.(map[string]any)
		return is
	case "Time":
		text, _ := value.(string)
		_, err := time.Parse(time.RFC3339Nano, text)
		return err == nil
	}
	switch value.(type) {
	case []any, map[string]any, enumName:
		return false
	}
	return true
}

func missing(typ *ast.Type) *valueError {
	return &valueError{reason: "is missing; it must be of type " + typ.String()}
}

func mismatch(want string, value any) *valueError {
	return &valueError{reason: "must be " + want + ", not " + kindOf(value)}
}

// kindOf describes a JSON value. It describes a list or an object by its type, and any
// other value by the value itself.
func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case string, quotedEnum:
		return fmt.Sprintf("the string %.40q", value)
	case []any, *rows.Rows:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%.40v", value)
}

// namesOf lists the values of an enum.
func namesOf(definition *ast.Definition) string {
	names := make([]string, len(definition.EnumValues))
	for i, value := range definition.EnumValues {
		names[i] = value.Name
	}
	return strings.Join(names, ", ")
}
