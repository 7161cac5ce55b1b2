package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"unicode"
)

// sampleRows bounds the number of rows from which columns are guessed.
const sampleRows = 50

// sample holds the first rows of a file.
type sample struct {
	names []string // of the columns, in their order
	rows  [][]string
}

// sampleOf returns the rows that are in the buffer. If no names are given, the first row
// is the header.
func sampleOf(text *bufio.Reader, comma rune, names []string) sample {
	head, _ := text.Peek(text.Buffered())
	if end := bytes.LastIndexByte(head, '\n'); end >= 0 {
		head = head[:end+1] // only whole lines
	}
	r := csv.NewReader(bytes.NewReader(head))
	r.Comma, r.FieldsPerRecord = comma, -1
	s := sample{names: names}
	for len(s.rows) < sampleRows {
		fields, err := r.Read()
		if err != nil {
			break
		}
		switch {
		case s.names == nil:
			s.names = fields
		case len(fields) >= len(s.names) && (len(s.rows) == 0 || len(fields) == len(s.rows[0])):
			s.rows = append(s.rows, fields)
		}
	}
	return s
}

// values returns the values of a column that are not missing.
func (s *sample) values(column int) []string {
	var out []string
	for _, fields := range s.rows {
		if !isNothing(fields[column]) {
			out = append(out, fields[column])
		}
	}
	return out
}

// timesIn returns the changes to the mapping with which all values of a column are times.
// It returns false if they are none.
func (s *sample) timesIn(column int) (remedies []Suggestion, are bool) {
	values := s.values(column)
	if len(values) == 0 {
		return nil, false
	}
	remedies, _ = timeRemedies(values...)
	return remedies, remedies != nil
}

// eventsIn reports whether the values of a column are the names of events.
func (s *sample) eventsIn(column int) bool {
	values := s.values(column)
	known := slices.ContainsFunc(values, func(v string) bool { return commonEvents[plainName(v)] != "" })
	return known && len(distinct(values)) <= 20
}

func distinct(values []string) []string {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}

// isRow reports whether the header looks like a row: a field is a number, a time or the
// name of an event like those below it.
func (s *sample) isRow() bool {
	for i, name := range s.names {
		remedies, _ := timeRemedies(name)
		if name != "" && (remedies != nil || !strings.ContainsFunc(name, unicode.IsLetter)) {
			return true
		}
		if commonEvents[plainName(name)] != "" && s.eventsIn(i) {
			return true
		}
	}
	return false
}

// explainColumns completes the suggestions of an error about columns by what the first
// rows contain: the names of the columns if there is no header, the unit or format of the
// time, and the events.
func explainColumns(unfit *MappingError, m *Mapping, seen sample) *MappingError {
	has := func(member string) bool {
		return slices.ContainsFunc(unfit.Suggestions, func(s Suggestion) bool { return s.Member == member })
	}
	if has("delimiter") {
		return unfit
	}
	switch {
	case len(m.Columns) > 0 && len(seen.rows) > 0: // the list of columns lacks one, or has one twice
		seen.names = seen.rows[0]
		return nameColumns(unfit, m, seen)
	case len(m.Columns) == 0 && seen.isRow():
		unfit.Reason += "; the first line looks like a row, not like a header"
		seen.rows = append([][]string{seen.names}, seen.rows...)
		return nameColumns(unfit, m, seen)
	}
	event, time := m.Event, m.Time
	for i, s := range unfit.Suggestions {
		switch {
		case s.Member == "event":
			event = s.Value
		case s.Member == "time" && s.Value == "" && len(seen.rows) > 0:
			column := slices.IndexFunc(seen.names, seen.isTime)
			if column < 0 {
				unfit.Suggestions[i] = Suggestion{"at", ""}
				continue
			}
			unfit.Suggestions[i].Value = seen.names[column]
			time = seen.names[column]
		case s.Member == "time":
			time = s.Value
		}
	}
	unfit.Suggestions = append(unfit.Suggestions, seen.forTime(m, slices.Index(seen.names, time))...)
	if !has("all") {
		unfit.Suggestions = append(unfit.Suggestions, seen.forEvents(m, slices.Index(seen.names, event))...)
	}
	return unfit
}

func (s *sample) isTime(name string) bool {
	_, are := s.timesIn(slices.Index(s.names, name))
	return are
}

// forTime returns the changes that the times of a column need.
func (s *sample) forTime(m *Mapping, column int) []Suggestion {
	if column < 0 || m.At != "" || m.TimeFormat != "" {
		return nil
	}
	remedies, are := s.timesIn(column)
	if !are || remedies[0] == (Suggestion{"timeUnit", m.TimeUnit}) {
		return nil
	}
	return remedies
}

// forEvents returns the meanings of the events of a column if the mapping lacks one of
// them. It returns all of them, because events that are given replace the default ones.
func (s *sample) forEvents(m *Mapping, column int) []Suggestion {
	if column < 0 || m.All != "" {
		return nil
	}
	const most = 10
	var out []Suggestion
	lacking := false
	for _, event := range distinct(s.values(column)) {
		meaning, known := m.Events[event]
		if lacking = lacking || !known; !known {
			meaning = commonEvents[plainName(event)]
		}
		if len(out) < most {
			out = append(out, Suggestion{"events", event + "=" + meaning})
		}
	}
	if !lacking {
		return nil
	}
	return out
}

// nameColumns proposes names for the columns of a file without a header: that of the time
// and of the event by their values, and of the others the first for the user and the
// second for the subject.
func nameColumns(unfit *MappingError, m *Mapping, seen sample) *MappingError {
	names := make([]string, len(seen.names))
	time, event := -1, -1
	for i := range names {
		remedies, are := seen.timesIn(i)
		if are && (time < 0 || remedies[0].Member == "timeFormat" || remedies[0].Value == "rfc3339" || i == len(names)-1) {
			time = i
		}
		if event < 0 && seen.eventsIn(i) {
			event = i
		}
	}
	var out []Suggestion
	if time >= 0 {
		names[time] = m.Time
	}
	if event >= 0 && m.All == "" {
		names[event] = m.Event
	}
	given := []string{m.User, m.Subject}
	for i := range names {
		if names[i] == "" && len(given) > 0 {
			names[i], given = given[0], given[1:]
		}
	}
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	out = append(out, Suggestion{"columns", strings.Join(names, ",")})
	if m.Biz == "" {
		out = append(out, Suggestion{"biz", ""})
	}
	if time < 0 && m.At == "" {
		out = append(out, Suggestion{"at", ""})
	}
	if event < 0 && m.All == "" {
		out = append(out, Suggestion{"all", ""})
	}
	out = append(out, seen.forTime(m, time)...)
	out = append(out, seen.forEvents(m, event)...)
	return &MappingError{unfit.Reason, out}
}
