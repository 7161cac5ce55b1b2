//go:build long

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
)

// entityRequests is a proxy in front of a subgraph. It counts the requests for entities.
type entityRequests struct {
	next http.Handler

	mu    sync.Mutex
	count int
}

func (c *entityRequests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if bytes.Contains(body, []byte("_entities")) {
		c.mu.Lock()
		c.count++
		c.mu.Unlock()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.next.ServeHTTP(w, r)
}

// taken returns the number of requests since the last call to taken.
func (c *entityRequests) taken() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.count
	c.count = 0
	return n
}

// TestLongArticlesThroughAGateway composes Ovation and the subgraph of articles in
// examples/federation, and queries both through the gateway there. Each page of articles
// takes one request for entities, and shows the viewer's own states. Without Ovation, the
// articles are still shown.
func TestLongArticlesThroughAGateway(t *testing.T) {
	e := example{name: "federation", folder: "../../examples/federation"}
	needsNode(t, filepath.Join(e.folder, "node_modules/.installed"))
	data := t.TempDir()
	s := serveWithoutRates(t, data, "--federation", "--no-introspection")
	at, err := url.Parse(s.url)
	must.Succeed(t, err)
	counted := &entityRequests{next: httputil.NewSingleHostReverseProxy(at)}
	proxy := httptest.NewServer(counted)
	t.Cleanup(proxy.Close)

	serve := func(script string, environ ...string) string {
		number := port.Free(t)
		return e.start(t, number, append(environ, "PORT="+strconv.Itoa(number)), "node", script)
	}
	articles := serve("articles.mjs")
	subgraphs := []string{"ARTICLES_URL=" + articles, "OVATION_URL=" + proxy.URL}
	supergraph := e.run(t, subgraphs, "node", "compose.mjs")
	for _, part := range []string{
		`@join__type(graph: OVATION, key: "biz bizId")`, `@join__type(graph: ARTICLES, key: "biz bizId", resolvable: false)`,
		`@join__type(graph: OVATION, key: "userId")`, `@join__type(graph: OVATION, key: "videoId")`,
	} {
		if !strings.Contains(supergraph, part) {
			t.Errorf("the supergraph has no %s", part)
		}
	}
	t.Logf("composed a supergraph of %d bytes", len(supergraph))
	gateway := &server{url: serve("gateway.mjs", subgraphs...), as: func(user string) map[string]string {
		if user == "" {
			return nil
		}
		token := runBinary(t, "token", "--data="+data, "--user="+user)
		token.want(t, 0)
		return map[string]string{"Authorization": "Bearer " + strings.TrimSpace(token.stdout)}
	}}

	must.Succeed(t, gateway.graphQL("alice", `mutation { like(input: {biz: "article", bizId: "1"}) { changed } }`, nil))
	must.Succeed(t, gateway.graphQL("bob", `mutation { like(input: {biz: "article", bizId: "1"}) { changed } dislike(input: {biz: "article", bizId: "2"}) { changed } follow(input: {biz: "user", bizId: "alice"}) { changed } }`, nil))
	for user, want := range map[string]string{
		"alice": `[{"title":"Article 1","interactive":{"likeCount":2,"liked":{"reaction":"LIKE"}},"author":{"userId":"alice"}},{"title":"Article 2","interactive":{"likeCount":0,"liked":null},"author":{"userId":"bob"}}]`,
		"bob":   `[{"title":"Article 1","interactive":{"likeCount":2,"liked":{"reaction":"LIKE"}},"author":{"userId":"alice"}},{"title":"Article 2","interactive":{"likeCount":0,"liked":{"reaction":"DISLIKE"}},"author":{"userId":"bob"}}]`,
		"":      `[{"title":"Article 1","interactive":{"likeCount":2,"liked":null},"author":{"userId":"alice"}},{"title":"Article 2","interactive":{"likeCount":0,"liked":null},"author":{"userId":"bob"}}]`,
	} {
		counted.taken()
		var got struct{ Articles json.RawMessage }
		must.Succeed(t, gateway.graphQL(user, `{ articles(first: 2) { title interactive { likeCount liked { reaction } } author { userId } } }`, &got))
		if n := counted.taken(); string(got.Articles) != want || n != 1 {
			t.Errorf("%q: got %s by %d requests for entities, want %s by one", user, got.Articles, n, want)
		}
	}

	var page struct {
		Articles []struct {
			Interactive struct{ BizID string }
			Author      struct{ Interactive struct{ FollowerCount int } }
		}
	}
	counted.taken()
	must.Succeed(t, gateway.graphQL("alice", `{ articles(first: 100) { interactive { bizId commentCount } author { interactive { followerCount } } } }`, &page))
	if n := counted.taken(); len(page.Articles) != 100 || page.Articles[0].Author.Interactive.FollowerCount != 1 || page.Articles[1].Author.Interactive.FollowerCount != 0 || n > 2 {
		t.Errorf("got %+v by %d requests for entities, want 100 articles by at most one request for each type", page, n)
	}

	s.stop().want(t, 0)
	failed := gateway.graphQL("", `{ articles(first: 1) { title interactive { likeCount } } }`, nil)
	if want := `{"articles":[{"title":"Article 1","interactive":null}]}`; failed == nil || !strings.Contains(failed.Error(), want) {
		t.Errorf("without Ovation: got %v, want an error, and the data %s", failed, want)
	}
}
