package resolvers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// byHash returns the extension that identifies a document by its hash.
func byHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf(`{"persistedQuery":{"version":1,"sha256Hash":%q}}`, hex.EncodeToString(sum[:]))
}

const notFound = `{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}`

// Clients such as Apollo's first send only the hash. If the hash is unknown, they send
// the hash and the text.
func TestAutomaticPersistedQueries(t *testing.T) {
	const (
		named = `query Who { viewer { userId } }`
		like  = `mutation Like($id: ID!) { like(input: {biz: "video", bizId: $id}) { changed } }`
		alice = `{"data":{"viewer":{"userId":"alice"}}}`
	)
	post := func(query, extensionOf, more string) string {
		if query != "" {
			text, err := json.Marshal(query)
			must.Succeed(t, err)
			more += `,"query":` + string(text)
		}
		return `{"extensions":` + byHash(extensionOf) + more + `}`
	}
	get := func(query, extensionOf string) string {
		values := url.Values{"extensions": {byHash(extensionOf)}}
		if query != "" {
			values.Set("query", query)
		}
		return "?" + values.Encode()
	}
	for _, accept := range []string{"application/json", "application/graphql-response+json", "application/graphql-response+json,application/json;q=0.9"} {
		s := start(t)
		for i, step := range []struct {
			method, query, body string
			status              int
			want                string
		}{
			{"POST", "", post("", named, ""), 200, notFound},
			{"GET", get("", named), "", 200, notFound},
			{"POST", "", post(named, named, `,"operationName":"Who"`), 200, alice},
			{"POST", "", post("", named, `,"operationName":"Who","variables":{}`), 200, alice},
			{"POST", "", post("", named, `,"query":null`), 200, alice},
			{"GET", get("", named), "", 200, alice},
			{"GET", get("", like), "", 200, notFound},
			{"GET", get(like, like) + "&variables=" + url.QueryEscape(`{"id":"3"}`), "", 405, "mutations must be sent by POST"},
			{"POST", "", post(like, like, `,"variables":{"id":"1"}`), 200, `{"data":{"like":{"changed":true}}}`},
			{"POST", "", post("", like, `,"variables":{"id":"2"}`), 200, `{"data":{"like":{"changed":true}}}`},
			{"GET", get("", like) + "&variables=" + url.QueryEscape(`{"id":"3"}`), "", 405, "mutations must be sent by POST"},
			{"POST", "", post(named, like, ""), 0, `"code":"BAD_USER_INPUT"`},
			{"POST", "", `{"operationName":"Who"}`, 400, `\"query\" is missing`},
			{"POST", "", `{"extensions":{}}`, 400, `\"query\" is missing`},
			{"GET", "?extensions={}", "", 400, `\"query\" is missing`},
		} {
			status, _, body := s.exchange(t, step.method, "/graphql"+step.query, step.body, "X-Ovation-User", "alice", "Accept", accept)
			if step.status != 0 && status != step.status || !strings.Contains(body, step.want) {
				t.Errorf("%s, step %d: got status %d, %s, want %d, %q", accept, i, status, body, step.status, step.want)
			}
		}
	}
}

func TestSubscriptionsByHash(t *testing.T) {
	s := start(t)
	c := s.connect(t, "alice")
	by := func(id, query string) {
		c.say(fmt.Sprintf(`{"type":"subscribe","id":%q,"payload":{%s"extensions":%s}}`, id, query, byHash(watchLikes)))
	}
	by("1", "")
	c.receives(`{"type":"error","id":"1","payload":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}`)
	text, err := json.Marshal(watchLikes)
	must.Succeed(t, err)
	by("2", `"query":`+string(text)+",")
	c.receives(fmt.Sprintf(likesEvent, "2", 0))
	by("3", "")
	c.receives(fmt.Sprintf(likesEvent, "3", 0))
}
