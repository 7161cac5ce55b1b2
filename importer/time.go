package importer

import (
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

// digits maps each unit to the number of decimal places that express a time in this unit
// to the microsecond.
var digits = map[string]int{"s": 6, "ms": 3, "us": 0}

// unitNames holds the names of the units, spelled out.
var unitNames = map[string]string{"s": "seconds", "ms": "milliseconds", "us": "microseconds"}

// TimeUnits returns the supported units of time.
func TimeUnits() []string { return []string{"s", "ms", "us", "rfc3339"} }

// timeError states why a time is invalid. The field unit holds a unit in which the time
// would be valid, or "" if there is none.
type timeError struct{ reason, unit string }

func (e *timeError) Error() string { return e.reason }

// parseTime returns the time in microseconds since 1970. Numbers may have a fraction;
// digits beyond microseconds are cut off. Its error is a *timeError.
func parseTime(s, unit string) (int64, error) {
	at, err := timeIn(s, unit)
	if err == nil {
		return at, nil
	}
	for _, other := range TimeUnits() {
		if at, wrong := timeIn(s, other); wrong == nil {
			means := time.UnixMicro(at).UTC().Format(time.DateOnly)
			return 0, &timeError{fmt.Sprintf("%v; in the time unit %s it is %s", err, other, means), other}
		}
	}
	return 0, &timeError{err.Error(), ""}
}

func timeIn(s, unit string) (int64, error) {
	if unit == "rfc3339" {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return 0, fmt.Errorf("time %s is not of the form 2026-01-31T12:00:00Z", quote(s))
		}
		return inRange(t.UnixMicro(), s)
	}
	whole, fraction, _ := strings.Cut(s, ".")
	n := digits[unit]
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > n {
		fraction = fraction[:n]
	}
	micros, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", n-len(fraction)), 10, 63)
	if err != nil || whole == "" {
		return 0, fmt.Errorf("time %s is not a number of %s since 1970", quote(s), unitNames[unit])
	}
	return inRange(int64(micros), s)
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
