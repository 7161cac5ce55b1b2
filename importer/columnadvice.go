package importer

import (
	"maps"
	"slices"
	"strings"
)

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
			column := slices.IndexFunc(seen.names, func(name string) bool {
				return seen.timesIn(slices.Index(seen.names, name)) != nil
			})
			if column < 0 {
				unfit.Suggestions[i] = missingColumn(m, colTime)
				continue
			}
			unfit.Suggestions[i].Value = seen.names[column]
			time = seen.names[column]
		case s.Member == "time":
			time = s.Value
		}
	}
	seen.forTime(unfit, m, slices.Index(seen.names, time))
	if !has("all") {
		unfit.Suggestions = append(unfit.Suggestions, seen.forEvents(m, slices.Index(seen.names, event))...)
	}
	return unfit
}

// missingColumn returns the suggestion for a column that the file does not seem to have. The
// members biz, all and at replace a column, unless the mapping states the column, or how
// to read it.
func missingColumn(m *Mapping, column int) Suggestion {
	usual := DefaultMapping()
	switch {
	case column == colBiz && m.BizColumn == usual.BizColumn:
		return Suggestion{"biz", ""}
	case column == colEvent && m.Event == usual.Event && maps.Equal(m.Events, usual.Events):
		return Suggestion{"all", ""}
	case column == colTime && m.Time == usual.Time && m.TimeUnit == usual.TimeUnit && m.TimeFormat == "":
		return Suggestion{"at", ""}
	}
	return Suggestion{members[column], ""}
}

// forTime adds to an error the changes that the times of a column need. If several formats
// fit, the reason names them.
func (s *sample) forTime(unfit *MappingError, m *Mapping, column int) {
	if column < 0 || m.At != "" || m.TimeFormat != "" || m.TimeUnit == auto && m.Time != "" {
		return
	}
	forms := s.timesIn(column)
	if len(forms) == 0 || forms[0].unit == m.TimeUnit {
		return
	}
	if len(forms) > 1 {
		unfit.Reason += "; the format of the times may be " + formatNames(forms)
	}
	unfit.Suggestions = append(unfit.Suggestions, remediesOf(forms, m.TimeZone)...)
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

// nameColumns proposes names for the columns of a file without a header. Names that the
// mapping gives stay; a column that it calls differently is proposed for its use. Of the
// other columns, those of the time and of the event are found by their values, and the
// rest are named in their order.
func nameColumns(unfit *MappingError, m *Mapping, seen sample) *MappingError {
	out := &MappingError{Reason: unfit.Reason}
	width := len(seen.rows[0])
	names := make([]string, max(width, len(m.Columns)))
	for i, name := range m.Columns {
		if !slices.Contains(names, name) { // of two columns of one name, the second is not named
			names[i] = name
		}
	}
	wanted := columnsOf(m)
	var missing []int
	for column, name := range wanted {
		if name != "" && !slices.Contains(names, name) {
			missing = append(missing, column)
		}
	}
	found := map[int]string{}
	for i, s := range columnSuggestions(m, missing, m.Columns) {
		if s.Value != "" && s.Member == members[missing[i]] {
			out.Suggestions, found[missing[i]] = append(out.Suggestions, s), s.Value
		}
	}
	missing = slices.DeleteFunc(missing, func(column int) bool { return found[column] != "" })
	missing = seen.nameByValue(names, wanted, missing)
	given := slices.Clone(names)
	missing = slices.DeleteFunc(missing, func(column int) bool {
		free := slices.Index(names, "")
		if free < 0 || free >= width || column == colEvent || column == colTime || missingColumn(m, column).Member == "biz" {
			return false
		}
		names[free] = wanted[column]
		return true
	})
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	if !slices.Equal(names, m.Columns) {
		out.Suggestions = append([]Suggestion{{"columns", strings.Join(names, ",")}}, out.Suggestions...)
	}
	for _, column := range missing {
		out.Suggestions = append(out.Suggestions, missingColumn(m, column))
	}
	place := func(column int) int {
		if found[column] != "" {
			return slices.Index(given, found[column])
		}
		if wanted[column] == "" {
			return -1
		}
		return slices.Index(given, wanted[column])
	}
	seen.forTime(out, m, place(colTime))
	out.Suggestions = append(out.Suggestions, seen.forEvents(m, place(colEvent))...)
	return out
}

// nameByValue names the columns of the time and of the event if they are missing and a
// column without a name has such values. It returns the columns that are still missing.
func (s *sample) nameByValue(names []string, wanted row, missing []int) []int {
	place := map[int]int{}
	last := len(s.rows[0]) - 1
	for i := range last + 1 {
		if names[i] != "" {
			continue
		}
		forms := s.timesIn(i)
		if _, known := place[colTime]; len(forms) > 0 && (!known || forms[0].format != "" || forms[0].unit == "rfc3339" || i == last) {
			place[colTime] = i
		}
		if _, known := place[colEvent]; !known && s.eventsIn(i) {
			place[colEvent] = i
		}
	}
	return slices.DeleteFunc(missing, func(column int) bool {
		at, known := place[column]
		if known {
			names[at] = wanted[column]
		}
		return known
	})
}
