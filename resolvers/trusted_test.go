package resolvers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/resolvers/persisted"
)

// withTrusted makes the service trust documents, by id.
func withTrusted(t *testing.T, only bool, documents map[string]string) option {
	t.Helper()
	file := filepath.Join(t.TempDir(), "persisted-documents.json")
	text, err := json.Marshal(documents)
	must.Succeed(t, err)
	must.Succeed(t, os.WriteFile(file, text, 0o600))
	return func(s *settings) { s.trusted = persisted.TrustedOptions{Files: []string{file}, Only: only} }
}

const (
	trustedMe    = `query Me { viewer { userId } }`
	trustedLike  = `mutation LikeVideo($id: ID!) { like(input: {biz: "video", bizId: $id}) { changed } }`
	trustedCount = `query Count($id: ID!) { interactive(biz: "video", bizId: $id) { likeCount } }`
	alicesAnswer = `{"data":{"viewer":{"userId":"alice"}}}`
)

func TestTrustedDocumentsOverEveryTransport(t *testing.T) {
	sum := sha256.Sum256([]byte(trustedMe))
	hash := hex.EncodeToString(sum[:])
	for _, only := range []bool{false, true} {
		s := start(t, withTrusted(t, only, map[string]string{"me": trustedMe, "like": trustedLike, "count": trustedCount, "watch": watchLikes}))
		refusal, status := `"code":"PERSISTED_QUERY_NOT_FOUND"`, 200
		if only {
			refusal, status = `"code":"UNTRUSTED_DOCUMENT"`, 400
		}
		for i, step := range []struct {
			method, query, body string
			status              int
			want                string
		}{
			{"POST", "", `{"documentId":"me"}`, 200, alicesAnswer},
			{"POST", "", `{"documentId":"sha256:` + hash + `","operationName":"Me"}`, 200, alicesAnswer},
			{"POST", "", `{"id":"me","query":null,"variables":{}}`, 200, alicesAnswer},
			{"POST", "", `{"id":"me","query":""}`, 200, alicesAnswer},
			{"POST", "", `{"doc_id":"me"}`, 200, alicesAnswer},
			{"POST", "", `{"extensions":` + byHash(trustedMe) + `}`, 200, alicesAnswer},
			{"POST", "", `{"id":7,"query":"` + trustedMe + `"}`, 200, alicesAnswer},
			{"GET", "?documentId=me", "", 200, alicesAnswer},
			{"GET", "?id=me&query=", "", 200, alicesAnswer},
			{"GET", "?extensions=" + url.QueryEscape(byHash(trustedMe)), "", 200, alicesAnswer},
			{"POST", "", `{"documentId":"like","variables":{"id":"5"}}`, 200, `{"data":{"like":{"changed":true}}}`},
			{"POST", "", `{"documentId":"count","variables":{"id":"5"}}`, 200, `{"data":{"interactive":{"likeCount":1}}}`},
			{"GET", "?documentId=like&variables=" + url.QueryEscape(`{"id":"6"}`), "", 405, "mutations must be sent by POST"},
			{"POST", "", `{"documentId":"count"}`, 400, "the variable $id is missing"},
			{"POST", "", `{"documentId":"count","variables":{"id":[1]}}`, 400, `"code":"BAD_USER_INPUT"`},
			{"POST", "", `{"documentId":"no"}`, status, refusal},
			{"GET", "?documentId=no", "", status, refusal},
			{"POST", "", `{"documentId":7}`, 400, `\"documentId\" must be a string`},
			{"POST", "", `{"documentId":""}`, 400, `\"query\" is missing`},
			{"GET", "?documentId=me&documentId=me", "", 400, "more than once"},
		} {
			got, _, body := s.exchange(t, step.method, "/graphql"+step.query, step.body, "X-Ovation-User", "alice", "Accept", "application/graphql-response+json")
			if got != step.status || !strings.Contains(body, step.want) {
				t.Errorf("only: %t, step %d: got status %d, %s, want %d, %s", only, i, got, body, step.status, step.want)
			}
		}
		_, _, body := s.exchange(t, "POST", "/graphql", `[{"documentId":"me"},{"id":"count","variables":{"id":"5"}},{"documentId":"no"}]`, "X-Ovation-User", "alice")
		if want := `[` + alicesAnswer + `,{"data":{"interactive":{"likeCount":1}}},{"errors":[`; !strings.HasPrefix(body, want) || !strings.Contains(body, refusal) {
			t.Errorf("only: %t, a batch: got %s, want %s… with %s", only, body, want, refusal)
		}
		_, _, body = s.exchange(t, "GET", "/graphql?documentId=me", "", "X-Ovation-User", "alice", "Accept", "text/event-stream")
		if want := "event: next\ndata: " + alicesAnswer; !strings.Contains(body, want) {
			t.Errorf("only: %t, an event stream: got %q, want %q", only, body, want)
		}
		_, _, body = s.exchange(t, "POST", "/graphql", `{"documentId":"no"}`, "Accept", "text/event-stream")
		if !strings.Contains(body, refusal) {
			t.Errorf("only: %t, an event stream of an unknown id: got %q, want %s", only, body, refusal)
		}
		c := s.connect(t, "alice")
		c.say(`{"type":"subscribe","id":"1","payload":{"documentId":"watch"}}`)
		c.receives(fmt.Sprintf(likesEvent, "1", 0))
		c.say(`{"type":"complete","id":"1"}`)
		c.say(`{"type":"subscribe","id":"2","payload":{"id":"me"}}`)
		c.receives(`{"type":"next","id":"2","payload":` + alicesAnswer + `}`)
		c.receives(`{"type":"complete","id":"2"}`)
		c.say(`{"type":"subscribe","id":"3","payload":{"documentId":"no"}}`)
		if got := c.next(); !strings.HasPrefix(got, `{"type":"error","id":"3"`) || !strings.Contains(got, refusal) {
			t.Errorf("only: %t, a socket: got %s, want %s", only, got, refusal)
		}
		want := `{ viewer { id } }`
		got := s.ask(t, "alice", want)
		if only != (len(got.Errors) == 1 && got.Errors[0].Extensions["code"] == "UNTRUSTED_DOCUMENT" && got.status == 200) {
			t.Errorf("only: %t, an untrusted text: got %+v", only, got)
		}
		wantSeries := `
# HELP ovation_trusted_documents Trusted documents in use.
# TYPE ovation_trusted_documents gauge
ovation_trusted_documents 4
# HELP ovation_trusted_document_requests_total Requests answered, by trusted document (the name of its operation, or else its id) and the code of the first error (OK where there is none).
# TYPE ovation_trusted_document_requests_total counter
ovation_trusted_document_requests_total{code="BAD_USER_INPUT",document="Count"} 2
ovation_trusted_document_requests_total{code="BAD_USER_INPUT",document="LikeVideo"} 1
ovation_trusted_document_requests_total{code="OK",document="Count"} 2
ovation_trusted_document_requests_total{code="OK",document="LikeVideo"} 1
ovation_trusted_document_requests_total{code="OK",document="Me"} 13
ovation_trusted_document_requests_total{code="OK",document="watch"} 1
`
		await.That(t, "every answered request is counted", func() bool { // after its last byte was sent
			return testutil.GatherAndCompare(s.registry, strings.NewReader(wantSeries), "ovation_trusted_documents", "ovation_trusted_document_requests_total") == nil
		})
		if n, err := testutil.GatherAndCount(s.registry, "ovation_trusted_document_seconds_total"); n != 3 || err != nil { // not of the subscription
			t.Errorf("got %d documents with durations, %v, want 3", n, err)
		}
	}
}

// Without trusted documents, an id names nothing, and beside a text it is ignored.
func TestIDsWithoutTrustedDocuments(t *testing.T) {
	s := start(t)
	for body, want := range map[string]string{
		`{"documentId":"me"}`:                             "this server has no trusted documents",
		`{"documentId":"me","query":"` + trustedMe + `"}`: alicesAnswer,
		`{"id":"me","extensions":{}}`:                     `"code":"BAD_USER_INPUT"`,
	} {
		if _, _, got := s.exchange(t, "POST", "/graphql", body, "X-Ovation-User", "alice"); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}
