package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// loggedIn is the result of a mutation that begins a session.
type loggedIn struct {
	Token string
	User  struct{ UserID string }
}

// session sends the mutation do, which is "register" or "logIn", for the user with the
// given name.
func (s *server) session(do, name string) (loggedIn, error) {
	body, err := json.Marshal(map[string]any{
		"query":     `mutation($name: String!, $password: String!) { session: ` + do + `(input: {name: $name, password: $password}) { token user { userId } } }`,
		"variables": map[string]string{"name": name, "password": "password of " + strings.ToLower(name)},
	})
	if err != nil {
		return loggedIn{}, err
	}
	var out struct{ Session loggedIn }
	err = s.post(body, nil, &out)
	return out.Session, err
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// accepts reports whether the server accepts the token.
func (s *server) accepts(token string) bool {
	return s.post([]byte(`{"query":"{ viewer { userId } }"}`), bearer(token), nil) == nil
}

func TestAccountFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"OVATION_ACCOUNT_TOKEN_TTL": "1s", "OVATION_ACCOUNT_KEY": "0", "OVATION_ATTEMPTS_PER_ADDRESS": "-1", "OVATION_MIN_PASSWORD_LENGTH": "5",
	} {
		call(t, environment(name, bad), "dev", "--data="+t.TempDir()).want(t, exitUsage, name)
	}
}

// TestAccountsAreOnEveryNode checks that two nodes of a site without a secret accept each
// other's tokens. A token that is revoked through one node must be refused by the other
// node. A node must also accept tokens signed with the key before or after its own, and
// must refuse tokens signed with a key that is older still.
func TestAccountsAreOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.variables["OVATION_ACCOUNTS"], s.variables["OVATION_JWT_SECRET"] = "true", ""
	a, b := s.start(t, "serve"), s.start(t, "serve")
	alice, err := a.session("register", "Alice")
	must.Succeed(t, err)
	again, err := b.session("logIn", "alice")
	must.Succeed(t, err)
	if again.User != alice.User || b.viewer(t, alice.Token) != alice.User.UserID || a.viewer(t, again.Token) != alice.User.UserID {
		t.Errorf("registered %+v; logged in as %+v, with tokens of %q and %q, want one user", alice.User, again.User, b.viewer(t, alice.Token), a.viewer(t, again.Token))
	}
	must.Succeed(t, a.post([]byte(`{"query":"mutation { logOutEverywhere { user { userId } } }"}`), bearer(alice.Token), nil))
	begin := time.Now()
	await.That(t, "the other node refuses the token", func() bool { return !b.accepts(again.Token) })
	t.Logf("the other node has learnt of it after %v", time.Since(begin))

	status, _, body := get(t, a.url+"/.well-known/jwks.json")
	var set struct{ Keys []struct{ Kid, Alg string } }
	must.Succeed(t, json.Unmarshal(body, &set))
	if status != http.StatusOK || len(set.Keys) != 3 || set.Keys[1].Alg != "EdDSA" {
		t.Errorf("GET /.well-known/jwks.json = %d, %s, want 200, three keys, the second for EdDSA", status, body)
	}

	old, err := a.session("logIn", "Alice")
	must.Succeed(t, err)
	s.variables["OVATION_ACCOUNT_KEY"] = "2"
	rotated := s.start(t, "serve")
	fresh, err := rotated.session("logIn", "Alice")
	must.Succeed(t, err)
	if !rotated.accepts(old.Token) || !a.accepts(fresh.Token) {
		t.Errorf("nodes with neighbouring keys accept each other's tokens: %t and %t, want true", rotated.accepts(old.Token), a.accepts(fresh.Token))
	}
	s.variables["OVATION_ACCOUNT_KEY"] = "3"
	if last := s.start(t, "serve"); last.accepts(old.Token) || !last.accepts(fresh.Token) {
		t.Errorf("tokens of the key before the last one and of the last one are accepted: %t and %t, want false and true", last.accepts(old.Token), last.accepts(fresh.Token))
	}
}

func TestLogOutReachesEveryNode(t *testing.T) {
	t.Parallel()
	logOutReaches(t, 2, waitTimeout)
}

// logOutReaches logs out one user per round on one node. It checks that another node
// refuses the user's token and ends the user's stream within the time bound.
func logOutReaches(t *testing.T, rounds int, bound time.Duration) {
	t.Helper()
	s := newSite(t)
	s.variables["OVATION_ACCOUNTS"], s.variables["OVATION_ATTEMPTS_PER_ADDRESS"] = "true", "0"
	a, b := s.start(t, "serve"), s.start(t, "serve")
	b.as = bearer
	took := make([]period, rounds)
	pulse := probeNode(t, b)
	for i := range took {
		user, err := a.session("register", fmt.Sprint("User ", i))
		must.Succeed(t, err)
		conn, err := b.watch(t.Context(), user.Token, map[string]any{"query": messagesSubscription})
		must.Succeed(t, err)
		ended := make(chan error, 1)
		go func() {
			var got struct{ Messages struct{ ID string } }
			ended <- nextOn(t.Context(), conn, &got)
		}()
		await.That(t, "the stream has begun", func() bool { return b.metric(t, `ovation_subscriptions`) == 1 })
		begun := time.Now()
		must.Succeed(t, a.post([]byte(`{"query":"mutation { logOutEverywhere { user { userId } } }"}`), bearer(user.Token), nil))
		await.That(t, "the other node refuses the token", func() bool { return !b.accepts(user.Token) })
		if err := <-ended; websocket.CloseStatus(err) != 4403 {
			t.Errorf("the stream ended with %v, want close status 4403", err)
		}
		took[i] = period{begun, time.Now()}
		_ = conn.CloseNow() // the server has closed it
	}
	slowest, pause := pulse.worst(took...)
	t.Logf("after %d log outs the other node knew within %v; the machine's own time is %v", rounds, slowest, pause)
	within(t, "the slowest log out", slowest, pause, bound)
}
