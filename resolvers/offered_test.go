package resolvers_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/internal/testing/must"
)

// typeOf is the part of an introspection query that shows a type with its wrappers.
const typeOf = `fragment T on __Type{kind name ofType{kind name ofType{kind name ofType{kind name}}}}`

// reference returns the text of a type, such as [ID!]!, from what introspection shows.
func reference(t *testing.T, shown any) string {
	t.Helper()
	switch dig(t, shown, "kind") {
	case "NON_NULL":
		return reference(t, dig(t, shown, "ofType")) + "!"
	case "LIST":
		return "[" + reference(t, dig(t, shown, "ofType")) + "]"
	}
	return dig(t, shown, "name").(string)
}

// Each directive of the schema that is for operations is used in a query at each of its
// locations. The query must succeed.
func TestDirectivesThatAreOfferedRun(t *testing.T) {
	s := start(t)
	uses := map[string]string{
		"FIELD":           `{viewer{userId %s}}`,
		"FRAGMENT_SPREAD": `{viewer{...A %s}} fragment A on User{userId}`,
		"INLINE_FRAGMENT": `{viewer{... %s{userId}}}`,
	}
	ofSchema := []string{
		"SCHEMA", "SCALAR", "OBJECT", "FIELD_DEFINITION", "ARGUMENT_DEFINITION", "INTERFACE", "UNION", "ENUM", "ENUM_VALUE",
		"INPUT_OBJECT", "INPUT_FIELD_DEFINITION", "DIRECTIVE_DEFINITION",
	}
	var used []string
	for _, directive := range dig(t, s.ok(t, "alice", `{__schema{directives{name locations args(includeDeprecated:true){name type{...T}}}}}`+typeOf), "__schema", "directives").([]any) {
		name, arguments := dig(t, directive, "name").(string), ""
		for _, argument := range dig(t, directive, "args").([]any) {
			value, known := map[string]string{"Boolean!": "true", "Boolean": "true", "String": `"a"`}[reference(t, dig(t, argument, "type"))]
			if !known {
				value = "null"
			}
			arguments += dig(t, argument, "name").(string) + ":" + value + " "
		}
		for _, at := range dig(t, directive, "locations").([]any) {
			if slices.Contains(ofSchema, at.(string)) {
				continue
			}
			use, known := uses[at.(string)]
			if !known {
				t.Fatalf("@%s is offered at %s, where this test cannot use it", name, at)
			}
			s.ok(t, "alice", fmt.Sprintf(use, "@"+name+"("+arguments+")"))
			used = append(used, name+" "+at.(string))
		}
	}
	slices.Sort(used)
	want := []string{"include FIELD", "include FRAGMENT_SPREAD", "include INLINE_FRAGMENT", "skip FIELD", "skip FRAGMENT_SPREAD", "skip INLINE_FRAGMENT"}
	if !slices.Equal(used, want) {
		t.Errorf("got %q, want %q", used, want)
	}
	if got := s.ask(t, "alice", `{viewer{... @defer{userId}}}`); len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "BAD_USER_INPUT" || got.Errors[0].Message != `Unknown directive "@defer".` {
		t.Errorf("a directive that is not offered: got %+v, want BAD_USER_INPUT", got)
	}
}

// Every field of introspection can be selected, with each value of its arguments that
// their types allow: a default, an explicit value and null.
func TestIntrospectionThatIsOfferedRuns(t *testing.T) {
	s := start(t)
	roots := map[string]string{
		"__Schema": `{__schema{%s}}`, "__Type": `{__type(name:"CommentOrder"){%s}}`, "__Directive": `{__schema{directives{%s}}}`,
		"__Field": `{__type(name:"User"){fields{%s}}}`, "__InputValue": `{__type(name:"LikeInput"){inputFields{%s}}}`, "__EnumValue": `{__type(name:"CommentOrder"){enumValues{%s}}}`,
	}
	seen := 0
	for _, typ := range dig(t, s.ok(t, "", `{__schema{types{name kind fields(includeDeprecated:true){name args(includeDeprecated:true){name type{...T}} type{...T}}}}}`+typeOf), "__schema", "types").([]any) {
		name := dig(t, typ, "name").(string)
		if !strings.HasPrefix(name, "__") || dig(t, typ, "kind") != "OBJECT" {
			continue
		}
		at, known := roots[name]
		if !known {
			t.Fatalf("%s is offered, which this test cannot select", name)
		}
		for _, field := range dig(t, typ, "fields").([]any) {
			selected := dig(t, field, "name").(string)
			below, arguments := "", []string{""}
			if of := strings.Trim(reference(t, dig(t, field, "type")), "[]!"); strings.HasPrefix(of, "__") && roots[of] != "" {
				below = "{__typename}"
			}
			for _, argument := range dig(t, field, "args").([]any) {
				name := dig(t, argument, "name").(string)
				arguments = append(arguments, "("+name+":true)", "("+name+":false)")
				if !strings.HasSuffix(reference(t, dig(t, argument, "type")), "!") {
					arguments = append(arguments, "("+name+":null)")
				}
			}
			for _, with := range arguments {
				s.ok(t, "", fmt.Sprintf(at, selected+with+below))
				seen++
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d fields were selected, want all of introspection", seen)
	}
}

// Introspection shows the types, fields and arguments of the schema file and no others.
func TestIntrospectionIsTheSchemaFile(t *testing.T) {
	s := start(t)
	response, err := http.Get(s.url + "/schema.graphqls")
	must.Succeed(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must.Succeed(t, err)
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: string(text)})
	must.Succeed(t, err)
	var want, got []string
	for name, typ := range schema.Types {
		if strings.HasPrefix(name, "__") {
			continue
		}
		want = append(want, fmt.Sprintf("%s %s oneOf=%t", typ.Kind, name, typ.Directives.ForName("oneOf") != nil))
		for _, field := range typ.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			want = append(want, fmt.Sprintf("%s.%s: %s", name, field.Name, field.Type))
			for _, argument := range field.Arguments {
				want = append(want, fmt.Sprintf("%s.%s(%s): %s", name, field.Name, argument.Name, argument.Type))
			}
		}
		for _, value := range typ.EnumValues {
			want = append(want, name+" "+value.Name)
		}
	}
	list := func(part any, name string) []any { l, _ := dig(t, part, name).([]any); return l }
	for _, typ := range dig(t, s.ok(t, "", `{__schema{types{kind name isOneOf enumValues(includeDeprecated:true){name}
		inputFields{name type{...T}} fields(includeDeprecated:true){name type{...T} args(includeDeprecated:true){name type{...T}}}}}}`+typeOf), "__schema", "types").([]any) {
		name := dig(t, typ, "name").(string)
		if strings.HasPrefix(name, "__") {
			continue
		}
		oneOf, _ := dig(t, typ, "isOneOf").(bool)
		got = append(got, fmt.Sprintf("%s %s oneOf=%t", dig(t, typ, "kind"), name, oneOf))
		for _, field := range append(list(typ, "fields"), list(typ, "inputFields")...) {
			got = append(got, fmt.Sprintf("%s.%s: %s", name, dig(t, field, "name"), reference(t, dig(t, field, "type"))))
			if _, has := field.(map[string]any)["args"]; !has {
				continue
			}
			for _, argument := range list(field, "args") {
				got = append(got, fmt.Sprintf("%s.%s(%s): %s", name, dig(t, field, "name"), dig(t, argument, "name"), reference(t, dig(t, argument, "type"))))
			}
		}
		for _, value := range list(typ, "enumValues") {
			got = append(got, name+" "+dig(t, value, "name").(string))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	for _, one := range got {
		if !slices.Contains(want, one) {
			t.Errorf("introspection offers %s, which the schema file does not have", one)
		}
	}
	for _, one := range want {
		if !slices.Contains(got, one) {
			t.Errorf("introspection lacks %s of the schema file", one)
		}
	}
}
