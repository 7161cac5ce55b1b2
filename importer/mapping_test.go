package importer

import (
	"strings"
	"testing"
)

func TestMappingFile(t *testing.T) {
	m, err := LoadMapping(writeFile(t, "map.json", `{"biz": "article", "user": "personId", "timeUnit": "ms", "events": {"VIEW": "read"}}`))
	must(t, err)
	must(t, m.Validate())
	if m.Biz != "article" || m.BizColumn != "" || m.User != "personId" || m.Subject != "subject" || m.TimeUnit != "ms" || len(m.Events) != 1 {
		t.Errorf("got %+v", m)
	}
	m, err = LoadMapping(writeFile(t, "map.json", `{}`))
	must(t, err)
	must(t, m.Validate())
	if m.BizColumn != "biz" || m.Events["like"] != "like" {
		t.Errorf("the defaults are %+v", m)
	}
}

func TestWrongMappings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"usr": "x"}`, `unknown field "usr"`},
		{`[]`, "cannot unmarshal"},
		{`{"user": ""}`, "user must name a column"},
		{`{"biz": "Article"}`, "biz must be"},
		{`{"bizColumn": ""}`, "either biz or"},
		{`{"timeUnit": "h"}`, `"h" is none of s, ms, us, rfc3339`},
		{`{"events": {}}`, "no event is mapped"},
		{`{"events": {"VIEW": "look"}}`, `"VIEW" is mapped to "look", which is none of clear, collect`},
	} {
		m, err := LoadMapping(writeFile(t, "map.json", c.text))
		if err == nil {
			err = m.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := LoadMapping("deskdorp"); err == nil || !strings.Contains(err.Error(), "there is deskdrop") {
		t.Errorf("unknown preset: got %v", err)
	}
}

func TestPresetsAreValid(t *testing.T) {
	for _, name := range Presets() {
		m, err := LoadMapping(name)
		must(t, err)
		must(t, m.Validate())
	}
}
