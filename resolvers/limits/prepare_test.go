package limits

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"ovation/resolvers/plan"
	"ovation/resolvers/rows"
)

// argumentTypes is a schema with an argument of every kind of type. Of the input
// objects, coerce supports those that contain neither lists nor other input objects.
var argumentTypes = gqlparser.MustLoadSchema(&ast.Source{Input: `
	scalar Own
	enum Colour { RED GREEN }
	input Flat { label: String! id: ID on: Boolean! = true colour: Colour }
	input Box { label: String! size: Int = 1 weight: Float! = 2.5 inner: Box tags: [[ID!]] colour: Colour flat: Flat }
	type Query { all(i: Int, f: Float, s: String, b: Boolean, d: ID, o: Own, c: Colour, x: Box, y: Flat): Int }
`})

// schemaOnly is a schema that is not executed.
type schemaOnly struct{ graphql.ExecutableSchema }

func (schemaOnly) Schema() *ast.Schema { return argumentTypes }

// Limits coerces variables as the executor does. It leaves variables that the executor
// rejects to the executor.
func TestVariablesAreCoercedAsByTheExecutor(t *testing.T) {
	l := newService(t, Config{}).limits
	if err := l.Validate(schemaOnly{}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	coerced, rowed, refused := 0, 0, 0
	for range 50_000 {
		typ, value := someType(random, 2), someValue(random, 3)
		if random.IntN(3) == 0 {
			value = rightValue(random, typ)
		}
		text := "query($v:" + typ + someDefault(random, typ) + "){all}"
		document, err := parser.ParseQuery(&ast.Source{Input: text})
		if err != nil {
			t.Fatalf("parse %s: %v", text, err)
		}
		operation := document.Operations[0]
		for _, variable := range operation.VariableDefinitions { // as validation does
			variable.Definition = argumentTypes.Types[variable.Type.Name()]
		}
		body := `{"v":` + value + `,"unused":[1]}`
		switch random.IntN(10) {
		case 0:
			body = `{}`
		case 1, 2, 3:
			body = `{"v":` + value + `}`
		}
		var here, there map[string]any
		decode(t, body, &here)
		decode(t, body, &there)
		want, err := validator.VariableValues(argumentTypes, operation, there)
		folded := fold(here)
		got, ok := l.coerce(operation, here)
		rows.Unfold(got)
		switch {
		case !ok:
			refused++
		case err != nil:
			t.Errorf("%s with %s: got %#v, want the executor's error: %v", text, body, got, err)
		case !reflect.DeepEqual(got, want):
			t.Errorf("%s with %s: %#v, and the executor has %#v", text, body, got, want)
		case folded:
			rowed++
		default:
			coerced++
		}
	}
	if coerced < 2_000 || refused < 2_000 || rowed < 20 {
		t.Errorf("%d values coerced, %d of rows, %d refused, want at least 2000, 20 and 2000 for a meaningful test", coerced, rowed, refused)
	}
}

// fold converts lists to *rows.Rows where the transport would do so. It reports whether
// it has converted any.
func fold(variables map[string]any) (folded bool) {
	for name, value := range variables {
		list, _ := value.([]any)
		var alike *rows.Rows
		for i, one := range list {
			object, _ := one.(map[string]any)
			names := slices.Sorted(maps.Keys(object))
			if i == 0 {
				alike = &rows.Rows{Names: names}
			}
			if len(names) == 0 || !slices.Equal(names, alike.Names) {
				alike = nil
				break
			}
			for _, member := range names {
				text, isText := object[member].(string)
				if !isText {
					alike = nil
					break
				}
				alike.Values = append(alike.Values, text)
			}
			if alike == nil {
				break
			}
		}
		if alike != nil {
			variables[name], folded = alike, true
		}
	}
	return folded
}

var named = []string{"Int", "Float", "String", "Boolean", "ID", "Own", "Colour", "Box", "Flat"}

func someType(random *rand.Rand, depth int) string {
	typ := named[random.IntN(len(named))]
	if depth > 0 && random.IntN(3) == 0 {
		typ = "[" + someType(random, depth-1) + "]"
	}
	if random.IntN(2) == 0 {
		typ += "!"
	}
	return typ
}

func someDefault(random *rand.Rand, typ string) string {
	if random.IntN(5) > 0 || strings.ContainsAny(typ, "[!") {
		return ""
	}
	return " = " + map[string]string{
		"Int": "1", "Float": "1.5", "String": `"a"`, "Boolean": "true", "ID": `"1"`, "Own": "1", "Colour": "RED",
		"Box": `{label:"a"}`, "Flat": `{label:"a",id:1}`,
	}[typ]
}

// someValue returns random JSON, which need not be valid for any type.
func someValue(random *rand.Rand, depth int) string {
	scalars := []string{"1", "-7", "2147483648", "1.5", "1e3", `"1"`, `"RED"`, `"red"`, `""`, "true", "false", "null", "12345678901234567890"}
	if depth == 0 || random.IntN(3) > 0 {
		return scalars[random.IntN(len(scalars))]
	}
	if random.IntN(2) == 0 {
		entries := make([]string, random.IntN(3))
		for i := range entries {
			entries[i] = someValue(random, depth-1)
		}
		return "[" + strings.Join(entries, ",") + "]"
	}
	members := []string{}
	for _, name := range []string{"label", "id", "on", "colour", "size", "inner", "tags", "flat", "__typename"} {
		if random.IntN(5) == 0 {
			members = append(members, `"`+name+`":`+someValue(random, depth-1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// rightValue returns random JSON that is most likely valid for the type.
func rightValue(random *rand.Rand, typ string) string {
	typ = strings.TrimSuffix(typ, "!")
	if inner, is := strings.CutPrefix(typ, "["); is {
		entries := make([]string, random.IntN(3))
		for i := range entries {
			entries[i] = rightValue(random, strings.TrimSuffix(inner, "]"))
		}
		return "[" + strings.Join(entries, ",") + "]"
	}
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	switch typ {
	case "Int":
		return pick("1", "-5", "2147483647")
	case "Float":
		return pick("1", "1.5", "1e3")
	case "Boolean":
		return pick("true", "false")
	case "ID":
		return pick("1", `"a"`, "12345678901234567890")
	case "Colour":
		return pick(`"RED"`, `"GREEN"`)
	case "Flat":
		return pick(`{"label":"a"}`, `{"label":"b","id":"c"}`, `{"label":"a","id":7,"on":false,"colour":"RED"}`, `{"label":"a","id":null}`)
	case "Box":
		return pick(`{"label":"a"}`, `{"label":"a","size":2,"tags":["1"],"flat":{"label":"b"}}`)
	}
	return pick(`"a"`, `"b"`)
}

// For a document that was executed before, Limits creates the operation context that the
// executor would create. It rejects invalid requests with the executor's errors.
func TestCachedDocumentsArePreparedAsByTheExecutor(t *testing.T) {
	s := newService(t, Config{})
	fast := s.limits.Executor(s.Executor)
	const page = `query A($s:[SubjectInput!]!){interactives(subjects:$s){id}} query B{viewer{id}}
		query C($n:Int=2,$i:Boolean!){viewer{likes(first:$n){edges @include(if:$i){cursor}}}}`
	for i, test := range []struct{ name, variables string }{
		{"A", `{"s":[{"biz":"a","bizId":"1"},{"biz":"a","bizId":2}],"more":1}`},
		{"A", `{"s":[{"biz":"a","bizId":"1"}]}`},
		{"A", `{"s":[{"biz":"a","bizId":"1"},{"biz":"b","bizId":"2"}]}`},
		{"A", `{"s":[{"biz":"a","bizId":"1","id":"1"}]}`},
		{"A", `{"s":[{"bizId":"1"},{"bizId":"2"}]}`},
		{"A", `{"s":[{"biz":"a","bizId":"1"}],"more":[{"biz":"a"}]}`},
		{"B", `{"s":[{"biz":"a"}]}`},
		{"C", `{"i":[{"biz":"a"}]}`},
		{"C", `{"i":true,"n":[{"biz":"a"}]}`},
		{"A", `{"s":{"biz":"a","bizId":"1"}}`},
		{"A", `{"s":[{"biz":"a"}]}`},
		{"A", `{"s":[{"biz":"a","bizId":"1","id":1}]}`},
		{"A", `{"s":null}`},
		{"A", `{}`},
		{"A", `{"s":[` + strings.Repeat(`{"biz":"a","bizId":"1"},`, 99) + `{"biz":"a","bizId":"1"}]}`},
		{"B", ``},
		{"B", `{"s":1}`},
		{"C", `{"i":true}`},
		{"C", `{"i":false,"n":7}`},
		{"C", `{"i":null}`},
		{"C", `{"i":true,"n":2147483648}`},
		{"", ``},
		{"D", ``},
	} {
		want, wantErrs := s.askFor(t, test.name, page, test.variables)
		params := &graphql.RawParams{Query: page, OperationName: test.name}
		if test.variables != "" {
			decode(t, test.variables, &params.Variables)
			fold(params.Variables)
		}
		got, errs := fast.CreateOperationContext(graphql.StartOperationTrace(context.Background()), params)
		if a, b := asJSON(t, errs), asJSON(t, wantErrs); a != b {
			t.Errorf("%d: got %s, want the executor's %s", i, a, b)
		}
		if len(errs) > 0 {
			continue
		}
		rows.Unfold(got.Variables)
		if !reflect.DeepEqual(got.Variables, want.Variables) || got.Operation != want.Operation || got.Doc != want.Doc ||
			got.RawQuery != want.RawQuery || got.OperationName != want.OperationName || got.DisableIntrospection != want.DisableIntrospection ||
			got.RecoverFunc == nil || got.ResolverMiddleware == nil || got.RootResolverMiddleware == nil {
			t.Errorf("%d: %+v, and the executor has %+v", i, got, want)
		}
	}
	params := &graphql.RawParams{Query: page, OperationName: "B"}
	if known, _ := s.limits.prepare(graphql.StartOperationTrace(context.Background()), params); known == nil {
		t.Error("a cached document: got it validated again, want it prepared from the cache")
	}
}

func asJSON(tb testing.TB, value any) string {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func TestPlansLastAsLongAsTheirDocument(t *testing.T) {
	c := newCache(1, 100)
	made := 0
	planned := func(operation *graphql.OperationContext) *plan.Plan {
		return c.plan(operation, func(*ast.OperationDefinition) *plan.Plan { made++; return new(plan.Plan) })
	}
	document := func() *graphql.OperationContext {
		return &graphql.OperationContext{Doc: new(ast.QueryDocument), Operation: new(ast.OperationDefinition)}
	}
	first, second := document(), document()
	c.Add(t.Context(), "first", first.Doc)
	if once := planned(first); once != planned(first) || made != 1 {
		t.Errorf("the plan of one operation: got %d plans, want one", made)
	}
	other := &graphql.OperationContext{Doc: first.Doc, Operation: new(ast.OperationDefinition)}
	if planned(other) == planned(first) || made != 2 {
		t.Errorf("the plans of two operations: got %d plans, want one of each", made)
	}
	c.Add(t.Context(), "second", second.Doc)
	if before := made; planned(first) == nil || made == before {
		t.Error("the plan of an evicted document: got the old one, want a new one")
	}
	if len(c.byDocument) != 1 {
		t.Errorf("got %d documents with plans, want 1", len(c.byDocument))
	}
}
