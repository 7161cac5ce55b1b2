package sqlstore

import "ovation/storage"

// ReplacePassword replaces the password hash of an account. Errors: storage.ErrNotFound
// if the present hash is not change.From.
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
