package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// delimiters holds the delimiters that are detected, the most common first.
var delimiters = []rune{',', '\t', ';', '|'}

// ParseDelimiter parses a delimiter: one character, "tab" or `\t`. Quotes and line breaks
// are not delimiters.
func ParseDelimiter(s string) (rune, error) {
	if s == "tab" || s == `\t` {
		return '\t', nil
	}
	c, size := utf8.DecodeRuneInString(s)
	if size == 0 || size != len(s) || c == '"' || c == '\n' || c == '\r' || c == utf8.RuneError {
		return 0, fmt.Errorf("%s is not a delimiter: write one character that is not a quote or line break, for example ';', or the word tab", quote(s))
	}
	return c, nil
}

func delimiterName(c rune) string {
	switch c {
	case ',':
		return "comma"
	case '\t':
		return "tab"
	}
	return strconv.QuoteRune(c)
}

// delimiterOf returns the first delimiter that splits the first line into names that
// include all columns or, if the mapping names the columns, into as many fields. If there
// is none, it returns the delimiter that splits the line into the most fields.
func delimiterOf(header []byte, m *Mapping) rune {
	columns := columnsOf(m)
	best, most := delimiters[0], 0
	for _, comma := range delimiters {
		r := csv.NewReader(bytes.NewReader(header))
		r.Comma = comma
		names, err := r.Read()
		if err != nil {
			continue
		}
		if len(m.Columns) > 0 {
			if len(names) >= len(m.Columns) {
				return comma
			}
		} else if _, unfit := find(m, columns, names); unfit == nil {
			return comma
		}
		if len(names) > most {
			best, most = comma, len(names)
		}
	}
	return best
}

// delimiterError extends an error about missing columns if the cause is probably a wrong
// delimiter. If splitting the header at likely yields more columns than splitting it at
// comma, the delimiter in use, the error proposes likely. Otherwise, if comma does not
// occur in the header, the error asks for the right delimiter.
func delimiterError(unfit *MappingError, header []byte, comma, likely rune) *MappingError {
	switch {
	case comma != likely && columnsAt(header, likely) > columnsAt(header, comma):
		return &MappingError{
			fmt.Sprintf("%s; the header looks separated by %s", unfit.Reason, delimiterPlural(likely)),
			[]Suggestion{{"delimiter", delimiterValue(likely)}},
		}
	case columnsAt(header, comma) == 1:
		return &MappingError{
			unfit.Reason + "; if another character separates the columns, name it",
			[]Suggestion{{"delimiter", ""}},
		}
	}
	return unfit
}

// columnsAt returns the number of columns into which a delimiter splits a header.
func columnsAt(header []byte, comma rune) int {
	r := csv.NewReader(bytes.NewReader(header))
	r.Comma = comma
	names, err := r.Read()
	if err != nil {
		return 0
	}
	return len(names)
}

// delimiterValue returns a delimiter as it is written in a mapping.
func delimiterValue(c rune) string {
	if c == '\t' {
		return "tab"
	}
	return string(c)
}

func delimiterPlural(c rune) string {
	switch c {
	case ',':
		return "commas"
	case '\t':
		return "tabs"
	}
	return strconv.QuoteRune(c)
}

// headerLine returns the first line, or only its beginning if the line does not fit into
// the buffer or cannot be read to its end. It does not wait for anything after the line.
func headerLine(text *bufio.Reader) []byte {
	for n := 1; ; n = text.Buffered() + 1 {
		_, err := text.Peek(n)
		head, _ := text.Peek(text.Buffered()) // no more than what is buffered, so there is no error
		if end := bytes.IndexByte(head, '\n'); end >= 0 {
			return head[:end+1]
		}
		if err != nil {
			return head // the error is returned again when the line is read
		}
	}
}
