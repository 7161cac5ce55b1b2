package importer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Suggestion is a change to the mapping that would fix an error.
type Suggestion struct {
	// Member is a member of the mapping, for example "user" or "timeUnit".
	Member string
	// Value is the proposed value. For "events", it is an entry EVENT=ACTION. If there is
	// no proposal, Value is empty; for "events", only its ACTION is empty.
	Value string
}

// MappingError is returned if the mapping does not fit the file. No row has been read.
type MappingError struct {
	Reason      string
	Suggestions []Suggestion
}

func (e *MappingError) Error() string { return e.Reason }

// members maps each column to the member of the mapping that names it.
var members = [columnCount]string{
	colUser: "user", colSubject: "subject", colEvent: "event", colTime: "time", colBiz: "bizColumn", colText: "text", colDeleted: "deleted", colFolder: "folder",
	colCount: "counts", colCount + 1: "counts", colCount + 2: "counts", colCount + 3: "counts", colCount + 4: "counts",
}

// commonColumns holds the names that columns commonly have in other systems, the most
// common first, in the form that plainName returns. The key is the member of the mapping
// that names the column.
var commonColumns = map[string][]string{
	"user": {
		"user", "userid", "username", "uid", "personid", "person", "customerid", "customer", "visitorid", "visitor",
		"accountid", "account", "memberid", "member", "author", "authorid", "ownerid", "owner", "creatorid", "creator",
		"sessionid", "session",
	},
	"subject": {
		"subject", "subjectid", "bizid", "itemid", "item", "contentid", "content", "videoid", "video", "articleid", "article",
		"productid", "product", "movieid", "movie", "postid", "post", "songid", "song", "trackid", "track", "artistid", "artist", "newsid", "bookid", "gameid", "objectid", "object",
	},
	"event":     {"event", "eventtype", "eventname", "action", "actiontype", "interaction", "interactiontype", "activity", "behavior", "behaviour", "type"},
	"time":      {"time", "timestamp", "ts", "at", "date", "datetime", "createdat", "created", "eventtime", "occurredat", "unixtime", "utime", "updatedat", "updatetime", "ctime", "createtime"},
	"bizColumn": {"biz", "kind", "contenttype", "itemtype"},
	"text":      {"text", "commenttext", "comment", "body", "message", "content"},
}

// commonEvents maps event names, in the form that plainName returns, to their usual
// meanings.
var commonEvents = map[string]string{
	"read": "read", "pv": "read", "watched": "read", "viewed": "read", "clicked": "read", "view": "read", "pageview": "read", "click": "read", "open": "read", "play": "read", "watch": "read", "visit": "read",
	"like": "like", "heart": "like", "love": "like", "upvote": "like", "star": "like", "liked": "like", "favorite": "like", "favourite": "like",
	"dislike": "dislike", "downvote": "dislike", "unlike": "unlike", "undislike": "undislike",
	"collect": "collect", "bookmark": "collect", "save": "collect", "fav": "collect", "uncollect": "uncollect", "unbookmark": "uncollect", "unsave": "uncollect",
	"follow": "follow", "subscribe": "follow", "unfollow": "unfollow", "unsubscribe": "unfollow",
	"comment": "comment", "commentcreated": "comment",
}

// plainName returns the letters and digits of a name, in lower case.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// columnSuggestions proposes a column of the file for each missing column. It proposes no
// column twice, and no column that the mapping already uses.
func columnSuggestions(m *Mapping, missing []int, names []string) []Suggestion {
	columns := columnsOf(m)
	taken := columns[:]
	remedies := make([]Suggestion, len(missing))
	for i, column := range missing {
		member := members[column]
		remedies[i].Member = member
		for _, usual := range commonColumns[member] {
			at := slices.IndexFunc(names, func(name string) bool { return plainName(name) == usual && !slices.Contains(taken, name) })
			if at >= 0 {
				remedies[i].Value = names[at]
				taken = append(slices.Clip(taken), names[at])
				break
			}
		}
		if remedies[i].Value == "" && column != colTime { // the values may still show the time
			remedies[i] = missingColumn(m, column)
		}
	}
	return remedies
}

// maxRemedies bounds the number of different suggestions that are counted.
const maxRemedies = 100

// countSuggestions counts the suggestions for a bad row.
func (p *parser) countSuggestions(remedies []Suggestion) {
	formats := 0
	for _, r := range remedies {
		if r.Member == "timeFormat" {
			formats++
		}
		if _, known := p.remedies[r]; !known {
			if len(p.remedies) >= maxRemedies {
				continue
			}
			r.Value = strings.Clone(r.Value)
		}
		p.remedies[r]++
	}
	if formats > 1 {
		p.ambiguous++
	}
}

// suggestions returns suggestions for correcting the mapping. There is at most one
// suggestion for each member of the mapping: the one that would fix the most bad rows.
// These suggestions are sorted by the number of rows that they would fix, the largest
// first. They are followed by the likely meanings of the most frequent events without an
// action.
func (p *parser) suggestions(skipped []Skipped) []Suggestion {
	var out []Suggestion
	for r := range p.remedies {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(p.remedies[b], p.remedies[a]), cmp.Compare(a.Member, b.Member), cmp.Compare(a.Value, b.Value))
	})
	if p.ambiguous > 0 {
		p.leaveFormatOpen(out)
	}
	known := map[string]bool{}
	out = slices.DeleteFunc(out, func(r Suggestion) bool {
		again := known[r.Member]
		known[r.Member] = true
		return again
	})
	out = oneTimeForm(out)
	const most = 5
	events := 0
	for _, s := range skipped {
		if s.Reason == notMapped && s.Event != "" && events < most {
			events++
			out = append(out, Suggestion{"events", s.Event + "=" + commonEvents[plainName(s.Event)]})
		}
	}
	return out
}

// leaveFormatOpen empties the value of the first time format if it is not certain: there
// are rows which two formats fit, and not all other rows agree on one of the two.
func (p *parser) leaveFormatOpen(sorted []Suggestion) {
	first, certain := -1, true
	for i, s := range sorted {
		switch {
		case s.Member != "timeFormat":
		case first < 0:
			first, certain = i, p.remedies[s] > p.ambiguous
		case p.remedies[s] > p.ambiguous:
			certain = false
		}
	}
	if !certain {
		sorted[first].Value = ""
	}
}

// oneTimeForm keeps the first of a time unit and a time format, because they exclude each
// other. A time zone stays only beside a format without one.
func oneTimeForm(sorted []Suggestion) []Suggestion {
	unit := slices.IndexFunc(sorted, func(s Suggestion) bool { return s.Member == "timeUnit" })
	format := slices.IndexFunc(sorted, func(s Suggestion) bool { return s.Member == "timeFormat" })
	byUnit := format < 0 || 0 <= unit && unit < format
	zoned := !byUnit && strings.Contains(sorted[format].Value, "%z")
	return slices.DeleteFunc(sorted, func(s Suggestion) bool {
		switch s.Member {
		case "timeUnit":
			return !byUnit
		case "timeFormat":
			return byUnit
		case "timeZone":
			return byUnit || zoned
		}
		return false
	})
}
