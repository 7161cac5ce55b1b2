package importer

import (
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

func TestMappingFile(t *testing.T) {
	m, err := LoadMapping(writeFile(t, "map.json", `{"biz": "article", "user": "personId", "timeUnit": "ms", "events": {"VIEW": "read"}}`))
	must.Succeed(t, err)
	must.Succeed(t, m.Validate())
	if m.Biz != "article" || m.BizColumn != "" || m.User != "personId" || m.Subject != "subject" || m.TimeUnit != "ms" || len(m.Events) != 1 {
		t.Errorf("got %+v, want articles of personId in ms with one event, other columns by default", m)
	}
	m, err = LoadMapping(writeFile(t, "map.json", `{"all": "read", "delimiter": "tab"}`))
	must.Succeed(t, err)
	must.Succeed(t, m.Validate())
	if m.All != "read" || m.Event != "" || m.Events != nil || m.Delimiter != "tab" {
		t.Errorf("got %+v, want every row read, separated by tabs", m)
	}
	m, err = LoadMapping(writeFile(t, "map.json", `{"text": "body", "placeholder": "(none)"}`))
	must.Succeed(t, err)
	must.Succeed(t, m.Validate())
	if m.Text != "body" || m.Placeholder != "(none)" || m.Events["comment"] != "comment" {
		t.Errorf("got %+v, want comments from body, with the placeholder (none)", m)
	}
	m, err = LoadMapping(writeFile(t, "map.json", `{}`))
	must.Succeed(t, err)
	must.Succeed(t, m.Validate())
	if m.BizColumn != "biz" || m.Events["like"] != "like" {
		t.Errorf("the defaults are %+v, want biz from the column biz and like as like", m)
	}
}

func TestWrongMappings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"usr": "x"}`, `unknown member "usr"; there are biz, bizColumn, columns, user`},
		{`{"User": "x"}`, `unknown member "User"`},
		{`[]`, "it must hold a JSON object"},
		{`null`, "it must hold a JSON object"},
		{``, "it is not JSON, in line 1: unexpected end"},
		{"{\n\"user\": }", "it is not JSON, in line 2: invalid character"},
		{`{"user": "x"} {`, "it is not JSON, in line 1: invalid character '{' after top-level value"},
		{`{"user": 7}`, `"user" has a value of the type number`},
		{`{"events": {"VIEW": []}}`, `has a value of the type array: events and counts are objects of strings`},
		{`{"biz": "video", "bizColumn": "kind"}`, `give biz ("video") or the column that holds it ("kind"), not both`},
		{`{"user": ""}`, "user must name a column"},
		{`{"user": "uid", "userId": "alice"}`, `give the user of every row (userId: "alice") or the column that holds it (user: "uid"), not both`},
		{`{"userId": "a\u0007"}`, "userId contains"},
		{`{"biz": "Article"}`, "biz must be"},
		{`{"bizColumn": ""}`, "either biz or"},
		{`{"timeUnit": "h"}`, `"h" is not one of s, ms, us, rfc3339, auto`},
		{`{"events": {}}`, "no event is mapped"},
		{`{"all": "look"}`, `all is "look", which is not one of author, clear, collect`},
		{`{"all": "skip"}`, `all is "skip", which is not one of author, clear, collect`},
		{`{"all": "read", "event": "type"}`, `give the action of every row (all: "read") or the column`},
		{`{"all": "read", "events": {"VIEW": "read"}}`, "not both"},
		{`{"event": ""}`, "event must name a column, or all the action"},
		{`{"placeholder": "a\u0007"}`, "placeholder contains U+0007"},
		{`{"delimiter": "::"}`, `"::" is not a delimiter: write one character`},
		{`{"events": {"VIEW": "look"}}`, `"VIEW" is mapped to "look", which is not one of author, clear, collect`},
	} {
		m, err := LoadMapping(writeFile(t, "map.json", c.text))
		if err == nil {
			err = m.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "importer") || strings.Contains(err.Error(), "Go ")) {
			t.Errorf("%s: the error names internals of the program: %v", c.text, err)
		}
	}
	if _, err := LoadMapping("deskdorp"); err == nil || !strings.Contains(err.Error(), "there is deskdrop") {
		t.Errorf("LoadMapping(deskdorp) = %v, want the hint \"there is deskdrop\"", err)
	}
}

func TestPresetsAreValid(t *testing.T) {
	for _, name := range Presets() {
		m, err := LoadMapping(name)
		must.Succeed(t, err)
		for _, open := range m.Open() {
			switch open.Member {
			case "userId":
				m.UserID = "alice"
			case "at":
				m.At = "2026-01-31"
			}
		}
		must.Succeed(t, m.Validate())
	}
}
