package plan_test

import (
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"ovation/graph"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// planned returns the plan of the only operation of a document.
func planned(t *testing.T, text string, variables map[string]any) (*plan.Plan, *graphql.OperationContext) {
	t.Helper()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	document, errs := gqlparser.LoadQueryWithRules(schema, text, rules.NewDefaultRules())
	if errs != nil {
		t.Fatal(errs)
	}
	planner := plan.NewPlanner(schema, plan.Table{
		"Interactive.liked":  {Kinds: storage.KindsOf(storage.KindReaction)},
		"Interactive.likers": {Loads: true},
		"User.likes":         {Loads: true},
	}, graph.PlainSchema)
	return planner.Plan(document.Operations[0]), &graphql.OperationContext{Doc: document, Operation: document.Operations[0], Variables: variables}
}

// describe returns a tree as text: its fields, the ones that are Deeper, and whether the
// selection is Writable.
func describe(s *plan.Selection) string {
	var out []string
	for i := range s.Fields {
		f := &s.Fields[i]
		text := f.Alias
		if f.Deeper {
			text += "+"
		}
		for _, typ := range []string{"Interactive", "Liked", "LikedConnection", "LikedEdge", "User", "LikePayload"} {
			if below := f.Of(typ); below != nil && len(below.Fields) > 0 {
				text += " " + typ
				if below.Writable {
					text += "!"
				}
				text += "{" + describe(below) + "}"
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestTreesContainTheSelectedFields(t *testing.T) {
	const one = `interactive(biz: "a", bizId: "1")`
	for name, test := range map[string]struct {
		text      string
		variables map[string]any
		want      string
	}{
		"fields":               {"{" + one + "{id n: likeCount}}", nil, "interactive Interactive!{id n}"},
		"merged":               {"{" + one + "{...B} " + one + "{...A id}} fragment B on Interactive {liked{id}} fragment A on Interactive {liked{at id} biz}", nil, "interactive Interactive!{liked Liked!{id at} biz id}"},
		"loaded fields":        {"{" + one + "{likers{edges{node{at}}} id}}", nil, "interactive+ Interactive{likers+ LikedConnection!{edges LikedEdge!{node Liked!{at}}} id}"},
		"nested loaded fields": {"{" + one + "{liked{user{likes{edges{cursor}}}}}}", nil, "interactive+ Interactive{liked+ Liked{user+ User{likes+ LikedConnection!{edges LikedEdge!{cursor}}}}}"},
		"an interface":         {`{node(id: "1") {id ...on User{userId} ...on Liked{at}}}`, nil, "node Interactive!{id} Liked!{id at} User!{id userId}"},
		"conditions":           {"query($a: Boolean!) {" + one + "{id @skip(if: $a) biz @include(if: $a)}}", map[string]any{"a": true}, "interactive Interactive!{biz}"},
		"literal conditions":   {"{" + one + "{id @skip(if: true) biz}}", nil, "interactive Interactive!{biz}"},
		"an action":            {`mutation {like(input: {biz: "a", bizId: "1"}) {changed interactive{id}}}`, nil, "like LikePayload!{changed interactive Interactive!{id}}"},
		"introspection":        {"{__schema{types{name}} __typename}", nil, "__schema __typename"},
	} {
		p, op := planned(t, test.text, test.variables)
		if got := describe(p.Roots(op)); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}

func TestPlansDoNotDependOnVariables(t *testing.T) {
	for text, want := range map[string]struct {
		kinds        storage.Kinds
		fields, root int
		varies       bool
	}{
		"{viewer{id}}": {0, 2, 1, false},
		"{viewer{id id} ...A} fragment A on Query{viewer{id}}":                              {0, 5, 2, false},
		"query($s:[SubjectInput!]!) {interactives(subjects:$s){liked{at}}}":                 {storage.KindsOf(storage.KindReaction), 3, 1, false},
		"query($n:Int) {viewer{likes(first:$n){edges{cursor}}}}":                            {0, 4, 1, true},
		"query($a:Boolean!) {viewer{...@skip(if:$a){id}}}":                                  {0, 2, 1, true},
		`{interactive(biz:"a",bizId:"1"){liked@skip(if:true){at}}}`:                         {storage.KindsOf(storage.KindReaction), 3, 1, false},
		`query($b:String!) {interactive(biz:$b,bizId:"1"){likers(first:1){edges{cursor}}}}`: {0, 4, 1, false},
	} {
		p, _ := planned(t, text, nil)
		if p.Kinds != want.kinds || p.Fields != want.fields || p.RootFields != want.root || p.Varies != want.varies {
			t.Errorf("%s: got %v, %d fields, %d at the root, varies %v, want %+v", text, p.Kinds, p.Fields, p.RootFields, p.Varies, want)
		}
	}
}

// A tree is computed again only if a condition has changed.
func TestTreesAreKeptWhileConditionsHold(t *testing.T) {
	p, op := planned(t, "query($a: Boolean!, $n: Int) {viewer{id @include(if: $a) likes(first: $n){edges{cursor}}}}", nil)
	roots := func(a bool, n int) *plan.Selection {
		return p.Roots(&graphql.OperationContext{Doc: op.Doc, Operation: op.Operation, Variables: map[string]any{"a": a, "n": n}})
	}
	first := roots(true, 1)
	if roots(true, 2) != first {
		t.Error("another variable: got another tree, want the cached one")
	}
	if other := roots(false, 1); other == first || len(other.Fields[0].Below().Fields) != 1 || len(first.Fields[0].Below().Fields) != 2 {
		t.Errorf("got the tree %s with the field, %s without it, want two fields, one", describe(first), describe(other))
	}
	if _, ok := p.Conditions(map[string]any{"a": nil}); ok {
		t.Error("Conditions with null: got them, want none")
	}
}

// Selection.At finds the fields that the executor resolves, by their paths.
func TestFieldsAreFoundByTheirPath(t *testing.T) {
	p, op := planned(t, `{nodes(ids: ["1"]) {...on User{a: likes{edges{node{id}}}} ...on Liked{a: user{userId}}}}`, nil)
	root := &graphql.FieldContext{Object: "Query"}
	roots := p.Roots(op)
	within := func(parent *graphql.FieldContext, object, alias string, index bool) *graphql.FieldContext {
		of := roots
		if parent != root {
			of = roots.At(parent).Of(object)
		}
		fc := &graphql.FieldContext{Object: object, Parent: parent, Field: graphql.CollectedField{Field: of.Field(alias).Field}}
		if !index {
			return fc
		}
		return &graphql.FieldContext{Index: new(int), Parent: fc}
	}
	nodes := within(root, "Query", "nodes", true)
	for object, want := range map[string]string{"User": "likes", "Liked": "user"} {
		if got := roots.At(within(nodes, object, "a", false)); got == nil || got.Name != want {
			t.Errorf("the field below %s: got %+v, want %s", object, got, want)
		}
	}
	edges := within(within(nodes, "User", "a", false), "LikedConnection", "edges", true)
	if got := roots.At(within(edges, "LikedEdge", "node", false)); got == nil || got.Below().Type != "Liked" {
		t.Errorf("the node: got %+v, want a field whose type is Liked", got)
	}
	if got := roots.At(&graphql.FieldContext{Object: "User", Parent: root, Field: graphql.CollectedField{Field: roots.Fields[0].Field}}); got != nil {
		t.Errorf("a field that is not part of the plan: got %+v, want nil", got)
	}
}
