package importer

import (
	"io"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// clickMapping is the mapping of a log in which every row is a read.
func clickMapping() Mapping {
	m := testMapping()
	m.All, m.Event, m.Events = "read", "", nil
	return m
}

func TestDelimiterIsRecognised(t *testing.T) {
	for name, c := range map[string]struct{ file, delimiter string }{
		"comma":                        {"user,subject,time\nann,7,1500000000\n", ""},
		"tab":                          {"user\tsubject\ttime\nann\t7\t1500000000\n", ""},
		"semicolon":                    {"user;subject;time\nann;7;1500000000\n", ""},
		"bar":                          {"user|subject|time\nann|7|1500000000\n", ""},
		"tab, with commas in names":    {"a,b\tuser\tc,d\tsubject\ttime\n,\tann\t,\t7\t1500000000\n", ""},
		"tab, quoted":                  {"\"user\"\t\"subject\"\t\"time\"\r\n\"ann\"\t\"7\"\t1500000000\r\n", ""},
		"tab, after a byte order mark": {"\ufeffuser\tsubject\ttime\nann\t7\t1500000000\n", ""},
		"given":                        {"user:subject:time\nann:7:1500000000\n", ":"},
		"given by name":                {"user\tsubject\ttime\nann\t7\t1500000000\n", "tab"},
	} {
		t.Run(name, func(t *testing.T) {
			store, m := openStore(t), clickMapping()
			m.Delimiter = c.delimiter
			result, err := importText(t, store, Options{Mapping: m}, c.file)
			must.Succeed(t, err)
			if result.Bad != 0 || readsOf(t, store, "default") != 1 {
				t.Errorf("got %+v and %d reads, want no bad row and 1 read", result, readsOf(t, store, "default"))
			}
		})
	}
}

// trickle is a reader that returns one byte at a time. It calls the function over when it
// is read beyond the end of the text.
type trickle struct {
	text string
	over func()
}

func (r *trickle) Read(p []byte) (int, error) {
	if r.text == "" {
		r.over()
		return 0, io.EOF
	}
	p[0], r.text = r.text[0], r.text[1:]
	return 1, nil
}

func TestHeaderWaitsForNoRow(t *testing.T) {
	src, err := Open(t.Context(), "-", &trickle{"user\tsubject\ttime\n", func() { t.Error("Open reads beyond the header, want it to return") }}, "csv")
	must.Succeed(t, err)
	defer func() { must.Succeed(t, src.Close()) }()
	if got := string(headerLine(src.text)); got != "user\tsubject\ttime\n" {
		t.Errorf("the header is %q, want %q", got, "user\tsubject\ttime\n")
	}
}

func TestEveryRowIsOneAction(t *testing.T) {
	for _, file := range []string{"log.tsv", "log.ndjson"} {
		text := "subject\tevent\ttime\tuser\n" + strings.Repeat("1\tlike\t1500000000\tann\n1\t\t1500000001\t\n", 3)
		if file == "log.ndjson" {
			text = strings.Repeat(`{"user":"ann","subject":1,"event":"like","time":1500000000}`+"\n"+`{"user":null,"subject":"1","time":1500000001}`+"\n", 3)
		}
		store := openStore(t)
		path := writeFile(t, file, text)
		for _, already := range []int64{0, 6} {
			result, err := importFile(t, store, Options{Mapping: clickMapping()}, path)
			must.Succeed(t, err)
			if result.Already != already || result.Bad != 0 || len(result.Skipped) != 0 || readsOf(t, store, "default") != 6 {
				t.Errorf("%s: got %+v and %d reads, want %d rows already there, none bad or skipped, and 6 reads", file, result, readsOf(t, store, "default"), already)
			}
		}
	}
}
