package limits

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/codes"
)

func TestHostileDocumentsAreAnsweredSoon(t *testing.T) {
	atMost := manyOrdinary(t)
	var circle strings.Builder
	circle.WriteString("{viewer{...F0}}")
	for i := range 99 {
		fmt.Fprintf(&circle, "fragment F%d on User{id ...F%d}", i, (i+1)%99)
	}
	types := "{__schema{types{" + strings.Repeat("ofType{", 22) + "name" + strings.Repeat("}", 25)
	tests := map[string]struct {
		query  string
		passes bool // the query is within the limits, but may be invalid
	}{
		"2 MB nested":              {nested(600_000), false},
		"64 KB nested":             {nested(20_000), false},
		"64 KB of open lists":      {"{a(b:" + strings.Repeat("[", 60_000), false},
		"110 KB repeated":          {"{" + subject + "{" + strings.Repeat("likeCount ", 11_000) + "}}", false},
		"1,000 repeated":           {"{" + subject + "{" + strings.Repeat("biz ", 998) + "}}", true},
		"1,000 at the root":        {"{" + strings.Repeat(`viewer{id}`, 500) + "}", true},
		"repeated with arguments":  {"{" + strings.Repeat(subject+"{id}", 490) + "}", true},
		"repeated fields, nested":  {"{" + strings.Repeat(subject+"{"+strings.Repeat("liked{"+strings.Repeat("id ", 8)+"}", 10)+"}", 10) + "}", true},
		"repeated with long lists": {"{" + strings.Repeat("nodes(ids:["+strings.Repeat("1 ", 150)+"]){id}", 60) + "}", true},
		"1,000 unknown fields":     {"{" + numbered(999, "likeCoun%d ") + "}", true},
		"901 bytes doubling":       {doubling(20), false},
		"4 KB doubling":            {doubling(90), false},
		"doubling, just allowed":   {doubling(7), true},
		"a cycle of fragments":     {circle.String(), false},
		"10,000 aliases":           {"{" + numbered(10_000, "a%d:") + "a}", false},
		"3,000 aliases":            {"{" + subject + "{" + numbered(3_000, "a%d:id ") + "}}", false},
		"deep introspection":       {types, true},
		"deeper introspection":     {strings.Replace(types, "ofType{", "ofType{ofType{", 1) + "}", false},
		"wide introspection":       {"{" + strings.Repeat("__schema{types{fields{args{name type{name}}}}}", 20) + "}", true},
		"2,400 variables":          {"query(" + numbered(2_400, "$a%d:Int ") + "){viewer{id}}", true},
		"2,400 arguments":          {"{viewer(" + numbered(2_400, "a%d:1 ") + "){id}}", true},
		"3,000 members":            {"{interactives(subjects:[{" + numbered(3_000, "biz%d:1 ") + "}]){id}}", true},
		"9,000 ids":                {"{nodes(ids:[" + strings.Repeat("1 ", 9_000) + "]){id}}", true},
		"lists in lists":           {"{nodes(ids:" + strings.Repeat("[1 ", 37) + strings.Repeat("1 ", 9_000) + strings.Repeat("]", 37) + "){id}}", true},
		"100 operations":           {numbered(100, "query Q%d{viewer{id}}"), true},
		"many directives":          {"{" + strings.Repeat("viewer"+strings.Repeat("@a", 10)+"{id}", 300) + "}", true},
		"a string of escapes":      {`{user(userId:"` + strings.Repeat(`\u0041`, 10_900) + `"){id}}`, true},
		"nothing but a comment":    {strings.Repeat("#", 64<<10), true},
		"nothing but punctuators":  {strings.Repeat("!", 9_000), true},
		"nothing":                  {"", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var errs gqlerror.List
			took := time.Duration(math.MaxInt64)
			for tries := 0; tries < 5 && took > atMost; tries++ { // something else may slow down one of them
				s := newService(t, Config{Introspection: true})
				took = processorTime(t, func() { errs = s.plan(t, test.query, "") })
			}
			limited := len(errs) == 1 && (errs[0].Extensions["code"] == codes.LimitExceeded || strings.Contains(errs[0].Message, "contains itself"))
			if limited == test.passes {
				t.Errorf("the query is limited: %t, want %t: %v", limited, !test.passes, errs)
			}
			t.Logf("%d bytes: %s", len(test.query), took.Round(10*time.Microsecond))
			if took > atMost {
				t.Errorf("the answer took %s, want at most %s", took, atMost)
			}
		})
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add("{viewer{id}}")
	f.Add(doubling(5))
	f.Add(introspection.Query)
	f.Add("query($s:[SubjectInput!]!,$n:Int=3){interactives(subjects:$s){...A}}fragment A on Interactive{likers(first:$n)@skip(if:false){edges{node{id}}}}")
	f.Add(`mutation{a:like(input:{biz:"""x""",bizId:"\u00e9"}){changed}}`)
	s := newService(f, Config{Introspection: true})
	atMost := manyOrdinary(f)
	f.Fuzz(func(t *testing.T, query string) {
		var errs gqlerror.List
		took := processorTime(t, func() { errs = s.plan(t, query, `{"s":[{"biz":"a","bizId":1}],"n":2}`) })
		if took > 5*atMost {
			t.Errorf("the answer took %s, want at most %s: %v", took, 5*atMost, errs)
		}
	})
}

// plan sends an operation and, if the operation is not refused, computes all of its plan.
func (s *service) plan(tb testing.TB, query, variables string) gqlerror.List {
	tb.Helper()
	operation, errs := s.ask(tb, query, variables)
	if len(errs) == 0 {
		s.limits.Plan(operation).Roots(operation)
	}
	return errs
}

// manyOrdinary returns the CPU time of 1,000 introspection queries. As the limit for a
// document, it depends neither on the speed of the machine nor on the race detector; it
// is about 0.4 s without the detector.
func manyOrdinary(tb testing.TB) time.Duration {
	tb.Helper()
	fastest := time.Duration(math.MaxInt64)
	for range 20 {
		s := newService(tb, Config{Introspection: true})
		fastest = min(fastest, processorTime(tb, func() {
			if errs := s.plan(tb, introspection.Query, ""); len(errs) > 0 {
				tb.Fatal(errs)
			}
		}))
	}
	return 1000 * fastest
}

// processorTime returns the CPU time that this process uses during a call, including the
// time that the garbage collector uses.
func processorTime(tb testing.TB, call func()) time.Duration {
	tb.Helper()
	used := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			tb.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := used()
	call()
	return used() - before
}
