package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"ovation/api/codes"
)

// scanner reads JSON from the start of a text, in one pass and within bounds on depth and
// size. After an error it reads zero values, and the method done returns the error. It
// accepts what encoding/json accepts, except invalid UTF-8 (see FuzzScan).
type scanner struct {
	source  string // the name of the text in errors
	text    []byte
	at      int
	depth   int
	values  int
	failed  bool
	refusal *refusal // the response for the error; nil if the syntax is invalid
}

func newScanner(what string, text []byte) *scanner {
	return &scanner{source: what, text: text}
}

// done checks that the text ends at this position. It returns the first error, or nil if
// there is none.
func (s *scanner) done() *refusal {
	if s.space(); !s.failed && s.at < len(s.text) {
		return refuse(http.StatusBadRequest, "%s has more after the end of the JSON, at byte %d", s.source, s.at)
	}
	if !s.failed || s.refusal != nil {
		return s.refusal
	}
	fault, is := errors.AsType[*json.SyntaxError](json.Unmarshal(s.text, new(json.RawMessage)))
	if !is || fault.Error() == "unexpected end of JSON input" {
		return refuse(http.StatusBadRequest, "%s is not valid JSON: it ends too early", s.source)
	}
	return refuse(http.StatusBadRequest, "%s is not valid JSON: %s, at byte %d", s.source, fault.Error(), fault.Offset-1)
}

// refusef records an error, unless there is an earlier one.
func (s *scanner) refusef(code, format string, args ...any) {
	if !s.failed {
		s.failed, s.refusal = true, &refusal{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
	}
}

// peek returns the next byte that is not white space, or 0 at the end or after an error.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.text) && !s.failed {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// take skips the byte c, which must be next. It returns false after an error.
func (s *scanner) take(c byte) bool {
	s.failed = s.failed || s.peek() != c
	s.at++
	return !s.failed
}

// word skips the given word, which must be next.
func (s *scanner) word(word string) {
	s.failed = s.failed || !bytes.HasPrefix(s.text[s.at:], []byte(word))
	s.at += len(word)
}

// value reads a value: nil, a bool, a json.Number, a string, a []any or a
// map[string]any.
func (s *scanner) value() any {
	switch c := s.peek(); c {
	case '"':
		return s.string()
	case '{':
		return s.mapping(s.value)
	case '[':
		return s.list()
	case 't':
		s.word("true")
		return true
	case 'f':
		s.word("false")
		return false
	case 'n':
		s.word("null")
		return nil
	}
	return s.number()
}

// stringOrNull reads the value of a member, which must be a string or null. It returns ""
// for null.
func (s *scanner) stringOrNull(name string) string {
	switch s.peek() {
	case '"':
		return s.string()
	case 'n':
		s.word("null")
	default:
		s.value()
		s.refusef(codes.BadUserInput, "%q must be a string", name)
	}
	return ""
}

// objectOrNull reads the value of a member, which must be an object or null. Each value
// in the object is read by calling the function value.
func (s *scanner) objectOrNull(name string, value func() any) map[string]any {
	switch s.peek() {
	case '{':
		return s.mapping(value)
	case 'n':
		s.word("null")
	default:
		s.value()
		s.refusef(codes.BadUserInput, "%q must be an object or null", name)
	}
	return nil
}

func (s *scanner) mapping(value func() any) map[string]any {
	out := make(map[string]any)
	s.object(func(name string) { out[name] = value() })
	return out
}

// members reads an object and calls the given function with each name. The function must
// read the member's value or, if it does not know the name, return false. A member with a
// known name may occur only once.
func (s *scanner) members(known func(name string) bool) {
	seen := make([]string, 0, 4)
	s.object(func(name string) {
		switch {
		case slices.Contains(seen, name):
			s.refusef(codes.BadUserInput, "%q is in %s more than once", name, s.source)
		case known(name):
			seen = append(seen, name)
		default:
			s.value()
		}
	})
}

// object reads an object. For each name it calls the given function, which must read the
// member's value.
func (s *scanner) object(member func(name string)) {
	if !s.open('{') {
		return
	}
	for more := s.peek() != '}'; more; more = s.more() {
		name := s.string()
		if !s.take(':') {
			return
		}
		member(name)
	}
	s.close('}')
}

func (s *scanner) list() []any {
	out := []any{}
	if !s.open('[') {
		return out
	}
	for more := s.peek() != ']'; more; more = s.more() {
		out = append(out, s.value())
	}
	s.close(']')
	return out
}

// open enters an object or a list, within bounds.
func (s *scanner) open(bracket byte) bool {
	if s.depth++; s.depth > maxJSONDepth {
		s.refusef(codes.LimitExceeded, "%s nests lists and objects too deep; at most %d are allowed in one another", s.source, maxJSONDepth)
	}
	s.count()
	return s.take(bracket)
}

func (s *scanner) close(bracket byte) {
	s.depth--
	s.take(bracket)
}

// more reports whether a comma is next, and skips it.
func (s *scanner) more() bool {
	if s.peek() != ',' {
		return false
	}
	s.at++
	s.count()
	return !s.failed
}

// count counts a value. The number of values is limited because each takes a few hundred
// bytes of memory.
func (s *scanner) count() {
	if s.values++; s.values > maxJSONValues {
		s.refusef(codes.LimitExceeded, "%s holds more than %d values", s.source, maxJSONValues)
	}
}

func (s *scanner) string() string {
	plain, escaped := s.quoted()
	if escaped {
		return s.unescape(plain)
	}
	return string(plain)
}

// quoted reads a string and returns the text between the quotes.
func (s *scanner) quoted() (plain []byte, escaped bool) {
	if !s.take('"') {
		return nil, false
	}
	ascii := true
	for from := s.at; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			plain = s.text[from:s.at]
			s.at++
			if !ascii && !utf8.Valid(plain) {
				s.refusef(codes.BadUserInput, "%s is not valid UTF-8", s.source)
			}
			return plain, escaped
		case c == '\\':
			escaped = true
			s.at++
		case c < ' ':
			s.failed = true
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.failed = true
	return nil, false
}

// unescaped maps a byte after a backslash to the byte that it stands for. It is 0 for
// invalid escapes and for u.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *scanner) unescape(plain []byte) string {
	out := make([]byte, 0, len(plain))
	for {
		before, after, found := bytes.Cut(plain, []byte{'\\'})
		if out = append(out, before...); !found {
			return string(out)
		}
		c := after[0] // exists: a string does not end after a backslash
		if plain = after[1:]; c != 'u' {
			s.failed = s.failed || unescaped[c] == 0
			out = append(out, unescaped[c])
			continue
		}
		r := s.codeUnit(plain)
		if s.failed {
			return ""
		}
		plain = plain[4:]
		if second, more := bytes.CutPrefix(plain, []byte(`\u`)); more {
			if pair := utf16.DecodeRune(r, s.codeUnit(second)); pair != utf8.RuneError {
				r, plain = pair, second[4:]
			}
		}
		out = utf8.AppendRune(out, r) // a lone surrogate becomes utf8.RuneError
	}
}

// codeUnit parses the four digits after \u.
func (s *scanner) codeUnit(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:min(4, len(digits))]), 16, 16)
	s.failed = s.failed || err != nil || len(digits) < 4
	return rune(n)
}

func (s *scanner) number() json.Number {
	from := s.at
	if s.next('-'); !s.next('0') {
		s.digits()
	}
	if s.next('.') {
		s.digits()
	}
	if s.next('e') || s.next('E') {
		if !s.next('-') {
			s.next('+')
		}
		s.digits()
	}
	if s.failed {
		return ""
	}
	return json.Number(s.text[from:s.at])
}

// next skips a byte if it is next, and reports whether it was.
func (s *scanner) next(c byte) bool {
	is := s.at < len(s.text) && s.text[s.at] == c
	if is {
		s.at++
	}
	return is
}

// digits skips one or more digits.
func (s *scanner) digits() {
	from := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	s.failed = s.failed || s.at == from
}
