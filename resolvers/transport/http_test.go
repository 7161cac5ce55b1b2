package transport_test

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/resolvers/transport"
)

const gqlMedia = "application/graphql-response+json"

func TestOperationsAreAnswered(t *testing.T) {
	s := newServer(t, transport.Config{})
	const withVariables = `query Q($id: ID!) { interactive(biz: "video", bizId: $id) { bizId } }`
	tests := map[string]struct {
		got  answer
		want string
	}{
		"POST":            {s.post(t, query(`{interactive(biz:"video",bizId:"1"){biz bizId}}`)), `{"data":{"interactive":{"biz":"video","bizId":"1"}}}`},
		"POST in UTF-8":   {s.send(t, "POST", "/graphql", query(`{__typename}`), "Content-Type", `application/JSON; charset="UTF-8"; x=y`), `{"data":{"__typename":"Query"}}`},
		"POST a mutation": {s.post(t, query(`mutation{read(input:{biz:"a",bizId:"1"}){changed}}`)), `{"data":{"read":{"changed":true}}}`},
		"variables": {
			s.post(t, fmt.Sprintf(`{"query":%q,"variables":{"id":12345678901234567890},"operationName":"Q","extensions":{},"else":[]}`, withVariables)),
			`{"data":{"interactive":{"bizId":"12345678901234567890"}}}`,
		},
		"nulls":                             {s.post(t, `{"query":"{__typename}","variables":null,"operationName":null,"extensions":null}`+" \n"), `{"data":{"__typename":"Query"}}`},
		"GET":                               {s.send(t, "GET", at("query", `{__typename}`), ""), `{"data":{"__typename":"Query"}}`},
		"GET variables":                     {s.send(t, "GET", at("query", withVariables, "variables", `{"id":"é"}`, "operationName", "Q", "extensions", `{}`), ""), `{"data":{"interactive":{"bizId":"é"}}}`},
		"HEAD":                              {s.send(t, "HEAD", at("query", `{__typename}`), ""), `{"data":{"__typename":"Query"}}`},
		"a viewer":                          {s.post(t, query(`{viewer{userId}}`), "X-Ovation-User", "alice"), `{"data":{"viewer":{"userId":"alice"}}}`},
		"an anonymous viewer":               {s.post(t, query(`{viewer{userId}}`)), `{"data":{"viewer":null}}`},
		"a field error":                     {s.post(t, query(`{viewer{userId} interactive(biz:"fail",bizId:"1"){biz}}`)), `{"errors":[{"message":"no such thing","path":["interactive"],"locations":[{"line":1,"column":17}],"extensions":{"code":"NOT_FOUND"}}],"data":null}`},
		"a field error, GraphQL media type": {s.post(t, query(`{interactive(biz:"fail",bizId:"1"){biz}}`), "Accept", gqlMedia), `{"errors":[{"message":"no such thing","path":["interactive"],"locations":[{"line":1,"column":2}],"extensions":{"code":"NOT_FOUND"}}],"data":null}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.got.status != http.StatusOK || test.got.body != test.want {
				t.Errorf("got status %d, %s, want 200, %s", test.got.status, test.got.body, test.want)
			}
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Length": strconv.Itoa(len(test.want)),
			} {
				if got := test.got.header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestTheMediaTypeIsNegotiated(t *testing.T) {
	s := newServer(t, transport.Config{})
	tests := map[string]struct {
		want   string
		status int // of the response to an invalid document
	}{
		"":                     {"application/json", 200},
		"*/*":                  {"application/json", 200},
		"application/*":        {"application/json", 200},
		"application/json":     {"application/json", 200},
		"text/html, */*;q=0.1": {"application/json", 200},
		gqlMedia:               {gqlMedia, 400},
		gqlMedia + "; charset=utf-8, application/json;q=0.9": {gqlMedia, 400},
		"application/json, " + gqlMedia:                      {gqlMedia, 400},
		"application/json;q=0.9, " + gqlMedia + ";q=0.8":     {"application/json", 200},
		"*/*, " + gqlMedia + ";q=0":                          {"application/json", 200},
		"application/json;q=0, */*":                          {gqlMedia, 400},
		"application/*;q=0.2, " + gqlMedia + ";q=0.1":        {"application/json", 200},
		"nonsense;;;, application/json;q=x, " + gqlMedia:     {gqlMedia, 400},
	}
	for accept, test := range tests {
		t.Run(accept, func(t *testing.T) {
			for body, want := range map[string]int{`{__typename}`: 200, `{nonsense}`: test.status, `{`: test.status} {
				header := []string{"Accept", accept}
				if accept == "" {
					header = nil
				}
				got := s.post(t, query(body), header...)
				media, parameters, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
				if got.status != want || media != test.want || parameters["charset"] != "utf-8" {
					t.Errorf("%s: got status %d, %q, want %d, %q in UTF-8", body, got.status, got.header.Get("Content-Type"), want, test.want)
				}
				if has := strings.Contains(got.body, `"data"`); has != (body == `{__typename}`) {
					t.Errorf("%s: got data: %t, want %t: %s", body, has, !has, got.body)
				}
			}
		})
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	s := newServer(t, transport.Config{})
	get := func(members ...string) answer { return s.send(t, "GET", at(members...), "") }
	typed := func(media string) answer {
		return s.send(t, "POST", "/graphql", `{"query":"mutation{x}"}`, "Content-Type", media)
	}
	long := `{"query":"` + strings.Repeat("#", transport.MaxBodyBytes) + `"}`
	chunked := httptest.NewRequest(http.MethodPost, "/graphql", io.MultiReader(strings.NewReader(long)))
	chunked.Header.Set("Content-Type", "application/json")
	chunked.ContentLength = -1
	broken := httptest.NewRequest(http.MethodPost, "/graphql", io.MultiReader(strings.NewReader("{"), failingReader{}))
	broken.Header.Set("Content-Type", "application/json")
	deep := strings.Repeat("[", 100_000)
	tests := map[string]struct {
		got    answer
		status int
		code   string
		want   string
	}{
		"no body":                          {s.post(t, ""), 400, "BAD_USER_INPUT", "empty"},
		"spaces":                           {s.post(t, " \n"), 400, "BAD_USER_INPUT", "empty"},
		"malformed":                        {s.post(t, `{"query":"a",}`), 400, "BAD_USER_INPUT", "invalid character '}' looking for beginning of object key string, at byte 13"},
		"cut off":                          {s.post(t, `{"query":"{sec`), 400, "BAD_USER_INPUT", "ends too early"},
		"two values":                       {s.post(t, query("{__typename}")+"{}"), 400, "BAD_USER_INPUT", "has more after the end"},
		"garbage after":                    {s.post(t, query("{__typename}")+"!"), 400, "BAD_USER_INPUT", "has more after the end"},
		"query twice":                      {s.post(t, `{"query":"{__typename}","query":"{a:__typename}"}`), 400, "BAD_USER_INPUT", "more than once"},
		"query capitalised":                {s.post(t, `{"Query":"{__typename}"}`), 400, "BAD_USER_INPUT", `"query" is missing`},
		"many values":                      {s.post(t, `{"query":"{__typename}","variables":{"s":[`+strings.Repeat(`{"":0},`, 6000)+`0]}}`), 400, "LIMIT_EXCEEDED", "more than 10000 values"},
		"many values in an unknown member": {s.post(t, `{"query":"{__typename}","else":[`+strings.Repeat(`0,`, 20_000)+`0]}`), 400, "LIMIT_EXCEEDED", "more than 10000 values"},
		"a batch":                          {s.post(t, " ["+query("{__typename}")+"]"), 400, "BAD_USER_INPUT", "batches are not supported"},
		"a string":                         {s.post(t, `"query"`), 400, "BAD_USER_INPUT", "must be a JSON object"},
		"no query":                         {s.post(t, `{}`), 400, "BAD_USER_INPUT", `"query" is missing`},
		"query is null":                    {s.post(t, `{"query":null}`), 400, "BAD_USER_INPUT", `"query" is missing`},
		"query is a number":                {s.post(t, `{"query":7}`), 400, "BAD_USER_INPUT", `"query" must be a string`},
		"operationName is a list":          {s.post(t, `{"query":"","operationName":[]}`), 400, "BAD_USER_INPUT", `"operationName" must be a string`},
		"variables are a list":             {s.post(t, `{"query":"","variables":[]}`), 400, "BAD_USER_INPUT", `"variables" must be an object or null`},
		"extensions are a string":          {s.post(t, `{"query":"","extensions":"x"}`), 400, "BAD_USER_INPUT", `"extensions" must be an object or null`},
		"invalid UTF-8":                    {s.post(t, "{\"query\":\"{__typename}#\xff\"}"), 400, "BAD_USER_INPUT", "not valid UTF-8"},
		"too long":                         {s.post(t, long), 413, "LIMIT_EXCEEDED", "longer than 1048576 bytes"},
		"too long, of unknown length":      {s.serve(t, chunked), 413, "LIMIT_EXCEEDED", "longer than 1048576 bytes"},
		"a body that breaks off":           {s.serve(t, broken), 400, "BAD_USER_INPUT", "the body was cut off"},
		"deep variables":                   {s.post(t, `{"query":"","variables":{"a":`+deep+`}}`), 400, "LIMIT_EXCEEDED", "at most 64 are allowed"},
		"deep behind brackets":             {s.post(t, `{"query":"]]]]\"]]]]","variables":{"a":`+deep+`}}`), 400, "LIMIT_EXCEEDED", "at most 64 are allowed"},
		"no content type":                  {typed(""), 415, "BAD_USER_INPUT", "application/json"},
		"text":                             {typed("text/plain"), 415, "BAD_USER_INPUT", "application/json"},
		"a form":                           {typed("application/x-www-form-urlencoded"), 415, "BAD_USER_INPUT", "application/json"},
		"a multipart form":                 {typed("multipart/form-data; boundary=x"), 415, "BAD_USER_INPUT", "application/json"},
		"a query as a body":                {typed("application/graphql"), 415, "BAD_USER_INPUT", "application/json"},
		"another charset":                  {typed("application/json; charset=utf-16"), 415, "BAD_USER_INPUT", "UTF-8"},
		"a broken content type":            {typed("application/json; charset"), 415, "BAD_USER_INPUT", "application/json"},
		"a compressed body":                {s.post(t, query("{__typename}"), "Content-Encoding", "gzip"), 415, "BAD_USER_INPUT", "Content-Encoding"},
		"PUT":                              {s.send(t, "PUT", "/graphql", query("{__typename}")), 405, "BAD_USER_INPUT", "POST"},
		"OPTIONS":                          {s.send(t, "OPTIONS", "/graphql", ""), 405, "BAD_USER_INPUT", "POST"},
		"an answer as HTML":                {s.post(t, query("{__typename}"), "Accept", "text/html"), 406, "BAD_USER_INPUT", "Accept"},
		"an answer in another set":         {s.post(t, query("{__typename}"), "Accept", "application/json; charset=latin1"), 406, "BAD_USER_INPUT", "Accept"},
		"GET without query":                {get("query", ""), 400, "BAD_USER_INPUT", `"query" is missing`},
		"GET of two queries":               {get("query", "{a}", "query", "{b}"), 400, "BAD_USER_INPUT", "more than once"},
		"GET in invalid UTF-8":             {get("query", "{__typename}#\xff"), 400, "BAD_USER_INPUT", "not valid UTF-8"},
		"GET of a malformed URL":           {s.send(t, "GET", "/graphql?query=%zz", ""), 400, "BAD_USER_INPUT", "URL is malformed"},
		"GET with invalid variables":       {get("query", "{__typename}", "variables", "[1]"), 400, "BAD_USER_INPUT", `"variables" must be an object or null`},
		"GET with deep variables":          {get("query", "{__typename}", "variables", deep[:65]), 400, "LIMIT_EXCEEDED", "at most 64 are allowed"},
		"GET with invalid extensions":      {get("query", "{__typename}", "extensions", "{"), 400, "BAD_USER_INPUT", "ends too early"},
		"GET of a mutation":                {get("query", `mutation{read(input:{biz:"a",bizId:"1"}){changed}}`), 405, "BAD_USER_INPUT", "mutations must be sent by POST"},
		"a malformed document":             {s.post(t, query("{"), "Accept", gqlMedia), 400, "BAD_USER_INPUT", "Expected Name"},
		"no operation":                     {s.post(t, query(" "), "Accept", gqlMedia), 400, "BAD_USER_INPUT", "no operation"},
		"an unknown operation":             {s.post(t, `{"query":"query A{__typename}","operationName":"B"}`, "Accept", gqlMedia), 400, "BAD_USER_INPUT", "operation B not found"},
		"an unknown field":                 {s.post(t, query("{secret}"), "Accept", gqlMedia), 400, "BAD_USER_INPUT", `Cannot query field "secret"`},
		"a long value":                     {s.post(t, query(`{interactive(biz:`+strings.Repeat("é", 9_000)+`,bizId:"1"){id}}`), "Accept", gqlMedia), 400, "BAD_USER_INPUT", ""},
		"a long literal":                   {s.post(t, query(`{interactive(biz:`+strings.Repeat("X", 9_000)+`,bizId:"1"){id}}`), "Accept", gqlMedia), 400, "BAD_USER_INPUT", "XXX …"},
		"many unknown fields":              {s.post(t, query("{"+strings.Repeat("a ", 500)+"}"), "Accept", gqlMedia), 400, "BAD_USER_INPUT", `Cannot query field`},
		"a subscription":                   {s.post(t, query(`subscription{interactiveChanged(subjects:[{biz:"wait",bizId:"1"}]){id}}`), "Accept", gqlMedia), 400, "BAD_USER_INPUT", "subscription"},
		"a bad token":                      {s.post(t, query("{__typename}"), "Authorization", "Bearer x"), 401, "UNAUTHENTICATED", "token"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.got.status != test.status || test.got.code() != test.code || !strings.Contains(test.got.parsed.Errors[0].Message, test.want) {
				t.Errorf("got status %d, want %d, %s with %q: %s", test.got.status, test.status, test.code, test.want, test.got.body)
			}
			if strings.Contains(test.got.body, `"data"`) || strings.Contains(test.got.body, "json.") || strings.Contains(test.got.body, "map[") {
				t.Errorf("got %s, want neither data nor names of Go types", test.got.body)
			}
			if n := len(test.got.parsed.Errors); n < 1 || n > 20 || len(test.got.body) > 20*1000 {
				t.Errorf("got %d errors in %d bytes, want 1 to 20 in at most 20000", n, len(test.got.body))
			}
		})
	}
	for name, allow := range map[string]string{"PUT": "GET, HEAD, POST", "OPTIONS": "GET, HEAD, POST", "GET of a mutation": "POST"} {
		if got := tests[name].got.header.Get("Allow"); got != allow {
			t.Errorf("%s: got Allow %q, want %q", name, got, allow)
		}
	}
	if got := tests["a bad token"].got.header.Get("WWW-Authenticate"); got != `Bearer error="invalid_token"` {
		t.Errorf("got WWW-Authenticate %q, want Bearer error=\"invalid_token\"", got)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// executor is an executor whose schema has a subscription, or that fails as configured.
type executor struct {
	graphql.GraphExecutor

	operation ast.Operation
	errs      gqlerror.List
	response  *graphql.Response
}

func (e executor) CreateOperationContext(context.Context, *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	return &graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: e.operation}}, e.errs
}

func (e executor) DispatchOperation(ctx context.Context, _ *graphql.OperationContext) (graphql.ResponseHandler, context.Context) {
	return graphql.OneShot(e.response), ctx
}

func TestErrorsOfTheExecutorBecomeAStatus(t *testing.T) {
	coded := func(code string) gqlerror.List {
		return gqlerror.List{{Message: "no", Extensions: map[string]any{"code": code}}}
	}
	tests := map[string]struct {
		exec   executor
		status int
		body   string
	}{
		"a subscription":       {executor{operation: ast.Subscription}, 400, "graphql-transport-ws"},
		"a limit":              {executor{errs: coded("LIMIT_EXCEEDED")}, 200, "LIMIT_EXCEEDED"},
		"too many requests":    {executor{errs: coded("RATE_LIMITED")}, 429, "RATE_LIMITED"},
		"an outage":            {executor{errs: coded("UNAVAILABLE")}, 503, "UNAVAILABLE"},
		"a fault":              {executor{errs: coded("INTERNAL")}, 500, "INTERNAL"},
		"unauthenticated":      {executor{errs: coded("UNAUTHENTICATED")}, 401, "UNAUTHENTICATED"},
		"no response":          {executor{operation: ast.Query}, 503, "UNAVAILABLE"},
		"no data and no error": {executor{operation: ast.Query, response: &graphql.Response{}}, 500, "INTERNAL"},
		"extensions": {
			executor{operation: ast.Query, response: &graphql.Response{Data: []byte("{}"), Extensions: map[string]any{"a": 1}}}, 200, `{"data":{},"extensions":{"a":1}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := around(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				transport.HTTP{}.Do(w, r, test.exec)
			}), transport.Config{})
			if got := s.post(t, query("{a}")); got.status != test.status || !strings.Contains(got.body, test.body) {
				t.Errorf("got status %d, %s, want %d, %q", got.status, got.body, test.status, test.body)
			}
		})
	}
}

// Operations of a batch that were not executed in time have an error each.
func TestABatchThatTakesTooLongIsUnavailable(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := around(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport.HTTP{MaxBatch: 2}.Do(w, r, executor{operation: ast.Mutation})
	}), transport.Config{})
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`[{"query":"{a}"},{"query":"{b}"}]`)).WithContext(ended)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if n := strings.Count(w.Body.String(), "before this operation was executed"); n != 2 || w.Code != 200 {
		t.Errorf("got status %d, %s, want 200 with UNAVAILABLE twice", w.Code, w.Body)
	}
}

func TestARequestThatTakesTooLongIsUnavailable(t *testing.T) {
	s := newServer(t, transport.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(query("{__typename}"))).WithContext(ctx)
	r.Header.Set("Content-Type", "application/json")
	if got := s.serve(t, r); got.status != 503 || got.code() != "UNAVAILABLE" {
		t.Errorf("got status %d, want 503 UNAVAILABLE: %s", got.status, got.body)
	}
}
