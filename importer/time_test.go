package importer

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// TestNumbersAreParsedNotCut is the table of the one parser of numbers.
func TestNumbersAreParsedNotCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		scale int
		want  int64
		exact bool
		err   error
	}{
		{"0", 0, 0, true, nil},
		{"-0", 0, 0, true, nil},
		{"42", 0, 42, true, nil},
		{"-42", 3, -42000, true, nil},
		{"42.", 0, 42, true, nil},
		{"1.50", 1, 15, true, nil},
		{"1.56", 1, 15, false, nil},
		{"-1.56", 1, -15, false, nil},
		{"1.5e3", 0, 1500, true, nil},
		{"1.5E+3", 0, 1500, true, nil},
		{"1500e-3", 0, 1, false, nil},
		{"1e-500", 6, 0, false, nil},
		{"0e999999999999", 6, 0, true, nil},
		{"0000000000000000000000000000042", 0, 42, true, nil},
		{"9223372036854775807", 0, math.MaxInt64, true, nil},
		{"9223372036854775808", 0, 0, false, errTooLarge},
		{"1e999999999999999999999", 0, 0, false, errTooLarge},
		{"9223372036854775807", 1, 0, false, errTooLarge},
		{"", 0, 0, false, errNotANumber},
		{"-", 0, 0, false, errNotANumber},
		{".5", 0, 0, false, errNotANumber},
		{"+1", 0, 0, false, errNotANumber},
		{"1e", 0, 0, false, errNotANumber},
		{"1e1.5", 0, 0, false, errNotANumber},
		{"1.5.5", 0, 0, false, errNotANumber},
		{"1_000", 0, 0, false, errNotANumber},
		{"1,5", 0, 0, false, errNotANumber},
		{" 1", 0, 0, false, errNotANumber},
		{"1 ", 0, 0, false, errNotANumber},
		{"0x10", 0, 0, false, errNotANumber},
		{"1511544070.123456junk", 6, 0, false, errNotANumber},
		{"NaN", 0, 0, false, errNotANumber},
		{"Inf", 0, 0, false, errNotANumber},
		{"-inf", 0, 0, false, errNotANumber},
		{"١", 0, 0, false, errNotANumber},
	} {
		n, exact, err := scaled(c.text, c.scale)
		if !errors.Is(err, c.err) || err == nil && (n != c.want || exact != c.exact) {
			t.Errorf("scaled(%q, %d) = %d, %t, %v, want %d, %t, %v", c.text, c.scale, n, exact, err, c.want, c.exact, c.err)
		}
	}
}

func TestTimesAreReadInTheirUnit(t *testing.T) {
	want := time.Date(2017, 7, 14, 2, 40, 0, 123456000, time.UTC).UnixMicro()
	second := want - 123456
	for _, c := range []struct {
		text, unit string
		want       int64  // 0: the time is rejected
		reason     string // of the error
	}{
		{"1500000000", "s", second, ""},
		{"1500000000.123456", "s", want, ""},
		{"1500000000.123456789", "s", want, ""},
		{"1500000000.1", "s", second + 100000, ""},
		{"1500000000.", "s", second, ""},
		{"1.5e9", "s", second, ""},
		{"1.500000000123456e9", "s", want, ""},
		{"1.500000000123456e+12", "ms", want, ""},
		{"1500000000123", "ms", second + 123000, ""},
		{"1500000000123.456", "ms", want, ""},
		{"1500000000123456", "us", want, ""},
		{"1500000000123456.9", "us", want, ""},
		{"1.500000000123456e15", "us", want, ""},
		{"2017-07-14T02:40:00.123456Z", "rfc3339", want, ""},
		{"2017-07-14T04:40:00.123456+02:00", "rfc3339", want, ""},
		{"2017-07-14 02:40:00", "rfc3339", 0, `is not of the form 2026-01-31T12:00:00Z; in the time format %Y-%m-%d %H:%M:%S it is 2017-07-14`},
		{"", "s", 0, `time "" is not a number of seconds since 1970`},
		{".5", "s", 0, "is not a number"},
		{"1e9", "s", second - 500_000_000_000_000, ""}, // 2001
		{"1500000000,5", "s", 0, "is not a number"},
		{"1500000000.-1", "s", 0, "is not a number"},
		{"1500000000.123456junk", "s", 0, `time "1500000000.123456junk" is not a number of seconds since 1970`},
		{"+1500000000", "s", 0, "is not a number"},
		{"-1500000000", "s", 0, "is in the year 1922"},
		{"-1", "ms", 0, "is in the year 1969"},
		{"NaN", "s", 0, "is not a number"},
		{"inf", "s", 0, "is not a number"},
		{"1500000000", "ms", 0, "in the time unit s it is 2017-07-14"},
		{"1500000000", "us", 0, "in the time unit s"},
		{"1500000000000", "s", 0, "in the time unit ms"},
		{"99999999999999999999", "s", 0, "is too large for a number of seconds since 1970"},
		{"1e400", "us", 0, "is too large for a number of microseconds"},
		{"1969-07-14T02:40:00Z", "rfc3339", 0, "is in the year 1969"},
	} {
		got, err := (&timeReader{unit: units[c.unit]}).read(c.text, 1, true)
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%q in %s: got %d, %v, want %d (0: an error)", c.text, c.unit, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q in %s: got the error %v, want %q in it", c.text, c.unit, err, c.reason)
		}
	}
}

func TestTimesAreReadInTheirFormat(t *testing.T) {
	for _, c := range []struct {
		format, zone, text string
		want               string // a time in UTC, or a part of the error
	}{
		{"%Y-%m-%d %H:%M:%S", "", "2025-04-14 21:39:11", "2025-04-14T21:39:11Z"},
		{"%Y-%m-%d %H:%M:%S", "UTC", "2025-04-14 21:39:11.25", "2025-04-14T21:39:11.25Z"},
		{"%F %T", "Europe/Berlin", "2025-04-14 21:39:11", "2025-04-14T19:39:11Z"},
		{"%F %T", "-05:30", "2025-04-14 21:39:11", "2025-04-15T03:09:11Z"},
		{"%Y/%m/%d %H:%M:%S", "Asia/Shanghai", "2025/07/06 19:02:46", "2025-07-06T11:02:46Z"},
		{"%Y-%m-%dT%H:%M:%S", "", "2025-07-06T19:02:46.123456", "2025-07-06T19:02:46.123456Z"},
		{"%Y-%m-%d %H:%M:%S%z", "", "2025-07-06 19:02:46+02:00", "2025-07-06T17:02:46Z"},
		{"%d/%b/%Y:%H:%M:%S %z", "", "06/Jul/2025:19:02:46 -0700", "2025-07-07T02:02:46Z"},
		{"%m/%d/%Y %I:%M:%S %p", "", "7/6/2025 7:02:46 PM", "2025-07-06T19:02:46Z"},
		{"%m/%d/%Y %I:%M:%S %p", "", "11/13/2019 12:36:57 AM", "2019-11-13T00:36:57Z"},
		{"%a %b %e %H:%M:%S %z %Y", "", "Sun Jul  6 19:02:46 +0000 2025", "2025-07-06T19:02:46Z"},
		{"%A, %d %B %y", "", "Sunday, 06 July 25", "2025-07-06T00:00:00Z"},
		{"%Y%m%d%H%M%S.%f", "", "20250706190246.5", "2025-07-06T19:02:46.5Z"},
		{"%d.%m.%Y", "", "06.07.2025", "2025-07-06T00:00:00Z"},
		{"100%% %Y-%m-%d", "", "100% 2025-07-06", "2025-07-06T00:00:00Z"},
		{"%F %T", "", "2016-12-31 23:59:60", "2017-01-01T00:00:00Z"}, // a leap second
		{"%F", "", "2024-02-29", "2024-02-29T00:00:00Z"},

		{"%F %T", "Europe/Berlin", "2025-03-30 01:59:59", "2025-03-30T00:59:59Z"},
		{"%F %T", "Europe/Berlin", "2025-03-30 02:30:00", "does not exist in Europe/Berlin, where clocks were put forward"},
		{"%F %T", "Europe/Berlin", "2025-03-30 03:00:00", "2025-03-30T01:00:00Z"},
		{"%F %T", "Europe/Berlin", "2025-10-26 02:30:00", "2025-10-26T00:30:00Z"}, // the first of two
		{"%F %T", "America/New_York", "2025-11-02 01:30:00", "2025-11-02T05:30:00Z"},
		{"%F %T", "Pacific/Kiritimati", "2025-07-06 01:00:00", "2025-07-05T11:00:00Z"},

		{"%F %T", "", "2025-04-14", "is not of the form"},
		{"%F %T", "", "2025-04-14 21:39:11 x", "is not of the form"},
		{"%F %T", "", "2025-13-14 21:39:11", "is not in the calendar"},
		{"%F %T", "", "2025-02-29 21:39:11", "is not in the calendar"},
		{"%F %T", "", "2025-02-31 10:00:60", "is not in the calendar"},
		{"%F %T", "", "2025-04-14 24:00:00", "is not of the form"},
		{"%F %T", "", "25-04-14 21:39:11", "is not of the form"},
		{"%F", "", "1066-10-14", "is in the year 1066"},
		{"%F %T", "", "", `time "" is not of the form`},
	} {
		r, err := newTimeReader(&Mapping{TimeFormat: c.format, TimeZone: c.zone})
		must.Succeed(t, err)
		micros, err := r.read(c.text, 1, false)
		got := time.UnixMicro(micros).UTC().Format(time.RFC3339Nano)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q in %s, zone %q: got %s, want %s", c.text, c.format, c.zone, got, c.want)
		}
	}
}

func TestWrongFormatsAndZonesAreRefused(t *testing.T) {
	for _, c := range []struct {
		m    Mapping
		want string
	}{
		{Mapping{TimeFormat: "%Y-%m"}, "needs a year, a month and a day"},
		{Mapping{TimeFormat: "2006-01-02"}, "needs a year, a month and a day, for example %Y-%m-%d %H:%M:%S"},
		{Mapping{TimeFormat: "%Y-%m-%d %Q"}, "may contain %Y, %m"},
		{Mapping{TimeFormat: "%F %"}, "may contain %Y, %m"},
		{Mapping{TimeFormat: "%F %Y"}, "contains %Y twice"},
		{Mapping{TimeFormat: "%F %I:%M"}, "needs either %H, or %I with %p"},
		{Mapping{TimeFormat: "%F %T %z", TimeZone: "UTC"}, "so there is no other time zone"},
		{Mapping{TimeFormat: "%F", TimeZone: "Mars/Olympus"}, `"Mars/Olympus" is not a time zone: write a name such as Europe/Berlin`},
		{Mapping{TimeFormat: "%F", TimeZone: "Local"}, `"Local" is not a time zone`},
		{Mapping{TimeUnit: "s", TimeZone: "UTC"}, "needs a time format"},
		{Mapping{At: "yesterday"}, `"yesterday" is not a time: write 2026-01-31T12:00:00Z`},
		{Mapping{At: "1066-10-14"}, "is in the year 1066"},
		{Mapping{TimeUnit: "h"}, `"h" is not one of s, ms, us, rfc3339`},
	} {
		if _, err := newTimeReader(&c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.m, err, c.want)
		}
	}
}

func FuzzTimes(f *testing.F) {
	f.Add("%Y-%m-%d %H:%M:%S", "2025-04-14 21:39:11")
	f.Add("%d/%b/%y %I:%M %p%z", "06/Jul/25 7:02 PM+02:00")
	f.Fuzz(func(t *testing.T, format, text string) {
		for _, m := range []Mapping{{TimeFormat: format}, {TimeFormat: format, TimeZone: "America/New_York"}, {TimeUnit: "s"}, {TimeUnit: "us"}} {
			if r, err := newTimeReader(&m); err == nil {
				if at, err := r.read(text, 1, true); err == nil && (at < earliest || at >= latest) {
					t.Errorf("%q in %+v is %d, want a time from 1990 to 2099", text, m, at)
				}
			}
		}
	})
}

// TestRowsOfOneTimeKeepTheirOrder checks that each row of a file without times is a
// microsecond later than the row before it, whatever becomes of that one.
func TestRowsOfOneTimeKeepTheirOrder(t *testing.T) {
	m := testMapping()
	m.At, m.Time = "2026-01-31", ""
	src, err := Open(t.Context(), "-", strings.NewReader("user,subject,event\nann,1,like\nann,1,other\nann,NULL,like\nann,1,clear\nann,1,read\n"), "csv")
	must.Succeed(t, err)
	_, rows, err := Preview(t.Context(), src, Options{Mapping: m}, 10)
	must.Succeed(t, err)
	start := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for i, r := range rows {
		if want := start.Add(time.Duration(i) * time.Microsecond); r.Action != "" && !r.At.Equal(want) {
			t.Errorf("line %d is at %v, want %v", r.Line, r.At, want)
		}
	}
	if len(rows) != 5 {
		t.Errorf("got %d rows, want 5", len(rows))
	}
}
