package accounts

// The functions of this file serve the export and import of accounts, and the demo data.

// NameKey returns the key under which the name of an account is unique. Errors: an
// *storage.InvalidError if no account can have the name.
func NameKey(name string) (string, error) {
	folded, err := foldName(name)
	return folded.key, err
}

// CheckHash returns an error unless the text is the hash of a password with parameters that
// a login accepts. The error does not contain the text.
func CheckHash(text string) error {
	_, err := parseHash(text)
	return err
}

// UnmatchedHash returns a hash that no password matches.
func UnmatchedHash() string { return DefaultParams.decoy().encode() }
