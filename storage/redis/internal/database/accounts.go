package database

import (
	"context"

	"ovation/storage"
	"ovation/storage/redis/internal/dependency"
)

// Profiles returns the profiles of users from the database.
func (s *Store) Profiles(ctx context.Context, users []storage.User) ([]*storage.Profile, error) {
	return query(ctx, s.reads, "read profiles", s.Store.Profiles, users)
}

// AccountNamed returns an account from the database by its name.
func (s *Store) AccountNamed(ctx context.Context, tenant, nameKey string) (*storage.Account, error) {
	return dependency.Query(ctx, s.reads, "read account by name", func(ctx context.Context) (*storage.Account, error) {
		return s.Store.AccountNamed(ctx, tenant, nameKey)
	})
}

// AccountOf returns the account of a user from the database.
func (s *Store) AccountOf(ctx context.Context, user storage.User) (*storage.Account, error) {
	return dependency.Query(ctx, s.reads, "read account", func(ctx context.Context) (*storage.Account, error) {
		return s.Store.AccountOf(ctx, user)
	})
}

// Revocations returns token revocations from the database.
func (s *Store) Revocations(ctx context.Context, after storage.Revocation, limit int) ([]storage.Revocation, error) {
	return dependency.Query(ctx, s.reads, "read revocations", func(ctx context.Context) ([]storage.Revocation, error) {
		return s.Store.Revocations(ctx, after, limit)
	})
}

// CreateAccount creates an account in the database.
func (s *Store) CreateAccount(ctx context.Context, account storage.NewAccount) (*storage.Account, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.CreateAccount(ctx, account)
}

// ReplacePassword replaces a password in the database.
func (s *Store) ReplacePassword(ctx context.Context, user storage.User, change storage.PasswordChange) (*storage.Account, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.ReplacePassword(ctx, user, change)
}

// RevokeTokens revokes tokens in the database.
func (s *Store) RevokeTokens(ctx context.Context, user storage.User) (*storage.Account, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.RevokeTokens(ctx, user)
}

// UpdateProfile changes a profile in the database.
func (s *Store) UpdateProfile(ctx context.Context, user storage.User, change storage.ProfileChange) (*storage.UpdatedProfile, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.UpdateProfile(ctx, user, change)
}

// NamedAvatars reports which files are avatars in the database.
func (s *Store) NamedAvatars(ctx context.Context, files []string) ([]bool, error) {
	return query(ctx, s.reads, "look for the profiles of files", s.Store.NamedAvatars, files)
}
