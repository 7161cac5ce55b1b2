package sqlite

import (
	"maps"
	"slices"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const selectExisting = `
SELECT k.key FROM jsonb_each(?) k CROSS JOIN folder f
WHERE f.tenant = k.value ->> 0 AND f.user_id = k.value ->> 1 AND f.folder_id = k.value ->> 2`

const selectDeleted = `
SELECT k.key, d.moved_to, d.version FROM jsonb_each(?) k CROSS JOIN deleted_folder d
WHERE d.tenant = k.value ->> 0 AND d.user_id = k.value ->> 1 AND d.folder_id = k.value ->> 2`

// resolveFolders applies sqlstore.ResolveFolders, and creates missing default folders.
func (t tx) resolveFolders(actions []storage.Action) error {
	if len(actions) == 0 {
		return nil
	}
	named := make(map[storage.FolderKey]bool)
	for i := range actions {
		if a := &actions[i]; a.FolderID != "" {
			named[storage.FolderKey{Owner: a.User, FolderID: a.FolderID}] = true
		}
	}
	known, err := t.lookUpFolders(slices.Collect(maps.Keys(named)))
	if err == nil {
		err = sqlstore.ResolveFolders(actions, known, t.lookUpFolders)
	}
	if err != nil {
		return err
	}
	users := make(map[storage.User]int64)
	for i := range actions {
		a := &actions[i]
		if a.FolderID != storage.DefaultFolderID || known.Exist[storage.FolderKey{Owner: a.User, FolderID: a.FolderID}] {
			continue
		}
		if at, ok := users[a.User]; !ok || a.Version < at {
			users[a.User] = a.Version
		}
	}
	if len(users) == 0 {
		return nil
	}
	return t.createDefaultFolders(users)
}

// lookUpFolders looks up which folders exist, and where the items of deleted folders were
// moved to.
func (t tx) lookUpFolders(keys []storage.FolderKey) (*sqlstore.FolderIndex, error) {
	p := &sqlstore.FolderIndex{Exist: make(map[storage.FolderKey]bool), Deleted: make(map[storage.FolderKey]sqlstore.Deletion)}
	if len(keys) == 0 {
		return p, nil
	}
	var rows tuples
	for _, k := range keys {
		rows.add([]string{k.Owner.Tenant, k.Owner.UserID, k.FolderID})
	}
	arg := []any{rows.json()}
	err := t.query(selectExisting, arg, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		p.Exist[keys[i]] = true
		return err
	})
	if err != nil || len(p.Exist) == len(keys) {
		return p, err
	}
	return p, t.query(selectDeleted, arg, func(scan func(...any) error) error {
		var i int
		var d sqlstore.Deletion
		err := scan(&i, &d.MovedTo, &d.Version)
		p.Deleted[keys[i]] = d
		return err
	})
}

// insertDefaults inserts missing default folders. If another folder of the user already
// has the default name, a suffix is added to the name, because the default folder must
// exist even then.
const insertDefaults = `
INSERT INTO folder (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT tenant, user_id, ?2, ?3 || suffix, ?4 || suffix, '', 0, 0, at, at FROM (
    SELECT k.value ->> 0 AS tenant, k.value ->> 1 AS user_id, k.value ->> 2 AS at,
        CASE WHEN EXISTS (SELECT 1 FROM folder f
            WHERE f.tenant = k.value ->> 0 AND f.user_id = k.value ->> 1 AND f.name_key = ?4)
        THEN ?5 ELSE '' END AS suffix
    FROM jsonb_each(?1) k)
WHERE true
ON CONFLICT (tenant, user_id, folder_id) DO NOTHING`

// createDefaultFolders creates missing default folders. The parameter users maps each
// user to the creation time of the user's default folder, in microseconds since 1970.
// Errors: storage.ErrErased.
func (t tx) createDefaultFolders(users map[storage.User]int64) error {
	if err := t.refuseErased(slices.Collect(maps.Keys(users))...); err != nil {
		return err
	}
	var rows tuples
	for user, at := range users {
		rows.add([]string{user.Tenant, user.UserID}, at)
	}
	_, err := t.exec(insertDefaults, rows.json(), storage.DefaultFolderID,
		storage.DefaultFolderName, storage.FolderNameKey(storage.DefaultFolderName), sqlstore.NameSuffix())
	return err
}
