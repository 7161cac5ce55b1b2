package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// delimiters are those that are recognised, the most usual first.
var delimiters = []rune{',', '\t', ';', '|'}

// ParseDelimiter returns the character that a delimiter is written as: itself, or
// tab.
func ParseDelimiter(s string) (rune, error) {
	if s == "tab" || s == `\t` {
		return '\t', nil
	}
	c, size := utf8.DecodeRuneInString(s)
	if size == 0 || size != len(s) || c == '"' || c == '\n' || c == '\r' || c == utf8.RuneError {
		return 0, fmt.Errorf("%s is no delimiter: write one character, which is no quote, or tab", quote(s))
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

// delimiterOf returns the delimiter that splits a header into all the columns or,
// where none does, into the most.
func delimiterOf(header []byte, columns row) rune {
	best, most := delimiters[0], 0
	for _, comma := range delimiters {
		r := csv.NewReader(bytes.NewReader(header))
		r.Comma = comma
		names, err := r.Read()
		if err != nil {
			continue
		}
		if _, err := find(columns, names); err == nil {
			return comma
		}
		if len(names) > most {
			best, most = comma, len(names)
		}
	}
	return best
}

// headerLine returns the first line, as far as it lies in the buffer. It waits for
// no more than that.
func headerLine(text *bufio.Reader) []byte {
	for n := 1; ; n = text.Buffered() + 1 {
		_, err := text.Peek(n)
		head, _ := text.Peek(text.Buffered())
		if end := bytes.IndexByte(head, '\n'); end >= 0 {
			return head[:end+1]
		}
		if err != nil {
			return head // it is read again, with its error
		}
	}
}
