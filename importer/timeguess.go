package importer

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// commonFormats holds the time formats that are proposed, the most common first.
var commonFormats = []string{
	"%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M", "%Y-%m-%dT%H:%M",
	"%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S UTC",
	"%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M:%S",
	"%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y%m%d", "%Y%m%d%H%M%S",
	"%d/%b/%Y:%H:%M:%S %z", "%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z",
}

// timeForm is a way to read times: by a unit, or by a format.
type timeForm struct {
	times        timeReader
	unit, format string
}

// timeForms holds the units and the common formats.
var timeForms = func() (out []timeForm) {
	for _, unit := range TimeUnits() {
		if unit == auto {
			continue
		}
		out = append(out, timeForm{times: timeReader{unit: units[unit]}, unit: unit})
	}
	for _, format := range commonFormats {
		c, err := newClock(format, "")
		if err != nil {
			panic(err)
		}
		out = append(out, timeForm{times: timeReader{clock: c}, format: format})
	}
	return out
}()

// formsOf returns the forms in which all the values are times: one unit, or else any
// number of formats. Two formats that put day and month in a different order can fit the
// same values.
func formsOf(values ...string) (out []timeForm) {
	for _, f := range timeForms {
		if len(out) > 0 && out[0].unit != "" {
			break
		}
		if !slices.ContainsFunc(values, func(v string) bool { _, err := f.times.parse(v); return err != nil }) {
			out = append(out, f)
		}
	}
	return out
}

// formatNames lists the formats of the forms for a message.
func formatNames(forms []timeForm) string {
	names := make([]string, len(forms))
	for i := range forms {
		names[i] = forms[i].format
	}
	return strings.Join(names, " or ")
}

// remediesOf returns the changes to a mapping that select the only one of the forms. If
// there are several, the format has no value. The zone is that of the mapping, if it has
// one.
func remediesOf(forms []timeForm, zone string) []Suggestion {
	switch {
	case len(forms) == 0:
		return nil
	case forms[0].unit != "":
		return []Suggestion{{"timeUnit", forms[0].unit}}
	}
	out := []Suggestion{{"timeFormat", forms[0].format}}
	if len(forms) > 1 {
		out[0].Value = ""
	}
	if zone == "" && !strings.Contains(forms[0].format, "%z") {
		out = append(out, Suggestion{"timeZone", "UTC"})
	}
	return out
}

// guess returns the error for a time that cannot be read, with the unit or formats in
// which it could be.
func (t *timeReader) guess(s string, err error) *timeError {
	forms := formsOf(s)
	if len(forms) == 0 {
		return &timeError{err.Error(), nil}
	}
	out := &timeError{reason: err.Error() + "; in the time "}
	for i, f := range forms {
		at, _ := f.times.parse(s)
		how := "format " + f.format
		switch {
		case f.unit != "":
			how = "unit " + f.unit
		case i > 0:
			how = ", in " + f.format
		}
		out.reason += fmt.Sprintf("%s it is %s", how, time.UnixMicro(at).UTC().Format(time.DateOnly))
		for _, r := range remediesOf(forms[i:i+1], t.zone) {
			if !slices.Contains(out.remedies, r) {
				out.remedies = append(out.remedies, r)
			}
		}
	}
	if t.zone != "" && (forms[0].unit != "" || strings.Contains(forms[0].format, "%z")) {
		out.reason += ", without a time zone in the mapping"
	}
	return out
}
