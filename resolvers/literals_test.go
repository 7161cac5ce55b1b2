package resolvers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// input is a place for a value in an operation: %s in the text is a literal or $v. The
// declaration is the variable's.
type input struct{ declaration, text string }

var inputs = map[string]input{
	"ID":      {"ID!", `query Q%[2]s { interactive(biz: "video", bizId: %[1]s) { bizId } }`},
	"in ID":   {"ID!", `query Q%[2]s { interactives(subjects: [{biz: "video", bizId: %[1]s}]) { bizId } }`},
	"String":  {"String!", `query Q%[2]s { interactive(biz: %[1]s, bizId: "1") { biz } }`},
	"cursor":  {"String", `query Q%[2]s { viewer { folders(first: 5, after: %[1]s) { edges { node { name } } } } }`},
	"Int":     {"Int", `query Q%[2]s { viewer { folders(first: %[1]s) { edges { node { name } } } } }`},
	"Boolean": {"Boolean!", `query Q%[2]s { viewer { userId @include(if: %[1]s) id @skip(if: %[1]s) } }`},
	"enum":    {"CommentOrder", `query Q%[2]s { interactive(biz: "video", bizId: "1") { comments(order: %[1]s, first: 2) { edges { node { text } } } } }`},
	"list":    {"[SubjectInput!]!", `query Q%[2]s { interactives(subjects: %[1]s) { bizId } }`},
	"ids":     {"[ID!]!", `query Q%[2]s { nodes(ids: %[1]s) { id } }`},
	"object":  {"LikeInput!", `mutation Q%[2]s { like(input: %[1]s) { interactive { bizId liked { reaction } } } }`},
	"member":  {"ID!", `mutation Q%[2]s { like(input: {biz: "video", bizId: %[1]s}) { interactive { bizId liked { reaction } } } }`},
	"folder":  {"ID", `mutation Q%[2]s { collect(input: {biz: "video", bizId: "1", folderId: %[1]s}) { interactive { collected { folder { name } } } } }`},
	"rename":  {"String", `mutation Q%[2]s { updateFolder(input: {id: "FOLDER", name: %[1]s, public: null}) { folder { name description public } } }`},
}

// ways are the ways in which a value gets into an operation.
func (in input) ways(literal, value string) map[string]map[string]any {
	withDefault := strings.TrimSuffix(in.declaration, "!")
	ways := map[string]map[string]any{
		"a literal": {"query": fmt.Sprintf(in.text, literal, "")},
	}
	if !strings.HasSuffix(in.declaration, "!") || literal != "null" {
		ways["a default"] = map[string]any{"query": fmt.Sprintf(in.text, "$v", "($v: "+withDefault+" = "+literal+")")}
	}
	if value != "" {
		ways["a variable"] = map[string]any{"query": fmt.Sprintf(in.text, "$v", "($v: "+in.declaration+")"), "variables": map[string]any{"v": json.RawMessage(value)}}
	}
	return ways
}

// overGET sends an operation in a URL.
func (s *service) overGET(t *testing.T, operation map[string]any) (text string) {
	t.Helper()
	values := url.Values{"query": {operation["query"].(string)}}
	if variables, has := operation["variables"]; has {
		raw, err := json.Marshal(variables)
		must.Succeed(t, err)
		values.Set("variables", string(raw))
	}
	_, _, text = s.exchange(t, http.MethodGet, "/graphql?"+values.Encode(), "", "X-Ovation-User", "alice")
	return text
}

// exchanges executes an operation over a WebSocket, and returns its only response.
func (c *socket) exchanges(body string) string {
	c.t.Helper()
	c.say(`{"type":"subscribe","id":"1","payload":` + body + `}`)
	var got struct {
		Type    string
		Payload json.RawMessage
	}
	must.Succeed(c.t, json.Unmarshal([]byte(c.next()), &got))
	if got.Type == "error" {
		return `{"errors":` + string(got.Payload) + `}`
	}
	c.receives(`{"type":"complete","id":"1"}`)
	return string(got.Payload)
}

// outcome returns the data of a response, or the code of its error with the reason, which
// follows the place of the value.
func outcome(t *testing.T, text string) string {
	t.Helper()
	var got struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions map[string]any
		}
	}
	must.Succeed(t, json.Unmarshal([]byte(text), &got))
	if len(got.Errors) == 0 {
		return string(got.Data)
	}
	reason := got.Errors[0].Message
	for _, before := range []string{" must be ", " has a member "} {
		if _, after, found := strings.Cut(reason, before); found {
			reason = after
		}
	}
	return fmt.Sprint(got.Errors[0].Extensions["code"], " ", reason)
}

// A value means the same, and is refused with the same reason, as a literal, as a variable
// and as the default of a variable, by POST, GET and over a WebSocket, in an operation that
// is executed for the first time or again.
func TestALiteralIsAVariable(t *testing.T) {
	const big = "9223372036854775808"
	s := start(t)
	folder := dig(t, s.ok(t, "alice", `mutation { createFolder(input: {name: "a"}) { folder { id } } }`), "createFolder", "folder", "id").(string)
	for i, text := range []string{"first", "second", "third"} {
		s.ok(t, "alice", fmt.Sprintf(`mutation { addComment(input: {biz: "video", bizId: "1", text: %q, requestId: "%d"}) { comment { id } } }`, text, i))
	}
	alice := s.connect(t, "alice")
	for _, test := range []struct{ in, literal, value, want string }{
		{"ID", `"7"`, `"7"`, `{"interactive":{"bizId":"7"}}`},
		{"ID", `7`, `7`, `{"interactive":{"bizId":"7"}}`},
		{"ID", `-7`, `-7`, `{"interactive":{"bizId":"-7"}}`},
		{"ID", `0`, `0`, `{"interactive":{"bizId":"0"}}`},
		{"ID", big, big, `{"interactive":{"bizId":"` + big + `"}}`},
		{"ID", "123456789012345678901234567890", "123456789012345678901234567890", `{"interactive":{"bizId":"123456789012345678901234567890"}}`},
		{"ID", `"""7"""`, `"7"`, `{"interactive":{"bizId":"7"}}`},
		{"ID", `"\u0041"`, `"\u0041"`, `{"interactive":{"bizId":"A"}}`},
		{"ID", `1.0`, `1.0`, "BAD_USER_INPUT of type ID, not 1.0"},
		{"ID", `1e3`, `1e3`, "BAD_USER_INPUT of type ID, not 1e3"},
		{"ID", `true`, `true`, "BAD_USER_INPUT of type ID, not true"},
		{"ID", `A`, "", "BAD_USER_INPUT of type ID, not A"},
		{"ID", `null`, `null`, "BAD_USER_INPUT of type ID!, not null"},
		{"ID", `["7"]`, `["7"]`, "BAD_USER_INPUT of type ID, not a list"},
		{"ID", `{a: 1}`, `{"a": 1}`, "BAD_USER_INPUT of type ID, not an object"},
		{"in ID", big, big, `{"interactives":[{"bizId":"` + big + `"}]}`},
		{"in ID", `1.5`, `1.5`, "BAD_USER_INPUT of type ID, not 1.5"},
		{"String", `"video"`, `"video"`, `{"interactive":{"biz":"video"}}`},
		{"String", `"""video"""`, `"video"`, `{"interactive":{"biz":"video"}}`},
		{"String", `7`, `7`, "BAD_USER_INPUT of type String, not 7"},
		{"String", `video`, "", "BAD_USER_INPUT of type String, not video"},
		{"String", `false`, `false`, "BAD_USER_INPUT of type String, not false"},
		{"cursor", `null`, `null`, `{"viewer":{"folders":{"edges":[{"node":{"name":"a"}},{"node":{"name":"Default"}}]}}}`},
		{"Int", `1`, `1`, `{"viewer":{"folders":{"edges":[{"node":{"name":"a"}}]}}}`},
		{"Int", `null`, `null`, `{"viewer":{"folders":{"edges":[{"node":{"name":"a"}},{"node":{"name":"Default"}}]}}}`},
		{"Int", `2147483648`, `2147483648`, "BAD_USER_INPUT of type Int (a whole number of 32 bits), not 2147483648"},
		{"Int", big, big, "BAD_USER_INPUT of type Int (a whole number of 32 bits), not " + big},
		{"Int", `-2147483649`, `-2147483649`, "BAD_USER_INPUT of type Int (a whole number of 32 bits), not -2147483649"},
		{"Int", `1.0`, `1.0`, "BAD_USER_INPUT of type Int (a whole number of 32 bits), not 1.0"},
		{"Int", `1e0`, `1e0`, "BAD_USER_INPUT of type Int (a whole number of 32 bits), not 1e0"},
		{"Int", `"1"`, `"1"`, `BAD_USER_INPUT of type Int (a whole number of 32 bits), not the string "1"`},
		{"Int", `[1]`, `[1]`, "BAD_USER_INPUT of type Int (a whole number of 32 bits), not a list"},
		{"Boolean", `true`, `true`, `{"viewer":{"userId":"alice"}}`},
		{"Boolean", `"true"`, `"true"`, `BAD_USER_INPUT of type Boolean, not the string "true"`},
		{"Boolean", `1`, `1`, "BAD_USER_INPUT of type Boolean, not 1"},
		{"Boolean", `TRUE`, "", "BAD_USER_INPUT of type Boolean, not TRUE"},
		{"enum", `OLDEST`, `"OLDEST"`, `{"interactive":{"comments":{"edges":[{"node":{"text":"first"}},{"node":{"text":"second"}}]}}}`},
		{"enum", `null`, `null`, `{"interactive":{"comments":{"edges":[{"node":{"text":"third"}},{"node":{"text":"second"}}]}}}`},
		{"enum", `oldest`, `"oldest"`, "BAD_USER_INPUT one of NEWEST, OLDEST, TOP, not "},
		{"enum", `"OLDEST"`, "", `BAD_USER_INPUT one of NEWEST, OLDEST, TOP, not the string "OLDEST"`},
		{"enum", `1`, `1`, "BAD_USER_INPUT one of NEWEST, OLDEST, TOP, not 1"},
		{"list", `[{biz: "video", bizId: 7}]`, `[{"biz":"video","bizId":7}]`, `{"interactives":[{"bizId":"7"}]}`},
		{"list", `[{biz: "video", bizId: "7"}, {biz: "video", bizId: "8"}]`, `[{"biz":"video","bizId":"7"},{"biz":"video","bizId":"8"}]`, `{"interactives":[{"bizId":"7"},{"bizId":"8"}]}`},
		{"list", `{biz: "video", bizId: "7"}`, `{"biz":"video","bizId":"7"}`, `{"interactives":[{"bizId":"7"}]}`},
		{"list", `{biz: "video", bizId: ` + big + `}`, `{"biz":"video","bizId":` + big + `}`, `{"interactives":[{"bizId":"` + big + `"}]}`},
		{"list", `[null]`, `[null]`, "BAD_USER_INPUT of type SubjectInput!, not null"},
		{"list", `[{biz: "video"}]`, `[{"biz":"video"}]`, "BAD_USER_INPUT of type ID!"},
		{"list", `[[{biz: "video", bizId: "7"}]]`, `[[{"biz":"video","bizId":"7"}]]`, "BAD_USER_INPUT of type SubjectInput, not a list"},
		{"list", `[{biz: "video", bizId: "7", other: 1}]`, `[{"biz":"video","bizId":"7","other":1}]`, `BAD_USER_INPUT "other", which SubjectInput does not have`},
		{"list", `"video"`, `"video"`, `BAD_USER_INPUT of type SubjectInput, not the string "video"`},
		{"ids", `"x"`, `"x"`, `{"nodes":[null]}`},
		{"ids", `["x", 7]`, `["x", 7]`, `{"nodes":[null,null]}`},
		{"ids", big, big, `{"nodes":[null]}`},
		{"object", `{biz: "video", bizId: 7}`, `{"biz":"video","bizId":7}`, `{"like":{"interactive":{"bizId":"7","liked":{"reaction":"LIKE"}}}}`},
		{"object", `{biz: "video", bizId: ` + big + `}`, `{"biz":"video","bizId":` + big + `}`, `{"like":{"interactive":{"bizId":"` + big + `","liked":{"reaction":"LIKE"}}}}`},
		{"object", `{biz: 1, bizId: "7"}`, `{"biz":1,"bizId":"7"}`, "BAD_USER_INPUT of type String, not 1"},
		{"object", `{biz: "video", bizId: null}`, `{"biz":"video","bizId":null}`, "BAD_USER_INPUT of type ID!, not null"},
		{"object", `[{biz: "video", bizId: "7"}]`, `[{"biz":"video","bizId":"7"}]`, "BAD_USER_INPUT of type LikeInput, not a list"},
		{"member", `7`, `7`, `{"like":{"interactive":{"bizId":"7","liked":{"reaction":"LIKE"}}}}`},
		{"member", big, big, `{"like":{"interactive":{"bizId":"` + big + `","liked":{"reaction":"LIKE"}}}}`},
		{"member", `1.0`, `1.0`, "BAD_USER_INPUT of type ID, not 1.0"},
		{"folder", `null`, `null`, `{"collect":{"interactive":{"collected":{"folder":{"name":"Default"}}}}}`},
		{"rename", `"b"`, `"b"`, `{"updateFolder":{"folder":{"name":"b","description":"","public":false}}}`},
		{"rename", `null`, `null`, `{"updateFolder":{"folder":{"name":"b","description":"","public":false}}}`},
		{"rename", `1`, `1`, "BAD_USER_INPUT of type String, not 1"},
	} {
		in := inputs[test.in]
		in.text = strings.ReplaceAll(in.text, "FOLDER", folder)
		ways := in.ways(test.literal, test.value)
		for _, way := range slices.Sorted(maps.Keys(ways)) {
			body, err := json.Marshal(ways[way])
			must.Succeed(t, err)
			for _, time := range []string{"first", "second"} {
				_, _, text := s.exchange(t, http.MethodPost, "/graphql", string(body), "X-Ovation-User", "alice")
				if got := outcome(t, text); !strings.HasPrefix(got, test.want) {
					t.Errorf("%s %s as %s, the %s time: got %s, want %s\n%s", test.in, test.literal, way, time, got, test.want, text)
				}
			}
			if strings.HasPrefix(in.text, "query") {
				if got := outcome(t, s.overGET(t, ways[way])); !strings.HasPrefix(got, test.want) {
					t.Errorf("%s %s as %s by GET: got %s, want %s", test.in, test.literal, way, got, test.want)
				}
			}
			if got := outcome(t, alice.exchanges(string(body))); !strings.HasPrefix(got, test.want) {
				t.Errorf("%s %s as %s over a WebSocket: got %s, want %s", test.in, test.literal, way, got, test.want)
			}
		}
	}
}

// An argument or a member that may be null means the same if it is null, if it is left
// out, and if it is a variable without a value.
func TestNullIsAbsent(t *testing.T) {
	s := start(t, withAccounts)
	session := s.ok(t, "", `mutation { register(input: {name: "alice", password: "a good password of alice"}) { token } }`)
	token := dig(t, session, "register", "token").(string)
	ask := func(query string, variables ...any) string {
		t.Helper()
		got := s.askBy(t, token, query, variables...)
		text, err := json.Marshal(map[string]any{"data": got.Data, "errors": got.Errors})
		must.Succeed(t, err)
		return string(text)
	}
	folder := dig(t, s.askBy(t, token, `mutation { createFolder(input: {name: "a", description: "b", public: true}) { folder { id } } }`).Data, "createFolder", "folder", "id").(string)
	s.askBy(t, token, `mutation { addComment(input: {biz: "video", bizId: "1", text: "one"}) { comment { id } } }`)
	s.askBy(t, token, `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	s.askBy(t, token, `mutation { updateProfile(input: {signature: "c", avatarUrl: "/d", backgroundUrl: "/e"}) { user { userId } } }`)
	for _, test := range []struct{ typ, text, want string }{ // %[1]s stands for the argument or member
		{"Int", `viewer { folders(N: %s) { edges { node { name } } } }`, "first"},
		{"String", `viewer { folders(first: 1, N: %s) { edges { node { name } } } }`, "after"},
		{"String", `viewer { likes(N: %s) { edges { node { interactive { bizId } } } } }`, "biz"},
		{"Int", `viewer { likes(N: %s) { edges { node { interactive { bizId } } } } }`, "first"},
		{"CommentOrder", `interactive(biz: "video", bizId: "1") { comments(N: %s) { edges { node { text } } } }`, "order"},
		{"Int", `interactive(biz: "video", bizId: "1") { comments(N: %s) { edges { node { text } } } }`, "first"},
		{"String", `updateFolder(input: {id: "FOLDER", N: %s}) { folder { name description public } }`, "name"},
		{"String", `updateFolder(input: {id: "FOLDER", N: %s}) { folder { name description public } }`, "description"},
		{"Boolean", `updateFolder(input: {id: "FOLDER", N: %s}) { folder { name description public } }`, "public"},
		{"String", `updateProfile(input: {N: %s}) { user { profile { name avatarUrl backgroundUrl signature } } }`, "name"},
		{"String", `updateProfile(input: {N: %s}) { user { profile { name avatarUrl backgroundUrl signature } } }`, "avatarUrl"},
		{"String", `updateProfile(input: {N: %s}) { user { profile { name avatarUrl backgroundUrl signature } } }`, "backgroundUrl"},
		{"String", `updateProfile(input: {N: %s}) { user { profile { name avatarUrl backgroundUrl signature } } }`, "signature"},
		{"ID", `collect(input: {biz: "video", bizId: "1", N: %s}) { interactive { collected { folder { name } } } }`, "folderId"},
	} {
		kind := "query"
		if strings.Contains(test.text, "input:") {
			kind = "mutation"
		}
		text := strings.NewReplacer("FOLDER", folder, "N:", test.want+":").Replace(test.text)
		absent := strings.NewReplacer(", "+test.want+": %s", "", test.want+": %s", "", "("+test.want+": %s)", "").Replace(strings.ReplaceAll(text, "("+test.want+": %s)", ""))
		want := ask(kind + " { " + absent + " }")
		if strings.Contains(want, `"code"`) {
			t.Errorf("%s without %s: got %s, want no error", absent, test.want, want)
		}
		declared := fmt.Sprintf("%s Q($v: %s) { %s }", kind, test.typ, fmt.Sprintf(text, "$v"))
		for name, got := range map[string]string{
			"null": ask(kind + " { " + fmt.Sprintf(text, "null") + " }"), "a variable that is null": ask(declared, "v", nil), "a variable without a value": ask(declared),
			"null by default": ask(strings.Replace(declared, test.typ+")", test.typ+" = null)", 1)),
		} {
			if got != want {
				t.Errorf("%s, %s is %s: got %s, want %s as without it", text, test.want, name, got, want)
			}
		}
	}
}
