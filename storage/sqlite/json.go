package sqlite

import (
	"strconv"

	"ovation/storage/sqlstore"
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
		b = append(sqlstore.AppendText(b, s), ',')
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
