package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"ovation/internal/testing/must"
	"ovation/resolvers"
	"ovation/storage"
)

func asSubgraph(s *settings) { s.federation = true }

const entitiesOf = `query($r: [_Any!]!) { _entities(representations: $r) { `

// typed returns a representation. members holds names and values alternately.
func typed(typename string, members ...any) map[string]any {
	out := map[string]any{"__typename": typename}
	for i := 0; i < len(members); i += 2 {
		out[members[i].(string)] = members[i+1]
	}
	return out
}

// pageOf returns representations of n subjects.
func pageOf(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = typed("Interactive", "biz", "video", "bizId", fmt.Sprint(i))
	}
	return list
}

// Without --federation, the schema has nothing of it.
func TestFieldsForGatewaysAreOptIn(t *testing.T) {
	s := start(t)
	for _, query := range []string{`{ _service { sdl } }`, `{ _entities(representations: []) { __typename } }`} {
		s.refused(t, "BAD_USER_INPUT", "alice", query)
	}
	same(t, s.ok(t, "alice", `{ any: __type(name: "_Any") { name } entity: __type(name: "_Entity") { name } service: __type(name: "_Service") { name } }`),
		`{"any":null,"entity":null,"service":null}`)
	introspected := s.ok(t, "alice", `{ __schema { queryType { fields { name } } } __type(name: "Node") { possibleTypes { name } } }`)
	if text := fmt.Sprint(introspected); strings.Contains(text, "_entities") || strings.Contains(text, "_service") {
		t.Errorf("got %s, want no field for gateways", text)
	}
}

// The SDL for composition is the schema with keys and without the fields for gateways. A
// gateway may read it although introspection is off.
func TestServiceReturnsTheSchemaWithKeys(t *testing.T) {
	s := start(t, asSubgraph, withoutIntrospection)
	sdl := dig(t, s.ok(t, "", `{ _service { sdl } }`), "_service", "sdl").(string)
	if sdl != resolvers.SubgraphSDL() {
		t.Error("_service.sdl is not the text of SubgraphSDL")
	}
	document, err := parser.ParseSchema(&ast.Source{Input: sdl})
	must.Succeed(t, err)
	got := map[string][]string{}
	for _, definition := range document.Definitions {
		for _, directive := range definition.Directives {
			switch directive.Name {
			case "key":
				got[definition.Name] = append(got[definition.Name], directive.Arguments.ForName("fields").Value.Raw)
			case "shareable":
				got[definition.Name] = append(got[definition.Name], "@shareable")
			}
		}
		if strings.HasPrefix(definition.Name, "_") || definition.Fields.ForName("_service") != nil || definition.Fields.ForName("_entities") != nil {
			t.Errorf("the SDL has %s, which a gateway adds itself", definition.Name)
		}
	}
	want := map[string][]string{
		"Interactive": {"biz bizId", "id"}, "User": {"userId", "id"}, "Comment": {"commentId", "id"}, "Folder": {"id"}, "Video": {"videoId", "id"},
		"PageInfo": {"@shareable"},
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got the directives %v, want %v", got, want)
	}
	if len(document.SchemaExtension) != 1 || document.SchemaExtension[0].Directives.ForName("link") == nil {
		t.Errorf("got the schema extensions %v, want one with @link", document.SchemaExtension)
	}
	s.refused(t, "BAD_USER_INPUT", "", `{ __schema { queryType { name } } }`)
}

// Each key of each type finds its object, in the order of the representations.
func TestEntitiesAreFoundByEachKey(t *testing.T) {
	s := start(t, asSubgraph, withVideos)
	all := ids(t, s)
	comment := dig(t, s.ok(t, "alice", `query($id: ID!) { node(id: $id) { ... on Comment { commentId } } }`, "id", all["Comment"]), "node", "commentId")
	number := s.upload(t, "alice", "a clip")
	id := dig(t, s.ok(t, "alice", `query($v: ID!) { video(videoId: $v) { id } }`, "v", number), "video", "id")
	got := s.ok(t, "alice", entitiesOf+`__typename ... on Interactive { bizId likeCount liked { reaction } } ... on User { userId } ... on Comment { text } ... on Folder { name } ... on Video { title } } }`, "r", []any{
		typed("Interactive", "biz", "video", "bizId", "1"),
		typed("Interactive", "biz", "video", "bizId", 1),
		typed("Interactive", "id", all["Interactive"]),
		typed("User", "userId", "bob", "reputation", map[string]any{"points": 7}),
		typed("User", "id", all["User"]),
		typed("Comment", "commentId", comment),
		typed("Comment", "id", all["Comment"]),
		typed("Folder", "id", all["Folder (private)"]),
		typed("Video", "videoId", number),
		typed("Video", "id", id),
	})
	const subject = `{"__typename":"Interactive","bizId":"1","likeCount":1,"liked":{"reaction":"LIKE"}}`
	same(t, got, `{"_entities":[`+subject+`,`+subject+`,`+subject+`,{"__typename":"User","userId":"bob"},{"__typename":"User","userId":"alice"},
		{"__typename":"Comment","text":"mine"},{"__typename":"Comment","text":"mine"},{"__typename":"Folder","name":"Hidden"},
		{"__typename":"Video","title":"a clip"},{"__typename":"Video","title":"a clip"}]}`)
	same(t, s.ok(t, "alice", `query($b: ID!) { _entities(representations: [{__typename: "Interactive", biz: "video", bizId: $b}, {__typename: "User", userId: 7}]) { ... on Interactive { bizId } ... on User { userId } } }`, "b", "1"),
		`{"_entities":[{"bizId":"1"},{"userId":"7"}]}`)
}

// The walls of node hold for entities, too (invariant I8).
func TestWallsHoldForEntities(t *testing.T) {
	s := start(t, asSubgraph)
	all := ids(t, s)
	const query = entitiesOf + `__typename } }`
	for _, c := range []struct {
		typ            string
		id             string
		bob, anonymous bool
	}{
		{"Interactive", "Interactive", true, true},
		{"Comment", "Comment", true, true},
		{"User", "User", true, false},
		{"Folder", "Folder (private)", false, false},
		{"Folder", "Folder (public)", true, false},
	} {
		one := []any{typed(c.typ, "id", all[c.id])}
		found := fmt.Sprintf(`{"_entities":[{"__typename":%q}]}`, c.typ)
		const nothing = `{"_entities":[null]}`
		same(t, s.ok(t, "alice", query, "r", one), found)
		if c.bob {
			same(t, s.ok(t, "bob", query, "r", one), found)
		} else {
			same(t, s.ok(t, "bob", query, "r", one), nothing)
		}
		if c.anonymous {
			same(t, s.ok(t, "", query, "r", one), found)
		} else {
			s.refused(t, "UNAUTHENTICATED", "", query, "r", one)
		}
		got := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, query, "r", one)
		if len(got.Errors) > 0 {
			t.Fatalf("%s of another tenant: got %+v, want no errors", c.id, got.Errors)
		}
		same(t, got.Data, nothing)
	}
	// By any other key, the object of the viewer's own tenant is meant.
	got := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, entitiesOf+`... on Interactive { likeCount liked { id } } } }`, "r", []any{typed("Interactive", "biz", "video", "bizId", "1")})
	same(t, got.Data, `{"_entities":[{"likeCount":0,"liked":null}]}`)
	comment := dig(t, s.ok(t, "alice", `query($id: ID!) { node(id: $id) { ... on Comment { commentId } } }`, "id", all["Comment"]), "node", "commentId")
	got = s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, entitiesOf+`__typename } }`, "r", []any{typed("Comment", "commentId", comment)})
	same(t, got.Data, `{"_entities":[null]}`)
	// An id of another type of object does not lead around the walls.
	same(t, s.ok(t, "alice", query, "r", []any{typed("Interactive", "id", all["Liked"]), typed("User", "id", all["Read"]), typed("Folder", "id", all["Message"])}), `{"_entities":[null,null,null]}`)
}

// Each invalid representation has an error of its own, and does not affect the others.
func TestInvalidRepresentationsAreRefusedOneByOne(t *testing.T) {
	s := start(t, asSubgraph)
	const good = `{"__typename":"Interactive","biz":"video","bizId":"1"}`
	for bad, want := range map[string]string{
		`{}`:                                                      `representations[1].__typename is missing`,
		`{"__typename":null,"biz":"video"}`:                       `representations[1].__typename is missing`,
		`{"__typename":7}`:                                        `representations[1].__typename is "7", but only Interactive, User, Comment, Folder and Video can be referred to`,
		`{"__typename":"Article","id":"1"}`:                       `representations[1].__typename is "Article", but only Interactive, User, Comment, Folder and Video can be referred to`,
		`{"__typename":"Liked","id":"1"}`:                         `representations[1].__typename is "Liked", but only Interactive, User, Comment, Folder and Video can be referred to`,
		`{"__typename":"Interactive"}`:                            `representations[1].biz is missing: the keys of Interactive are ["biz bizId" "id"]`,
		`{"__typename":"Interactive","biz":"video"}`:              `representations[1].bizId is missing: the keys of Interactive are ["biz bizId" "id"]`,
		`{"__typename":"Interactive","biz":"video","bizId":null}`: `representations[1].bizId is missing: the keys of Interactive are ["biz bizId" "id"]`,
		`{"__typename":"Folder","folderId":"x"}`:                  `representations[1].id is missing: the keys of Folder are ["id"]`,
		`{"__typename":"Interactive","biz":["video"],"bizId":1}`:  `representations[1].biz must be a string`,
		`{"__typename":"Interactive","biz":"video","bizId":1.5}`:  `representations[1].bizId must be a string`,
		`{"__typename":"Interactive","biz":"Video","bizId":"1"}`:  `representations[1].biz must be`,
		`{"__typename":"Interactive","biz":"video","bizId":""}`:   `representations[1].bizId must not be empty`,
		`{"__typename":"User","userId":{"a":1}}`:                  `representations[1].userId must be a string`,
		`{"__typename":"User","userId":""}`:                       `representations[1].userId must not be empty`,
	} {
		for i := range 2 { // the second time, the document is cached
			got := s.sendRepresentations(t, entitiesOf+`... on Interactive { bizId } } }`, good+","+bad+","+good)
			same(t, got.Data, `{"_entities":[{"bizId":"1"},null,{"bizId":"1"}]}`)
			if message := got.refused(t, "BAD_USER_INPUT", bad); !strings.HasPrefix(message, want) || fmt.Sprint(got.Errors[0].Path) != "[_entities 1]" {
				t.Errorf("%s, %d: got %q at %v, want %q", bad, i, message, got.Errors[0].Path, want)
			}
		}
	}
	for bad, want := range map[string]string{
		`null`:                               `the variable $r[0] must be of type _Any!, not null`,
		`5`:                                  `the variable $r[0] must be of type _Any, not 5`,
		`"x"`:                                `the variable $r[0] must be of type _Any, not the string "x"`,
		`[` + good + `]`:                     `the variable $r[0] must be of type _Any, not a list`,
		strings.Repeat(good+",", 100) + good: `representations holds 101 entries; at most 100 are allowed`,
		strings.Repeat(good+",", 100) + `{"__typename":"User","userId":"bob"}`: `representations holds 101 entries; at most 100 are allowed`,
	} {
		for range 2 {
			got := s.sendRepresentations(t, entitiesOf+`... on Interactive { bizId } } }`, bad)
			if message := got.refused(t, "BAD_USER_INPUT", bad); message != want || got.Data != nil {
				t.Errorf("%.80s: got %q, %v, want %q", bad, message, got.Data, want)
			}
		}
	}
	for id, want := range map[string]string{`"nothing"`: "null", `""`: "null", `5`: "null"} {
		got := s.sendRepresentations(t, entitiesOf+`__typename } }`, `{"__typename":"Comment","id":`+id+`},{"__typename":"Comment","commentId":`+id+`}`)
		if same(t, got.Data, `{"_entities":[`+want+`,`+want+`]}`); len(got.Errors) > 0 {
			t.Errorf("an id of nothing: got %+v, want no errors", got.Errors)
		}
	}
}

// sendRepresentations sends representations as JSON, as alice.
func (s *service) sendRepresentations(t *testing.T, query, list string) (out answer) {
	t.Helper()
	body := fmt.Sprintf(`{"query":%q,"variables":{"r":[%s]}}`, query, list)
	status, _, text := s.exchange(t, http.MethodPost, "/graphql", body, "X-Ovation-User", "alice")
	out.status = status
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("got %s, want JSON: %v", text, err)
	}
	return out
}

// A hundred entities make as many calls as two (invariant I7).
func TestEntitiesMakeAConstantNumberOfCalls(t *testing.T) {
	s := start(t, asSubgraph)
	folders := make([]string, 100)
	for i := range folders {
		folders[i] = s.newFolder(t, "alice", fmt.Sprint("folder ", i), true)
		_, err := s.store.AddComments(t.Context(), []storage.NewComment{{Subject: commentedSubject, User: commenter(i), Text: fmt.Sprint(i)}})
		must.Succeed(t, err)
	}
	page := s.ok(t, "alice", `{ interactive(biz: "video", bizId: "talk") { comments(first: 100) { edges { node { id } } } } }`)
	comment := func(i int) any { return dig(t, page, "interactive", "comments", "edges", i, "node", "id") }
	for _, c := range []struct {
		name, selected string
		one            func(i int) any
		want           map[string]int
	}{
		{
			"subjects", `... on Interactive { likeCount liked { at } collected { at folder { name } } commentCount }`,
			func(i int) any { return typed("Interactive", "biz", "video", "bizId", fmt.Sprint(i)) },
			map[string]int{"Interactives": 1, "CommentCounts": 1},
		},
		{
			"users", `... on User { userId interactive { followerCount followed { at } } }`,
			func(i int) any { return typed("User", "userId", fmt.Sprint("user", i)) },
			map[string]int{"Interactives": 1},
		},
		{
			"comments", `... on Comment { text interactive { likeCount liked { at } } }`,
			func(i int) any { return typed("Comment", "id", comment(i)) },
			map[string]int{"CommentsOf": 1, "Interactives": 1},
		},
		{"folders", `... on Folder { name itemCount }`, func(i int) any { return typed("Folder", "id", folders[i]) }, map[string]int{"FoldersOf": 1}},
		{
			"all kinds", `... on Interactive { likeCount } ... on User { totals { likes } } ... on Comment { text } ... on Folder { name }`,
			func(i int) any {
				return []any{
					typed("Interactive", "biz", "video", "bizId", fmt.Sprint(i)), typed("User", "userId", fmt.Sprint("user", i)),
					typed("Comment", "id", comment(i)), typed("Folder", "id", folders[i]),
				}[i%4]
			},
			map[string]int{"Interactives": 1, "TotalsOf": 1, "CommentsOf": 1, "FoldersOf": 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{4, 100} {
				list := make([]any, n)
				for i := range list {
					list[i] = c.one(i)
				}
				s.calls.taken(t)
				s.ok(t, "alice", entitiesOf+c.selected+` } }`, "r", list)
				if got := s.calls.taken(t); !maps.Equal(got, c.want) {
					t.Errorf("%d entities: got the calls %v, want %v", n, got, c.want)
				}
			}
		})
	}
}

// What a gateway asks for is answered without the executor, unless there is an error.
// TestPlainAnswersAreThoseOfTheExecutor compares the answers.
func TestEntitiesNeedNoExecutor(t *testing.T) {
	s := start(t, asSubgraph)
	folder := s.newFolder(t, "alice", "Clips", false)
	var fields atomic.Int64
	s.engine.AroundRootFields(func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		fields.Add(1)
		return next(ctx)
	})
	const page = entitiesOf + `__typename ... on Interactive { bizId likeCount liked { reaction at } collected { folder { name } } author { userId } }
		... on User { userId interactive { followerCount followed { at } } } ... on Comment { text } ... on Folder { name } } again: _entities(representations: $r) { ... on Interactive { likeCount } } }`
	for _, c := range []struct {
		representations []any
		fields          int64
	}{
		{pageOf(1), 0},
		{pageOf(100), 0},
		{[]any{}, 0},
		{append(pageOf(3), typed("Interactive", "id", (&storage.Interactive{Subject: commentedSubject}).ID())), 0},
		{append(pageOf(3), typed("User", "userId", "bob"), typed("Folder", "id", "nothing")), 2},
		{append(pageOf(3), typed("User", "userId", "bob"), typed("Comment", "commentId", 1)), 0},
		{[]any{typed("User", "id", storage.User{Tenant: "other", UserID: "bob"}.ID()), typed("Folder", "id", folder)}, 0},
	} {
		fields.Store(0)
		response := firstEvent(t, s, "alice", operation{text: page, variables: map[string]any{"r": c.representations}})
		if bytes.Contains(response, []byte(`"errors"`)) || fields.Load() != c.fields {
			t.Errorf("%d entities: %d fields are the executor's, want %d; %s", len(c.representations), fields.Load(), c.fields, response)
		}
	}
}
