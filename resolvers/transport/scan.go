package transport

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
)

// scan reads what asks for an operation in one pass, as long as there is
// nothing special about it. It returns nil where something is amiss, or beyond
// a bound, or a member stands there twice, or a string has an escape of \u:
// then the library reads it once more, and says what is wrong or does it right.
// What scan returns the library would return, too, but for lists that may be
// *rows.Rows among the variables: FuzzScan.
func scan(text []byte) *graphql.RawParams {
	s := scanner{text: text, names: usual}
	params, query, seen := new(graphql.RawParams), false, [4]bool{}
	s.object(func(name string) {
		place := -1
		switch name {
		case "query":
			place, query = 0, s.peek() == '"'
			params.Query = s.stringOrNull()
		case "operationName":
			place, params.OperationName = 1, s.stringOrNull()
		case "variables":
			place, params.Variables = 2, s.variables()
		case "extensions":
			place, params.Extensions = 3, s.objectOrNull()
		default:
			s.value()
		}
		if place >= 0 {
			s.amiss = s.amiss || seen[place]
			seen[place] = true
		}
	})
	if s.space(); s.amiss || !query && !namesDocument(params) || s.at < len(s.text) {
		return nil
	}
	return params
}

// scanner reads JSON from the front of a text. Once something is amiss what it
// returns means nothing. It counts as measure does.
type scanner struct {
	text   []byte
	at     int
	depth  int
	values int
	names  [12]string // usual ones, and the first others in the text, which often come again
	amiss  bool
}

// usual are names that most texts have.
var usual = [12]string{"query", "operationName", "variables", "biz", "bizId", "subjects", "input"}

// peek is the next byte that is no space; 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.text) && !s.amiss {
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

// take passes over a byte that must be next.
func (s *scanner) take(c byte) bool {
	s.amiss = s.amiss || s.peek() != c
	s.at++
	return !s.amiss
}

// word passes over a word that must be next.
func (s *scanner) word(word string) {
	s.amiss = s.amiss || !bytes.HasPrefix(s.text[s.at:], []byte(word))
	s.at += len(word)
}

// value reads a value: nil, a bool, a json.Number, a string, a []any or a
// map[string]any.
func (s *scanner) value() any {
	switch c := s.peek(); c {
	case '"':
		return s.string()
	case '{':
		return s.mapping()
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

func (s *scanner) stringOrNull() string {
	if s.peek() == 'n' {
		s.word("null")
		return ""
	}
	return s.string()
}

func (s *scanner) objectOrNull() map[string]any {
	if s.peek() == 'n' {
		s.word("null")
		return nil
	}
	return s.mapping()
}

func (s *scanner) mapping() map[string]any {
	out := make(map[string]any)
	s.object(func(name string) { out[name] = s.value() })
	return out
}

// object reads an object. It calls member when a value is next, to read it.
func (s *scanner) object(member func(name string)) {
	if !s.open('{') {
		return
	}
	for more := s.peek() != '}'; more; more = s.more() {
		name := s.name()
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
	s.depth++
	s.values++
	s.amiss = s.amiss || s.depth > maxJSONDepth || s.values > maxJSONValues
	return s.take(bracket)
}

func (s *scanner) close(bracket byte) {
	s.depth--
	s.take(bracket)
}

// more reports whether a comma is next, and passes over it.
func (s *scanner) more() bool {
	if s.peek() != ',' {
		return false
	}
	s.at++
	s.values++
	s.amiss = s.amiss || s.values > maxJSONValues
	return !s.amiss
}

// name reads the name of a member. One that was there before is that one.
func (s *scanner) name() string {
	plain, escaped := s.quoted()
	if escaped {
		return s.unescape(plain)
	}
	for i := range s.names {
		switch {
		case s.names[i] == string(plain):
			return s.names[i]
		case s.names[i] == "":
			s.names[i] = string(plain)
			return s.names[i]
		}
	}
	return string(plain)
}

func (s *scanner) string() string {
	plain, escaped := s.quoted()
	if escaped {
		return s.unescape(plain)
	}
	return string(plain)
}

// quoted reads a string and returns what stands between the quotes.
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
			s.amiss = !ascii && !utf8.Valid(plain)
			return plain, escaped
		case c == '\\':
			escaped = true
			s.at++
		case c < ' ':
			s.amiss = true
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.amiss = true
	return nil, false
}

// unescaped is what a byte behind a backslash stands for, 0 for one that is
// left to the library.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *scanner) unescape(plain []byte) string {
	out := make([]byte, 0, len(plain))
	for {
		before, after, found := bytes.Cut(plain, []byte{'\\'})
		if out = append(out, before...); !found {
			return string(out)
		}
		c := unescaped[after[0]] // a string does not end behind a backslash
		s.amiss = s.amiss || c == 0
		out, plain = append(out, c), after[1:]
	}
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
	if s.amiss {
		return ""
	}
	return json.Number(s.text[from:s.at])
}

// next passes over a byte if it is next.
func (s *scanner) next(c byte) bool {
	is := s.at < len(s.text) && s.text[s.at] == c
	if is {
		s.at++
	}
	return is
}

// digits passes over one or more.
func (s *scanner) digits() {
	from := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	s.amiss = s.amiss || s.at == from
}
