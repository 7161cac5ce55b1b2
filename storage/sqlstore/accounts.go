package sqlstore

import "ovation/storage"

// ReplacePassword replaces the password hash of an account and, if change.Revoke is set,
// increases the account's generation. Errors: storage.ErrNotFound if the current hash is
// not change.From.
func ReplacePassword(of *storage.Account, change storage.PasswordChange) error {
	if of.Password != change.From {
		return storage.ErrNotFound
	}
	of.Password = change.To
	if change.Revoke {
		of.Generation++
	}
	return nil
}

// CloseAccount removes the name, the profile and the password of an account whose user is
// erased, and begins a new generation, so that the user's tokens are revoked. It reports
// whether it has changed anything.
func CloseAccount(a *storage.Account) (bool, error) {
	const noPassword = "!"
	if a.NameKey == "" && a.Password == noPassword {
		return false, nil
	}
	a.Profile, a.NameKey, a.Password = storage.Profile{}, "", noPassword
	a.Generation++
	return true, nil
}
