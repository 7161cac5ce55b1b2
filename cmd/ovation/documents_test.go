package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"ovation/internal/testing/must"
)

// operationsAndResponse matches a block of operations and, if there is one, the response
// that directly follows it.
var operationsAndResponse = regexp.MustCompile("(?s)```graphql\n(.*?)```\n(?:\n```json\n(.*?)```\n)?")

// TestDocumentsShowTheServersResponses runs the operations of README and docs/api.md in
// order on fresh demo data. Their responses must be those shown in the documents, except
// for times and ids.
func TestDocumentsShowTheServersResponses(t *testing.T) {
	t.Setenv("PATH", "") // stills are made faster than clips drawn by ffmpeg
	operations := section(t, "../../README.md", "A feed page and a like") + section(t, "../../docs/api.md", "Operations")

	data := t.TempDir()
	started := serve(t, data, "--demo")
	started.awaitClips(t)
	token := call(t, environment(), "token", "--user=alice", "--scope=subjects:write actions:write", "--data="+data)
	token.want(t, 0)
	s := &userClient{started, strings.TrimSpace(token.stdout)}

	compared := 0
	for _, block := range operationsAndResponse.FindAllStringSubmatch(operations, -1) {
		document, response := block[1], block[2]
		var answer []byte
		for _, operation := range operationsOf(t, document) {
			answer = s.ask(t, operation)
			if bytes.Contains(answer, []byte(`"errors"`)) {
				t.Errorf("a documented operation fails:\n%s\n%s", operation, answer)
			}
		}
		if response != "" {
			sameResponse(t, document, answer, response)
			compared++
		}
	}
	if compared < 4 {
		t.Errorf("%d responses were compared, want at least 4", compared)
	}

	refusal := regexp.MustCompile("(?s)```json\n(\\{\"errors\".*?)```").FindStringSubmatch(operations)
	if refusal == nil {
		t.Fatal("the documents show no error, want one")
	}
	invalid := `{ interactive(biz: "Video", bizId: "1") { id } }`
	sameResponse(t, invalid, s.ask(t, invalid), refusal[1])

	event := regexp.MustCompile(`data: (\{.*likeCount.*\})`).FindStringSubmatch(section(t, "../../docs/api.md", "Live counts"))
	if event == nil {
		t.Fatal("docs/api.md shows no event, want one")
	}
	live := `subscription { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { bizId likeCount } }`
	if got := s.firstEvent(t, live); got != event[1] {
		t.Errorf("the first event is %s, want %s as in docs/api.md", got, event[1])
	}
}

func TestDocumentedOperationsAreValid(t *testing.T) {
	declared, err := os.ReadFile("../../schema.graphqls")
	must.Succeed(t, err)
	schema := gqlparser.MustLoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(declared)})
	validated := 0
	for _, name := range []string{"../../README.md", "../../docs/api.md", "../../docs/douyin.md", "../../docs/frontend.md", "../../docs/mobile.md"} {
		text, err := os.ReadFile(name)
		must.Succeed(t, err)
		for _, block := range operationsAndResponse.FindAllStringSubmatch(string(text), -1) {
			for _, operation := range operationsOf(t, block[1]) {
				if _, err := gqlparser.LoadQueryWithRules(schema, operation, rules.NewDefaultRules()); err != nil {
					t.Errorf("%s: an operation is invalid: %v, want it valid:\n%s", name, err, operation)
				}
				validated++
			}
		}
	}
	if validated < 20 {
		t.Errorf("%d operations were validated, want at least 20", validated)
	}
}

// section returns a section of a document, without its heading.
func section(t *testing.T, document, heading string) string {
	t.Helper()
	text, err := os.ReadFile(document)
	must.Succeed(t, err)
	_, rest, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", document, heading)
	}
	content, _, _ := strings.Cut(rest, "\n## ")
	return content
}

// operationsOf splits a GraphQL document into its operations, and returns each operation
// as a document of its own.
func operationsOf(t *testing.T, text string) (each []string) {
	t.Helper()
	document, err := parser.ParseQuery(&ast.Source{Input: text})
	must.Succeed(t, err)
	for _, operation := range document.Operations {
		var one strings.Builder
		formatter.NewFormatter(&one).FormatQueryDocument(&ast.QueryDocument{Operations: ast.OperationList{operation}})
		each = append(each, one.String())
	}
	return each
}

// userClient sends requests to a server as one user.
type userClient struct {
	*server

	token string
}

func (s *userClient) request(t *testing.T, query, accept string) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": query})
	must.Succeed(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/graphql", bytes.NewReader(body))
	must.Succeed(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := client.Do(request)
	must.Succeed(t, err)
	return response
}

func (s *userClient) ask(t *testing.T, query string) []byte {
	t.Helper()
	response := s.request(t, query, "application/json")
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must.Succeed(t, err)
	return answer
}

// firstEvent subscribes and returns the data of the first event.
func (s *userClient) firstEvent(t *testing.T, query string) string {
	t.Helper()
	response := s.request(t, query, "text/event-stream")
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if event, is := strings.CutPrefix(lines.Text(), "data: "); is {
			return event
		}
	}
	t.Fatalf("no event was received: %v", lines.Err())
	return ""
}

func sameResponse(t *testing.T, operation string, got []byte, want string) {
	t.Helper()
	if !reflect.DeepEqual(stableResponse(t, got), stableResponse(t, []byte(want))) {
		t.Errorf("the documents show for\n%s\n%s\nbut the response is\n%s", operation, want, got)
	}
}

// idOfAClip matches the id of an uploaded clip.
var idOfAClip = regexp.MustCompile(`^\d{10,}$`)

// stableResponse decodes a response, and replaces with placeholders the values that
// differ from one start of the server to the next: times, cursors, and ids that the
// server assigns.
func stableResponse(t *testing.T, response []byte) any {
	t.Helper()
	var value any
	must.Succeed(t, json.Unmarshal(response, &value))
	return withoutVolatile(value)
}

func withoutVolatile(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			value[name] = withoutVolatile(field)
			text, _ := field.(string)
			if text != "" && (name == "id" || name == "endCursor") || name == "bizId" && idOfAClip.MatchString(text) {
				value[name] = "…"
			}
		}
	case []any:
		for i := range value {
			value[i] = withoutVolatile(value[i])
		}
	case string:
		if _, err := time.Parse(time.RFC3339Nano, value); err == nil {
			return "a time"
		}
	}
	return value
}
