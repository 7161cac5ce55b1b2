package sqlite

import (
	"strconv"
)

// tuples builds a JSON array of arrays: the argument of a statement that takes many rows
// and reads them with jsonb_each.
type tuples struct{ buf []byte }

// add appends a row of strings followed by numbers.
func (r *tuples) add(texts []string, numbers ...int64) {
	b := r.buf
	if len(b) == 0 {
		b = append(b, '[')
	} else {
		b = append(b, ',')
	}
	b = append(b, '[')
	for _, s := range texts {
		b = append(appendText(b, s), ',')
	}
	for _, n := range numbers {
		b = append(strconv.AppendInt(b, n, 10), ',')
	}
	b[len(b)-1] = ']'
	r.buf = b
}

// json returns the array. No row can be added after that.
func (r *tuples) json() string {
	if len(r.buf) == 0 {
		return "[]"
	}
	r.buf = append(r.buf, ']')
	return string(r.buf)
}

// appendText appends s as a JSON string. Bytes that are not valid UTF-8 are kept, so that
// different keys remain different.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
