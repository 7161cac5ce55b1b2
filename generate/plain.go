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

// plainWriter is a plugin of gqlgen. It generates code that writes the fields of
// objects directly as JSON (see package plain). Fields that have arguments or
// directives, or methods that can fail, are left to the executor.
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
		objects = append(objects, plainObject{object, fieldsOf(object)})
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

	Number  int
	Holds   string // the object type that the field or its list holds; "" if none
	Method  string // for fields without an object type: the method of the writer
	Value   string // the Go expression of the value
	Pointer bool   // the value, or each entry of its list, is a pointer
}

func fieldsOf(object *codegen.Object) []*plainField {
	var out []*plainField
	for i, field := range object.Fields {
		f := &plainField{Field: field, Number: i + 1}
		if f.fill() {
			out = append(out, f)
		}
	}
	return out
}

// fill sets how the field is written. It returns false if the field cannot be written.
func (f *plainField) fill() bool {
	of := f.TypeReference
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
	if f.IsResolver && of.IsSlice() {
		return false
	}
	held := of.GO
	if list, is := held.(*types.Slice); is {
		held = list.Elem()
	}
	_, f.Pointer = held.(*types.Pointer)
	if of.Definition.Kind == ast.Object {
		f.Holds = of.Definition.Name
		return f.Pointer || !of.IsSlice() && !f.IsResolver && f.GoFieldType == codegen.GoFieldVariable
	}
	if of.IsSlice() || f.IsResolver && (f.Pointer || of.HasEnumValues()) {
		return false
	}
	f.Method = methodOf(of)
	return f.Method != ""
}

// methodOf returns the method of the writer for a scalar or an enum, "" if there is none.
func methodOf(of *config.TypeReference) string {
	if of.Marshaler == nil || of.IsContext || of.CastType != nil {
		return ""
	}
	if of.HasEnumValues() {
		return "String"
	}
	return map[string]string{
		"github.com/99designs/gqlgen/graphql.MarshalString":  "String",
		"github.com/99designs/gqlgen/graphql.MarshalID":      "String",
		"github.com/99designs/gqlgen/graphql.MarshalInt64":   "Int",
		"github.com/99designs/gqlgen/graphql.MarshalBoolean": "Bool",
		"github.com/99designs/gqlgen/graphql.MarshalTime":    "Time",
	}[of.Marshaler.FullName()]
}

// Enum returns the variable that maps the values of the field's enum to their names, or
// "" if the field is not an enum.
func (f *plainField) Enum() string {
	if f.Holds == "" && f.TypeReference.HasEnumValues() {
		return f.TypeReference.EnumMarshalVar(false)
	}
	return ""
}

// EntryNonNull reports whether the list's entries cannot be null.
func (f *plainField) EntryNonNull() bool { return f.TypeReference.GQL.Elem.NonNull }
