package resolvers_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/storage"
)

const (
	register = `mutation Register($name: String!, $password: String!) { register(input: {name: $name, password: $password}) { token expiresAt user { userId profile { name avatarUrl signature } } } }`
	logIn    = `mutation LogIn($name: String!, $password: String!) { logIn(input: {name: $name, password: $password}) { token user { userId } } }`
)

// session registers a user and returns the token and the user's id.
func (s *service) session(t *testing.T, name string) (token, userID string) {
	t.Helper()
	data := s.ok(t, "", register, "name", name, "password", "password of "+name)
	return dig(t, data, "register", "token").(string), dig(t, data, "register", "user", "userId").(string)
}

// refusedBy sends an operation with a token. The operation must fail with the given code.
func (s *service) refusedBy(t *testing.T, code, token, query string, variables ...any) string {
	t.Helper()
	return s.askBy(t, token, query, variables...).refused(t, code, query)
}

func TestAUserRegistersAndLogsIn(t *testing.T) {
	s := start(t, withAccounts)
	data := s.ok(t, "", register, "name", "Ann Lee", "password", "a good password")
	same(t, dig(t, data, "register", "user", "profile"), `{"name": "Ann Lee", "avatarUrl": null, "signature": ""}`)
	id := dig(t, data, "register", "user", "userId")
	if at, err := time.Parse(time.RFC3339, dig(t, data, "register", "expiresAt").(string)); err != nil || time.Until(at) < 59*time.Minute {
		t.Errorf("expiresAt: got %v, %v, want an hour from now", at, err)
	}
	in := s.ok(t, "", logIn, "name", "ANN LEE", "password", "a good password")
	if got := dig(t, in, "logIn", "user", "userId"); got != id {
		t.Errorf("logging in: got user %v, want the registered %v", got, id)
	}
	token := dig(t, in, "logIn", "token").(string)
	got := s.askBy(t, token, `{ viewer { userId profile { name } } }`)
	same(t, got.Data, fmt.Sprintf(`{"viewer": {"userId": %q, "profile": {"name": "Ann Lee"}}}`, id))
	if changed := s.askBy(t, token, `mutation { like(input: {biz: "video", bizId: "1"}) { changed interactive { liked { user { userId profile { name } } } } } }`); len(changed.Errors) > 0 ||
		dig(t, changed.Data, "like", "interactive", "liked", "user", "profile", "name") != "Ann Lee" {
		t.Errorf("a like: got %+v, want the profile name Ann Lee", changed)
	}

	if m := s.refused(t, "BAD_USER_INPUT", "", register, "name", "ann lee", "password", "a good password"); m != "input.name is taken" {
		t.Errorf("a taken name: got %q, want input.name is taken", m)
	}
	if m := s.refused(t, "BAD_USER_INPUT", "", register, "name", "a\x00b", "password", "a good password"); !strings.HasPrefix(m, "input.name contains U+0000") {
		t.Errorf("a name with NUL: got %q, want its limits", m)
	}
	if m := s.refused(t, "BAD_USER_INPUT", "", register, "name", "bob", "password", "short"); !strings.HasPrefix(m, "input.password must be 6 to 128") {
		t.Errorf("a short password: got %q, want its limits", m)
	}
	if m := s.refused(t, "BAD_USER_INPUT", "", register, "name", "bob", "password", "Password1"); !strings.HasPrefix(m, "input.password is one of the most common passwords") {
		t.Errorf("a common password: got %q, want the reason", m)
	}
	wrong := s.refused(t, "UNAUTHENTICATED", "", logIn, "name", "ann lee", "password", "not her password")
	unknown := s.refused(t, "UNAUTHENTICATED", "", logIn, "name", "nobody", "password", "not her password")
	if wrong != unknown {
		t.Errorf("a wrong password: got %q, want the message of an unknown name, %q", wrong, unknown)
	}
	for _, hidden := range []string{"a good password", "not her password", token} {
		if strings.Contains(s.logged(), hidden) {
			t.Errorf("the log contains %q", hidden)
		}
	}
}

func TestLoggingOutEverywhere(t *testing.T) {
	s := start(t, withAccounts)
	token, id := s.session(t, "alice")
	fresh := s.askBy(t, token, `mutation { refreshToken { token user { userId } } }`)
	if dig(t, fresh.Data, "refreshToken", "user", "userId") != id {
		t.Fatalf("a refreshed token: got %+v, want one of user %v", fresh, id)
	}
	const change = `mutation($from: String!, $to: String!) { changePassword(input: {currentPassword: $from, newPassword: $to}) { token } }`
	if m := s.refusedBy(t, "BAD_USER_INPUT", token, change, "from", "not her password", "to", "a new password"); m != "input.currentPassword is wrong" {
		t.Errorf("a wrong current password: got %q, want input.currentPassword is wrong", m)
	}
	changed := s.askBy(t, token, change, "from", "password of alice", "to", "a new password")
	next := dig(t, changed.Data, "changePassword", "token").(string)
	for _, old := range []string{token, dig(t, fresh.Data, "refreshToken", "token").(string)} {
		if got := s.askBy(t, old, `{ viewer { userId } }`); got.status != http.StatusUnauthorized || !strings.Contains(got.Errors[0].Message, "revoked") {
			t.Errorf("an old token: got %+v, want it revoked", got)
		}
	}
	if got := s.askBy(t, next, `mutation { logOutEverywhere { user { userId } } }`); dig(t, got.Data, "logOutEverywhere", "user", "userId") != id {
		t.Errorf("the new token: got %+v, want user %v logged out everywhere", got, id)
	}
	if got := s.askBy(t, next, `{ viewer { userId } }`); got.status != http.StatusUnauthorized {
		t.Errorf("after logging out: got %+v, want status 401", got)
	}
	for _, mutation := range []string{`refreshToken { token }`, `logOutEverywhere { user { userId } }`, `updateProfile(input: {}) { user { userId } }`} {
		s.refused(t, "UNAUTHENTICATED", "", "mutation { "+mutation+" }")
		s.refused(t, "NOT_FOUND", "carol", "mutation { "+mutation+" }") // carol has no account
	}
}

func TestProfilesAreLookedUpTogether(t *testing.T) {
	s := start(t, withAccounts)
	var names []any
	for i := range 20 {
		name := fmt.Sprintf("user %02d", i)
		token, _ := s.session(t, name)
		names = append(names, name)
		if got := s.askBy(t, token, `mutation { addComment(input: {biz: "video", bizId: "1", text: "hello"}) { comment { author { profile { name } } } } }`); len(got.Errors) > 0 {
			t.Fatalf("a comment of %s: got %+v, want no errors", name, got)
		}
	}
	s.ok(t, "carol", `mutation { addComment(input: {biz: "video", bizId: "1", text: "hello"}) { comment { commentId } } }`)
	s.calls.taken(t)
	for _, viewer := range []string{"", "carol"} {
		data := s.ok(t, viewer, `{ interactive(biz: "video", bizId: "1") { comments(first: 50, order: OLDEST) { edges { node { author { userId profile { name } } } } } } }`)
		edges := dig(t, data, "interactive", "comments", "edges").([]any)
		for i, edge := range edges[:20] {
			if got := dig(t, edge, "node", "author", "profile", "name"); got != names[i] {
				t.Errorf("author %d: got the name %v, want %v", i, got, names[i])
			}
		}
		if got := dig(t, edges[20], "node", "author", "profile"); got != nil {
			t.Errorf("a user without an account: got the profile %v, want none", got)
		}
		if n := s.calls.taken(t)["Profiles"]; n != 1 {
			t.Errorf("got %d calls for the profiles, want 1", n)
		}
	}
}

func TestProfilesAreEdited(t *testing.T) {
	s := start(t, withAccounts)
	token, id := s.session(t, "alice")
	const update = `mutation($in: UpdateProfileInput!) { updateProfile(input: $in) { user { profile { name avatarUrl backgroundUrl signature } } } }`
	got := s.askBy(t, token, update, "in", map[string]any{"avatarUrl": "https://example.com/a.png", "backgroundUrl": "/media/b", "signature": "<script>'; --"})
	want := `{"name": "alice", "avatarUrl": "https://example.com/a.png", "backgroundUrl": "/media/b", "signature": "<script>'; --"}`
	same(t, dig(t, got.Data, "updateProfile", "user", "profile"), want)
	same(t, dig(t, s.ok(t, "bob", `query($id: ID!) { user(userId: $id) { profile { name avatarUrl backgroundUrl signature } } }`, "id", id), "user", "profile"), want)
	other := s.askAs(t, storage.User{Tenant: "acme", UserID: "bob"}, `query($id: ID!) { user(userId: $id) { profile { name } } }`, "id", id)
	same(t, dig(t, other.Data, "user", "profile"), `null`)
	for field, value := range map[string]string{"avatarUrl": "javascript:alert(1)", "backgroundUrl": "//evil.example", "signature": strings.Repeat("a", 201), "name": "a\nb"} {
		if m := s.refusedBy(t, "BAD_USER_INPUT", token, update, "in", map[string]any{field: value}); !strings.HasPrefix(m, "input."+field+" ") {
			t.Errorf("an invalid %s: got %q, want an error about input.%s", field, m, field)
		}
	}
	got = s.askBy(t, token, update, "in", map[string]any{"name": "Alice!", "avatarUrl": ""})
	same(t, dig(t, got.Data, "updateProfile", "user", "profile"), `{"name": "Alice!", "avatarUrl": null, "backgroundUrl": "/media/b", "signature": "<script>'; --"}`)
}

func TestSitesWithoutAccountsSaySo(t *testing.T) {
	s := start(t)
	for _, mutation := range []string{
		`register(input: {name: "alice", password: "password"}) { token }`, `logIn(input: {name: "alice", password: "password"}) { token }`,
		`refreshToken { token }`, `changePassword(input: {currentPassword: "password", newPassword: "password"}) { token }`,
		`logOutEverywhere { user { userId } }`, `updateProfile(input: {}) { user { userId } }`,
	} {
		if m := s.refused(t, "NOT_FOUND", "alice", "mutation { "+mutation+" }"); !strings.Contains(m, "--accounts") {
			t.Errorf("%s: got %q, want a mention of --accounts", mutation, m)
		}
	}
	same(t, s.ok(t, "alice", `{ viewer { profile { name } } }`), `{"viewer": {"profile": null}}`)
	if n := s.calls.taken(t)["Profiles"]; n != 0 {
		t.Errorf("got %d calls for profiles, want none", n)
	}
	if status, _, _ := s.get(t, "/.well-known/jwks.json"); status != http.StatusNotFound {
		t.Errorf("the key set: got status %d, want 404", status)
	}
}

// Other services can verify the tokens of accounts with the key set.
func TestTheKeySetVerifiesTokens(t *testing.T) {
	s := start(t, withAccounts)
	token, id := s.session(t, "alice")
	_, _, set := s.get(t, "/.well-known/jwks.json")
	path := filepath.Join(t.TempDir(), "jwks.json")
	must.Succeed(t, os.WriteFile(path, []byte(set), 0o600))
	elsewhere, err := viewer.New(t.Context(), viewer.Config{JWKS: path, Audience: viewer.AnyAudience})
	must.Succeed(t, err)
	defer func() { must.Succeed(t, elsewhere.Close()) }()
	is, err := elsewhere.Token(t.Context(), token)
	if err != nil || is.User.UserID != id {
		t.Errorf("verifying with the key set: got %+v, %v, want user %v", is, err, id)
	}
}

// Without the database, registration and login are unavailable and do not count as failed
// attempts; tokens are accepted as before.
func TestAccountsAreUnavailableWithoutTheDatabase(t *testing.T) {
	s := start(t, withAccounts)
	token, id := s.session(t, "alice")
	must.Succeed(t, s.store.Close())
	for range 50 { // more than the limit of attempts
		s.refused(t, "UNAVAILABLE", "", logIn, "name", "alice", "password", "password of alice")
	}
	s.refused(t, "UNAVAILABLE", "", register, "name", "bob", "password", "password of bob")
	for _, operation := range []string{
		`mutation { refreshToken { token } }`, `mutation { logOutEverywhere { user { userId } } }`, `mutation { updateProfile(input: {signature: "x"}) { user { userId } } }`,
		`mutation { changePassword(input: {currentPassword: "password of alice", newPassword: "a new password"}) { token } }`,
		`{ viewer { profile { name } } }`,
	} {
		s.refusedBy(t, "UNAVAILABLE", token, operation)
	}
	same(t, s.askBy(t, token, `{ viewer { userId } }`).Data, fmt.Sprintf(`{"viewer":{"userId":%q}}`, id))
}
