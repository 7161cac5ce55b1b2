package importer

import (
	"errors"
	"fmt"
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

var units = map[string]unit{"s": {"seconds", 6}, "ms": {"milliseconds", 3}, "us": {"microseconds", 0}, "rfc3339": {}, auto: {}}

// auto is the unit of times that may have any unit, or a format of autoFormats. The ranges
// of the times in seconds, milliseconds and microseconds do not overlap.
const auto = "auto"

// autoFormats holds the formats in which databases and JSON write times.
var autoFormats = []string{"%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"}

// TimeUnits returns the supported units of time.
func TimeUnits() []string { return []string{"s", "ms", "us", "rfc3339", auto} }

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
	any   []*clock // if not nil, the unit is auto, and these are the clocks of autoFormats
	clock *clock   // if not nil, it is used instead of unit
	zone  string   // of times without one, if it is given
	fixed int64    // if not 0, the time of the first row; each further row is a microsecond later
}

// newTimeReader returns the reader of the times of a mapping. It validates the members of
// the mapping that concern times.
func newTimeReader(m *Mapping) (t timeReader, err error) {
	unit, known := units[m.TimeUnit]
	t.unit, t.zone = unit, m.TimeZone
	switch {
	case m.At != "":
		t.fixed, err = ParseAt(m.At)
	case m.TimeFormat != "":
		t.clock, err = newClock(m.TimeFormat, m.TimeZone)
	case m.TimeUnit == auto:
		t.any, err = autoClocks(m.TimeZone)
	case m.TimeZone != "":
		err = fmt.Errorf("a time zone (%q) needs a time format, or the unit auto", m.TimeZone)
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
// are cut off. The number of the row, counted from 1, matters if all rows have one time.
// Its error is a *timeError; with guess set it holds remedies.
func (t *timeReader) read(s string, row int64, guess bool) (int64, error) {
	if t.fixed != 0 {
		return t.fixed + row - 1, nil
	}
	at, err := t.parse(s)
	switch {
	case err == nil:
		return at, nil
	case guess && t.formIsWrong(s):
		return 0, t.guess(s, err)
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
	if t.any != nil {
		return t.parseAny(s)
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

// autoClocks returns the clocks of autoFormats. The zone is that of times without one.
func autoClocks(zone string) (out []*clock, err error) {
	for _, format := range autoFormats {
		own := zone
		if strings.HasSuffix(format, "%z") || strings.HasSuffix(format, "UTC") {
			own = ""
		}
		c, err := newClock(format, own)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// parseAny parses a time of the unit auto.
func (t *timeReader) parseAny(s string) (int64, error) {
	for _, name := range [...]string{"s", "ms", "us"} {
		micros, _, err := scaled(s, units[name].digits)
		if errors.Is(err, errNotANumber) {
			break
		}
		if err == nil && earliest <= micros && micros < latest {
			return micros, nil
		}
	}
	for _, c := range t.any {
		at, err := c.parse(s)
		if err == nil {
			return inRange(at, s)
		}
		if !errors.Is(err, errForm) {
			return 0, fmt.Errorf("time %s %w", quote(s), err)
		}
	}
	return 0, fmt.Errorf("time %s is neither a number of seconds, milliseconds or microseconds since 1970, in the years 1990 to 2099, nor of the form 2026-01-31 12:00:00", quote(s))
}

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
