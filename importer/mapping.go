package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"ovation/storage"
)

// Mapping states what the columns (in NDJSON: the members) of a file mean. It also
// defines the format of a mapping file, a JSON object with these members:
//
//	{
//	  "biz": "article",
//	  "user": "personId", "subject": "contentId", "event": "eventType",
//	  "time": "timestamp", "timeUnit": "s",
//	  "events": {"VIEW": "read", "LIKE": "like", "COMMENT CREATED": "comment"},
//	  "text": "comment"
//	}
//
// A member that is left out keeps its default (DefaultMapping).
type Mapping struct {
	Biz       string `json:"biz"`       // the kind of content of every row
	BizColumn string `json:"bizColumn"` // the column with the kind of content, if Biz is empty
	// Columns names the columns of a CSV file that has no header, in their order. Columns
	// with an empty name, and further columns, are ignored.
	Columns []string `json:"columns"`
	User    string   `json:"user"`    // the column with the user's id, which is empty in an anonymous read
	UserID  string   `json:"userId"`  // the user of every row, if User is empty
	Subject string   `json:"subject"` // the column with the content's id
	All     string   `json:"all"`     // the action of every row
	Event   string   `json:"event"`   // the column with the event, if All is empty
	Time    string   `json:"time"`    // the column with the action's time
	// TimeUnit is the unit of Time: s, ms or us since 1970, rfc3339, or auto, which is any
	// of them, by the size of the number, or the date and time of a database.
	TimeUnit string `json:"timeUnit"`
	// TimeFormat is the format of Time instead of TimeUnit, as for strptime: "%Y-%m-%d
	// %H:%M:%S" and the like. A fraction of a second may follow %S.
	TimeFormat string `json:"timeFormat"`
	// TimeZone is the zone of times whose format has none (%z), for example Europe/Berlin
	// or +02:00; UTC if it is empty. A time that occurs twice, because clocks were put
	// back, is the first of the two; a time that was skipped is a bad row.
	TimeZone string `json:"timeZone"`
	// At is the time of the first row, instead of Time: RFC 3339, or a date. Each further
	// row is a microsecond later than the row before it, so that later actions win.
	At string `json:"at"`
	// Events maps each value of the event column to an action: read, like, dislike, clear
	// (also unlike and undislike), collect, uncollect, follow, unfollow, author (the user
	// is the author of the subject from this time on), comment, or skip. Rows with other
	// values are skipped and counted.
	Events map[string]string `json:"events"`
	// Unmapped says what becomes of rows whose event is not in Events: "skip" (the default)
	// skips and counts them, "bad" makes them bad rows.
	Unmapped string `json:"unmapped"`
	// Deleted is the column that marks rows as deleted: by the time of the deletion, or by
	// 1, t or true. The column is empty, 0, f or false in other rows. A deleted row undoes
	// its action; if its action is a read, a comment or a declaration, it is skipped.
	Deleted string `json:"deleted"`
	// Folder is the column that names the folder of a collection, one of its user: a name,
	// or an id (Options.FolderNames). Items without a value, or with 0, go to the default
	// folder. The column is not read for other actions.
	Folder string `json:"folder"`
	// Optional names columns that a file may lack, although the mapping uses them.
	Optional []string `json:"optional"`
	// Counts makes the file a table of counts instead of actions. It holds the column of
	// each count: read, like, dislike, collect and follow. See ImportCounts.
	Counts map[string]string `json:"counts"`
	// Text is the column with a comment's text. The header of a CSV file must contain it;
	// an NDJSON object may lack it.
	Text string `json:"text"`
	// Placeholder is stored as the text of comments that have none. If it is empty, a
	// comment without a text is a bad row.
	Placeholder string `json:"placeholder"`
	// Rows is the path of the list of rows in a JSON document: data.likes is the list in
	// the member likes of the member data. If it is empty, the rows are the first list of
	// objects. A file with one object per line has no such list.
	Rows string `json:"rows"`
	// Delimiter separates the fields of a CSV file: one character, or "tab". If it is
	// empty, the delimiter is detected: the first of comma, tab, semicolon and bar that
	// splits the header into all the columns.
	Delimiter string `json:"delimiter"`

	flatten func(object) error // changes an object before its members are read; set by presets
}

// DefaultMapping returns the default mapping for files of actions: the columns are user,
// biz, subject, event and time (RFC 3339), and the events have the names of actions.
func DefaultMapping() Mapping {
	m := Mapping{BizColumn: "biz", User: "user", Subject: "subject", Event: "event", Time: "time", TimeUnit: "rfc3339"}
	m.Events = make(map[string]string, len(actionNames))
	for name := range actionNames {
		m.Events[name] = name
	}
	return m
}

// SubjectsMapping returns the default mapping for files of subjects: the columns are biz,
// bizId, author and at (RFC 3339), and each row declares an author. A row without an
// author removes the author of its subject.
func SubjectsMapping() Mapping {
	return Mapping{BizColumn: "biz", User: "author", Subject: "bizId", Time: "at", TimeUnit: "rfc3339", All: "author"}
}

// LoadMapping returns the built-in mapping with the given name. If there is none, it
// takes the name as the path of a mapping file and reads that file. The mapping is not
// validated.
func LoadMapping(name string) (Mapping, error) {
	if preset, ok := presets[name]; ok {
		preset.Events, preset.Counts = maps.Clone(preset.Events), maps.Clone(preset.Counts)
		return preset, nil
	}
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return Mapping{}, fmt.Errorf("there is no file %q, nor a mapping of that name (there is %s)", name, strings.Join(Presets(), ", "))
	}
	if err != nil {
		return Mapping{}, fmt.Errorf("open mapping file: %w", err)
	}
	mapping, err := parseMapping(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return Mapping{}, fmt.Errorf("read mapping file %s: %w", name, err)
	}
	return mapping, nil
}

func parseMapping(r io.Reader) (Mapping, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxRowBytes))
	if err != nil {
		return Mapping{}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		if bad, is := errors.AsType[*json.SyntaxError](err); is {
			return Mapping{}, fmt.Errorf("it is not JSON, in line %d: %w", 1+bytes.Count(text[:bad.Offset], []byte("\n")), err)
		}
		return Mapping{}, errors.New("it must hold a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(mappingMembers, name) {
			return Mapping{}, fmt.Errorf("unknown member %q; there are %s", name, strings.Join(mappingMembers, ", "))
		}
	}
	m := DefaultMapping()
	if members["events"] != nil {
		m.Events = nil // json.Unmarshal would add to the map instead of replacing it
	}
	if members["all"] != nil && members["event"] == nil && members["events"] == nil {
		m.Event, m.Events = "", nil
	}
	if members["counts"] != nil {
		m.User, m.Event, m.Events, m.Time = "", "", nil, ""
	}
	if members["userId"] != nil && members["user"] == nil {
		m.User = ""
	}
	if members["biz"] != nil && members["bizColumn"] == nil {
		m.BizColumn = ""
	}
	if members["at"] != nil && members["time"] == nil {
		m.Time = ""
	}
	if err := json.Unmarshal(text, &m); err != nil {
		if bad, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			return Mapping{}, fmt.Errorf("%q has a value of the type %s: events and counts are objects of strings, columns and optional arrays of strings, every other member a string", bad.Field, bad.Value)
		}
		return Mapping{}, err
	}
	return m, nil
}

// mappingMembers holds the names of the members of a mapping file.
var mappingMembers = []string{
	"biz", "bizColumn", "columns", "user", "userId", "subject", "all", "event", "events",
	"unmapped", "deleted", "time", "timeUnit", "timeFormat", "timeZone", "at",
	"text", "placeholder", "rows", "delimiter", "counts", "folder", "optional",
}

// ValidateTimes returns an error if the members that concern times do not fit each other,
// or nil.
func (m Mapping) ValidateTimes() error {
	_, err := newTimeReader(&m)
	return err
}

// Validate returns an error that names an invalid member of the mapping, or nil.
func (m Mapping) Validate() error {
	if err := m.validateColumns(); err != nil {
		return err
	}
	if _, err := newTimeReader(&m); err != nil {
		return err
	}
	switch {
	case m.At != "" && m.Time != "":
		return fmt.Errorf("give the time of every row (at: %q) or the column that holds it (time: %q), not both", m.At, m.Time)
	case m.Biz == "" && m.BizColumn == "":
		return errors.New("either biz or the column that holds it must be given")
	case m.Biz != "" && m.BizColumn != "":
		return fmt.Errorf("give biz (%q) or the column that holds it (%q), not both", m.Biz, m.BizColumn)
	}
	if m.Biz != "" {
		if err := storage.ValidateBiz(m.Biz); err != nil {
			return err
		}
	}
	if m.Placeholder != "" {
		if _, err := storage.CleanText("placeholder", m.Placeholder, storage.MaxCommentRunes); err != nil {
			return err
		}
	}
	if m.Delimiter != "" {
		if _, err := ParseDelimiter(m.Delimiter); err != nil {
			return err
		}
	}
	if m.Unmapped != "" && m.Unmapped != skip && m.Unmapped != reject {
		return fmt.Errorf("unmapped is %q, which is not one of %s, %s", m.Unmapped, skip, reject)
	}
	if m.UserID != "" {
		if err := storage.ValidateUserID(m.UserID); err != nil {
			return err
		}
	}
	return m.validateEvents()
}

// Open returns the members that a mapping leaves open because its files do not contain
// them, the user and the time of their rows. They must be set before the mapping is used.
func (m Mapping) Open() (out []Suggestion) {
	if m.User == "" && m.UserID == "" && len(m.Counts) == 0 {
		out = append(out, Suggestion{"userId", ""})
	}
	if m.Time == "" && m.At == "" && len(m.Counts) == 0 {
		out = append(out, Suggestion{"at", ""})
	}
	return out
}

// validateColumns returns an error if a column that every mapping needs has no name.
func (m Mapping) validateColumns() error {
	switch {
	case m.Subject == "":
		return errors.New("subject must name a column")
	case len(m.Counts) > 0:
		return m.validateCounts()
	case m.User != "" && m.UserID != "":
		return fmt.Errorf("give the user of every row (userId: %q) or the column that holds it (user: %q), not both", m.UserID, m.User)
	case m.User == "" && m.UserID == "":
		return errors.New("user must name a column, or userId the user of every row")
	case m.Time == "" && m.At == "":
		return errors.New("time must name a column, or at give the time of the rows")
	}
	return nil
}

func (m Mapping) validateEvents() error {
	switch {
	case len(m.Counts) > 0:
		return nil
	case m.All != "" && (m.Event != "" || len(m.Events) > 0):
		return fmt.Errorf("give the action of every row (all: %q) or the column that says what was done (event, events), not both", m.All)
	case m.All != "" && actionNames[m.All] == 0:
		return fmt.Errorf("all is %q, which is not one of %s", m.All, strings.Join(Actions(), ", "))
	case m.All != "":
		return nil
	case m.Event == "":
		return errors.New("event must name a column, or all the action of every row")
	case len(m.Events) == 0:
		return errors.New("no event is mapped to an action")
	}
	for _, event := range slices.Sorted(maps.Keys(m.Events)) {
		if name := m.Events[event]; name != skip && actionNames[name] == 0 {
			return fmt.Errorf("event %q is mapped to %q, which is not one of %s, %s", event, name, strings.Join(Actions(), ", "), skip)
		}
	}
	return nil
}

// Actions returns the names of all actions, sorted.
func Actions() []string { return slices.Sorted(maps.Keys(actionNames)) }

// skip is the value in Mapping.Events for events whose rows are skipped, and with reject one
// of the values of Mapping.Unmapped.
const (
	skip   = "skip"
	reject = "bad"
)

// action is the meaning of a row. Summaries list actions in this order. The numbers are
// part of the ids of imported messages, which are stored forever: append new actions at
// the end.
type action uint8

const (
	actionRead action = iota + 1
	actionLike
	actionDislike
	actionClear
	actionCollect
	actionUncollect
	actionFollow
	actionUnfollow
	actionAuthor
	actionComment
	actionEnd
)

var actionNames = map[string]action{
	"read": actionRead, "like": actionLike, "dislike": actionDislike,
	"clear": actionClear, "unlike": actionClear, "undislike": actionClear,
	"collect": actionCollect, "uncollect": actionUncollect,
	"follow": actionFollow, "unfollow": actionUnfollow,
	"author": actionAuthor, "comment": actionComment,
}

// effects holds the name of each action and its effect on a state, apart from the time. A
// comment changes no state.
var effects = [actionEnd]struct {
	name string
	storage.Action
}{
	actionRead:      {"read", storage.Action{Kind: storage.KindRead, Times: 1}},
	actionLike:      {"like", storage.Action{Kind: storage.KindReaction, Reaction: storage.Like}},
	actionDislike:   {"dislike", storage.Action{Kind: storage.KindReaction, Reaction: storage.Dislike}},
	actionClear:     {"clear", storage.Action{Kind: storage.KindReaction}},
	actionCollect:   {"collect", storage.Action{Kind: storage.KindCollection, FolderID: storage.DefaultFolderID}},
	actionUncollect: {"uncollect", storage.Action{Kind: storage.KindCollection}},
	actionFollow:    {"follow", storage.Action{Kind: storage.KindFollow, Following: true}},
	actionUnfollow:  {"unfollow", storage.Action{Kind: storage.KindFollow}},
	actionAuthor:    {"author", storage.Action{Kind: storage.KindAuthor}},
	actionComment:   {"comment", storage.Action{}},
}

func (a action) String() string { return effects[a].name }

// kind returns the kind of state that the action changes.
func (a action) kind() storage.Kind { return effects[a].Kind }

// apply sets the fields of a storage.Action that describe the effect of a and its time.
// The time is given in microseconds since 1970.
func (a action) apply(to *storage.Action, at int64) {
	is := &effects[a]
	to.Kind, to.Reaction, to.FolderID, to.Times, to.Following, to.Version = is.Kind, is.Reaction, is.FolderID, is.Times, is.Following, at
	if is.Kind.AddsUp() {
		to.First = at
	}
	if a == actionAuthor { // the user of the row is the author; the action has no user
		to.Author, to.User.UserID = to.User.UserID, ""
	}
}
