package limits

import (
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"ovation/api/codes"
)

func TestVariablesAreOfTheirTypes(t *testing.T) {
	long := strings.Repeat("x", 1000)
	tests := []struct{ typ, value, want string }{
		{"Int", `1`, ""},
		{"Int", `-2147483648`, ""},
		{"Int", `null`, ""},
		{"Int!", `null`, "$v must be of type Int!, not null"},
		{"Int", `2147483648`, "must be of type Int (a whole number of 32 bits), not 2147483648"},
		{"Int", `99999999999999999999`, "not 99999999999999999999"},
		{"Int", `1.5`, "must be of type Int (a whole number of 32 bits), not 1.5"},
		{"Int", `1e3`, "not 1e3"},
		{"Int", `"1"`, `not the string "1"`},
		{"Int", `true`, "not true"},
		{"Int", `{}`, "not an object"},
		{"Int", `[]`, "not a list"},
		{"Float", `1`, ""},
		{"Float", `1.5e300`, ""},
		{"Float", `"1.5"`, `must be of type Float, not the string "1.5"`},
		{"String", `"a"`, ""},
		{"String", `1`, "must be of type String, not 1"},
		{"String!", `["a"]`, "must be of type String, not a list"},
		{"Boolean", `false`, ""},
		{"Boolean", `"false"`, `must be of type Boolean, not the string "false"`},
		{"Boolean", `0`, "not 0"},
		{"ID", `"a"`, ""},
		{"ID", `12345678901234567890`, ""},
		{"ID", `1.0`, "must be of type ID, not 1.0"},
		{"ID", `false`, "must be of type ID, not false"},
		{"Own", `"a"`, ""},
		{"Own", `1`, ""},
		{"Own", `{"a":1}`, "must be of type Own, not an object"},
		{"Colour", `"RED"`, ""},
		{"Colour", `"red"`, `must be one of RED, GREEN, not the string "red"`},
		{"Colour", `0`, "not 0"},
		{"Colour", `"` + long + `"`, `not the string "` + long[:40] + `"`},
		{"[Int!]", `[1,2]`, ""},
		{"[Int!]", `1`, ""},
		{"[Int!]", `[1,null]`, "$v[1] must be of type Int!, not null"},
		{"[Int!]", `[1,[2]]`, "$v[1] must be of type Int (a whole number of 32 bits), not a list"},
		{"Box", `{"label":"a"}`, ""},
		{"Box", `{"label":"a","size":2,"weight":1,"inner":{"label":"b"},"tags":[["1",2],null,"3"],"colour":"GREEN"}`, ""},
		{"Box", `{}`, "$v.label is missing; it must be of type String!"},
		{"Box", `"a"`, `must be of type Box, not the string "a"`},
		{"Box", `[{"label":"a"}]`, "must be of type Box, not a list"},
		{"Box", `{"label":null}`, "$v.label must be of type String!, not null"},
		{"Box", `{"label":"a","inner":{"label":"b","inner":{"label":1}}}`, "$v.inner.inner.label must be of type String, not 1"},
		{"Box", `{"label":"a","tags":[["1"],[null]]}`, "$v.tags[1][0] must be of type ID!, not null"},
		{"Box", `{"label":"a","colour":"BLUE"}`, "$v.colour must be one of RED, GREEN"},
		{"Box", `{"label":"a","Label":"b"}`, `$v has a member "Label", which Box does not have`},
		{"Box", `{"label":"a","__typename":"Box"}`, `has a member "__typename"`},
	}
	s := newService(t, Config{})
	if err := s.limits.Validate(schemaOnly{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.typ+" "+test.value[:min(len(test.value), 40)], func(t *testing.T) {
			document, err := parser.ParseQuery(&ast.Source{Input: "query($v:" + test.typ + "){all}"})
			if err != nil {
				t.Fatal(err)
			}
			var values map[string]any
			decode(t, `{"v":`+test.value+`}`, &values)
			switch err := s.limits.checkVariables(document.Operations[0], values); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Message, test.want) || err.Extensions["code"] != codes.BadUserInput):
				t.Errorf("got %v, want BAD_USER_INPUT with %q", err, test.want)
			case err != nil && len(err.Message) > 200:
				t.Errorf("got an error message of %d bytes, want at most 200", len(err.Message))
			}
		})
	}
}

func TestVariablesThatAreNotGiven(t *testing.T) {
	s := newService(t, Config{})
	for query, want := range map[string]string{
		"query($s:[SubjectInput!]!){interactives(subjects:$s){id}}":         "$s is missing; it must be of type [SubjectInput!]!",
		`query($b:String!,$i:ID!="1"){interactive(biz:$b,bizId:$i){id}}`:    "$b is missing",
		`query($b:String!="a",$i:ID="1"){interactive(biz:$b,bizId:$i){id}}`: "",
		`query($b:Nothing!){interactive(biz:$b,bizId:"1"){id}}`:             `Unknown type "Nothing"`,
		`query($b:[[Nothing!]]){interactive(biz:$b,bizId:"1"){id}}`:         `Unknown type "Nothing"`,
		`query($b:User!){interactive(biz:$b,bizId:"1"){id}}`:                "$b is missing",
		`query($b:User){interactive(biz:$b,bizId:"1"){id}}`:                 `type "User" used`,
	} {
		_, errs := s.ask(t, query, `{"unused":{"a":[1]}}`)
		if want == "" && errs != nil || want != "" && (len(errs) == 0 || !strings.Contains(errs[0].Message, want)) {
			t.Errorf("%s: got %v, want %q", query, errs, want)
		}
	}
}
