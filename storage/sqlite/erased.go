package sqlite

import (
	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	anyErased    = `SELECT 1 FROM erased_user LIMIT 1`
	selectErased = `SELECT k.key FROM jsonb_each(?) k CROSS JOIN erased_user e WHERE e.digest = k.value ->> 0`
)

// erased returns those of the users that were erased.
func (t tx) erased(users ...storage.User) (sqlstore.ErasedUsers, error) {
	some := false
	err := t.query(anyErased, nil, func(func(...any) error) error {
		some = true
		return nil
	})
	if err != nil || !some {
		return nil, err
	}
	var digests tuples
	for _, u := range users {
		digests.add([]string{u.Digest()})
	}
	found := sqlstore.ErasedUsers{}
	return found, t.query(selectErased, []any{digests.json()}, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		found[users[i]] = true
		return err
	})
}

// refuseErased returns storage.ErrErased if one of the users was erased.
func (t tx) refuseErased(users ...storage.User) error {
	found, err := t.erased(users...)
	if err != nil {
		return err
	}
	return found.Refuse(users...)
}
