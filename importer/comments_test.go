package importer

import (
	"fmt"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// commentMapping returns a mapping that reads the texts of comments from a column.
func commentMapping() Mapping {
	m := testMapping()
	m.Text, m.Placeholder = "text", ""
	return m
}

const commentHeader = "user,subject,event,time,text\n"

// TestCommentsAreImported checks that each comment has the time of its row and is listed
// by that time. Neither the order of the rows nor existing comments matter. Imported
// texts obey the same rules as the texts of other comments.
func TestCommentsAreImported(t *testing.T) {
	store := openStore(t)
	subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}
	ann := storage.User{Tenant: "default", UserID: "ann"}
	_, err := store.AddComments(t.Context(), []storage.NewComment{{Subject: subject, User: ann, Text: "today"}})
	must.Succeed(t, err)
	rows := commentHeader +
		"ann,1,comment,1500000100,third\n" +
		"ann,1,like,1500000000,what is no comment needs no text\n" +
		"bob,1,comment,1500000000,first\n" +
		"bob,1,comment,1500000000,second of that time\n" +
		"ann,1,comment,1500000200,\" \u200fto be\r\nor not \"\n" +
		"ann,1,comment,1500000300,\n" +
		"ann,1,comment,1500000300,a\x07b\n" +
		"ann,1,comment,1500000300," + strings.Repeat("x", storage.MaxCommentRunes+1) + "\n" +
		",1,comment,1500000300,of nobody\n"
	for run, want := range []string{"[{like 1} {comment 4}] already 0", "[] already 5"} {
		got, err := importText(t, store, Options{Mapping: commentMapping()}, rows)
		must.Succeed(t, err)
		if summary := fmt.Sprint(got.Imported, " already ", got.Already); summary != want || got.Bad != 4 || got.Textless != 0 {
			t.Errorf("run %d: got %s, %d rows bad and %d without text, want %s, 4 and 0: %v", run, summary, got.Bad, got.Textless, want, got.BadRows)
		}
		for i, reason := range []string{"text must not be empty", "text contains U+0007", "text is 2001 characters long", "userId must not be empty"} {
			if !strings.Contains(got.BadRows[i].Reason, reason) {
				t.Errorf("line %d: got reason %q, want %q in it", got.BadRows[i].Line, got.BadRows[i].Reason, reason)
			}
		}
	}
	// The file has grown.
	_, err = importText(t, store, Options{Mapping: commentMapping()}, rows+"ann,1,comment,1500000050,between\n")
	must.Succeed(t, err)
	var got []string
	for _, c := range commentsOf(t, store, subject) {
		got = append(got, fmt.Sprint(c.User.UserID, " ", c.At().Unix()%1000, " ", c.Text))
	}
	want := []string{"bob 0 first", "bob 0 second of that time", "ann 50 between", "ann 100 third", "ann 200 \u200fto be\nor not"}
	if len(got) != 6 || fmt.Sprint(got[:5]) != fmt.Sprint(want) || !strings.HasSuffix(got[5], " today") {
		t.Errorf("the comments are %q, want %q and that of today", got, want)
	}
	totals, err := store.TotalsOf(t.Context(), []storage.User{ann, {Tenant: "default", UserID: "bob"}})
	must.Succeed(t, err)
	if totals[0].Comments != 4 || totals[1].Comments != 2 {
		t.Errorf("totals are %+v, want 4 comments of ann, 2 of bob", totals)
	}
}

// TestCommentsWithoutText checks that a comment without a text gets the mapping's
// placeholder, and that importing the file again with a different placeholder adds
// nothing.
func TestCommentsWithoutText(t *testing.T) {
	store := openStore(t)
	ndjson := `{"user": "ann", "subject": "1", "event": "like", "time": 1500000000}
{"user": "ann", "subject": "1", "event": "comment", "time": 1500000001, "text": "mine"}
{"user": "ann", "subject": "1", "event": "comment", "time": 1500000002, "text": null}
{"user": "ann", "subject": "1", "event": "comment", "time": 1500000003}
`
	file := writeFile(t, "rows.ndjson", ndjson)
	m := commentMapping()
	m.Text = ""
	got, err := importFile(t, openStore(t), Options{Mapping: m}, file)
	must.Succeed(t, err)
	if got.Bad != 3 || !strings.Contains(got.BadRows[0].Reason, "name its column (text), or what stands for it (placeholder)") {
		t.Errorf("without a column for texts: got %+v, want 3 bad rows, with the advice to name one", got)
	}
	for _, placeholder := range []string{"(none)", "(another)"} {
		m := commentMapping()
		m.Placeholder = placeholder
		got, err := importFile(t, store, Options{Mapping: m}, file)
		must.Succeed(t, err)
		if imported := len(got.Imported) > 0; imported != (placeholder == "(none)") || imported && got.Textless != 2 {
			t.Errorf("with %s: got %+v, want comments imported: %t", placeholder, got, placeholder == "(none)")
		}
	}
	var texts []string
	for _, c := range commentsOf(t, store, storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}) {
		texts = append(texts, c.Text)
	}
	if want := "[mine (none) (none)]"; fmt.Sprint(texts) != want {
		t.Errorf("the texts are %v, want %s", texts, want)
	}
}

// TestCommentsAreMappedLater checks that importing a file's comments later does not
// import its other rows again.
func TestCommentsAreMappedLater(t *testing.T) {
	store := openStore(t)
	var rows strings.Builder
	rows.WriteString(header)
	for i := range 30 {
		fmt.Fprintf(&rows, "ann,1,%s,%d\n", []string{"read", "comment"}[i%2], 1500000000+i)
	}
	m := testMapping()
	m.Events["comment"] = skip
	_, err := importText(t, store, Options{Mapping: m, block: 4}, rows.String())
	must.Succeed(t, err)
	got, err := importText(t, store, Options{Mapping: testMapping(), block: 8}, rows.String())
	must.Succeed(t, err)
	if fmt.Sprint(got.Imported) != "[{comment 15}]" || got.Already != 15 || got.Textless != 15 {
		t.Errorf("got %+v, want 15 comments imported, 15 known already and 15 without a text", got)
	}
}

// TestProgressOfBothSeries checks that progress never decreases and that it covers the
// whole file at the end. This holds however actions and comments alternate, and even if
// the rows are already stored.
func TestProgressOfBothSeries(t *testing.T) {
	store := openStore(t)
	rows := header + strings.Repeat("ann,1,read,1500000000\n", 50) + strings.Repeat("ann,1,read,1500000000\nann,1,comment,1500000000\n", 25) +
		"ann,1,stare,1500000000\n"
	for run := range 2 {
		told := []Progress{{}}
		_, err := importText(t, store, Options{Mapping: testMapping(), block: 20, Progress: func(p Progress) { told = append(told, p) }}, rows)
		must.Succeed(t, err)
		for i := range told[1:] {
			if told[i+1].Rows < told[i].Rows || told[i+1].Bytes < told[i].Bytes {
				t.Errorf("run %d: progress %v follows %v, want no less", run, told[i+1], told[i])
			}
		}
		if last := told[len(told)-1]; last.Rows != 101 || last.Bytes != int64(len(rows)) {
			t.Errorf("run %d: the last progress is %+v, want 101 rows, %d bytes", run, last, len(rows))
		}
	}
}

// TestCommentsOfAnEarlierRuleAreNotRepeated imports comments as an earlier version stored
// them, without most format characters, and then the same comments as the file has them.
func TestCommentsOfAnEarlierRuleAreNotRepeated(t *testing.T) {
	m := testMapping()
	m.Text = "text"
	const head = "user,subject,event,time,text\n"
	former := "ann,1,comment,1500000000,soft hyphen\nann,1,comment,1500000001,می\u200cخواهم 👩\u200d👧\n"
	now := "ann,1,comment,1500000000,\u200esoft hy\u00adphen\u200b\nann,1,comment,1500000001,می\u200cخواهم 👩\u200d👧\u2060\n"
	more := "ann,1,comment,1500000002,\u200enew\n"
	store := openStore(t)
	_, err := importText(t, store, Options{Mapping: m}, head+former)
	must.Succeed(t, err)
	result, err := importText(t, store, Options{Mapping: m}, head+now+more)
	must.Succeed(t, err)
	if result.Already != 2 || len(result.Imported) != 1 || result.Imported[0].Rows != 1 {
		t.Errorf("got %+v, want 2 rows that were imported before and one new row", result)
	}
}
