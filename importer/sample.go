package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"unicode"
)

// sampleRows bounds the number of rows from which columns are guessed.
const sampleRows = 50

// sample holds the first rows of a file.
type sample struct {
	names []string // of the columns, in their order
	rows  [][]string
}

// firstLines returns the first most lines, or fewer at the end of the file. It consumes
// nothing. If the buffer is full before, it returns the whole lines in it, and false.
func firstLines(text *bufio.Reader, most int) (lines []byte, all bool) {
	for n := 1; ; n = text.Buffered() + 1 {
		_, err := text.Peek(n)
		head, _ := text.Peek(text.Buffered()) // no more than what is buffered, so there is no error
		end := 0
		for range most {
			length := bytes.IndexByte(head[end:], '\n') + 1
			if length == 0 {
				break
			}
			end += length
		}
		switch {
		case bytes.Count(head[:end], []byte("\n")) == most:
			return head[:end], true
		case errors.Is(err, bufio.ErrBufferFull):
			return head[:end], false
		case err != nil: // it is returned again when the line is read
			return head, true
		}
	}
}

// sampleOf returns the first rows. If no names are given, the first row is the header.
func sampleOf(text *bufio.Reader, comma rune, names []string) sample {
	head, _ := firstLines(text, sampleRows)
	r := csv.NewReader(bytes.NewReader(head))
	r.Comma, r.FieldsPerRecord = comma, -1
	s := sample{names: names}
	for len(s.rows) < sampleRows {
		fields, err := r.Read()
		if err != nil {
			break
		}
		switch {
		case s.names == nil:
			s.names = fields
		case len(fields) >= len(s.names) && (len(s.rows) == 0 || len(fields) == len(s.rows[0])):
			s.rows = append(s.rows, fields)
		}
	}
	return s
}

// values returns the values of a column that are not missing.
func (s *sample) values(column int) []string {
	var out []string
	for _, fields := range s.rows {
		if !isNothing(fields[column]) {
			out = append(out, fields[column])
		}
	}
	return out
}

// timesIn returns the forms in which all values of a column are times.
func (s *sample) timesIn(column int) []timeForm {
	values := s.values(column)
	if len(values) == 0 {
		return nil
	}
	return formsOf(values...)
}

// eventsIn reports whether the values of a column are the names of events.
func (s *sample) eventsIn(column int) bool {
	values := s.values(column)
	known := slices.ContainsFunc(values, func(v string) bool { return commonEvents[plainName(v)] != "" })
	return known && len(distinct(values)) <= 20
}

func distinct(values []string) []string {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}

// isRow reports whether the header looks like a row: a field is a number, a time or the
// name of an event like those below it.
func (s *sample) isRow() bool {
	for i, name := range s.names {
		if name != "" && (formsOf(name) != nil || !strings.ContainsFunc(name, unicode.IsLetter)) {
			return true
		}
		if commonEvents[plainName(name)] != "" && s.eventsIn(i) {
			return true
		}
	}
	return false
}

// isHeader reports whether the first row holds the given names of columns.
func (s *sample) isHeader(names []string) bool {
	if len(s.rows) == 0 || len(s.rows[0]) < len(names) {
		return false
	}
	given := 0
	for i, name := range names {
		if name != "" && !strings.EqualFold(strings.TrimSpace(s.rows[0][i]), name) {
			return false
		}
		if name != "" {
			given++
		}
	}
	return given > 0
}
