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
