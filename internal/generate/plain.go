package main

import (
	_ "embed"
	"go/types"

	"github.com/99designs/gqlgen/codegen"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/codegen/templates"
	"github.com/99designs/gqlgen/plugin"
	"github.com/vektah/gqlparser/v2/ast"
)

const plainFile = "graph/plain.go"

//go:embed plain.gotpl
var plainTemplate string

// plainWriter is a gqlgen plugin. It generates code that writes the fields of objects
// directly as JSON (see package plain). The executor handles fields that have arguments
// or directives, or whose methods can fail.
type plainWriter struct{}

var _ plugin.CodeGenerator = plainWriter{}

// Name implements plugin.Plugin.
func (plainWriter) Name() string { return "plain" }

// GenerateCode implements plugin.CodeGenerator.
func (plainWriter) GenerateCode(data *codegen.Data) error {
	var objects []plainObject
	for _, object := range data.Objects {
		if object.Root || object.BuiltIn || len(object.Directives) > 0 {
			continue
		}
		objects = append(objects, plainObject{object, plainFieldsOf(object)})
	}
	return templates.Render(templates.Options{
		PackageName:     data.Config.Exec.Package,
		Filename:        plainFile,
		Data:            objects,
		GeneratedHeader: true,
		Packages:        data.Config.Packages,
		Template:        plainTemplate,
		PruneOptions:    data.Config.GetPruneOptions(),
	})
}

type plainObject struct {
	*codegen.Object

	Plain []*plainField
}

type plainField struct {
	*codegen.Field

	Number     int
	ObjectType string // the object type of the field, or of its list's entries; "" if there is none
	Method     string // the method of the writer, for a field without an object type
	Value      string // the Go expression of the value
	Pointer    bool   // the value, or each entry of its list, is a pointer
	Abstract   bool   // the value is an object of one of several types
}

func plainFieldsOf(object *codegen.Object) []*plainField {
	var out []*plainField
	for i, field := range object.Fields {
		f := &plainField{Field: field, Number: i + 1}
		if f.chooseWriter() {
			out = append(out, f)
		}
	}
	return out
}

// chooseWriter sets how the field is written. It returns false if the field cannot be
// written directly.
func (f *plainField) chooseWriter() bool {
	ref := f.TypeReference
	if len(f.Args) > 0 || f.HasDirectives() || f.MethodHasContext || f.VOkFunc || f.IsBatch() || f.HasHaser {
		return false
	}
	f.Value = "obj." + f.GoFieldName
	switch {
	case f.IsResolver:
		f.Value = "w.resolvers." + templates.UcFirst(f.Object.Name) + "()." + f.GoFieldName + "(w.ctx, obj)"
	case f.GoFieldType == codegen.GoFieldMethod && f.NoErr:
		f.Value += "()"
	case f.GoFieldType != codegen.GoFieldVariable:
		return false
	}
	if f.IsResolver && ref.IsSlice() {
		return false
	}
	valueType := ref.GO
	if list, is := valueType.(*types.Slice); is {
		valueType = list.Elem()
	}
	_, f.Pointer = valueType.(*types.Pointer)
	if ref.Definition.Kind == ast.Object {
		f.ObjectType = ref.Definition.Name
		return f.Pointer || !ref.IsSlice() && !f.IsResolver && f.GoFieldType == codegen.GoFieldVariable
	}
	if f.Abstract = ref.Definition.IsAbstractType(); f.Abstract {
		return f.IsResolver && !ref.IsSlice()
	}
	if ref.IsSlice() || f.IsResolver && (f.Pointer || ref.HasEnumValues()) {
		return false
	}
	f.Method = writerMethod(ref)
	return f.Method != ""
}

// writerMethod returns the name of the writer's method that writes a scalar or an enum,
// or "" if there is none.
func writerMethod(ref *config.TypeReference) string {
	if ref.Marshaler == nil || ref.IsContext || ref.CastType != nil {
		return ""
	}
	if ref.HasEnumValues() {
		return "String"
	}
	return map[string]string{
		"github.com/99designs/gqlgen/graphql.MarshalString":  "String",
		"github.com/99designs/gqlgen/graphql.MarshalID":      "String",
		"github.com/99designs/gqlgen/graphql.MarshalInt64":   "Int",
		"github.com/99designs/gqlgen/graphql.MarshalBoolean": "Bool",
		"github.com/99designs/gqlgen/graphql.MarshalTime":    "Time",
	}[ref.Marshaler.FullName()]
}

// Enum returns the variable that maps the values of the field's enum to their names, or
// "" if the field is not an enum.
func (f *plainField) Enum() string {
	if f.ObjectType == "" && f.TypeReference.HasEnumValues() {
		return f.TypeReference.EnumMarshalVar(false)
	}
	return ""
}

// EntryNonNull reports whether the list's entries cannot be null.
func (f *plainField) EntryNonNull() bool { return f.TypeReference.GQL.Elem.NonNull }
