package sqlite

import (
	"cmp"
	"context"
	"slices"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectLastAccount = `SELECT coalesce(max(account_id), 0) FROM account WHERE tenant = ?`
	insertAccountName = `INSERT INTO account_name (tenant, name_key, account_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	insertAccount     = `
INSERT INTO account (tenant, account_id, name, name_key, password, avatar, background, signature, generation, revoked, created, indexed)
VALUES (?1, ?2, ?3, ?4, ?5, '', '', '', 1, 0, ?6, ?3)`
)

// CreateAccount creates an account. Its id is above all existing account ids of the
// tenant.
func (s *Store) CreateAccount(ctx context.Context, a storage.NewAccount) (*storage.Account, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	out := &storage.Account{Profile: storage.Profile{Name: a.Name}, NameKey: a.NameKey, Password: a.Password, Generation: 1}
	err := s.write(ctx, "create account", func(t tx) error {
		out.Created = storage.Micros(s.now())
		id := (out.Created/1000 - sqlstore.IDEpoch) << sqlstore.IDShift
		if err := t.query(selectLastAccount, []any{a.Tenant}, func(scan func(...any) error) error {
			var last int64
			err := scan(&last)
			id = max(id, last+1)
			return err
		}); err != nil {
			return err
		}
		out.User = storage.KeyUser(a.Tenant, id)
		if err := t.takeAccountName(a.Tenant, a.NameKey, id); err != nil {
			return err
		}
		if _, err := t.exec(insertAccount, a.Tenant, id, a.Name, a.NameKey, a.Password, out.Created); err != nil {
			return err
		}
		return t.index(a.Tenant, sqlstore.IndexedUser, id, a.Name)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t tx) takeAccountName(tenant, key string, id int64) error {
	n, err := t.exec(insertAccountName, tenant, key, id)
	if err == nil && n == 0 {
		err = storage.ErrAccountNameTaken
	}
	return err
}

const (
	accountColumns = `a.account_id, a.name, a.name_key, a.password, a.avatar, a.background, a.signature, a.generation, a.created`

	selectAccount      = `SELECT ` + accountColumns + ` FROM account a WHERE a.tenant = ? AND a.account_id = ?`
	selectAccountNamed = `
SELECT ` + accountColumns + ` FROM account_name n JOIN account a ON a.tenant = n.tenant AND a.account_id = n.account_id
WHERE n.tenant = ? AND n.name_key = ?`
)

// account returns the account that a query finds, or nil if there is none.
func (t tx) account(query, tenant string, key any) (found *storage.Account, err error) {
	err = t.query(query, []any{tenant, key}, func(scan func(...any) error) error {
		var id int64
		a := new(storage.Account)
		err := scan(&id, &a.Name, &a.NameKey, &a.Password, &a.Avatar, &a.Background, &a.Signature, &a.Generation, &a.Created)
		a.User = storage.KeyUser(tenant, id)
		found = a
		return err
	})
	return found, err
}

// AccountNamed looks up an account by its folded name.
func (s *Store) AccountNamed(ctx context.Context, tenant, nameKey string) (found *storage.Account, err error) {
	err = s.read(ctx, "read account by name", func(t tx) (err error) {
		found, err = t.account(selectAccountNamed, tenant, nameKey)
		return err
	})
	return found, err
}

// AccountOf looks up a user's account.
func (s *Store) AccountOf(ctx context.Context, user storage.User) (found *storage.Account, err error) {
	id, ok := user.AccountKey()
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	err = s.read(ctx, "read account", func(t tx) (err error) {
		found, err = t.account(selectAccount, user.Tenant, id)
		return err
	})
	return found, err
}

// selectProfiles omits erased accounts, which have no name.
const selectProfiles = `
SELECT k.key, a.name, a.avatar, a.background, a.signature FROM jsonb_each(?) k CROSS JOIN account a
WHERE a.tenant = k.value ->> 0 AND a.account_id = k.value ->> 1 AND a.name <> ''`

// Profiles looks up profiles with one statement.
func (s *Store) Profiles(ctx context.Context, users []storage.User) ([]*storage.Profile, error) {
	out := make([]*storage.Profile, len(users))
	var keys tuples
	for _, u := range users {
		id, _ := u.AccountKey() // no account has the key 0
		keys.add([]string{u.Tenant}, id)
	}
	err := s.read(ctx, "read profiles", func(t tx) error {
		return t.query(selectProfiles, []any{keys.json()}, func(scan func(...any) error) error {
			var i int
			p := new(storage.Profile)
			err := scan(&i, &p.Name, &p.Avatar, &p.Background, &p.Signature)
			out[i] = p
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// updateAccount dates a revocation after all others, even if the clock is behind.
const updateAccount = `
UPDATE account SET name = ?1, name_key = ?2, password = ?3, avatar = ?4, background = ?5, signature = ?6, generation = ?7,
    indexed = CASE WHEN name = ?1 THEN indexed ELSE ?1 END,
    revoked = CASE WHEN generation = ?7 THEN revoked ELSE max(?8, 1 + coalesce((SELECT max(revoked) FROM account WHERE revoked <> 0 AND revoked > 0), 0)) END
WHERE tenant = ?9 AND account_id = ?10`

// changeAccount looks up an account and calls the function do, which changes the account
// in memory and reports whether anything differs. If so, changeAccount writes the account
// to the database. Errors: storage.ErrNotFound.
func (s *Store) changeAccount(ctx context.Context, what string, user storage.User, do func(*storage.Account) (bool, error)) (a *storage.Account, err error) {
	err = s.write(ctx, what, func(t tx) (err error) {
		a, err = t.changeAccount(user, storage.Micros(s.now()), do)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (t tx) changeAccount(user storage.User, now int64, do func(*storage.Account) (bool, error)) (*storage.Account, error) {
	id, ok := user.AccountKey()
	if !ok {
		return nil, storage.ErrNotFound
	}
	a, err := t.account(selectAccount, user.Tenant, id)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, storage.ErrNotFound
	}
	key, name := a.NameKey, a.Name
	if changed, err := do(a); err != nil || !changed {
		return a, err
	}
	if a.NameKey != key {
		if _, err := t.exec(`DELETE FROM account_name WHERE tenant = ? AND name_key = ?`, user.Tenant, key); err != nil {
			return nil, err
		}
		if a.NameKey != "" {
			if err := t.takeAccountName(user.Tenant, a.NameKey, id); err != nil {
				return nil, err
			}
		}
	}
	if a.Name != name {
		if err := t.reindexAccount(user.Tenant, id, a.Name); err != nil {
			return nil, err
		}
	}
	_, err = t.exec(updateAccount, a.Name, a.NameKey, a.Password, a.Avatar, a.Background, a.Signature, a.Generation, now, user.Tenant, id)
	return a, err
}

// ReplacePassword replaces the password hash of an account.
func (s *Store) ReplacePassword(ctx context.Context, user storage.User, change storage.PasswordChange) (*storage.Account, error) {
	if err := change.Validate(); err != nil {
		return nil, err
	}
	return s.changeAccount(ctx, "replace password", user, func(a *storage.Account) (bool, error) { return true, sqlstore.ReplacePassword(a, change) })
}

// RevokeTokens increases the user's generation, so that all earlier tokens become
// invalid.
func (s *Store) RevokeTokens(ctx context.Context, user storage.User) (*storage.Account, error) {
	return s.changeAccount(ctx, "revoke tokens", user, func(a *storage.Account) (bool, error) {
		a.Generation++
		return true, nil
	})
}

// UpdateProfile changes those fields of a profile that are set in the given change.
func (s *Store) UpdateProfile(ctx context.Context, user storage.User, change storage.ProfileChange) (*storage.UpdatedProfile, error) {
	change, err := change.Check()
	if err != nil {
		return nil, err
	}
	var former storage.Profile
	a, err := s.changeAccount(ctx, "update profile", user, func(a *storage.Account) (bool, error) {
		former = a.Profile
		return change.Apply(a)
	})
	if err != nil {
		return nil, err
	}
	return &storage.UpdatedProfile{Profile: a.Profile, Former: former}, nil
}

// selectNamedAvatars repeats the condition of the index account_avatar.
const selectNamedAvatars = `
SELECT k.key FROM jsonb_each(?) k CROSS JOIN account a
WHERE a.avatar = k.value ->> 0 AND a.avatar >= '/media/avatars/' AND a.avatar < '/media/avatars0'`

// NamedAvatars reports for each file name whether an account has that avatar.
func (s *Store) NamedAvatars(ctx context.Context, files []string) ([]bool, error) {
	return s.named(ctx, "look up avatars", selectNamedAvatars, files, storage.AvatarPath)
}

const selectRevocations = `
SELECT tenant, account_id, generation, revoked FROM account
WHERE revoked <> 0 AND (revoked, tenant, account_id) > (?, ?, ?) ORDER BY revoked, tenant, account_id LIMIT ?`

// selectErasedRevocations finds the revocations of erased accounts, whose users are unknown.
const selectErasedRevocations = `
SELECT revoked FROM erased_user WHERE revoked > ? AND revoked > 0 ORDER BY revoked LIMIT ?`

// Revocations lists the latest revocation of each user.
func (s *Store) Revocations(ctx context.Context, after storage.Revocation, limit int) (out []storage.Revocation, err error) {
	id, _ := after.User.AccountKey()
	err = s.read(ctx, "read revocations", func(t tx) error {
		err := t.query(selectErasedRevocations, []any{after.At, max(limit, 0)}, func(scan func(...any) error) error {
			r := storage.Revocation{User: storage.KeyUser("", 0)}
			err := scan(&r.At)
			out = append(out, r)
			return err
		})
		if err != nil {
			return err
		}
		return t.query(selectRevocations, []any{after.At, after.User.Tenant, id, max(limit, 0)}, func(scan func(...any) error) error {
			var r storage.Revocation
			err := scan(&r.User.Tenant, &id, &r.Generation, &r.At)
			r.User = storage.KeyUser(r.User.Tenant, id)
			out = append(out, r)
			return err
		})
	})
	// Those of erased accounts precede those of accounts with the same time.
	slices.SortStableFunc(out, func(a, b storage.Revocation) int { return cmp.Compare(a.At, b.At) })
	return out[:min(len(out), max(limit, 0))], err
}
