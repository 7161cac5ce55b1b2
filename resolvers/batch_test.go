package resolvers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ovation/api/rate"
	"ovation/internal/testing/must"
)

// batch sends operations as one request of a user. It returns the responses, or a single
// answer if the batch was refused as a whole.
func (s *service) batch(t *testing.T, user string, operations []map[string]any, headers ...string) (all []answer, whole answer) {
	t.Helper()
	body, err := json.Marshal(operations)
	must.Succeed(t, err)
	status, header, text := s.exchange(t, http.MethodPost, "/graphql", string(body), append([]string{"X-Ovation-User", user}, headers...)...)
	whole = answer{status: status, header: header}
	if strings.HasPrefix(text, "[") {
		must.Succeed(t, json.Unmarshal([]byte(text), &all))
	} else {
		must.Succeed(t, json.Unmarshal([]byte(text), &whole))
	}
	return all, whole
}

// batchOf returns operations without variables.
func batchOf(queries ...string) (operations []map[string]any) {
	for _, query := range queries {
		operations = append(operations, map[string]any{"query": query})
	}
	return operations
}

const (
	likeIt   = `mutation Like { like(input: {biz: "video", bizId: "1"}) { changed interactive { likeCount } } }`
	unlikeIt = `mutation Unlike { unlike(input: {biz: "video", bizId: "1"}) { changed interactive { likeCount } } }`
	likesOf  = `query Likes { interactive(biz: "video", bizId: "1") { likeCount liked { reaction } } }`
)

// The operations of a batch run in order. Each has its own response: the failure of one
// does not affect the others.
func TestBatchesAreAnsweredInOrder(t *testing.T) {
	s := start(t)
	operations := append(batchOf(likesOf, likeIt, likesOf, `{ nothing }`, watchOne, unlikeIt, likesOf),
		map[string]any{"query": `query Find($id: ID!) { interactive(biz: "video", bizId: $id) { bizId } }`, "operationName": "Find", "variables": map[string]any{"id": "7"}},
		map[string]any{"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": strings.Repeat("0", 64)}}},
		map[string]any{"query": likeIt + likesOf, "operationName": "Like"})
	all, whole := s.batch(t, "alice", operations)
	if whole.status != 200 || whole.header.Get("Content-Type") != "application/json; charset=utf-8" || whole.header.Get("Cache-Control") != "no-store" || len(all) != len(operations) {
		t.Fatalf("got %+v with %d responses, want 200 and %d", whole, len(all), len(operations))
	}
	for i, want := range []string{
		`{"interactive":{"likeCount":0,"liked":null}}`, `{"like":{"changed":true,"interactive":{"likeCount":1}}}`,
		`{"interactive":{"likeCount":1,"liked":{"reaction":"LIKE"}}}`, "BAD_USER_INPUT Cannot query field", "BAD_USER_INPUT a batch must not hold subscriptions",
		`{"unlike":{"changed":true,"interactive":{"likeCount":0}}}`, `{"interactive":{"likeCount":0,"liked":null}}`,
		`{"interactive":{"bizId":"7"}}`, "PERSISTED_QUERY_NOT_FOUND PersistedQueryNotFound", `{"like":{"changed":true,"interactive":{"likeCount":1}}}`,
	} {
		got, err := json.Marshal(all[i].Data)
		must.Succeed(t, err)
		if len(all[i].Errors) > 0 {
			got = fmt.Append(nil, all[i].Errors[0].Extensions["code"], " ", all[i].Errors[0].Message)
		}
		if !strings.HasPrefix(string(got), want) {
			t.Errorf("operation %d: got %s, want %s", i, got, want)
		}
	}
	for i, line := range []string{`"operation":"Likes","kind":"query"`, `"operation":"Like","kind":"mutation"`} {
		if !strings.Contains(s.logged(), line) || !strings.Contains(s.logged(), fmt.Sprintf(`"batch":%d`, i)) {
			t.Errorf("the log has no line for operation %d, %s: %s", i, line, s.logged())
		}
	}
	_, _, metrics := s.get(t, "/metrics")
	for _, want := range []string{
		`{code="OK",operation="Likes"} 3`, `{code="OK",operation="Like"} 2`, `{code="OK",operation="Unlike"} 1`, `{code="OK",operation="Find"} 1`, `{code="BAD_USER_INPUT",operation="invalid"} 1`,
	} {
		if !strings.Contains(metrics, "ovation_graphql_requests_total"+want) {
			t.Errorf("the metrics have no ovation_graphql_requests_total%s", want)
		}
	}
	if got := s.metric(t, "ovation_graphql_requests_in_flight"); got != 0 {
		t.Errorf("got %v requests in flight, want none", got)
	}
}

// The response has the media type of a single response, with status 200: an array is not
// defined for application/graphql-response+json, so its members say what failed.
func TestMediaTypesOfBatches(t *testing.T) {
	s := start(t)
	for accept, want := range map[string]struct {
		status int
		media  string
	}{
		"*/*":              {200, "application/json; charset=utf-8"},
		"application/json": {200, "application/json; charset=utf-8"},
		"application/graphql-response+json,application/json;q=0.9": {200, "application/graphql-response+json; charset=utf-8"},
		"text/event-stream": {406, "application/json; charset=utf-8"},
		"text/event-stream, application/graphql-response+json, text/foo": {200, "application/graphql-response+json; charset=utf-8"},
	} {
		all, whole := s.batch(t, "", batchOf(`{ nothing }`, likesOf), "Accept", accept)
		if whole.status != want.status || whole.header.Get("Content-Type") != want.media || (len(all) == 2) != (want.status == 200) {
			t.Errorf("Accept %s: got status %d, %s, with %d responses, want %d, %s", accept, whole.status, whole.header.Get("Content-Type"), len(all), want.status, want.media)
		}
	}
}

// A batch that exceeds a limit as a whole is refused before anything of it is executed.
func TestBatchesAreBoundedAsAWhole(t *testing.T) {
	s := start(t)
	repeat := func(n int, query func(i int) string) (queries []string) {
		for i := range n {
			queries = append(queries, query(i))
		}
		return queries
	}
	likes := func(n int) string {
		fields := ""
		for i := range n {
			fields += fmt.Sprintf(`a%d: like(input: {biz: "video", bizId: "%d"}) { changed } `, i, i)
		}
		return "mutation {" + fields + "}"
	}
	long := func(i int) string {
		return fmt.Sprintf("query Q%d { __typename } # %s", i, strings.Repeat("x", 10_000))
	}
	introspect := func(i int) string {
		return fmt.Sprintf("query I%d { __schema { types { fields { args { type { name fields { name description args { name description } } } } type { fields { name } } } } } }", i)
	}
	for name, test := range map[string]struct {
		operations []string
		status     int
		code, want string
	}{
		"empty":             {nil, 400, "BAD_USER_INPUT", "the batch is empty"},
		"too many":          {repeat(11, func(int) string { return likeIt }), 400, "LIMIT_EXCEEDED", "the batch has more than 10 operations"},
		"too much":          {append([]string{likeIt}, repeat(5, expensive)...), 400, "LIMIT_EXCEEDED", "the operations of the batch cost"},
		"too many actions":  {[]string{likeIt, likes(10)}, 400, "LIMIT_EXCEEDED", "the mutations of the batch have 11 root fields or more"},
		"too long":          {append([]string{likeIt}, repeat(7, long)...), 400, "LIMIT_EXCEEDED", "the queries of the batch are"},
		"too much of types": {append([]string{likeIt}, repeat(9, introspect)...), 400, "LIMIT_EXCEEDED", "the introspection of the batch costs"},
		"no query":          {[]string{likeIt, ""}, 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			operations := batchOf(test.operations...)
			if operations == nil {
				operations = []map[string]any{}
			}
			all, whole := s.batch(t, "alice", operations)
			if test.status == 0 { // an operation that is invalid by itself does not refuse the batch
				if len(all) != 2 || len(all[1].Errors) != 1 {
					t.Fatalf("got %+v, %+v, want two responses, the second with an error", all, whole)
				}
				same(t, s.ok(t, "alice", unlikeIt), `{"unlike":{"changed":true,"interactive":{"likeCount":0}}}`)
				return
			}
			if message := whole.refused(t, test.code, name); whole.status != test.status || !strings.Contains(message, test.want) {
				t.Errorf("got status %d, %s, want %d, %q", whole.status, message, test.status, test.want)
			}
			same(t, s.ok(t, "alice", likesOf), `{"interactive":{"likeCount":0,"liked":null}}`)
		})
	}
	for name, body := range map[string]string{
		`"query" is missing in operation 1 of the batch`:  `[{"query":"{__typename}"},{"variables":{}}]`,
		"operation 1 of the batch must be a JSON object":  `[{"query":"{__typename}"},"{__typename}"]`,
		"the body is not valid JSON":                      `[{"query":"{__typename}"},]`,
		"it ends too early":                               `[{"query":"{__typename}"}`,
		"the body has more after the end of the JSON":     `[{"query":"{__typename}"}]]`,
		`"query" is in the body more than once`:           `[{"query":"{__typename}","query":""}]`,
		"operation 0 of the batch must be a JSON object ": `[[{"query":"{__typename}"}]]`,
		"the body holds more than 10000 values":           `[{"query":"{__typename}","variables":{"a":[` + strings.Repeat("0,", 6000) + `0]}},{"query":"{__typename}","variables":{"a":[` + strings.Repeat("0,", 6000) + `0]}}]`,
		"nests lists and objects too deep":                `[{"query":"{__typename}","variables":{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}}]`,
	} {
		if status, _, text := s.exchange(t, http.MethodPost, "/graphql", body); status != 400 || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), name) {
			t.Errorf("%.60s: got status %d, %s, want 400, %s", body, status, text, name)
		}
	}
}

// expensive returns a query whose cost is more than a quarter of the maximum.
func expensive(i int) string {
	return fmt.Sprintf(`query E%d { viewer { likes(first: 100) { edges { node { at interactive { id biz bizId likeCount readCount
		author { likes(first: 5) { edges { node { at interactive { id biz bizId likeCount readCount } } } } } } } } } } }`, i)
}

// The client pays for all operations of a batch, or for none.
func TestBatchesArePaidAsTheirSum(t *testing.T) {
	const perSecond = 20
	s := start(t, withRates(rate.Config{PerUser: perSecond}))
	wantRateLimit(t, perSecond, 5*countsCost, 0, func() bool {
		all, whole := s.batch(t, "alice", batchOf(countsQuery, countsQuery, countsQuery, countsQuery, countsQuery))
		if all == nil {
			isRateLimited(t, whole)
		}
		return all == nil
	})
	for len(s.ask(t, "bob", countsQuery).Errors) == 0 { // then bob has too few units left for a like
	}
	all, whole := s.batch(t, "bob", batchOf(likeIt, countsQuery))
	if all != nil {
		t.Fatalf("got %+v, want the batch refused", all)
	}
	isRateLimited(t, whole)
	same(t, s.ok(t, "carol", likesOf), `{"interactive":{"likeCount":0,"liked":null}}`)
}
