package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"ovation/storage"
	"ovation/storage/policy"
)

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("f", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func TestSettingsAreInherited(t *testing.T) {
	p := parse(t, `
defaults: {maxCommentLength: 100, allow: {dislike: none}, trending: {weights: {like: 7}}}
biz:
  article: {maxCommentLength: 200, likers: author}
  photo:
tenants:
  acme:
    unknown: refuse
    defaults: {maxCommentLength: 300}
    biz: {photo: {maxCommentLength: 400, events: false}, song: {}}
  plain: {}
`)
	for _, c := range []struct {
		tenant, biz string
		known       bool
		runes       int
		likers      policy.Who
	}{
		{"default", "article", true, 200, policy.Author},
		{"default", "photo", true, 100, policy.Public},
		{"default", "other", true, 100, policy.Public},
		{"plain", "article", true, 200, policy.Author},
		{"acme", "article", true, 300, policy.Author}, // the tenant's defaults prevail
		{"acme", "photo", true, 400, policy.Public},
		{"acme", "song", true, 300, policy.Public},
		{"acme", "other", false, 300, policy.Public},
		{"acme", storage.BizUser, true, 300, policy.Public},
	} {
		s := p.Of(c.tenant, c.biz)
		if s.Known != c.known || s.MaxCommentRunes != c.runes || s.Likers != c.likers {
			t.Errorf("%s/%s: got known %t, %d characters, likers %s, want %t, %d, %s",
				c.tenant, c.biz, s.Known, s.MaxCommentRunes, s.Likers, c.known, c.runes, c.likers)
		}
		if s.Allow[policy.Dislike] != policy.None || s.Allow[policy.Read] != policy.Anyone || s.Trending.Weights[policy.Like] != 7 || s.Trending.Weights[policy.Read] != 1 {
			t.Errorf("%s/%s: what is not stated is not inherited: %+v", c.tenant, c.biz, s)
		}
	}
	if h := policy.NewHandle(p); h.Events("acme", "photo") || !h.Events("acme", "song") || !h.Events("default", "photo") {
		t.Error("events are off elsewhere than for photos of acme")
	}
	if tenants, kinds := p.Size(); tenants != 2 || kinds != 2 {
		t.Errorf("got %d tenants and %d kinds, want 2 and 2", tenants, kinds)
	}
	if !p.HidesLikers() || p.HidesCounts() {
		t.Errorf("got HidesLikers %t and HidesCounts %t, want true and false", p.HidesLikers(), p.HidesCounts())
	}
}

func TestWithoutAFileEverythingIsAllowed(t *testing.T) {
	var none *policy.Handle
	s := none.In(t.Context()).Of("acme", "article")
	if !s.Known || s.MaxCommentRunes != storage.MaxCommentRunes || s.Counts != policy.Public || s.Likers != policy.Public || !none.Events("a", "b") {
		t.Errorf("got %+v", s)
	}
	if empty := parse(t, "{}").Of("acme", "article"); *empty != *s {
		t.Errorf("a file without settings: got %+v, want %+v", empty, s)
	}
}

// Each text has its problems at these positions.
func TestProblemsHavePositions(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"biz:\n  article:\n    likez: 1\n    allow: {lik: users}\n", []string{
			`f:3:5: biz.article has no setting "likez"; it may have allow, maxCommentLength, ratePerMinute, counts, likers, trending, events`,
			`f:4:13: biz.article.allow has no setting "lik"; it may have read, like, dislike, collect, follow, comment`,
		}},
		{"tenants:\n  a:\n    tenants: {}\n", []string{`f:3:5: tenants.a has no setting "tenants"; it may have unknown, defaults, biz`}},
		{"unknown: refuse\nunknown: allow\n", []string{`f:2:1: the file has "unknown" twice; it is first on line 1`}},
		{"unknown: never\n", []string{`f:1:10: unknown is "never"; it must be allow or refuse`}},
		{"unknown: true\n", []string{`f:1:10: unknown is "true"; it must be one of the words allow, refuse`}},
		{"biz: [article]\n", []string{`f:1:6: biz is a list; it must be a mapping (key: value)`}},
		{"- a\n", []string{`f:1:1: the file is a list; it must be a mapping (key: value)`}},
		{"biz:\n  Article: {}\n  é: {}\n", []string{
			`f:2:3: biz has the kind of content "Article": biz must be 1 to 32 characters of a-z, 0-9, _ and -, starting with a letter`,
			`f:3:3: biz has the kind of content "\u00e9": biz must be 1 to 32 characters of a-z, 0-9, _ and -, starting with a letter`,
		}},
		{"tenants: {_a: {}}\n", []string{`f:1:11: tenants has the tenant "_a": tenant must be 1 to 63 characters of a-z, 0-9, _ and -, starting with a letter or a digit`}},
		{"defaults:\n  allow:\n    like: anyone\n    read: public\n    follow: 'scope:'\n    comment: [users]\n", []string{
			`f:3:11: defaults.allow.like is "anyone"; it must be users, none or scope:NAME`,
			`f:4:11: defaults.allow.read is "public"; it must be anyone, users, none or scope:NAME`,
			`f:5:13: defaults.allow.follow is "scope:"; it must be users, none or scope:NAME`,
			`f:6:14: defaults.allow.comment is a list; it must be users, none or scope:NAME`,
		}},
		{"defaults: {maxCommentLength: 0}\n", []string{`f:1:30: defaults.maxCommentLength is "0"; it must be a whole number from 1 to 2000`}},
		{"defaults: {maxCommentLength: 2001}\n", []string{`f:1:30: defaults.maxCommentLength is "2001"; it must be a whole number from 1 to 2000`}},
		{"defaults: {maxCommentLength: \"20\"}\n", []string{`f:1:30: defaults.maxCommentLength is the text "20"; it must be a whole number from 1 to 2000`}},
		{"defaults: {ratePerMinute: {like: 1.5}}\n", []string{`f:1:34: defaults.ratePerMinute.like is "1.5"; it must be a whole number from 0 to 60000`}},
		{"defaults: {counts: users, likers: none}\n", []string{
			`f:1:20: defaults.counts is "users"; it must be public, author or scope:NAME`,
			`f:1:35: defaults.likers is "none"; it must be public, author or scope:NAME`,
		}},
		{"defaults: {events: yes}\n", []string{`f:1:20: defaults.events is the text "yes"; it must be true or false`}},
		{"defaults: {events: }\n", []string{`f:1:20: defaults.events is empty; it must be true or false`}},
		{"defaults: {trending: {windows: [HOUR, MONTH], weights: {like: 1001}}}\n", []string{
			`f:1:39: defaults.trending.windows[1] is "MONTH"; it must be HOUR, DAY or WEEK`,
			`f:1:63: defaults.trending.weights.like is "1001"; it must be a whole number from -1000 to 1000`,
		}},
		{"biz:\n  a: {events: false\n  b: {}\n", []string{`f:2: it is not valid YAML: did not find expected ',' or '}'`}},
		{"\nunknown: *a\n", []string{`f:2: it is not valid YAML: unknown anchor 'a' referenced`}},
		{"biz:\n\ta: {}\n", []string{`f:2: it is not valid YAML: found character that cannot start any token`}},
		{"biz:\n  a: {}\n- b\n", []string{`f:3: it is not valid YAML: did not find expected key`}},
		{"biz:\n  a: &a\n    b: *a\n", []string{`f:3:5: biz.a has no setting "b"; it may have allow, maxCommentLength, ratePerMinute, counts, likers, trending, events`}},
		{"biz: &a\n  b: *a\n", []string{`f:2:6: biz.b contains itself through the alias *a`}},
		{"biz:\n  a: &a {events: false}\n  b: {<<: *a}\n", []string{`f:3:7: biz.b has a merge key (<<), which is not supported: use defaults, or an alias for the whole value`}},
		{"[a]: 1\n", []string{`f:1:1: the file has a key that is a list; keys must be words`}},
		{"unknown: allow\n---\nunknown: refuse\n", []string{`f: the file has several documents (---); it must have one`}},
		{"# nothing\n", []string{`f: the file is empty; without settings of its own, a site needs no file`}},
		{"", []string{`f: the file is empty; without settings of its own, a site needs no file`}},
	} {
		p, err := policy.Parse("f", []byte(c.text))
		if p != nil || err == nil || err.Error() != strings.Join(c.want, "\n") {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, strings.Join(c.want, "\n     "))
		}
		if _, is := errors.AsType[*policy.FileError](err); !is {
			t.Errorf("%s: got %T, want a FileError", c.text, err)
		}
	}
}

func TestAtMostTwentyProblemsAreListed(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		_, _ = fmt.Fprintf(&text, "wrong%d: 1\n", i)
	}
	_, err := policy.Parse("f", []byte(text.String()))
	found, is := errors.AsType[*policy.FileError](err)
	if !is || len(found.Problems) != 20 || found.More != 30 || !strings.HasSuffix(err.Error(), "\nf: and 30 more") {
		t.Errorf("got %v", err)
	}
}

func TestHostileFilesAreRefused(t *testing.T) {
	repeated := func(text string) string { return strings.Repeat(text, policy.MaxFileBytes/len(text)) }
	tenants := func(n int, each string) string {
		var text strings.Builder
		for i := range n {
			_, _ = fmt.Fprintf(&text, "t%d: %s, ", i, each)
		}
		return text.String()
	}
	kinds := func(n int) string { return strings.ReplaceAll(tenants(n, "{}"), "t", "k") }
	for name, c := range map[string]struct{ text, want string }{
		"10 MB":               {strings.Repeat("a", 10<<20), "larger than 1 MiB"},
		"nested lists":        {repeated("["), "depth"},
		"nested mappings":     {repeated("{a: "), "depth"},
		"nested block lists":  {repeated("- "), "depth"},
		"nested keys":         {repeated("? "), "depth"},
		"indented":            {"a:\n b:\n  c:\n   d: 1", "no setting"},
		"one key many times":  {repeated("a: 1\n"), "more than 100000 values"},
		"NUL":                 {repeated("\x00"), "control characters"},
		"invalid UTF-8":       {"unknown: \xff\xfe", "invalid"},
		"a bomb of aliases":   {"biz: &b {" + kinds(1500) + "}\ntenants: {" + tenants(1500, "{biz: *b}") + "}", "more than 100000 values"},
		"many combinations":   {"biz: {" + kinds(2000) + "}\ntenants: {" + tenants(2000, "{defaults: {}}") + "}", "at most 100000 are allowed"},
		"too many kinds":      {"biz: {" + kinds(2001) + "}", "at most 2000 are allowed"},
		"too many tenants":    {"tenants: {" + tenants(2001, "{}") + "}", "at most 2000 are allowed"},
		"a cycle of a tenant": {"tenants: &t {a: {biz: *t}}", "contains itself"},
		"a cycle of a list":   {"defaults: {trending: {windows: &w [*w]}}", "must be one of the words"},
	} {
		p, err := policy.Parse("f", []byte(c.text))
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.300v, want an error with %q", name, err, c.want)
		}
	}
}

// An alias stands for a whole value.
func TestAliasesAreResolved(t *testing.T) {
	p := parse(t, "biz:\n  a: &a {events: false, ratePerMinute: &r {like: 3}}\n  b: *a\n  c: {ratePerMinute: *r}\n")
	if b, c := p.Of("x", "b"), p.Of("x", "c"); b.Events || b.PerMinute[policy.Like] != 3 || !c.Events || c.PerMinute[policy.Like] != 3 {
		t.Errorf("got %+v and %+v", b, c)
	}
}

func TestJSONIsAccepted(t *testing.T) {
	p := parse(t, "{\n\t\"unknown\": \"refuse\",\n\t\"biz\": {\"a\\u0062\": {\"allow\": {\"like\": \"scope:fan\"}, \"trending\": {\"windows\": []}}}\n}\n")
	s := p.Of("x", "ab")
	if scope, is := s.Allow[policy.Like].Scope(); !s.Known || !is || scope != "fan" || s.Trending.Windows != 0 || p.Of("x", "b").Known {
		t.Errorf("got %+v", s)
	}
}

func TestAPinnedPolicyStays(t *testing.T) {
	first, second := parse(t, "unknown: allow"), parse(t, "unknown: refuse")
	h := policy.NewHandle(first)
	ctx := h.Pin(t.Context())
	h.Set(second)
	if h.In(ctx) != first || h.In(t.Context()) != second || h.Get() != second {
		t.Error("the pinned policy was replaced, or the others were not")
	}
}

// example is the example of docs/configuration.md.
func example(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/configuration.md has no example")
	}
	return string(found[1])
}

func TestTheExampleOfThePageIsValid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ovation.yaml")
	if err := os.WriteFile(path, []byte(example(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.ReadFile(path); err != nil {
		t.Error(err)
	}
	for _, key := range regexp.MustCompile(`"(?:\w+)": \{\n`).FindAllString(string(policy.Schema()), -1) {
		name := strings.TrimSuffix(strings.TrimPrefix(key, `"`), "\": {\n")
		if structural := slices.Contains([]string{"properties", "propertyNames", "additionalProperties", "items", "settings"}, name) || strings.HasPrefix(name, "$"); !structural && !strings.Contains(example(t), name+":") {
			t.Errorf("the example lacks %s", name)
		}
	}
}

func TestTheSchemaDescribesTheFile(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(policy.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json") // checks it against the meta-schema
	if err != nil {
		t.Fatal(err)
	}
	if schema.DraftVersion != 2020 {
		t.Errorf("got draft %d, want 2020", schema.DraftVersion)
	}
	for text, valid := range map[string]bool{
		example(t):          true,
		"{}":                true,
		"biz: {a: , b: {}}": true,
		"tenants: {a: {defaults: {allow: {read: 'scope:x:y'}}}}": true,
		"defaults: {trending: {windows: []}}":                    true,
		"unknown: no":                                            false,
		"biz: {A: {}}":                                           false,
		"biz: {a: {likes: 1}}":                                   false,
		"tenants: {a: {tenants: {}}}":                            false,
		"tenants: {_: {}}":                                       false,
		"defaults: {allow: {like: anyone}}":                      false,
		"defaults: {allow: {like: 'scope:'}}":                    false,
		"defaults: {allow: {like: 'scope:a b'}}":                 false,
		"defaults: {maxCommentLength: 2001}":                     false,
		"defaults: {maxCommentLength: '5'}":                      false,
		"defaults: {events: 1}":                                  false,
		"defaults: {events: }":                                   false,
		"defaults: {trending: {windows: [YEAR]}}":                false,
		"defaults: {trending: {weights: {like: 1001}}}":          false,
		"[]": false,
	} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != valid {
			t.Errorf("%s: the schema says %v, want valid: %t", text, err, valid)
		}
		if _, err := policy.Parse("f", []byte(text)); (err == nil) != valid {
			t.Errorf("%s: Parse says %v, want valid: %t", text, err, valid)
		}
	}
}

func TestReadFileOfNoFile(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{folder, filepath.Join(folder, "none.yaml")} {
		if p, err := policy.ReadFile(path); p != nil || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error with the path", path, err)
		}
	}
}

// FuzzParse checks that every text is either a policy or refused with a position or a
// reason.
func FuzzParse(f *testing.F) {
	f.Add("biz: &a\n  b: *a\n")
	f.Add("defaults: {allow: {like: users}, trending: {windows: [HOUR], weights: {like: -3}}}\ntenants: {a: {unknown: refuse}}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policy.Parse("f", []byte(text))
		found, is := errors.AsType[*policy.FileError](err)
		switch {
		case err == nil && p.Of("default", "article") == nil:
			t.Error("there are no settings")
		case err != nil && (!is || len(found.Problems) == 0 || found.Problems[0].Message == ""):
			t.Errorf("got %v", err)
		}
	})
}

// BenchmarkOf measures the look-up of settings, which each subject of a page needs.
func BenchmarkOf(b *testing.B) {
	p, err := policy.Parse("f", []byte("biz: {article: {likers: author}}\ntenants: {acme: {unknown: refuse}}"))
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	h := policy.NewHandle(p)
	b.ReportAllocs()
	for b.Loop() {
		if !h.In(ctx).Of("default", "article").Known {
			b.Fatal("it is unknown")
		}
	}
}
