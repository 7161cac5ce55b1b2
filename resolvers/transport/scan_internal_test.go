package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"pgregory.net/rapid"

	"ovation/internal/testing/seed"
	"ovation/resolvers/persisted"
	"ovation/resolvers/rows"
)

var _ = seed.ForRapid()

// library parses a text as the function members does, but with encoding/json. It returns
// nil for a text that members must refuse.
func library(text []byte) *graphql.RawParams {
	if depth, values := measure(text); !utf8.Valid(text) || depth > maxJSONDepth || values > maxJSONValues {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var query *string
	var params graphql.RawParams
	into := map[string]any{
		"query": &query, "operationName": &params.OperationName, "variables": &params.Variables, "extensions": &params.Extensions,
	}
	var ids [len(persisted.IDMembers)]any
	for i, name := range persisted.IDMembers {
		into[name] = &ids[i]
	}
	if brace, _ := decoder.Token(); brace != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		name, err := decoder.Token()
		key, _ := name.(string)
		target, ours := into[key]
		if !ours {
			target = new(json.RawMessage)
		}
		if err != nil || target == nil || decoder.Decode(target) != nil {
			return nil
		}
		if ours {
			into[key] = nil // a second one is refused
		}
	}
	if brace, _ := decoder.Token(); brace != json.Delim('}') {
		return nil
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	if query != nil {
		params.Query = *query
	}
	for i := 0; i < len(ids) && params.Query == ""; i++ {
		text, is := ids[i].(string)
		if !is && ids[i] != nil {
			return nil
		}
		if text != "" {
			persisted.Identify(&params, text)
			break
		}
	}
	if query == nil && !persisted.Identified(&params) {
		return nil
	}
	return &params
}

// measure returns the maximum nesting of lists and objects, and the number of values. The
// results need not be right for text that is not JSON.
func measure(text []byte) (deepest, values int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
			values++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	return deepest, values
}

// same checks that the functions members and library either return the same result for a
// text or both refuse it. It reports whether they accept the text.
func same(t interface {
	Errorf(format string, args ...any)
}, text []byte,
) bool {
	got, refused := members("the body", text)
	want := library(text)
	if refused != nil {
		if want != nil {
			t.Errorf("%q is refused (%s), and to the library %+v", text, refused.message, want)
		}
		return false
	}
	rows.Unfold(got.Variables)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q is %+v, and to the library %+v", text, got, want)
	}
	return true
}

// ordinary are requests as clients send them.
var ordinary = []string{
	`{"query":"{viewer{id}}"}`,
	`{"query":"mutation Like($input: LikeInput!) {\n\tlike(input: $input) { changed }\n}","operationName":"Like","variables":{"input":{"biz":"video","bizId":"1"}}}`,
	` { "variables" : { "s" : [ { "biz" : "video" , "bizId" : "é✓" } , {} , [ ] , null , true , false ] } , "query" : "q" } ` + "\r\n",
	`{"query":"","variables":null,"operationName":null,"extensions":null}`,
	`{"query":"q","extensions":{"a":1},"else":[{"a":[1]}]}`,
	`{"documentId":"sha256:ab","variables":{}}`, `{"query":null,"id":"a","documentId":null}`, `{"query":"","doc_id":"1","id":"","extensions":{"documentId":1}}`,
	`{"id":"a","documentId":"b"}`, `{"query":"q","id":7,"doc_id":[{}]}`,
	`{"query":"q","variables":{"n":[0,-0,1,-1,10,1.5,-1.25e10,1E+2,2e-3,12345678901234567890]}}`,
	`{"query":"\"\\\/\b\f\n\r\t","variables":{"a\"b":"\\"}}`,
	`{"query":"q","variables":{"a":1,"a":{"b":2}}}`,
	`{"query":"q","variables":{"":"","a":{"":1},"b":{"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}}}`,
	`{"query":"` + "\x7f" + `"}`,
	`{"query":"\u0071\u00E9\ud83d\ude00\ud83d\ud83d\ude00\ud83dx\ude00\ud83d\n","\u0076ariables":{"\u0061":"\u2028"}}`,
	`{"operationName":"Feed","variables":{},"extensions":{"persistedQuery":{"version":1,"sha256Hash":"ab"}}}`,
	`{"query":null,"extensions":{"persistedQuery":null}}`,
	`{"query":"q","variables":{"s":[{"biz":"video","bizId":"1"},{"biz":"video","bizId":"é✓"}],"t":[{"":""}]}}`,
	` {"query":"q","variables":{ "s" : [ { "biz" : "" , "bizId" : "1" } , { "biz" : "video" , "bizId" : "" } ] , "t" : 1 } } `,
	`{"query":"q","variables":{"s":[{"biz":"a","biz":"b"},{"biz":"c","biz":"d"}]}}`,
	`{"query":"q","variables":{"s":[{"biz":"a"},{"bizId":"b"}],"t":[{"a":"1"},{"a":1}],"u":[{"a":"1"},{"a":"\""}],"v":[{"a":"1"},{}],"w":[{"a":"1"},[]]}}`,
	`{"query":"q","variables":{"s":[{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":""}],"t":[{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":""}]}}`,
}

// Lists of uniform objects, and no others, are read as rows.
func TestScanReadsObjectsMadeAlikeAsRows(t *testing.T) {
	for text, want := range map[string]*rows.Rows{
		`[{"biz":"video","bizId":"1"},{"biz":"book","bizId":""}]`: {Names: []string{"biz", "bizId"}, Values: []string{"video", "1", "book", ""}},
		`[ { "x" : "é" } ]`:                     {Names: []string{"x"}, Values: []string{"é"}},
		`[]`:                                    nil,
		`[{}]`:                                  nil,
		`["a"]`:                                 nil,
		`{"biz":"a"}`:                           nil,
		`[{"a":"1"},{"b":"1"}]`:                 nil,
		`[{"a":"1","b":"2"},{"b":"2","a":"1"}]`: nil,
		`[{"a":"1","b":"2"},{"a":"1"}]`:         nil,
		`[{"a":"1"},{"a":"1","b":"2"}]`:         nil,
		`[{"a":"1"},{"a":null}]`:                nil,
		`[{"a":"1"},{"a":"\n"}]`:                nil,
		`[{"a":"1","a":"2"}]`:                   nil,
		`[[{"a":"1"}]]`:                         nil,
		`[{"a":[{"a":"1"}]}]`:                   nil,
		`[{"a":"1"},` + strings.Repeat(" ", 10) + `1]`: nil,
	} {
		got, refused := members("the body", []byte(`{"query":"q","variables":{"v":`+text+`}}`))
		if refused != nil {
			t.Errorf("%s: got %q, want it accepted", text, refused.message)
			continue
		}
		if alike, is := got.Variables["v"].(*rows.Rows); is != (want != nil) || is && !reflect.DeepEqual(alike, want) {
			t.Errorf("%s is %#v; want %+v", text, got.Variables["v"], want)
		}
	}
	if got, _ := members("the body", []byte(`{"query":"q","extensions":{"v":[{"a":"1"}]}}`)); reflect.TypeOf(got.Extensions["v"]) != reflect.TypeFor[[]any]() {
		t.Errorf("extensions: got %T, want []any", got.Extensions["v"])
	}
}

// special are requests that are refused.
var special = []string{
	`{"documentId":7}`, `{"documentId":""}`, `{"id":{},"query":null}`, `{"doc_id":"a","doc_id":"a"}`,
	``, ` `, `{}`, `[]`, `"q"`, `{"query":null}`, `{"query":7}`, `{"query":"q"`, `{"query":"q",}`, `{"query":"q"}}`, `{"query":"q"}1`,
	`{"query":"q","query":"q"}`, `{"variables":{},"query":"q","variables":{}}`, `{"Query":"q"}`, `{"query":"\x"}`,
	`{"query":"\u"}`, `{"query":"\u12"}`, `{"query":"\u12g4"}`, `{"query":"\ud83d\u"}`, `{"query":"\ud83d\u+123"}`, `{"\u0071uery":"q","query":"q"}`,
	`{"query":"q`, `{"query":"q\`, `{"query":"q\"`, `{"query":"q","variables":[]}`, `{"query":"q","operationName":1}`, `{"query":"q","extensions":"x"}`,
	`{"query":"q","variables":{"a":01}}`, `{"query":"q","variables":{"a":-}}`, `{"query":"q","variables":{"a":1.}}`, `{"query":"q","variables":{"a":.5}}`,
	`{"query":"q","variables":{"a":1e}}`, `{"query":"q","variables":{"a":+1}}`, `{"query":"q","variables":{"a":NaN}}`, `{"query":"q","variables":{"a":tru}}`,
	`{"query":"q","variables":{"a":nul`, `{"query":"q","variables":{"a" 1}}`, `{"query":"q","variables":{"a":1 "b":2}}`, `{"query":"q","variables":{"a":}}`,
	`{"query":"q","variables":{,}}`, `{"query":"q","variables":{"a":[1,]}}`, `{"query":"q","variables":{"a":[,]}}`, `{"query":"q","variables":{a:1}}`,
	"{\"query\":\"a\nb\"}", "{\"query\":\"\xff\"}", "{\"query\":\"\xed\xa0\x80\"}", "{\"query\":\"q\"}\xc2\xa0", "{\"query\":\"q\"}\x00", "\ufeff{\"query\":\"q\"}",
	`{"query":"q","variables":{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}}`,
	`{"query":"q","variables":{"a":[` + strings.Repeat("0,", 10_000) + `0]}}`,
	`{"query":"q","variables":{"a":[` + strings.Repeat("{},", 5_000) + `0]}}`,
}

func TestScanReadsRequestsOfClients(t *testing.T) {
	for _, text := range ordinary {
		if !same(t, []byte(text)) {
			t.Errorf("%q: got it left to the library, want it read", text)
		}
	}
	for _, text := range special {
		if same(t, []byte(text)) {
			t.Errorf("%.100q: got it read, want it left to the library", text)
		}
	}
	deepest := `{"query":"q","variables":{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}}`
	longest := `{"query":"q","variables":{"a":[` + strings.Repeat("0,", 9_995) + `0]}}`
	for _, text := range []string{deepest, longest} {
		if !same(t, []byte(text)) {
			t.Errorf("%.100q: got it left to the library, want it read", text)
		}
	}
}

// TestScanReadsAnyValues draws arbitrary values of variables.
func TestScanReadsAnyValues(t *testing.T) {
	leaf := rapid.OneOf(
		rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
	)
	value := leaf
	for range 3 {
		inner := value
		value = rapid.OneOf(leaf, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), inner, 0, 4).AsAny())
	}
	alike := rapid.Custom(func(t *rapid.T) any { // usually uniform objects
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{0,3}`), 1, 3, rapid.ID[string]).Draw(t, "names")
		list := make([]map[string]any, rapid.IntRange(1, 4).Draw(t, "objects"))
		for i := range list {
			list[i] = map[string]any{}
			for _, name := range names {
				list[i][name] = rapid.OneOf(rapid.StringMatching(`[ -~é✓]{0,5}`).AsAny(), rapid.StringMatching(`[0-9]`).AsAny(), leaf).Draw(t, "member")
			}
		}
		return list
	})
	rapid.Check(t, func(t *rapid.T) {
		query := rapid.String().Draw(t, "query")
		variables := rapid.MapOfN(rapid.String(), rapid.OneOf(value, alike), 0, 4).Draw(t, "variables")
		text, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		if err != nil {
			t.Fatal(err)
		}
		if !same(t, text) {
			t.Fatalf("%s: got it left to the library, want it read", text)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "\t", "  "); err != nil {
			t.Fatal(err)
		}
		if !same(t, indented.Bytes()) {
			t.Fatalf("%s: got it left to the library, want it read", indented.Bytes())
		}
		// A text that is truncated or changed is read as encoding/json reads it.
		if len(text) > 1 {
			cut := rapid.IntRange(0, len(text)-1).Draw(t, "cut")
			same(t, text[:cut])
			text[cut] = rapid.Byte().Draw(t, "byte")
			same(t, text)
		}
	})
}

func FuzzScan(f *testing.F) {
	for _, text := range append(ordinary, special...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { same(t, text) })
}

func BenchmarkParse(b *testing.B) {
	var subjects strings.Builder
	for i := range 20 {
		fmt.Fprintf(&subjects, `,{"biz":"video","bizId":"%d"}`, i)
	}
	for name, text := range map[string]string{
		"like": `{"query":"mutation Like($input: LikeInput!) { like(input: $input) { changed durability } }","operationName":"Like","variables":{"input":{"biz":"video","bizId":"1"}}}`,
		"page": `{"query":"query Feed($s: [SubjectInput!]!) { interactives(subjects: $s) { biz bizId likeCount liked { reaction } } }","variables":{"s":[` + subjects.String()[1:] + `]}}`,
	} {
		for how, read := range map[string]func([]byte) *graphql.RawParams{
			"scan":    func(text []byte) *graphql.RawParams { p, _ := members("the body", text); return p },
			"library": library,
		} {
			b.Run(name+"/"+how, func(b *testing.B) {
				body := []byte(text)
				b.ReportAllocs()
				for b.Loop() {
					if read(body) == nil {
						b.Fatal("it cannot be read")
					}
				}
			})
		}
	}
}
