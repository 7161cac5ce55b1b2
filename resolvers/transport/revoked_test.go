package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/internal/testing/must"
)

// keySet is a JWKS in a file.
type keySet struct {
	path string
	keys map[string]*ecdsa.PrivateKey
}

func newKeySet(t *testing.T, kids ...string) *keySet {
	t.Helper()
	set := &keySet{path: filepath.Join(t.TempDir(), "jwks.json"), keys: map[string]*ecdsa.PrivateKey{}}
	for _, kid := range kids {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must.Succeed(t, err)
		set.keys[kid] = key
	}
	set.publish(t, kids...)
	return set
}

// publish makes the file list the keys with the given kids and no others.
func (set *keySet) publish(t *testing.T, kids ...string) {
	t.Helper()
	listed := []map[string]any{}
	for _, kid := range kids {
		point, err := set.keys[kid].PublicKey.Bytes()
		must.Succeed(t, err)
		text := base64.RawURLEncoding.EncodeToString
		listed = append(listed, map[string]any{"kty": "EC", "crv": "P-256", "kid": kid, "x": text(point[1:33]), "y": text(point[33:])})
	}
	body, err := json.Marshal(map[string]any{"keys": listed})
	must.Succeed(t, err)
	must.Succeed(t, os.WriteFile(set.path+".new", body, 0o600))
	must.Succeed(t, os.Rename(set.path+".new", set.path)) // so that no incomplete file is read
}

// bearer returns a token for a user, signed with the key that has the given kid.
func (set *keySet) bearer(t *testing.T, user, kid string) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"sub": user, "exp": time.Now().Add(time.Hour).Unix()})
	token.Header["kid"] = kid
	text, err := token.SignedString(set.keys[kid])
	must.Succeed(t, err)
	return "Bearer " + text
}

func TestAKeyThatIsRemovedEndsItsStreams(t *testing.T) {
	keys := newKeySet(t, "old", "new")
	s := newSite(t, siteOptions{jwks: keys.path})
	alice, bob := keys.bearer(t, "alice", "old"), keys.bearer(t, "bob", "new")
	byHeader, byInit := s.ready(t, "Authorization", alice), s.dial(t)
	byInit.say(`{"type":"connection_init","payload":{"Authorization":"` + alice + `"}}`)
	byInit.receives(`{"type":"connection_ack"}`)
	for _, c := range []*client{byHeader, byInit} {
		c.say(subscribe("1", watching("wait", "1")))
	}
	stays := s.ready(t, "Authorization", bob)
	stays.say(subscribe("1", watching("events", "revoked")))
	bySecret := s.ready(t, "Authorization", "Bearer "+token(t, time.Hour))
	streamed := make(chan string, 1)
	go func() { streamed <- s.events(t, query(watching("wait", "1")), "Authorization", alice).body }()
	s.wantMetric(t, "ovation_subscriptions", 4)
	keys.publish(t, "new")
	for _, c := range []*client{byHeader, byInit} {
		c.isClosed(4403, "the token, or the key that signed it, has been revoked")
	}
	if body := <-streamed; strings.Contains(body, "event:") { // no complete event, so that the client reconnects
		t.Errorf("got the event stream %q, want no events", body)
	}
	s.wantMetric(t, "ovation_subscriptions", 1)
	sendEvent(t, "revoked", 1)
	stays.receives(`{"type":"next","id":"1","payload":{"data":{"interactiveChanged":{"bizId":"revoked","version":1}}}}`)
	bySecret.say(`{"type":"ping"}`)
	bySecret.receives(`{"type":"pong"}`)
	again := s.dial(t)
	again.say(`{"type":"connection_init","payload":{"Authorization":"` + alice + `"}}`)
	again.isClosed(4403, "a key that is not in the JWKS")
}
