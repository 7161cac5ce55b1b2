package resolvers_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"ovation/graph"
	"ovation/storage"
)

// operation is a generated operation.
type operation struct {
	text      string
	variables map[string]any
}

// generator writes operations that the schema allows, most of the time.
type generator struct {
	*rand.Rand

	schema    *ast.Schema
	aliases   int
	fragments []string // the definitions, as text
	named     map[string][]string
}

// generate writes an operation with aliases, repeated fields, fragments of both kinds and
// some invalid arguments. Its directives have constants or variables as conditions.
func generate(random *rand.Rand) operation {
	g := newGenerator(random)
	kind, name := "query", "Query"
	if g.one(6) {
		kind, name = "mutation", "Mutation"
	}
	return g.operation(kind, g.set(g.schema.Types[name], 3, 1+g.IntN(3)))
}

// generateWatch writes a subscription.
func generateWatch(random *rand.Rand) operation {
	g := newGenerator(random)
	return g.operation("subscription", g.alias()+`interactiveChanged(subjects:[{biz:"video",bizId:"1"}]){`+g.set(g.schema.Types["Interactive"], 3, 5)+"}")
}

func newGenerator(random *rand.Rand) *generator {
	return &generator{Rand: random, schema: graph.SubgraphSchema, named: map[string][]string{}}
}

// operation returns an operation with a selection set. It declares the variables that the
// operation uses.
func (g *generator) operation(kind, set string) operation {
	text := "{" + set + "}" + strings.Join(g.fragments, "")
	declared := ""
	variables := map[string]any{"yes": true, "no": false, "s": g.subjects(), "id": g.pick(nodeIDs()), "n": g.IntN(4), "r": g.representations()}
	for name, typ := range map[string]string{"yes": "Boolean!", "no": "Boolean!", "s": "[SubjectInput!]!", "id": "ID!", "n": "Int", "r": "[_Any!]!"} {
		if !strings.Contains(text, "$"+name) {
			delete(variables, name)
			continue
		}
		declared += " $" + name + ":" + typ
		switch g.IntN(120) {
		case 0, 1, 2:
			variables[name] = "amiss"
		case 3, 4, 5:
			variables[name] = nil
		case 6, 7, 8:
			delete(variables, name)
		}
	}
	if declared != "" {
		declared = " Q(" + declared + ")"
	}
	return operation{kind + declared + text, variables}
}

func (g *generator) one(of int) bool { return g.IntN(of) == 0 }

func (g *generator) pick(of []string) string { return of[g.IntN(len(of))] }

// set returns a selection set for a type.
func (g *generator) set(of *ast.Definition, depth, most int) string {
	var out strings.Builder
	for range 1 + g.IntN(most) {
		switch {
		case g.one(8):
			out.WriteString(g.alias() + "__typename ")
		case g.one(10) && of.Kind == ast.Object && !strings.HasSuffix(of.Name, "Query") && of.Name != "Mutation":
			out.WriteString("..." + g.fragment(of, depth) + g.condition() + " ")
		case g.one(10) || of.Kind == ast.Interface && g.one(2) || of.Kind == ast.Union && !g.one(4):
			out.WriteString("..." + g.inline(of, depth))
		default:
			out.WriteString(g.field(of, depth))
		}
	}
	return out.String()
}

func (g *generator) alias() string {
	if g.one(3) {
		return ""
	}
	g.aliases++
	return fmt.Sprintf("a%d:", g.aliases)
}

func (g *generator) condition() string {
	if !g.one(6) {
		return ""
	}
	return g.pick([]string{"@skip(if:true)", "@skip(if:false)", "@include(if:$yes)", "@include(if:$no)", "@skip(if:$yes)", "@include(if:true)@skip(if:$no)"})
}

func (g *generator) fragment(of *ast.Definition, depth int) string {
	if known := g.named[of.Name]; len(known) > 0 && g.one(2) {
		return g.pick(known)
	}
	set := g.set(of, depth-1, 3)
	name := fmt.Sprintf("F%d", len(g.fragments))
	g.named[of.Name] = append(g.named[of.Name], name)
	g.fragments = append(g.fragments, fmt.Sprintf(" fragment %s on %s{%s}", name, of.Name, set))
	return name
}

// inline returns an inline fragment in a selection of the given type. The fragment is on
// the type itself, on an interface of the type or, if the type is an interface or a union,
// mostly on one of its types.
func (g *generator) inline(of *ast.Definition, depth int) string {
	on, name := of, " on "+of.Name
	switch {
	case of.IsAbstractType() && !g.one(8):
		on = g.schema.GetPossibleTypes(of)[g.IntN(len(g.schema.GetPossibleTypes(of)))]
		name = " on " + on.Name
	case len(of.Interfaces) > 0 && g.one(3):
		on = g.schema.Types[of.Interfaces[0]]
		name = " on " + on.Name
	case g.one(2):
		name = ""
	}
	return name + g.condition() + "{" + g.set(on, depth-1, 3) + "}"
}

func (g *generator) field(of *ast.Definition, depth int) string {
	var able []*ast.FieldDefinition
	for _, field := range of.Fields {
		composite := g.schema.Types[field.Type.Name()].IsCompositeType()
		if !strings.HasPrefix(field.Name, "__") && field.Name != "_service" && (depth > 0 || !composite) && (of.Name != "Mutation" || isAction(field.Name)) {
			able = append(able, field)
		}
	}
	if len(able) == 0 {
		return "__typename "
	}
	field := able[g.IntN(len(able))]
	if of.Name == "Query" && g.one(2) {
		field = of.Fields.ForName(g.pick([]string{"interactive", "interactives", "interactives", "_entities"}))
	}
	out := g.alias() + field.Name + g.arguments(field) + g.condition()
	if on := g.schema.Types[field.Type.Name()]; on.IsCompositeType() {
		out += "{" + g.set(on, depth-1, 5) + "}"
	}
	if g.one(12) && !strings.Contains(out, "(") { // select the field twice; the executor merges the two
		out += " " + out
	}
	return out + " "
}

// isAction reports whether a field of Mutation is an action on a subject.
func isAction(name string) bool {
	for _, other := range []string{"Folder", "Comment", "Message", "Read", "Video"} {
		if strings.HasSuffix(name, other) {
			return false
		}
	}
	return true
}

func (g *generator) arguments(field *ast.FieldDefinition) string {
	var out []string
	for _, argument := range field.Arguments {
		if value := g.value(argument.Name); value != "" {
			out = append(out, argument.Name+":"+value)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "(" + strings.Join(out, ",") + ")"
}

func (g *generator) value(argument string) string {
	switch argument {
	case "biz":
		return g.pick([]string{`"video"`, `"video"`, `"video"`, `"article"`, `"BAD"`})
	case "bizId":
		return fmt.Sprintf("%q", g.pick(escapedIDs))
	case "subjects":
		return g.pick([]string{"$s", "$s", "[]", `{biz:"video",bizId:"1"}`, `[{biz:"video",bizId:1},{bizId:"2",biz:"video"}]`, `[{biz:"video",bizId:""}]`})
	case "input":
		return fmt.Sprintf("{biz:%s,bizId:%s}", g.value("biz"), g.value("bizId"))
	case "first":
		return g.pick([]string{"", "1", "2", "3", "$n", "100", "null", "0"})
	case "after":
		return g.pick([]string{"", "", "", "null", `"bad"`})
	case "id":
		return g.pick([]string{"$id", fmt.Sprintf("%q", g.pick(nodeIDs()))})
	case "ids":
		return fmt.Sprintf("[%q,%q,%q,$id]", g.pick(nodeIDs()), g.pick(nodeIDs()), g.pick(nodeIDs()))
	case "representations":
		return g.pick([]string{"$r", "$r", "$r", "[]", `{__typename:"Interactive",biz:"video",bizId:1}`, `[{__typename:"User",id:$id}]`, `[{__typename:"Article",id:"1"}]`})
	case "order":
		return g.pick([]string{"", "NEWEST", "OLDEST", "TOP", "null"})
	case "with":
		return g.pick([]string{`"alice"`, `"bob"`, `"bob"`, `"carol"`, `""`})
	case "videoId", "commentId":
		return g.pick([]string{`"1"`, `"x"`, `42`})
	case "userId":
		return g.pick([]string{`"alice"`, `"bob"`, `""`})
	}
	return ""
}

// subjects returns the value of a variable of type [SubjectInput!]!.
func (g *generator) subjects() any {
	var out []any
	for range g.IntN(5) {
		out = append(out, map[string]any{"biz": "video", "bizId": g.pick(escapedIDs)})
	}
	switch {
	case g.one(10):
		out = append(out, map[string]any{"biz": "video", "bizId": 7})
	case g.one(20):
		out = append(out, map[string]any{"biz": "Video", "bizId": "7"})
	case out == nil && g.one(2):
		return map[string]any{"biz": "video", "bizId": "1"} // a single value counts as a list with one entry
	case out == nil:
		return []any{}
	}
	return out
}

// representations returns the value of a variable of type [_Any!]!, most of the time with
// subjects only.
func (g *generator) representations() any {
	out := []any{}
	for range g.IntN(5) {
		out = append(out, typed("Interactive", "biz", "video", "bizId", g.pick(escapedIDs)))
	}
	if g.one(3) {
		typ := g.pick([]string{"Interactive", "User", "Comment", "Folder", "Video", "Article"})
		out = append(out, []any{typed(typ, "id", g.pick(nodeIDs())), typed(typ, "userId", "bob"), typed(typ, "commentId", "42"), typed(typ, "videoId", 42), 7}[g.IntN(5)])
	}
	return out
}

func nodeIDs() []string {
	alice, bob := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}
	subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	return []string{
		(&storage.Interactive{Subject: subject}).ID(), alice.ID(), bob.ID(), "nothing",
		(&storage.Liked{User: alice, Subject: subject}).ID(), (&storage.Liked{User: bob, Subject: subject}).ID(),
		(&storage.Collected{User: alice, Subject: subject}).ID(), (&storage.Collected{User: bob, Subject: subject}).ID(),
		(&storage.Read{User: alice, Subject: subject}).ID(), (&storage.Followed{User: alice, Subject: subject}).ID(),
		(&storage.Comment{Subject: subject, Number: 42}).ID(),
		(&storage.Video{Author: alice, Number: 42}).ID(),
		(&storage.DirectMessage{From: alice, To: bob, Number: 42}).ID(),
		(&storage.Conversation{Owner: alice, With: bob}).ID(), (&storage.Conversation{Owner: bob, With: alice}).ID(),
		(&storage.Folder{Owner: alice, FolderID: storage.DefaultFolderID}).ID(),
	}
}
