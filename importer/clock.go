package importer

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// clock parses times of one format, which is written as for strptime.
type clock struct {
	format   string
	location *time.Location // of times without a zone
}

// directives holds the directives of a format and what they mean. %T and the like stand
// for others.
const directives = "%Y, %m, %d, %H, %M, %S, %f (fraction of a second), %y, %b (month's name), %a (weekday's name), %I with %p, %z (zone), %e, %F, %T and %%"

var shorthands = strings.NewReplacer("%%", "%%", "%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%D", "%m/%d/%y", "%R", "%H:%M", "%e", "%d", "%B", "%b", "%h", "%b", "%A", "%a")

// newClock returns the clock of a format in a time zone; an empty zone is UTC.
func newClock(format, zone string) (*clock, error) {
	c := &clock{format: shorthands.Replace(format), location: time.UTC}
	has := map[byte]bool{}
	for i := 0; i < len(c.format); i++ {
		if c.format[i] != '%' {
			continue
		}
		if i++; i == len(c.format) || !strings.ContainsRune("YmdHMSfybaIpz%", rune(c.format[i])) {
			return nil, fmt.Errorf("the time format %s may contain %s", quote(format), directives)
		}
		if d := c.format[i]; d != '%' && has[d] {
			return nil, fmt.Errorf("the time format %s contains %%%c twice", quote(format), d)
		}
		has[c.format[i]] = true
	}
	switch {
	case !has['Y'] && !has['y'], !has['m'] && !has['b'], !has['d']:
		return nil, fmt.Errorf("the time format %s needs a year, a month and a day, for example %%Y-%%m-%%d %%H:%%M:%%S", quote(format))
	case has['I'] != has['p'], has['I'] && has['H']:
		return nil, fmt.Errorf("the time format %s needs either %%H, or %%I with %%p", quote(format))
	case has['z'] && zone != "":
		return nil, fmt.Errorf("the time format %s contains a zone (%%z), so there is no other time zone", quote(format))
	}
	var err error
	if zone != "" {
		c.location, err = ParseZone(zone)
	}
	return c, err
}

// ParseZone parses a time zone: a name of the IANA database, such as Europe/Berlin, UTC,
// or a difference from UTC, such as +02:00.
func ParseZone(zone string) (*time.Location, error) {
	if offset, rest, ok := parseOffset(zone); ok && rest == "" {
		return time.FixedZone(zone, offset), nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return nil, fmt.Errorf("%s is not a time zone: write a name such as Europe/Berlin, UTC, or a difference such as +02:00", quote(zone))
	}
	return location, nil
}

var errForm = errors.New("another form")

// parsed holds the parts of a time.
type parsed struct {
	year, month, day, hour, minute, second, nanos, offset int
	afternoon, zoned                                      bool
}

// parse returns a time in microseconds since 1970. Errors: errForm, and errors that
// describe a time that does not exist.
func (c *clock) parse(s string) (int64, error) {
	p := parsed{month: 1, day: 1}
	for format := c.format; ; {
		if format == "" {
			if s != "" {
				return 0, errForm
			}
			return p.micros(c.location)
		}
		ok := false
		switch {
		case format[0] == '%' && format[1] != '%':
			s, ok = p.directive(format[1], s, format[2:])
			format = format[2:]
		case s != "" && s[0] == format[0]:
			if format[0] == '%' {
				format = format[1:]
			}
			s, format, ok = s[1:], format[1:], true
		}
		if !ok {
			return 0, errForm
		}
	}
}

// directive parses the part of s that a directive means, and returns the rest of s.
func (p *parsed) directive(d byte, s, next string) (rest string, ok bool) {
	switch d {
	case 'Y':
		p.year, rest, ok = digitsOf(s, 4, 4)
	case 'y':
		if p.year, rest, ok = digitsOf(s, 2, 2); p.year < 69 {
			p.year += 100
		}
		p.year += 1900
	case 'm':
		p.month, rest, ok = digitsOf(s, 1, 2)
	case 'd':
		p.day, rest, ok = digitsOf(strings.TrimPrefix(s, " "), 1, 2)
	case 'H', 'I':
		p.hour, rest, ok = digitsOf(s, 1, 2)
		ok = ok && p.hour < 24 && (d == 'H' || 1 <= p.hour && p.hour <= 12)
		if d == 'I' {
			p.hour %= 12
		}
	case 'M':
		p.minute, rest, ok = digitsOf(s, 1, 2)
		ok = ok && p.minute < 60
	case 'S':
		if p.second, rest, ok = digitsOf(s, 1, 2); !ok || p.second > 60 { // 60 is a leap second
			return "", false
		}
		if rest != "" && rest[0] == '.' && (next == "" || next[0] != '.') {
			return p.fraction(rest[1:])
		}
	case 'f':
		return p.fraction(s)
	case 'b':
		return p.monthName(s)
	case 'a':
		rest = strings.TrimLeftFunc(s, func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' })
		ok = rest != s
	case 'p':
		if len(s) < 2 || !strings.EqualFold(s[1:2], "m") || !strings.EqualFold(s[:1], "a") && !strings.EqualFold(s[:1], "p") {
			return "", false
		}
		p.afternoon, rest, ok = strings.EqualFold(s[:1], "p"), s[2:], true
	case 'z':
		p.zoned = true
		p.offset, rest, ok = parseOffset(s)
	}
	return rest, ok
}

// digitsOf parses digits, not fewer than least and not more than most.
func digitsOf(s string, least, most int) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < most && '0' <= s[i] && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i >= least
}

// fraction parses the digits of a fraction of a second.
func (p *parsed) fraction(s string) (rest string, ok bool) {
	n, rest, ok := digitsOf(s, 1, 9)
	for range 9 - (len(s) - len(rest)) {
		n *= 10
	}
	p.nanos = n
	return rest, ok
}

func (p *parsed) monthName(s string) (rest string, ok bool) {
	for month := time.January; month <= time.December; month++ {
		for _, name := range [...]string{month.String(), month.String()[:3]} {
			if len(s) >= len(name) && strings.EqualFold(s[:len(name)], name) {
				p.month = int(month)
				return s[len(name):], true
			}
		}
	}
	return "", false
}

// parseOffset parses a difference from UTC, in seconds: Z, +02, +0200 or +02:00.
func parseOffset(s string) (offset int, rest string, ok bool) {
	if s == "" {
		return 0, "", false
	}
	if s[0] == 'Z' {
		return 0, s[1:], true
	}
	hours, rest, ok := digitsOf(s[1:], 2, 2)
	if !ok || s[0] != '+' && s[0] != '-' {
		return 0, "", false
	}
	minutes := 0
	if m, after, ok := digitsOf(strings.TrimPrefix(rest, ":"), 2, 2); ok {
		minutes, rest = m, after
	}
	offset = (hours*60 + minutes) * 60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, rest, hours < 24 && minutes < 60
}

// micros returns the time in microseconds since 1970. Of a time that occurs twice, because
// clocks were put back, it returns the first.
func (p *parsed) micros(location *time.Location) (int64, error) {
	if p.afternoon {
		p.hour += 12
	}
	wall := time.Date(p.year, time.Month(p.month), p.day, p.hour, p.minute, p.second, p.nanos, time.UTC)
	midnight := time.Date(p.year, time.Month(p.month), p.day, 0, 0, 0, 0, time.UTC) // a leap second may reach into the next day
	if p.month < 1 || p.month > 12 || midnight.Day() != p.day {
		return 0, errors.New("is not in the calendar")
	}
	if p.zoned || location == time.UTC {
		return wall.UnixMicro() - int64(p.offset)*1e6, nil
	}
	const day = 24 * time.Hour // longer than any difference from UTC, and between two changes of a clock
	for _, near := range [...]time.Time{wall.Add(-day), wall.Add(day)} {
		_, offset := near.In(location).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, then := at.In(location).Zone(); then == offset {
			return at.UnixMicro(), nil
		}
	}
	return 0, fmt.Errorf("does not exist in %s, where clocks were put forward", location)
}
