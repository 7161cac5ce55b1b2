package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"ovation/internal/testing/must"
)

const (
	objectOne = `{"user":"ann","subject":1,"event":"read","time":1500000000}`
	objectTwo = `{"user":"bob","subject":"2","event":"like","time":1500000001}`
)

// TestRowsOfDocuments finds the list of rows in JSON documents of several shapes, whether
// they are read at once or byte by byte.
func TestRowsOfDocuments(t *testing.T) {
	const both = objectOne + "," + objectTwo
	for name, c := range map[string]struct{ text, rows, skipped string }{
		"a list":                  {"[" + both + "]", "", "[]"},
		"a list on several lines": {"\n [\n" + objectOne + "\n,\n" + objectTwo + "]\n", "", "[]"},
		"a reply":                 {`{"data": {"likes": [` + both + `]}}`, "", "[]"},
		"a reply with more":       {`{"extensions":{"took":[1,2]},"data":{"page":{"total":2,"nodes":[` + both + `],"next":null}}}`, "", "[]"},
		"lists of other things":   {"{\n\"@context\": [\"https://example.com\", {\"x\": [{\"y\": 1}]}], \"empty\": [], \"list\": [" + both + "]}", "", "[]"},
		"two lists":               {`{"data":{"likes":[` + both + `],"more":[{"a":1},{"a":2},{"a":3}]}}`, "", "[{data.more another list of the document; import it by its path (rows) 3}]"},
		"a list by its path":      {`{"data":{"more":[{"a":1}],"likes":[` + both + `]}}`, "data.likes", "[]"},
		"a line by its path":      {`{"more":[{"a":1}],"results":[` + both + `]}`, "results", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			m := testMapping()
			m.Rows = c.rows
			for _, stdin := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
				store := openStore(t)
				src, err := Open(t.Context(), "-", stdin, "")
				must.Succeed(t, err)
				got, err := Import(t.Context(), store, src, Options{Mapping: m})
				must.Succeed(t, err)
				must.Succeed(t, src.Close())
				if fmt.Sprint(got.Imported) != "[{read 1} {like 1}]" || fmt.Sprint(got.Skipped) != c.skipped || got.Bad != 0 {
					t.Errorf("got %+v, want a read and a like, skipped %s", got, c.skipped)
				}
			}
		})
	}
	for _, text := range []string{"[]", `{"data":{"likes":[]}}`} {
		if got, err := importFile(t, openStore(t), Options{Mapping: testMapping()}, writeFile(t, "a.json", text)); err != nil || got.Rows != 0 {
			t.Errorf("%s: got %+v, %v, want no rows", text, got, err)
		}
	}
}

func TestDocumentsThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ text, rows, want string }{
		"no list":          {"{\n\"a\": {\"b\": 1}}", "", "the JSON document has no list of objects"},
		"a list of texts":  {"[\"a\", \"b\"]", "", "the JSON document has no list of objects; if its rows are strings, name their list"},
		"no list there":    {`[` + objectOne + `]`, "data.likes", `the JSON document has no list "data.likes"`},
		"errors":           {`{"errors":[{"message":"field 'likes' not found","extensions":{}}]}`, "", `the file is a reply with errors, the first of which is "field 'likes' not found"`},
		"errors and data":  {`{"data":{},"errors":[{"message":"permission denied"}]}`, "", `"permission denied"`},
		"cut":              {"[\n" + objectOne + ",\n{\"user\":", "", "line 2: the JSON document is cut off"},
		"cut between":      {"[\n" + objectOne, "", "line 2: the JSON document is cut off"},
		"cut after":        {`{"data":{"likes":[` + objectOne + "]\n", "", "the JSON document is cut off"},
		"a missing comma":  {"[\n" + objectOne + "\n" + objectTwo + "]", "", "line 3: the JSON document is invalid: expected comma"},
		"other members":    {`[{"uid":1,"videoId":2}]`, "", `none of the first 1 objects has a member "user", "subject", "event" or "time"; there is "uid", "videoId"`},
		"a row too long":   {`[{"user":"` + strings.Repeat("x", 3*maxRowBytes) + `"}]`, "", errRowTooLong.Error()},
		"a key too long":   {"{\n\"" + strings.Repeat("x", 3*maxRowBytes) + `":[]}`, "", errRowTooLong.Error()},
		"a row of numbers": {"[" + objectOne + ",\n7]", "", ""},
	} {
		m := testMapping()
		m.Rows = c.rows
		got, err := importFile(t, openStore(t), Options{Mapping: m}, writeFile(t, "a.json", c.text))
		switch {
		case c.want == "":
			if err != nil || got.Bad != 1 || got.BadRows[0].Error() != "line 2, item 2: is not a JSON object" {
				t.Errorf("%s: got %+v, %v, want item 2 bad", name, got, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestDocumentsAreBounded reads a row without an end.
func TestDocumentsAreBounded(t *testing.T) {
	text := &endless{head: `[{"user":"ann","subject":"`}
	src, err := Open(t.Context(), "-", text, "json")
	must.Succeed(t, err)
	_, err = Import(t.Context(), openStore(t), src, Options{Mapping: testMapping()})
	if !errors.Is(err, errRowTooLong) || text.given > 3*maxRowBytes {
		t.Errorf("got %v after %d bytes, want %v after at most %d", err, text.given, errRowTooLong, 3*maxRowBytes)
	}
}

func TestNestedMembers(t *testing.T) {
	m := testMapping()
	m.User, m.Subject = "node.user.id", "node.subject"
	store := openStore(t)
	got, err := importFile(t, store, Options{Mapping: m}, writeFile(t, "a.json", `{"data":{"likes":{"edges":[
		{"node":{"user":{"id":"ann"},"subject":5},"event":"like","time":1500000000},
		{"node":{"user":{"id":"bob"},"subject":{"id":5}},"event":"like","time":1500000000},
		{"node":{"user":7,"subject":5},"event":"read","time":1500000000},
		{"node":null,"event":"like","time":1500000000}]}}}`))
	must.Succeed(t, err)
	if counts := countsIn(t, store, "video/5"); counts != "1 1 0" || got.Bad != 2 {
		t.Errorf("counts are %s, %v bad, want 1 read, 1 like, 2 bad rows", counts, got.BadRows)
	}
}

// FuzzDocument checks that reading a document ends for any input, that rows are JSON, and
// that lines do not decrease.
func FuzzDocument(f *testing.F) {
	f.Add("["+objectOne+","+objectTwo+"]", "")
	f.Add(`{"data":{"likes":[`+objectOne+`],"more":[{}]}}`, "data.likes")
	f.Add("{\"a\":[1,[{}],{\"b\":[{}]}]}\n[]", "")
	f.Fuzz(func(t *testing.T, text, path string) {
		d, err := newDocument(strings.NewReader(text), path)
		if err != nil {
			return
		}
		latest := rowPlace{1, 0}
		for range len(text) + 1 {
			row, err := d.next()
			if err != nil {
				return
			}
			at := d.place()
			if len(row) == 0 || at.line < latest.line || at.item != latest.item+1 {
				t.Fatalf("row %q is at %+v after %+v", row, at, latest)
			}
			latest = at
		}
		t.Fatalf("more rows than bytes in %q", text)
	})
}
