package accounts

import (
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"

	"ovation/storage"
)

// maxNameBytes bounds a name before it is folded: UTF-8 uses at most 4 bytes per
// character.
const maxNameBytes = 4 * storage.MaxAccountNameRunes

// foldName returns a name for display and the key under which it is unique. It applies
// the Nickname profile of PRECIS (RFC 8266), which normalises to NFKC, maps all spaces to
// ASCII spaces and, for the key, maps upper case to lower case. Similar letters from
// different scripts remain different.
func foldName(name string) (shown, key string, err error) {
	if len(name) > maxNameBytes || !utf8.ValidString(name) {
		return "", "", errName
	}
	if shown, err = precis.Nickname.String(name); err != nil {
		return "", "", errName
	}
	if key, err = precis.Nickname.CompareKey(name); err != nil {
		return "", "", errName
	}
	if n := utf8.RuneCountInString(shown); n == 0 || n > storage.MaxAccountNameRunes {
		return "", "", errName
	}
	return shown, key, nil
}

var errName = &storage.InvalidError{Field: "name", Reason: fmt.Sprintf(
	"must be 1 to %d characters of text, without control and format characters", storage.MaxAccountNameRunes)}
