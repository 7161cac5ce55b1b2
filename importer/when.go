package importer

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The times a row may have, in microseconds. What lies outside has been read
// in the wrong unit: seconds taken for milliseconds are in 1970, milliseconds
// taken for seconds tens of thousands of years ahead.
var (
	earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

// digits is how many decimal digits of a unit make a microsecond.
var digits = map[string]int{"s": 6, "ms": 3, "us": 0}

// TimeUnits returns what a time can be written in.
func TimeUnits() []string { return []string{"s", "ms", "us", "rfc3339"} }

// parseTime returns the time in microseconds since 1970. Numbers may have a
// fraction; what is finer than a microsecond is cut off.
func parseTime(s, unit string) (int64, error) {
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
		return 0, fmt.Errorf("time %s is not a number of %s since 1970", quote(s), unit)
	}
	return inRange(int64(micros), s)
}

func inRange(micros int64, s string) (int64, error) {
	if micros < earliest || micros >= latest {
		return 0, fmt.Errorf("time %s is in the year %d: is the time unit right?", quote(s), time.UnixMicro(micros).UTC().Year())
	}
	return micros, nil
}

// quote makes a value of the file fit for a message.
func quote(s string) string {
	if short := clip(s); short != s {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(s)
}

// clip cuts a value of the file to a length that can be kept and shown.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.Clone(s[:most])
}
