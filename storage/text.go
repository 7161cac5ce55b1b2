package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CleanText returns a text in the form in which it is stored and shown, or an
// *InvalidError: line breaks of any kind become a newline, and white space at both ends is
// removed. Everything else is kept as it is, or the text is rejected (see checkText). At
// least one character must be visible. The argument most is the maximum length of the
// result, in code points; combining marks count.
func CleanText(field, text string, most int) (string, error) {
	if err := checkText(field, text, freeText); err != nil {
		return "", err
	}
	text = strings.TrimSpace(lineBreaks.Replace(text))
	switch n := utf8.RuneCountInString(text); {
	case !strings.ContainsFunc(text, visible):
		return "", &InvalidError{Field: field, Reason: "must not be empty"}
	case n > most:
		return "", tooLong(field, n, most)
	}
	return text, nil
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n")

// visible reports whether a character is visible. A combining mark is visible even alone.
func visible(r rune) bool {
	const brailleBlank = '\u2800'
	if unicode.Is(unicode.Cf, r) {
		return unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return r != brailleBlank && !unicode.In(r, unicode.White_Space, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// validateName checks a name of one line: up to most characters, at least one of them
// visible, and no space at the ends.
func validateName(field, name string, most int) error {
	if err := validateText(field, name, most, nameText); err != nil {
		return err
	}
	switch {
	case !strings.ContainsFunc(name, visible):
		return &InvalidError{Field: field, Reason: "must not be empty"}
	case strings.TrimSpace(name) != name:
		return &InvalidError{Field: field, Reason: "must not begin or end with a space"}
	}
	return nil
}

// validateText checks a text of up to most characters, which may be empty.
func validateText(field, text string, most int, use textUse) error {
	if err := checkText(field, text, use); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(text); n > most {
		return tooLong(field, n, most)
	}
	return nil
}

func tooLong(field string, n, most int) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf("is %d characters long; at most %d are allowed", n, most)}
}

// Limits for request ids.
const (
	MaxRequestIDBytes = 64
	// RequestAge is how long a user's request id is stored.
	RequestAge = 24 * time.Hour
)

// ValidateRequestID checks the id of a request, which may be empty. Errors: *InvalidError.
func ValidateRequestID(id string) error {
	unfit := func(r rune) bool { return r < ' ' || r > '~' }
	if len(id) > MaxRequestIDBytes || strings.ContainsFunc(id, unfit) {
		return &InvalidError{Field: "requestId", Reason: fmt.Sprintf("must be 1 to %d printable characters of ASCII", MaxRequestIDBytes)}
	}
	return nil
}

// fingerprint returns a hash of the parts of a request.
func fingerprint(parts ...string) string {
	var text []byte
	for _, part := range parts {
		text = appendPart(text, part)
	}
	return digest(text)
}

// appendPart appends a part of a request, preceded by its length.
func appendPart(to []byte, part string) []byte {
	to = strconv.AppendInt(to, int64(len(part)), 10)
	return append(append(to, ':'), part...)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
