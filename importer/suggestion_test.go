package importer

import (
	"errors"
	"slices"
	"strings"
	"testing"
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

// TestRemediesOfRows checks that the result suggests fixes for rows that are bad because
// of the mapping, and for events that are missing from the mapping.
func TestRemediesOfRows(t *testing.T) {
	m := DefaultMapping()
	m.Biz, m.BizColumn = "video", ""
	seconds := m
	seconds.TimeUnit = "s"
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
			must(t, err)
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
