package resolvers_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// broken is a store whose lookups can be made to fail.
type broken struct {
	storage.Store

	fail func() error
}

func (b *broken) Interactives(context.Context, storage.User, []storage.Subject, storage.Kinds) ([]storage.Interactive, error) {
	return nil, b.fail()
}

func (b *broken) Ping(context.Context) error { return b.fail() }

func failing(fail func() error) option {
	return withStore(func(s storage.Store) storage.Store { return &broken{s, fail} })
}

const page = `query Page { interactive(biz: "video", bizId: "1") { likeCount freshness } }`

func TestUnavailableStoreIsUnavailable(t *testing.T) {
	s := start(t, failing(func() error { return storage.ErrUnavailable }))
	s.refused(t, "UNAVAILABLE", "", page)
	if status, _, body := s.get(t, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "store") {
		t.Errorf("/readyz: got status %d, %q, want 503, naming the store", status, body)
	}
	if status, _, _ := s.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: got status %d, want 200", status)
	}
	// The action has succeeded, and the payload shows that its subject is unavailable.
	data := s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed durability interactive { bizId likeCount freshness } } }`)
	same(t, data["like"], `{"changed":true,"durability":"PERSISTED","interactive":{"bizId":"1","likeCount":0,"freshness":"UNAVAILABLE"}}`)
}

func TestFaultsShowTheClientNothingButAnID(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("near \"SELECT\": the secret") },
		"panic": func() error { panic("the secret") },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, failing(fail))
			message := s.refused(t, "INTERNAL", "", page)
			if strings.Contains(message, "secret") || strings.Contains(message, "SELECT") || strings.Contains(message, ".go") {
				t.Errorf("got the message %q, want none of the error's text", message)
			}
			id := message[strings.LastIndex(message, " ")+1:]
			if log := s.logged(); !strings.Contains(log, id) || !strings.Contains(log, "the secret") {
				t.Errorf("got the log %s, want the error under the id %s", log, id)
			}
		})
	}
}

func TestProbesAndMetrics(t *testing.T) {
	s := start(t)
	s.ok(t, "alice", `mutation Applaud { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	s.refused(t, "UNAUTHENTICATED", "", `mutation Applaud { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	for path, want := range map[string][]string{
		"/healthz": {"ok"},
		"/readyz":  {"ok"},
		"/metrics": {
			`ovation_graphql_requests_total{code="OK",operation="Applaud"} 1`,
			`ovation_graphql_requests_total{code="UNAUTHENTICATED",operation="Applaud"} 1`,
			`ovation_graphql_request_duration_seconds_count{operation="Applaud"} 2`,
		},
	} {
		status, _, body := s.get(t, path)
		for _, line := range want {
			if status != http.StatusOK || !strings.Contains(body, line) {
				t.Errorf("%s: got status %d, want 200 with %q: %s", path, status, line, body)
			}
		}
	}
	if status, _, _ := s.get(t, "/nowhere"); status != http.StatusNotFound {
		t.Errorf("/nowhere: got status %d, want 404", status)
	}
	log := s.logged()
	for _, want := range []string{`"operation":"Applaud"`, `"user":"alice"`, `"tenant":"default"`, `"code":"UNAUTHENTICATED"`, `"duration_ms":`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s: %s", want, log)
		}
	}
}

func TestSchemaIsHiddenWithoutIntrospection(t *testing.T) {
	s := start(t, withoutIntrospection)
	got := s.ask(t, "", `{ __schema { types { name } } }`)
	if len(got.Errors) == 0 || got.Data["__schema"] != nil {
		t.Errorf("got %+v, want errors and no schema", got)
	}
	got = s.ask(t, "", `{ viewr { userId } }`)
	if len(got.Errors) != 1 || strings.Contains(got.Errors[0].Message, "viewer") {
		t.Errorf("a misspelt field: got %+v, want an error without a suggestion", got)
	}
	s.ok(t, "", page)
}

// Each custom scalar states the URL of its specification, for code generators and
// readers.
func TestCustomScalarsAreSpecified(t *testing.T) {
	s := start(t)
	builtIn := []string{"Boolean", "Float", "ID", "Int", "String"}
	var specified []string
	for _, typ := range dig(t, s.ok(t, "", `{ __schema { types { kind name specifiedByURL } } }`), "__schema", "types").([]any) {
		name := dig(t, typ, "name").(string)
		if dig(t, typ, "kind") != "SCALAR" || slices.Contains(builtIn, name) {
			continue
		}
		if url, _ := dig(t, typ, "specifiedByURL").(string); !strings.HasPrefix(url, "https://") {
			t.Errorf("scalar %s: got specifiedByURL %q, want an https URL", name, url)
		}
		specified = append(specified, name)
	}
	if slices.Sort(specified); !slices.Equal(specified, []string{"Int64", "Time"}) {
		t.Errorf("got the scalars %v, want [Int64 Time]", specified)
	}
}

// TestEveryPartOfTheSchemaIsDescribed checks the descriptions by introspection, as GraphiQL
// reads them.
func TestEveryPartOfTheSchemaIsDescribed(t *testing.T) {
	s := start(t)
	data := s.ok(t, "", `{ __schema { types { name description
		fields { name description args { name description } }
		inputFields { name description } enumValues { name description } } } }`)
	described := func(what string, part any) {
		if text, _ := dig(t, part, "description").(string); text == "" {
			t.Errorf("%s%v: got no description, want one", what, dig(t, part, "name"))
		}
	}
	list := func(part any, name string) []any { l, _ := dig(t, part, name).([]any); return l }
	for _, typ := range dig(t, data, "__schema", "types").([]any) {
		name := dig(t, typ, "name").(string)
		if strings.HasPrefix(name, "__") {
			continue
		}
		described("", typ)
		for _, field := range list(typ, "fields") {
			described(name+".", field)
			for _, arg := range list(field, "args") {
				described(name+"."+dig(t, field, "name").(string)+".", arg)
			}
		}
		for _, part := range append(list(typ, "inputFields"), list(typ, "enumValues")...) {
			described(name+".", part)
		}
	}
}

// TestGraphQLOverHTTPAudit runs the audits of the npm package graphql-http against a server.
// It needs Node.js; `make test` installs everything else.
func TestGraphQLOverHTTPAudit(t *testing.T) {
	const modules = "../web/node_modules/graphql-http"
	_, errNode := exec.LookPath("node")
	_, errModules := os.Stat(modules)
	if err := errors.Join(errNode, errModules); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs Node.js and web/node_modules: ", err)
	}
	s := start(t)
	out, err := exec.CommandContext(t.Context(), "node", "../web/check/graphql-http-audit.mjs", s.url+"/graphql").CombinedOutput()
	t.Logf("%s", out)
	must.Succeed(t, err)
}
