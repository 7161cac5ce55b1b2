package accounts

import (
	_ "embed"
	"strings"

	"golang.org/x/text/secure/precis"

	"ovation/storage"
)

// commonPasswords has one password per line, after the source and the licence of the
// list.
//
//go:embed common_passwords.txt
var commonPasswords string

// isCommon reports whether a cleaned password is one of the most frequent passwords,
// regardless of case, width and compatibility forms.
func isCommon(password string) bool {
	key, err := precis.Nickname.CompareKey(password) // NFKC, in lower case
	return err == nil && strings.Contains(commonPasswords, "\n"+key+"\n")
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
