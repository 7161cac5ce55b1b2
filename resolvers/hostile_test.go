package resolvers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// A token is accepted only in the Authorization header. Another user's token elsewhere in
// a request does not change the viewer.
func TestTokensElsewhereInARequestAreIgnored(t *testing.T) {
	s := start(t, withAccounts)
	alice, id := s.session(t, "alice")
	bob, bobID := s.session(t, "bob")
	smuggle := func(query string) string {
		body, err := json.Marshal(map[string]any{
			"query": query, "token": bob, "authorization": "Bearer " + bob, "Authorization": "Bearer " + bob, "X-Ovation-User": bobID,
			"variables":  map[string]any{"token": bob, "authorization": "Bearer " + bob},
			"extensions": map[string]any{"token": bob, "authorization": "Bearer " + bob, "headers": map[string]any{"Authorization": "Bearer " + bob}},
		})
		must.Succeed(t, err)
		return string(body)
	}
	const who = `{ viewer { userId } }`
	in := "/graphql?" + url.Values{"query": {who}, "token": {bob}, "access_token": {bob}, "authorization": {"Bearer " + bob}}.Encode()
	for authorization, want := range map[string]string{"": `{"data":{"viewer":null}}`, "Bearer " + alice: fmt.Sprintf(`{"data":{"viewer":{"userId":%q}}}`, id)} {
		if status, _, got := s.exchange(t, http.MethodPost, "/graphql", smuggle(who), "Authorization", authorization); status != http.StatusOK || got != want {
			t.Errorf("in a body: %d %s, want %s", status, got, want)
		}
		if status, _, got := s.exchange(t, http.MethodGet, in, "", "Authorization", authorization); status != http.StatusOK || got != want {
			t.Errorf("in a URL: %d %s, want %s", status, got, want)
		}
	}
	socket := s.connect(t, "carol")
	socket.say(`{"type":"subscribe","id":"1","payload":` + smuggle(who) + `}`)
	socket.receives(`{"type":"next","id":"1","payload":{"data":{"viewer":{"userId":"carol"}}}}`)

	// No data is stored, and the response contains none of bob's data.
	for _, mutation := range []string{
		`like(input: {biz: "video", bizId: "1"}) { changed }`, `sendMessage(input: {to: "carol", text: "x"}) { message { id } }`,
		`updateProfile(input: {name: "mallory"}) { user { userId } }`, `logOutEverywhere { user { userId } }`, `refreshToken { token }`,
		`changePassword(input: {currentPassword: "password of bob", newPassword: "a new password"}) { token }`,
	} {
		if _, _, got := s.exchange(t, http.MethodPost, "/graphql", smuggle("mutation { "+mutation+" }")); !strings.Contains(got, `"UNAUTHENTICATED"`) {
			t.Errorf("%s, anonymous: got %s, want UNAUTHENTICATED", mutation, got)
		}
	}
	for _, mutation := range []string{`sendMessage(input: {to: "carol", text: "x", from: "` + bobID + `"}) { message { id } }`, `logOutEverywhere(userId: "` + bobID + `") { user { userId } }`} {
		if _, _, got := s.exchange(t, http.MethodPost, "/graphql", smuggle("mutation { "+mutation+" }"), "Authorization", "Bearer "+alice); !strings.Contains(got, `"errors"`) || strings.Contains(got, `"data":{"`) {
			t.Errorf("%s, as alice: got %s, want errors and no data", mutation, got)
		}
	}
	still := s.askBy(t, bob, `{ viewer { userId profile { name } } conversations { edges { cursor } } interactive(biz: "video", bizId: "1") { likeCount } }`)
	same(t, still.Data, fmt.Sprintf(`{"viewer":{"userId":%q,"profile":{"name":"bob"}},"conversations":{"edges":[]},"interactive":{"likeCount":0}}`, bobID))
	if logged := s.logged(); strings.Contains(logged, bob) {
		t.Error("the log contains the token")
	}
}

// hostileTexts are texts that a database, a browser, a template or a shell would execute
// if it interpreted them as code.
var hostileTexts = []string{
	`'; DROP TABLE message; --`, `" OR "1"="1`, `1); DELETE FROM account; --`, `<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
	`"><svg onload=alert(1)>`, `{{7*7}} ${7*7} %s %n`, `$(reboot) | ;reboot`, `\u0000 \x00 \' %00`, `../../../etc/passwd`, `%27%20OR%201%3D1`,
}

// Every text that a client sends is returned unchanged and has no other effect.
func TestHostileTextsAreTexts(t *testing.T) {
	s := start(t, withAccounts)
	alice, id := s.session(t, "alice")
	for i, text := range hostileTexts {
		of := func(data any, path ...any) {
			t.Helper()
			if got := dig(t, data, path...); got != text {
				t.Errorf("%v: got %q, want %q unchanged", path, got, text)
			}
		}
		by := func(token, query string, variables ...any) map[string]any {
			t.Helper()
			got := s.askBy(t, token, query, append(variables, "t", text)...)
			if len(got.Errors) > 0 {
				t.Fatalf("%q: %s: got %+v, want no errors", text, query, got.Errors)
			}
			if got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
				t.Errorf("%q: %s: got the headers %v, want application/json and nosniff", text, query, got.header)
			}
			return got.Data
		}
		data := s.ok(t, "", register, "name", text, "password", "password: "+text)
		of(data, "register", "user", "profile", "name")
		token := dig(t, s.ok(t, "", logIn, "name", text, "password", "password: "+text), "logIn", "token").(string)
		of(by(token, `mutation($t: String!) { updateProfile(input: {signature: $t}) { user { profile { signature } } } }`), "updateProfile", "user", "profile", "signature")
		of(by(token, `mutation($t: String!, $to: ID!, $q: String!) { sendMessage(input: {to: $to, text: $t, requestId: $q}) { message { text } } }`, "to", id, "q", text), "sendMessage", "message", "text")
		of(by(alice, `{ conversations(first: 1) { edges { node { latest { text } with { profile { name } } } } } }`), "conversations", "edges", 0, "node", "latest", "text")
		of(by(token, `mutation($t: String!, $id: ID!) { sendMessage(input: {to: $id, text: $t}) { message { to { userId } } } }`, "id", text), "sendMessage", "message", "to", "userId")
		of(by(token, `query($id: ID!) { conversation(with: $id) { with { userId } } }`, "id", text), "conversation", "with", "userId")
		of(by(token, `mutation($t: String!, $id: ID!) { addComment(input: {biz: "video", bizId: $id, text: $t}) { comment { text } } }`, "id", text), "addComment", "comment", "text")
		of(by(token, `query($id: ID!) { interactive(biz: "video", bizId: $id) { comments { edges { node { text author { profile { signature } } } } } } }`, "id", text),
			"interactive", "comments", "edges", 0, "node", "author", "profile", "signature")
		of(by(token, `mutation($t: String!) { createFolder(input: {name: $t, description: $t}) { folder { name description } } }`), "createFolder", "folder", "description")
		if n := len(dig(t, by(alice, `{ conversations(first: 100) { edges { cursor } } }`), "conversations", "edges").([]any)); n != i+1 {
			t.Errorf("after %q there are %d conversations, want %d", text, n, i+1)
		}
	}
}
