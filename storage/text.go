package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CleanText returns a text in the form in which it is stored and shown, or an
// *InvalidError.
//
// Line breaks of any kind become a newline. Format characters, which are invisible and
// can reverse the text around them, are removed: directional marks, overrides and
// isolates, byte order marks and the like. The two joiners that emoji and several scripts
// need are kept. White space at both ends is removed. At least one character of the
// result must be visible. The argument most is the maximum length of the result, in code
// points; combining marks count.
//
// Control characters other than newline and tab are rejected, and so are noncharacters
// and U+FFFD, the substitute for invalid bytes.
func CleanText(field, text string, most int) (string, error) {
	if !utf8.ValidString(text) {
		return "", &InvalidError{Field: field, Reason: "must be valid UTF-8"}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var refused rune
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == zeroWidthNonJoiner, r == zeroWidthJoiner:
		case r == '\r', unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsControl(r), r == unicode.ReplacementChar, unicode.Is(unicode.Noncharacter_Code_Point, r):
			refused = r
		}
		return r
	}, text))
	if refused != 0 || strings.ContainsRune(text, 0) {
		return "", &InvalidError{Field: field, Reason: fmt.Sprintf("must be text; it holds the character %U", refused)}
	}
	switch n := utf8.RuneCountInString(text); {
	case !strings.ContainsFunc(text, visible):
		return "", &InvalidError{Field: field, Reason: "must not be empty"}
	case n > most:
		return "", &InvalidError{Field: field, Reason: fmt.Sprintf("is %d characters long; at most %d are allowed", n, most)}
	}
	return text, nil
}

// visible reports whether a character is visible. A combining mark is visible even alone.
func visible(r rune) bool {
	const brailleBlank = '\u2800'
	return r != brailleBlank && !unicode.In(r, unicode.White_Space, unicode.Join_Control,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Limits for request ids.
const (
	MaxRequestIDBytes = 64
	// RequestAge is how long a user's request id is stored.
	RequestAge = 24 * time.Hour
)

func validateRequestID(id string) error {
	unfit := func(r rune) bool { return r < ' ' || r > '~' }
	if len(id) > MaxRequestIDBytes || strings.ContainsFunc(id, unfit) {
		return &InvalidError{Field: "requestId", Reason: fmt.Sprintf("must be 1 to %d printable characters of ASCII", MaxRequestIDBytes)}
	}
	return nil
}

// fingerprint returns a hash of the parts of a request.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
