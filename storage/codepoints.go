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
//	tags of a flag: U+1F3F4, 1 to 6 tags, and U+E007F         ids, names, texts
//	byte order mark, U+FEFF                                   names, texts
//	tab and line breaks                                       texts
//	overrides of direction, U+202D and U+202E; embeddings
//	and isolates that are not closed; other tags              -
//	other control characters, noncharacters, U+FFFD, and
//	what Unicode deprecates or reserves for annotations       -
//
// An override can make a text read as another text. A direction that is not closed, or
// closed twice, affects the text that an application shows next to it. Tags are invisible
// and could hold a hidden text. UTS #51 lets them follow any emoji, but the only sequences
// with tags that Unicode recommends for interchange are flags of regions.
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
	blackFlag = 0x1F3F4 // the only base of the sequences with tags that are recommended
	maxTags   = 6       // without cancelTag; a region has up to 5
)

// textScanner follows what is open in a text.
type textScanner struct {
	use      textUse
	previous rune
	tags     int    // if not 0, previous is the latest of so many tags and must be followed by another
	open     []rune // the embeddings and isolates that are open
}

// next returns a code point that is not allowed and why, which is empty if all is well.
// The code point may be an earlier one.
func (s *textScanner) next(r rune) (refused rune, why string) {
	switch tag := firstTag <= r && r <= cancelTag; {
	case tag && s.tags == 0 && (s.previous != blackFlag || r == cancelTag):
		return r, "a tag outside of a flag"
	case !tag && s.tags > 0, tag && r != cancelTag && s.tags == maxTags:
		return s.previous, "an unterminated tag sequence"
	case tag && r != cancelTag:
		s.previous, s.tags = r, s.tags+1
	default:
		s.previous, s.tags = r, 0
	}
	switch r {
	case '\u202a', '\u202b', '\u2066', '\u2067', '\u2068':
		s.open = append(s.open, r)
		return 0, ""
	case '\u202c', '\u2069':
		last := len(s.open) - 1
		if last < 0 || closes(s.open[last]) != r {
			return r, "the end of an unopened direction"
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
	case s.tags > 0:
		return s.previous, "an unterminated tag sequence"
	case len(s.open) > 0:
		return s.open[len(s.open)-1], "an unclosed direction"
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
		return "the replacement character"
	case unicode.Is(unicode.Noncharacter_Code_Point, r):
		return "a noncharacter"
	case '\u206a' <= r && r <= '\u206f', r == 0xE0001:
		return "a deprecated format character"
	case '\ufff9' <= r && r <= '\ufffb':
		return "an annotation"
	}
	return ""
}
