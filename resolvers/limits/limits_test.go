package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/graph"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// service is an executor behind the limits.
type service struct {
	*executor.Executor

	limits *Limits
}

func newService(tb testing.TB, cfg Config) *service {
	tb.Helper()
	cfg.Table, cfg.Fast = plan.Table{"Folder.name": {Weight: 1}, "Folder.description": {Weight: 19}, "User.friends": {Scans: true}}, graph.PlainSchema
	s := &service{Executor: executor.New(graph.NewExecutableSchema(graph.Config{}))}
	s.limits = Install(s.Executor, cfg)
	return s
}

// ask processes an operation up to its execution. Variables are JSON.
func (s *service) ask(tb testing.TB, query, variables string) (*graphql.OperationContext, gqlerror.List) {
	tb.Helper()
	return s.askFor(tb, "", query, variables)
}

func (s *service) askFor(tb testing.TB, name, query, variables string) (*graphql.OperationContext, gqlerror.List) {
	tb.Helper()
	params := &graphql.RawParams{Query: query, OperationName: name}
	if variables != "" {
		decode(tb, variables, &params.Variables)
	}
	return s.CreateOperationContext(graphql.StartOperationTrace(context.Background()), params)
}

// decode reads JSON as the transport does.
func decode(tb testing.TB, text string, into *map[string]any) {
	tb.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		tb.Fatal(err)
	}
}

func numbered(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// nested returns a query with the given number of levels.
func nested(levels int) string {
	return "{" + strings.Repeat("a{", levels-1) + "a" + strings.Repeat("}", levels-1) + "}"
}

// doubling returns a query with a chain of fragments, each of which spreads the next one
// twice.
func doubling(levels int) string {
	var text strings.Builder
	text.WriteString("{viewer{...F0}}")
	for i := range levels {
		fmt.Fprintf(&text, "fragment F%d on User{...F%d ...F%d}", i, i+1, i+1)
	}
	fmt.Fprintf(&text, "fragment F%d on User{id}", levels)
	return text.String()
}

const subject = `interactive(biz:"a",bizId:"1")`

const readOne = `read(input:{biz:"a",bizId:"1"}){changed}`

const watch = `interactiveChanged(subjects:[{biz:"a",bizId:"1"}])`

// manySubjects are variables with 100 subjects.
var manySubjects = `{"s":[` + strings.Repeat(`{"biz":"a","bizId":"1"},`, 99) + `{"biz":"a","bizId":"1"}]}`

func TestEachLimitErrorStatesTheActualValue(t *testing.T) {
	const types = "types{fields{type{name fields{type{name kind}}}}}"
	tests := map[string]struct{ query, want string }{
		"text":                         {"{viewer{id}}#" + strings.Repeat("x", 64<<10), "65549 bytes long; at most 65536"},
		"tokens":                       {"{nodes(ids:[" + strings.Repeat(`1 `, 10_000) + "]){id}}", "10012 tokens; at most 10000"},
		"comments":                     {"{viewer{id}}" + strings.Repeat("#\n", 10_000), "10006 tokens; at most 10000"},
		"brackets":                     {"{" + strings.Repeat("a{", 40) + strings.Repeat("}", 41), "more than 40 levels"},
		"lists in lists":               {"{a(b:" + strings.Repeat("[", 39) + "){c}}", "more than 40 levels"},
		"definitions":                  {numbered(101, "query Q%d{viewer{id}}"), "101 operations and fragments; at most 100"},
		"depth":                        {nested(16), "16 levels deep; at most 15"},
		"depth of introspection":       {"{__schema" + strings.Repeat("{a", 25) + strings.Repeat("}", 26), "introspection is 26 levels deep; at most 25"},
		"depth of a fragment":          {"{viewer{id}}fragment A on User" + strings.Repeat("{a", 38) + "{...B}" + strings.Repeat("}", 38) + "fragment B on User{a{a{a}}}", "a fragment is 41 levels deep; at most 40"},
		"fields":                       {"{" + subject + "{" + strings.Repeat("biz ", 1000) + "}}", "1001 fields and fragments, its fragments filled in; at most 1000"},
		"fields by fragments":          {"{" + strings.Repeat("...A ", 40) + "}fragment A on Query{" + strings.Repeat("viewer{id}", 20) + "}", "1640 fields and fragments"},
		"fields by doubling fragments": {doubling(60), "more than a billion"},
		"fields of all operations":     {numbered(20, "query Q%d{viewer{"+strings.Repeat("id ", 60)+"}}"), "the document has 1220 fields and fragments; at most 1000"},
		"aliases":                      {"{" + subject + "{" + numbered(101, "a%d:id ") + "}}", "101 aliases; at most 100"},
		"aliases by fragments":         {"{" + strings.Repeat("viewer{...A}", 11) + "}fragment A on User{" + numbered(10, "a%d:id ") + "}", "110 aliases"},
		"directives of a field":        {"{viewer" + strings.Repeat("@skip(if:false)", 11) + "{id}}", "11 directives at one place; at most 10"},
		"directives of a query":        {"query" + strings.Repeat("@a", 11) + "{viewer{id}}", "11 directives"},
		"directives of a variable":     {"query($a:Int" + strings.Repeat("@a", 11) + "){viewer{id}}", "11 directives"},
		"cost":                         {"{interactives(subjects:[" + strings.Repeat(`{biz:"a",bizId:"1"}`, 100) + "]){likers(first:100){edges{node{id}}}}}", "costs 30201: its answer can hold that many fields; at most 20000"},
		"cost of a subscription":       {"subscription{interactiveChanged(subjects:[" + strings.Repeat(`{biz:"a",bizId:"1"}`, 100) + "]){likers(first:20){edges{node{id}}}}}", "costs 6201: its answer can hold that many fields; at most 5000"},
		"fields of a mutation":         {"mutation{" + numbered(100, "a%d:"+readOne) + "}", "has 100 root fields, its fragments filled in; at most 10"},
		"mutations by fragments":       {"mutation{...A ...on Mutation{...A}}fragment A on Mutation{" + numbered(6, "a%d:"+readOne) + "}", "has 12 root fields"},
		"cost of introspection":        {"{__schema{" + types + " " + numbered(20, "a%d:"+types+" ") + "}}", "introspection costs"},
	}
	s := newService(t, Config{Introspection: true})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := s.ask(t, test.query, "")
			if len(errs) != 1 || errs[0].Extensions["code"] != "LIMIT_EXCEEDED" || !strings.Contains(errs[0].Message, test.want) {
				t.Errorf("got %v, want LIMIT_EXCEEDED alone, with %q", errs, test.want)
			}
		})
	}
}

func TestDepthIsThatOfFragmentsFilledIn(t *testing.T) {
	s := newService(t, Config{})
	for levels, want := range map[int]string{15: `Cannot query field "a"`, 16: "16 levels deep"} {
		query := "{...F1}"
		for i := 1; i < levels; i++ {
			query += fmt.Sprintf("fragment F%d on Query{... on Query{a{...F%d}}}", i, i+1)
		}
		query += fmt.Sprintf("fragment F%d on Query{a}", levels)
		if _, errs := s.ask(t, query, ""); len(errs) == 0 || !strings.Contains(errs[0].Message, want) {
			t.Errorf("%d levels: got %v, want %q", levels, errs, want)
		}
	}
}

func TestInvalidDocumentsAreRejected(t *testing.T) {
	tests := map[string]struct {
		introspection                bool
		name, query, variables, want string
	}{
		"a fragment in itself":     {true, "", "{viewer{...A}}fragment A on User{id ...A}", "", `fragment "A" contains itself`},
		"a cycle of fragments":     {true, "", "{viewer{...A}}fragment A on User{...B}fragment B on User{...C}fragment C on User{...A}", "", "contains itself"},
		"an unused cycle":          {true, "", "{viewer{id}}fragment A on User{...B}fragment B on User{...A}", "", "contains itself"},
		"a repeated fragment name": {true, "", "{viewer{...A}}fragment A on User{id}fragment A on User{id}", "", `more than one fragment "A"`},
		"introspection turned off": {false, "", "{__schema{types{name}}}", "", "introspection is turned off"},
		"type turned off":          {false, "", `{viewer{id}...A}fragment A on Query{__type(name:"User"){name}}`, "", "introspection is turned off"},
		"include of null":          {true, "", "query($a:Boolean=true){viewer@include(if:$a){id}}", `{"a":null}`, "must be true or false"},
		"skip of null":             {true, "", "query($a:Boolean=true){viewer{...@skip(if:$a){id}}}", `{"a":null}`, "must be true or false"},
		"no operation name":        {true, "", "query A{viewer{id}}query B{viewer{id}}", "", "has 2 operations; name the one to execute by operationName"},
		"two subscriptions":        {true, "", "subscription{a:" + watch + "{id}b:" + watch + "{id}}", "", "a subscription must select one field"},
		"a subscription, skipped":  {true, "", "subscription{" + watch + "@skip(if:true){id}}", "", "a subscription must select one field"},
		"no such operation":        {true, "C", "query A{viewer{id}}query B{viewer{id}}", "", `has no operation "C"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := newService(t, Config{Introspection: test.introspection}).askFor(t, test.name, test.query, test.variables)
			if len(errs) != 1 || errs[0].Extensions["code"] != "BAD_USER_INPUT" || !strings.Contains(errs[0].Message, test.want) {
				t.Errorf("got %v, want BAD_USER_INPUT alone, with %q", errs, test.want)
			}
		})
	}
	if _, errs := newService(t, Config{}).askFor(t, strings.Repeat("a", 257), "{viewer{id}}", ""); len(errs) != 1 || !strings.Contains(errs[0].Message, "257 bytes long; at most 256") {
		t.Errorf("a long operation name: got %v, want the limit of 256 bytes", errs)
	}
}

func TestTypicalDocumentsAreAccepted(t *testing.T) {
	s := newService(t, Config{Introspection: true})
	tests := map[string]struct{ query, variables string }{
		"the introspection query": {introspection.Query, ""},
		"a page":                  {"query($s:[SubjectInput!]!){interactives(subjects:$s){id biz readCount liked{reaction}collected{folder{name}}}}", `{"s":[{"biz":"a","bizId":"1"}]}`},
		"100 subjects' likers":    {"query($s:[SubjectInput!]!){interactives(subjects:$s){likeCount likers(first:20){edges{node{user{userId}}}}}}", manySubjects},
		"a typename":              {"{__typename viewer{__typename}}", ""},
		"100 aliases":             {"{" + subject + "{" + numbered(100, "a%d:id ") + "}}", ""},
		"1000 fields":             {"{" + subject + "{" + strings.Repeat("biz ", 999) + "}}", ""},
		"15 levels":               {"{viewer{likes(first:2){edges{node{interactive{likers(first:2){edges{node{interactive{likers(first:2){edges{node{interactive{liked{id}}}}}}}}}}}}}}}", ""},
		"a mutation":              {"mutation{" + readOne + "}", ""},
		"10 fields of a mutation": {"mutation{...A " + numbered(5, "a%d:"+readOne) + "}fragment A on Mutation{" + numbered(5, "b%d:"+readOne) + "}", ""},
		"a subscription":          {"subscription($a:Boolean=true,$s:[SubjectInput!]!){...on Subscription@include(if:$a){interactiveChanged(subjects:$s){likeCount liked{reaction at}collected{at folder{id name}}}}}", manySubjects},
		"conditions":              {"query($a:Boolean=true,$b:Boolean!){viewer@include(if:$a)@skip(if:$b){id}}", `{"b":false}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second comes from the cache
				operation, errs := s.ask(t, test.query, test.variables)
				if errs != nil {
					t.Fatal(errs)
				}
				if operation.DisableIntrospection {
					t.Error("introspection is disabled, want it enabled")
				}
			}
		})
	}
	if operation, errs := newService(t, Config{}).ask(t, "{__typename}", ""); errs != nil || !operation.DisableIntrospection {
		t.Errorf("without the setting: got introspection enabled or the errors %v, want it disabled", errs)
	}
}

func TestCostIsTheMaximumSizeOfTheResponse(t *testing.T) {
	const few = `{"s":[{"biz":"a","bizId":"1"},{"biz":"a","bizId":"2"},{"biz":"a","bizId":"3"}]}`
	tests := map[string]struct {
		query, variables string
		want             int
	}{
		"fields":                             {"{viewer{id userId}}", "", 3},
		"typename":                           {"{__typename}", "", 1},
		"a literal list":                     {`{nodes(ids:["1","2","3","4"]){id}}`, "", 1 + 4},
		"a list of one":                      {`{nodes(ids:"1"){id}}`, "", 1 + 1},
		"an empty list":                      {`{nodes(ids:[]){id}}`, "", 1},
		"a list of variables":                {`query($a:ID!){nodes(ids:[$a,$a]){id}}`, `{"a":"1"}`, 1 + 2},
		"a variable list":                    {"query($s:[SubjectInput!]!){interactives(subjects:$s){id biz}}", few, 1 + 3*2},
		"a variable of one":                  {"query($s:[SubjectInput!]!){interactives(subjects:$s){id biz}}", `{"s":{"biz":"a","bizId":"1"}}`, 1 + 2},
		"a list too long":                    {"query($i:[ID!]!){nodes(ids:$i){id}}", `{"i":[` + strings.Repeat("1,", 500) + `1]}`, 1 + 100},
		"first":                              {"{viewer{likes(first:7){edges{cursor node{id}}pageInfo{hasNextPage endCursor}}}}", "", 1 + 1 + 7 + 1 + 7*3 + 3},
		"first without edges":                {"{viewer{likes(first:7){pageInfo{endCursor}}}}", "", 1 + 1 + 7 + 2},
		"first by default":                   {"{viewer{likes{edges{cursor}}}}", "", 1 + 1 + 20 + 1 + 20},
		"first as null":                      {"{viewer{likes(first:null){edges{cursor}}}}", "", 1 + 1 + 20 + 1 + 20},
		"first as a variable":                {"query($n:Int){viewer{likes(first:$n){edges{cursor}}}}", `{"n":3}`, 1 + 1 + 3 + 1 + 3},
		"first with an unset variable":       {"query($n:Int){viewer{likes(first:$n){edges{cursor}}}}", "", 1 + 1 + 20 + 1 + 20},
		"first by the default of a variable": {"query($n:Int=5){viewer{likes(first:$n){edges{cursor}}}}", "", 1 + 1 + 5 + 1 + 5},
		"first too high":                     {"{viewer{likes(first:1000000){edges{cursor}}}}", "", 1 + 1 + 100 + 1 + 100},
		"first below one":                    {"{viewer{likes(first:-1){edges{cursor}}}}", "", 1 + 1 + 1 + 1 + 1},
		"fragments":                          {"{viewer{likes(first:3){...A ...A}}}fragment A on LikedConnection{edges{...on LikedEdge{cursor}}}", "", 1 + 1 + 3 + 2*(1+3)},
		"long texts":                         {"{viewer{folders(first:3){edges{node{name description}}}}}", "", 1 + 1 + 3 + 1 + 3*(1+2+20)},
		"conditions":                         {"{viewer@skip(if:true){id}}", "", 2},
		"a subscription":                     {"subscription($s:[SubjectInput!]!){interactiveChanged(subjects:$s){id likers(first:2){edges{cursor}}}}", few, 1 + 3*(1+(1+2)+1+2)},
		"a list of one biz":                  {`{viewer{likes(biz:"video",first:2){edges{cursor}}}}`, "", 1 + (1 + storage.MaxListScan) + 1 + 2},
		"of a biz that is null":              {`{viewer{likes(biz:null,first:2){edges{cursor}}}}`, "", 1 + (1 + 2) + 1 + 2},
		"of a biz by default":                {`{viewer{following(first:2){edges{cursor}}}}`, "", 1 + (1 + storage.MaxListScan) + 1 + 2},
		"of any biz instead of the default":  {`{viewer{following(biz:null,first:2){edges{cursor}}}}`, "", 1 + (1 + 2) + 1 + 2},
		"of a biz with an unset variable":    {`query($b:String){viewer{following(biz:$b,first:2){edges{cursor}}}}`, "", 1 + (1 + storage.MaxListScan) + 1 + 2},
		"of a biz with a null variable":      {`query($b:String){viewer{following(biz:$b,first:2){edges{cursor}}}}`, `{"b":null}`, 1 + (1 + 2) + 1 + 2},
		"a list that scans":                  {`{viewer{friends(first:2){edges{cursor}}}}`, "", 1 + (1 + storage.MaxListScan) + 1 + 2},
		"the example":                        {"query($s:[SubjectInput!]!){interactives(subjects:$s){likeCount likers(first:20){edges{node{user{userId}}}}}}", manySubjects, 8301},
		"introspection":                      {"{viewer{id}__schema{queryType{name}}}", "", 3},
	}
	s := newService(t, Config{Introspection: true})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			operation, errs := s.ask(t, test.query, test.variables)
			if errs != nil {
				t.Fatal(errs)
			}
			if got, _, _ := s.limits.Plan(operation).Cost(operation.Variables); got != test.want {
				t.Errorf("the query costs %d, want %d", got, test.want)
			}
		})
	}
	operation, errs := s.ask(t, introspection.Query, "")
	if errs != nil {
		t.Fatal(errs)
	}
	if data, schema, _ := s.limits.Plan(operation).Cost(nil); data != 1 || schema > maxIntrospectionCost/2 {
		t.Errorf("the introspection query: got the costs %d and %d, want 1 and at most %d", data, schema, maxIntrospectionCost/2)
	}
	if _, errs := newService(t, Config{MaxMutationFields: 1}).ask(t, "mutation{a:"+readOne+" b:"+readOne+"}", ""); len(errs) != 1 || !strings.Contains(errs[0].Message, "has 2 root fields") {
		t.Errorf("a limit of 1 root field: got %v, want an error about 2 root fields", errs)
	}
	if _, errs := newService(t, Config{MaxCost: 2}).ask(t, "{viewer{id userId}}", ""); len(errs) != 1 || !strings.Contains(errs[0].Message, "costs 3") {
		t.Errorf("a limit of cost 2: got %v, want an error about cost 3", errs)
	}
}
