package importer

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ovation/internal/testing/must"
)

// TestRemediesOfColumns checks that the error suggests a fix if the mapping does not fit
// the columns of the file.
func TestRemediesOfColumns(t *testing.T) {
	preset := DefaultMapping()
	click := DefaultMapping()
	click.Biz, click.BizColumn, click.All, click.Event, click.Events = "video", "", "read", "", nil
	commas := click
	commas.Delimiter = ","
	texts := click
	texts.All, texts.Text = "comment", "msg"
	for name, c := range map[string]struct {
		mapping  Mapping
		header   string
		reason   string
		remedies []Suggestion
	}{
		"other names": {
			preset, "timestamp,eventType,contentId,personId\n", `has no column "user", "subject", "event", "time" or "biz"; it has "timestamp", "eventType", "contentId", "personId"`,
			[]Suggestion{{"user", "personId"}, {"subject", "contentId"}, {"event", "eventType"}, {"time", "timestamp"}, {"biz", ""}},
		},
		"case and punctuation":        {click, "User ID,video_id,Created At\n", `has no column "user", "subject" or "time"`, []Suggestion{{"user", "User ID"}, {"subject", "video_id"}, {"time", "Created At"}}},
		"no similar column":           {click, "user,subject,x\n", `has no column "time"; it has "user", "subject", "x"`, []Suggestion{{"time", ""}}},
		"no event":                    {preset, "biz,user,subject,time\n", `has no column "event"`, []Suggestion{{"all", ""}}},
		"a column is not taken twice": {click, "user_id,uid,item,at\n", `has no column "user"`, []Suggestion{{"user", "user_id"}, {"subject", "item"}, {"time", "at"}}},
		"texts":                       {texts, "user,item,at,body\n", `has no column "subject", "time" or "msg"`, []Suggestion{{"subject", "item"}, {"time", "at"}, {"text", "body"}}},
		"wrong delimiter in a list":   {commas, "x,user;subject;time\n", `the header, split at each comma, has no column "user", "subject" or "time"; it has "x", "user;subject;time"; the header looks separated by ';'`, []Suggestion{{"delimiter", ";"}}},
		"recognised delimiter":        {click, "time\tuserId\titemId\n", `the header, split at each tab, has no column "user" or "subject"; it has "time", "userId", "itemId"`, []Suggestion{{"user", "userId"}, {"subject", "itemId"}}},
		"wrong delimiter":             {commas, "user\titem\tat\n", `split at each comma, has no column "user", "subject" or "time"; it has "user\titem\tat"; the header looks separated by tabs`, []Suggestion{{"delimiter", "tab"}}},
		"unusual delimiter":           {click, "user:item:at\n", `if another character separates the columns, name it`, []Suggestion{{"delimiter", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := importText(t, openStore(t), Options{Mapping: c.mapping}, c.header+"a\n")
			unfit, is := errors.AsType[*MappingError](err)
			if !is || !strings.Contains(err.Error(), c.reason) || !slices.Equal(unfit.Suggestions, c.remedies) {
				t.Errorf("got %+v: %v\nwant %v: %s", unfit, err, c.remedies, c.reason)
			}
		})
	}
}

// TestNamesThatAreGivenStay checks the suggestions for a file whose columns are named by
// the mapping, or are named incompletely.
func TestNamesThatAreGivenStay(t *testing.T) {
	named := func(change func(*Mapping), columns ...string) Mapping {
		m := DefaultMapping()
		m.Biz, m.BizColumn, m.All, m.Event, m.Events, m.Columns = "video", "", "read", "", nil, columns
		if change != nil {
			change(&m)
		}
		return m
	}
	kinds := func(m *Mapping) { m.Biz, m.BizColumn = "", "sort" }
	for name, c := range map[string]struct {
		mapping  Mapping
		text     string
		reason   string
		remedies []Suggestion
	}{
		"subject first": {
			named(nil, "subject", "user"), "7,a,1500000000\n", `has no column "time"`, []Suggestion{{"columns", "subject,user,time"}, {"timeUnit", "s"}},
		},
		"only the subject": {
			named(nil, "", "subject"), "a,7,2025-01-02\n", "", []Suggestion{{"columns", "user,subject,time"}, {"timeFormat", "%Y-%m-%d"}, {"timeZone", "UTC"}},
		},
		"other names": {
			named(nil, "item", "uid", "ts"), "7,a,1500000000\n", "", []Suggestion{{"user", "uid"}, {"subject", "item"}, {"time", "ts"}, {"timeUnit", "s"}},
		},
		"a column of the kind": {
			named(kinds, "subject", "sort", "user"), "7,film,a,1500000000\n", "", []Suggestion{{"columns", "subject,sort,user,time"}, {"timeUnit", "s"}},
		},
		"no column of the kind": {
			named(kinds, "subject", "user", "time"), "7,a,1500000000\n", "", []Suggestion{{"bizColumn", ""}, {"timeUnit", "s"}},
		},
		"day or month first": {
			named(nil, "user", "subject"), "a,7,01/02/2025\nb,7,03/04/2025\n", "the format of the times may be %m/%d/%Y or %d/%m/%Y",
			[]Suggestion{{"columns", "user,subject,time"}, {"timeFormat", ""}, {"timeZone", "UTC"}},
		},
		"a later row shows the order": {
			named(nil, "user", "subject"), "a,7,01/02/2025\nb,7,13/04/2025\n", "",
			[]Suggestion{{"columns", "user,subject,time"}, {"timeFormat", "%d/%m/%Y"}, {"timeZone", "UTC"}},
		},
		"a header": {
			named(nil, "user", "subject", "time"), "User,subject,time,more\na,7,2025-01-02T00:00:00Z,x\n", "the file has a header, so leave the list out", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := importText(t, openStore(t), Options{Mapping: c.mapping}, c.text)
			unfit, is := errors.AsType[*MappingError](err)
			if !is || !strings.Contains(err.Error(), c.reason) || !slices.Equal(unfit.Suggestions, c.remedies) {
				t.Errorf("got %+v: %v\nwant %v: %s", unfit, err, c.remedies, c.reason)
			}
		})
	}
}

// TestObjectsAreCheckedHoweverTheyArrive checks NDJSON that arrives in small pieces: a
// member that the first row lacks is no reason to refuse the file.
func TestObjectsAreCheckedHoweverTheyArrive(t *testing.T) {
	lacking := `{"subject":"1","event":"read","author":"b","time":1500000000}` + "\n" + `{"user":"a","event":"read","time":1500000000}` + "\n"
	src, err := Open(t.Context(), "-", iotest.OneByteReader(strings.NewReader(lacking+asNDJSON)), "ndjson")
	must.Succeed(t, err)
	result, err := Import(t.Context(), openStore(t), src, Options{Mapping: testMapping()})
	must.Succeed(t, err)
	if result.Bad != 1 || result.BadRows[0].Line != 2 {
		t.Errorf("got %+v, want one bad row, in line 2", result)
	}
	// The members of the first objects alone decide, wherever a read ends.
	late := strings.Repeat(`{"subject":"1","event":"read","at":1500000000}`+"\n", sampleRows)
	src, err = Open(t.Context(), "-", iotest.OneByteReader(strings.NewReader(late+asNDJSON)), "ndjson")
	must.Succeed(t, err)
	_, err = Import(t.Context(), openStore(t), src, Options{Mapping: testMapping()})
	if unfit, is := errors.AsType[*MappingError](err); !is || !strings.Contains(err.Error(), `none of the first 50 objects has a member "time"`) {
		t.Errorf("got %+v: %v, want an error that names the member", unfit, err)
	}
}

// TestRemediesOfRows checks that the result suggests fixes for rows that are bad because
// of the mapping, and for events that are missing from the mapping.
func TestRemediesOfRows(t *testing.T) {
	m := DefaultMapping()
	m.Biz, m.BizColumn = "video", ""
	seconds := m
	seconds.TimeUnit = "s"
	shanghai := m
	shanghai.TimeFormat, shanghai.TimeZone = "%Y-%m-%d", "Asia/Shanghai"
	only := seconds
	only.Events = map[string]string{"LIKE": "like"}
	for name, c := range map[string]struct {
		mapping  Mapping
		text     string
		reason   string // of the first bad row
		remedies []Suggestion
	}{
		"seconds": {
			m, "user,subject,event,time\na,1,read,1500000000\n",
			`time "1500000000" is not of the form 2026-01-31T12:00:00Z; in the time unit s it is 2017-07-14`,
			[]Suggestion{{"timeUnit", "s"}},
		},
		"milliseconds": {
			seconds, "user,subject,event,time\na,1,read,1500000000000\n",
			`is in the year 49503; times from 1990 to 2099 are accepted; in the time unit ms it is 2017-07-14`,
			[]Suggestion{{"timeUnit", "ms"}},
		},
		"day or month first": {
			m, "user,subject,event,time\na,1,read,01/02/2025\na,1,read,05/05/2025\n",
			`in the time format %m/%d/%Y it is 2025-01-02, in %d/%m/%Y it is 2025-02-01`,
			[]Suggestion{{"timeFormat", ""}, {"timeZone", "UTC"}},
		},
		"one row shows that the day is first": {
			m, "user,subject,event,time\na,1,read,01/02/2025\na,1,read,13/02/2025\n", "in %d/%m/%Y it is 2025-02-01",
			[]Suggestion{{"timeFormat", "%d/%m/%Y"}, {"timeZone", "UTC"}},
		},
		"rows that contradict each other": {
			m, "user,subject,event,time\na,1,read,01/02/2025\na,1,read,13/02/2025\na,1,read,02/13/2025\na,1,read,02/14/2025\n", "",
			[]Suggestion{{"timeZone", "UTC"}, {"timeFormat", ""}},
		},
		"the zone of the mapping stays": {
			shanghai, "user,subject,event,time\na,1,read,2025/01/02\n", "in the time format %Y/%m/%d it is 2025-01-02", []Suggestion{{"timeFormat", "%Y/%m/%d"}},
		},
		"a format with a zone needs no other": {
			m, "user,subject,event,time\na,1,read,2025/01/02\na,1,read,2025-01-02 10:00:00+0200\na,2,read,2025-01-02 10:00:00+0200\n", "",
			[]Suggestion{{"timeFormat", "%Y-%m-%d %H:%M:%S%z"}},
		},
		"a unit or a format, not both": {
			m, "user,subject,event,time\na,1,read,2025/01/02\na,1,read,1500000000\na,2,read,1500000001\n", "", []Suggestion{{"timeUnit", "s"}},
		},
		"neither": {seconds, "user,subject,event,time\na,1,read,soon\n", `time "soon" is not a number of seconds since 1970`, nil},
		"no text": {
			seconds, "user,subject,event,time\na,1,comment,1500000000\n", "name its column (text), or what stands for it (placeholder)", []Suggestion{{"text", ""}},
		},
		"events": {
			only, "user,subject,event,time\na,1,VIEW,1500000000\na,2,VIEW,1500000000\na,2,SHARE,1500000000\na,3,,1500000000\n", "",
			[]Suggestion{{"events", "VIEW=read"}, {"events", "SHARE="}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := importFile(t, openStore(t), Options{Mapping: c.mapping}, writeFile(t, "rows", c.text))
			must.Succeed(t, err)
			reason := ""
			if len(result.BadRows) > 0 {
				reason = result.BadRows[0].Reason
			}
			if !strings.Contains(reason, c.reason) || !slices.Equal(result.Remedies, c.remedies) {
				t.Errorf("got %v: %q\nwant %v: %q", result.Remedies, reason, c.remedies, c.reason)
			}
		})
	}
}
