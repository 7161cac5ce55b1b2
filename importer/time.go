package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The range of times that a row may have, in microseconds since 1970. A time outside this
// range was probably read in the wrong unit: seconds taken for milliseconds are in 1970,
// and milliseconds taken for seconds are tens of thousands of years ahead.
var (
	earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

// unit is a unit of time.
type unit struct {
	name   string // empty for rfc3339
	digits int    // the decimal places that express a time in this unit to the microsecond
}

var units = map[string]unit{"s": {"seconds", 6}, "ms": {"milliseconds", 3}, "us": {"microseconds", 0}, "rfc3339": {}}

// TimeUnits returns the supported units of time.
func TimeUnits() []string { return []string{"s", "ms", "us", "rfc3339"} }

// commonFormats holds the time formats that are proposed, the most common first.
var commonFormats = []string{
	"%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M", "%Y-%m-%dT%H:%M",
	"%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S UTC",
	"%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M:%S",
	"%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y%m%d", "%Y%m%d%H%M%S",
	"%d/%b/%Y:%H:%M:%S %z", "%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z",
}

// timeError states why a time is invalid. The remedies are changes to the mapping with
// which it would be valid.
type timeError struct {
	reason   string
	remedies []Suggestion
}

func (e *timeError) Error() string { return e.reason }

// timeReader reads the times of a mapping.
type timeReader struct {
	unit  unit
	clock *clock // if not nil, it is used instead of unit
	fixed int64  // if not 0, the time of every row
}

// newTimeReader returns the reader of the times of a mapping. It validates the members of
// the mapping that concern times.
func newTimeReader(m *Mapping) (t timeReader, err error) {
	unit, known := units[m.TimeUnit]
	t.unit = unit
	switch {
	case m.At != "":
		t.fixed, err = ParseAt(m.At)
	case m.TimeFormat != "":
		t.clock, err = newClock(m.TimeFormat, m.TimeZone)
	case m.TimeZone != "":
		err = fmt.Errorf("a time zone (%q) needs a time format", m.TimeZone)
	case !known:
		err = fmt.Errorf("the time unit %q is not one of %s", m.TimeUnit, strings.Join(TimeUnits(), ", "))
	}
	return t, err
}

// ParseAt parses the time of all rows of a file, in microseconds since 1970: RFC 3339, or
// a date, which means midnight UTC.
func ParseAt(s string) (int64, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = time.Parse(time.DateOnly, s)
	}
	if err != nil {
		return 0, fmt.Errorf("%s is not a time: write 2026-01-31T12:00:00Z, or 2026-01-31 for midnight UTC", quote(s))
	}
	return inRange(t.UnixMicro(), s)
}

// read returns the time in microseconds since 1970. Decimal places beyond microseconds
// are cut off. Its error is a *timeError; with guess set it holds remedies.
func (t *timeReader) read(s string, guess bool) (int64, error) {
	if t.fixed != 0 {
		return t.fixed, nil
	}
	at, err := t.parse(s)
	switch {
	case err == nil:
		return at, nil
	case guess && t.formIsWrong(s):
		return 0, guessTime(s, err)
	}
	return 0, &timeError{err.Error(), nil}
}

// formIsWrong reports whether another unit or format may fit a time that cannot be read. A
// time of the right format that does not exist fits no other.
func (t *timeReader) formIsWrong(s string) bool {
	if t.clock == nil {
		return true
	}
	_, err := t.clock.parse(s)
	return errors.Is(err, errForm)
}

func (t *timeReader) parse(s string) (int64, error) {
	if t.clock != nil {
		at, err := t.clock.parse(s)
		if errors.Is(err, errForm) {
			return 0, fmt.Errorf("time %s is not of the form %s", quote(s), t.clock.format)
		}
		if err != nil {
			return 0, fmt.Errorf("time %s %w", quote(s), err)
		}
		return inRange(at, s)
	}
	if t.unit.name == "" {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return 0, fmt.Errorf("time %s is not of the form 2026-01-31T12:00:00Z", quote(s))
		}
		return inRange(at.UnixMicro(), s)
	}
	micros, _, err := scaled(s, t.unit.digits)
	if errors.Is(err, errTooLarge) {
		return 0, fmt.Errorf("time %s is too large for a number of %s since 1970", quote(s), t.unit.name)
	}
	if err != nil {
		return 0, fmt.Errorf("time %s is not a number of %s since 1970", quote(s), t.unit.name)
	}
	return inRange(micros, s)
}

// guessTime returns the error for a time that cannot be read, with the unit or format in
// which it could be.
func guessTime(s string, err error) *timeError {
	remedies, at := timeRemedies(s)
	if remedies == nil {
		return &timeError{err.Error(), nil}
	}
	how := "unit"
	if remedies[0].Member == "timeFormat" {
		how = "format"
	}
	means := time.UnixMicro(at).UTC().Format(time.DateOnly)
	return &timeError{fmt.Sprintf("%v; in the time %s %s it is %s", err, how, remedies[0].Value, means), remedies}
}

// timeRemedies returns the changes to a mapping with which all the values are times, and
// the time of the first. It returns nil if there are none.
func timeRemedies(values ...string) ([]Suggestion, int64) {
	for _, c := range timeCandidates {
		at, err := c.times.parse(values[0])
		if err == nil && !slices.ContainsFunc(values[1:], func(v string) bool { _, err := c.times.parse(v); return err != nil }) {
			return c.remedies, at
		}
	}
	return nil, 0
}

// timeCandidate is a way to read times, and the changes to a mapping that select it.
type timeCandidate struct {
	times    timeReader
	remedies []Suggestion
}

var timeCandidates = func() (out []timeCandidate) {
	for _, unit := range TimeUnits() {
		out = append(out, timeCandidate{timeReader{unit: units[unit]}, []Suggestion{{"timeUnit", unit}}})
	}
	for _, format := range commonFormats {
		c, err := newClock(format, "")
		if err != nil {
			panic(err)
		}
		remedies := []Suggestion{{"timeFormat", format}}
		if !strings.Contains(format, "%z") {
			remedies = append(remedies, Suggestion{"timeZone", "UTC"})
		}
		out = append(out, timeCandidate{timeReader{clock: c}, remedies})
	}
	return out
}()

func inRange(micros int64, s string) (int64, error) {
	if micros < earliest || micros >= latest {
		return 0, fmt.Errorf("time %s is in the year %d; times from 1990 to 2099 are accepted", quote(s), time.UnixMicro(micros).UTC().Year())
	}
	return micros, nil
}

// clockSkew is the time by which the clock of the machine that wrote a file may be fast.
const clockSkew = time.Minute

// notInFuture rejects a time in the future. An author declared with such a time could be
// replaced only by a declaration with an even later time.
func notInFuture(micros int64, now time.Time) error {
	if at := time.UnixMicro(micros); at.After(now.Add(clockSkew)) {
		return fmt.Errorf("time %s is in the future: nobody could correct the author until then", at.UTC().Format(time.RFC3339))
	}
	return nil
}

// quote formats a value of the file for a message.
func quote(s string) string {
	if short := clip(s); short != s {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(s)
}

// clip shortens a value of the file to at most 64 bytes.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.Clone(s[:most])
}
