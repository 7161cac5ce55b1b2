package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// insertAccount creates an account only if the name is free.
const insertAccount = `
WITH n AS (
    INSERT INTO account_name (tenant, name_key, account_id)
    SELECT $1::text, $2::text, (t.at / 1000 - $5::bigint) * $6::bigint + nextval('account_number') % $6::bigint
    FROM (SELECT ` + transactionTime + ` AS at) t
    ON CONFLICT DO NOTHING RETURNING account_id),
w AS (INSERT INTO search_word (tenant, kind, word, place) SELECT $1::text, 1, word, -n.account_id FROM n CROSS JOIN unnest($7::text[]) word)
INSERT INTO account (tenant, account_id, name, name_key, password, avatar, background, signature, generation, revoked, created, indexed)
SELECT $1::text, n.account_id, $3::text, $2::text, $4::text, '', '', '', 1, 0, ` + transactionTime + `, $3::text FROM n
RETURNING account_id, created`

// CreateAccount creates an account with one statement.
func (s *Store) CreateAccount(ctx context.Context, a storage.NewAccount) (*storage.Account, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	out := &storage.Account{Profile: storage.Profile{Name: a.Name}, NameKey: a.NameKey, Password: a.Password, Generation: 1}
	err := s.change(ctx, "create account", func(t *tx) error {
		b, id := t.batch(), int64(0)
		b.Queue(insertAccount, a.Tenant, a.NameKey, a.Name, a.Password, int64(sqlstore.IDEpoch), int64(1<<sqlstore.IDShift), storage.IndexWords(a.Name)).
			Query(eachRow(func(row pgx.Rows) error { return row.Scan(&id, &out.Created) }))
		if err := t.send(b); err != nil {
			return err
		}
		if id == 0 {
			return storage.ErrAccountNameTaken
		}
		out.User = storage.KeyUser(a.Tenant, id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const (
	accountColumns = `a.account_id, a.name, a.name_key, a.password, a.avatar, a.background, a.signature, a.generation, a.created`

	selectAccount      = `SELECT ` + accountColumns + ` FROM account a WHERE a.tenant = $1 AND a.account_id = $2`
	selectAccountNamed = `
SELECT ` + accountColumns + ` FROM account_name n
CROSS JOIN LATERAL (SELECT account_id, name, name_key, password, avatar, background, signature, generation, created
    FROM account a WHERE a.tenant = n.tenant AND a.account_id = n.account_id LIMIT 1) a
WHERE n.tenant = $1 AND n.name_key = $2`
)

func scanAccount(tenant string, row pgx.Rows) (*storage.Account, error) {
	var id int64
	a := new(storage.Account)
	err := row.Scan(&id, &a.Name, &a.NameKey, &a.Password, &a.Avatar, &a.Background, &a.Signature, &a.Generation, &a.Created)
	a.User = storage.KeyUser(tenant, id)
	return a, err
}

func (s *Store) account(ctx context.Context, what, query, tenant string, key any) (found *storage.Account, err error) {
	err = s.read(ctx, what, query, []any{tenant, key}, func(row pgx.Rows) (err error) {
		found, err = scanAccount(tenant, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// AccountNamed looks up an account by its folded name.
func (s *Store) AccountNamed(ctx context.Context, tenant, nameKey string) (*storage.Account, error) {
	if !storable(tenant) || !storable(nameKey) {
		return nil, nil //nolint:nilnil // there is none
	}
	return s.account(ctx, "read account by name", selectAccountNamed, tenant, nameKey)
}

// AccountOf looks up a user's account.
func (s *Store) AccountOf(ctx context.Context, user storage.User) (*storage.Account, error) {
	id, ok := user.AccountKey()
	if !ok || !storable(user.Tenant) {
		return nil, nil //nolint:nilnil // there is none
	}
	return s.account(ctx, "read account", selectAccount, user.Tenant, id)
}

// selectProfiles omits erased accounts, which have no name.
const selectProfiles = `
SELECT k.ord, a.name, a.avatar, a.background, a.signature
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS k (tenant, account_id, ord)
CROSS JOIN LATERAL (SELECT name, avatar, background, signature FROM account a
    WHERE a.tenant = k.tenant AND a.account_id = k.account_id AND a.name <> '' LIMIT 1) a`

// Profiles looks up profiles with one statement.
func (s *Store) Profiles(ctx context.Context, users []storage.User) ([]*storage.Profile, error) {
	out := make([]*storage.Profile, len(users))
	keys := newColumns(1, 1, len(users))
	for _, u := range users {
		id, _ := u.AccountKey() // no account has the key 0
		keys.add([]string{u.Tenant}, id)
	}
	err := s.read(ctx, "read profiles", selectProfiles, keys.args(), func(row pgx.Rows) error {
		var i int
		p := new(storage.Profile)
		err := row.Scan(&i, &p.Name, &p.Avatar, &p.Background, &p.Signature)
		if err == nil {
			out[i-1] = p
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const (
	lockAccount = selectAccount + ` FOR UPDATE`

	// updateAccount dates a revocation after all others, even if the clock is behind.
	updateAccount = `
UPDATE account SET name = $3, name_key = $4, password = $5, avatar = $6, background = $7, signature = $8, generation = $9,
    indexed = CASE WHEN name = $3 THEN indexed ELSE $3 END,
    revoked = CASE WHEN generation = $9 THEN revoked ELSE greatest(` + transactionTime + `, 1 + (SELECT max(revoked) FROM account WHERE revoked <> 0 AND revoked > 0)) END
WHERE tenant = $1 AND account_id = $2`

	deleteAccountName = `DELETE FROM account_name WHERE tenant = $1 AND name_key = $2 AND account_id = $3`
	insertAccountName = `INSERT INTO account_name (tenant, name_key, account_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
)

// changeAccount locks an account and calls the function do, which changes the account in
// memory and reports whether anything differs. If so, changeAccount writes the account to
// the database. It locks the account before the account's names and words.
// Errors: storage.ErrNotFound.
func (s *Store) changeAccount(ctx context.Context, what string, user storage.User, do func(*storage.Account) (bool, error)) (a *storage.Account, err error) {
	id, ok := user.AccountKey()
	if !ok || !storable(user.Tenant) {
		return nil, storage.ErrNotFound
	}
	err = s.change(ctx, what, func(t *tx) error {
		a = nil
		var indexed string
		b := t.batch()
		b.Queue(lockAccount, user.Tenant, id).Query(eachRow(func(row pgx.Rows) (err error) {
			a, err = scanAccount(user.Tenant, row)
			return err
		}))
		b.Queue(selectIndexed, user.Tenant, id).Query(eachRow(func(row pgx.Rows) error { return row.Scan(&indexed) }))
		if err := t.send(b); err != nil {
			return err
		}
		if a == nil {
			return storage.ErrNotFound
		}
		key, name := a.NameKey, a.Name
		if changed, err := do(a); err != nil || !changed {
			return err
		}
		b = t.batch()
		taken := int64(1)
		if a.NameKey != key {
			b.Queue(deleteAccountName, user.Tenant, key, id)
			if a.NameKey != "" {
				b.Queue(insertAccountName, user.Tenant, a.NameKey, id).Exec(rowsAffected(&taken))
			}
		}
		if a.Name != name {
			unindex(b, user.Tenant, sqlstore.IndexedUser, id, indexed)
			index(b, user.Tenant, sqlstore.IndexedUser, id, a.Name)
		}
		b.Queue(updateAccount, user.Tenant, id, a.Name, a.NameKey, a.Password, a.Avatar, a.Background, a.Signature, a.Generation)
		if err := t.send(b); err != nil {
			return err
		}
		if taken == 0 {
			return storage.ErrAccountNameTaken
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
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
SELECT k.ord FROM unnest($1::text[]) WITH ORDINALITY AS k (avatar, ord)
CROSS JOIN LATERAL (SELECT FROM account a WHERE a.avatar = k.avatar AND a.avatar >= '/media/avatars/' AND a.avatar < '/media/avatars0' LIMIT 1) a`

// NamedAvatars reports, with one statement, for each file name whether an account has
// that avatar.
func (s *Store) NamedAvatars(ctx context.Context, files []string) ([]bool, error) {
	return s.named(ctx, "look up avatars", selectNamedAvatars, files, storage.AvatarPath)
}

const selectRevocations = `
(SELECT tenant, account_id, generation, revoked FROM account
WHERE revoked <> 0 AND (revoked, tenant, account_id) > ($1, $2, $3) ORDER BY revoked, tenant, account_id LIMIT $4)
UNION ALL
(SELECT '', 0, 0, revoked FROM erased_user WHERE revoked > $1 AND revoked > 0 ORDER BY revoked LIMIT $4)
ORDER BY revoked, tenant, account_id LIMIT $4`

// Revocations lists the latest revocation of each user.
func (s *Store) Revocations(ctx context.Context, after storage.Revocation, limit int) (out []storage.Revocation, err error) {
	id, _ := after.User.AccountKey()
	args := []any{after.At, after.User.Tenant, id, max(limit, 0)}
	err = s.read(ctx, "read revocations", selectRevocations, args, func(row pgx.Rows) error {
		var r storage.Revocation
		err := row.Scan(&r.User.Tenant, &id, &r.Generation, &r.At)
		r.User = storage.KeyUser(r.User.Tenant, id)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
