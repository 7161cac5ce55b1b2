package storage

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// textUse is the use of a text, which decides about some of its code points.
type textUse uint8

const (
	idText   textUse = iota // the id of a subject or of a user
	nameText                // one line
	freeText                // any number of lines
)

// checkText returns an *InvalidError that names the first code point that a text must not
// contain, or nil. It decides for all texts that clients supply. No code point is ever
// removed: each is kept or rejected.
//
//	code point                                                allowed in
//	letters, marks, digits, punctuation, symbols, spaces      ids, names, texts
//	code points that are private or not yet assigned          ids, names, texts
//	joiners, variation selectors, word breaks and others
//	that a script or a sequence needs                         ids, names, texts
//	marks of direction: U+061C, U+200E, U+200F                ids, names, texts
//	embeddings and isolates, each closed in its line          ids, names, texts
//	tags that continue an emoji, up to U+E007F                ids, names, texts
//	byte order mark, U+FEFF                                   names, texts
//	tab and line breaks                                       texts
//	overrides of direction, U+202D and U+202E; embeddings
//	and isolates that are not closed; other tags              -
//	other control characters, noncharacters, U+FFFD, and
//	what Unicode deprecates or reserves for annotations       -
//
// An override can make a text read as another text. A direction that is not closed, or
// closed twice, affects the text that an application shows next to it. Tags outside of an
// emoji are an invisible text.
func checkText(field, text string, use textUse) error {
	if isPlain(text) {
		return nil
	}
	if !utf8.ValidString(text) {
		return &InvalidError{Field: field, Reason: "must be valid UTF-8"}
	}
	scan := textScanner{use: use}
	for _, r := range text {
		if refused, why := scan.next(r); why != "" {
			return codePointError(field, refused, why)
		}
	}
	if refused, why := scan.end(); why != "" {
		return codePointError(field, refused, why)
	}
	return nil
}

func codePointError(field string, r rune, why string) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf("contains U+%04X (%s), which is not allowed", r, why)}
}

// isPlain reports whether a text consists of printable ASCII, as most ids do.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

const (
	firstTag  = 0xE0020
	cancelTag = 0xE007F
)

// textScanner follows what is open in a text.
type textScanner struct {
	use      textUse
	previous rune
	inTags   bool   // previous is a tag that must be followed by another
	open     []rune // the embeddings and isolates that are open
}

// next returns a code point that is not allowed and why, which is empty if all is well.
// The code point may be an earlier one.
func (s *textScanner) next(r rune) (refused rune, why string) {
	switch tag := firstTag <= r && r <= cancelTag; {
	case tag && !s.inTags && !startsTags(s.previous):
		return r, "a tag outside of an emoji"
	case !tag && s.inTags:
		return s.previous, "a tag that nothing ends"
	default:
		s.previous, s.inTags = r, tag && r != cancelTag
	}
	switch r {
	case '\u202a', '\u202b', '\u2066', '\u2067', '\u2068':
		s.open = append(s.open, r)
		return 0, ""
	case '\u202c', '\u2069':
		last := len(s.open) - 1
		if last < 0 || closes(s.open[last]) != r {
			return r, "the end of a direction that is not open"
		}
		s.open = s.open[:last]
		return 0, ""
	case '\n', '\r', '\u2028', '\u2029':
		if refused, why := s.end(); why != "" {
			return refused, why
		}
	}
	return r, refusal(r, s.use)
}

// end returns what is still open at the end of a line or text.
func (s *textScanner) end() (refused rune, why string) {
	switch {
	case s.inTags:
		return s.previous, "a tag that nothing ends"
	case len(s.open) > 0:
		return s.open[len(s.open)-1], "a direction that is not closed in its line"
	}
	return 0, ""
}

// closes returns the code point that closes an embedding or isolate.
func closes(open rune) rune {
	if open == '\u202a' || open == '\u202b' {
		return '\u202c'
	}
	return '\u2069'
}

// startsTags reports whether tags may follow r: it is a symbol, the colour of its skin, or
// the variation selector of emoji.
func startsTags(r rune) bool {
	return r == '\ufe0f' || unicode.In(r, unicode.So, unicode.Sk)
}

// refusal returns why a code point is not allowed, or "" if it is.
func refusal(r rune, use textUse) string {
	switch {
	case use == freeText && (r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029'):
		return ""
	case r == '\t':
		return "a tab"
	case r == '\n', r == '\r', r == '\u2028', r == '\u2029':
		return "a line break"
	case unicode.IsControl(r):
		return "a control character"
	case r == '\u202d', r == '\u202e':
		return "an override of the direction"
	case r == '\ufeff' && use == idText:
		return "a byte order mark"
	case r == unicode.ReplacementChar:
		return "the substitute for invalid bytes"
	case unicode.Is(unicode.Noncharacter_Code_Point, r):
		return "a noncharacter"
	case '\u206a' <= r && r <= '\u206f', r == 0xE0001:
		return "a deprecated format character"
	case '\ufff9' <= r && r <= '\ufffb':
		return "an annotation"
	}
	return ""
}
