package accounts

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/secure/precis"

	"ovation/storage"
)

// commonPasswordsText has the source and the licence of the list, an empty line, and one
// password per line, sorted.
//
//go:embed common_passwords.txt
var commonPasswordsText string

// commonPasswords returns the list. It is split when it is first needed, into 160 kB of
// headers that share the text.
var commonPasswords = sync.OnceValue(func() []string {
	list := commonPasswordsText[strings.LastIndex(commonPasswordsText, "\n\n")+2:]
	return strings.Split(strings.TrimSuffix(list, "\n"), "\n")
})

// isCommon reports whether a cleaned password is one of the most frequent passwords,
// regardless of case, width and compatibility forms.
func isCommon(password string) bool {
	key, err := precis.Nickname.CompareKey(password) // NFKC, in lower case
	if err != nil {
		return false
	}
	_, found := slices.BinarySearch(commonPasswords(), key)
	return found
}

// newPassword cleans a password that an account is to have from now on, and applies the
// rules of the site, which passwords of existing accounts need not meet. Errors:
// *storage.InvalidError.
func (s *Service) newPassword(field, password string) (string, error) {
	cleaned, err := checkPassword(field, password, s.MinPassword)
	if err == nil && isCommon(cleaned) {
		err = &storage.InvalidError{Field: field, Reason: "is one of the most common passwords, which are guessed first; choose another one"}
	}
	return cleaned, err
}
