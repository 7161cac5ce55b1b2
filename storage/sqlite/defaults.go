package sqlite

import (
	"ovation/storage"
	"ovation/storage/sqlstore"
)

const selectExisting = `
SELECT k.key FROM jsonb_each(?) k CROSS JOIN folder f
WHERE f.tenant = k.value ->> 0 AND f.user_id = k.value ->> 1 AND f.folder_id = k.value ->> 2`

const selectDeleted = `
SELECT k.key, d.moved_to, d.version FROM jsonb_each(?) k CROSS JOIN deleted_folder d
WHERE d.tenant = k.value ->> 0 AND d.user_id = k.value ->> 1 AND d.folder_id = k.value ->> 2`

// place directs collections into folders that do not exist to where the items
// of those went when they were deleted after the action, from there on in the
// same way, and else to the default folder of their users, which is made if it
// is missing.
func (t tx) place(actions []storage.Action) error {
	left := make([]*storage.Action, 0, len(actions)) // the caller's: apply owns what Coalesce returned
	for i := range actions {
		left = append(left, &actions[i])
	}
	users := make(map[storage.User]int64)
	for hop := 0; len(left) > 0; hop++ {
		missing, err := t.missing(left)
		if err != nil {
			return err
		}
		if left, err = t.follow(missing); err != nil {
			return err
		}
		if hop == storage.MaxFolderHops {
			for _, a := range left {
				a.FolderID = storage.DefaultFolderID
			}
			left = nil
		}
		for _, a := range missing {
			if at, ok := users[a.User]; a.FolderID == storage.DefaultFolderID && (!ok || a.Version < at) {
				users[a.User] = a.Version
			}
		}
	}
	if len(users) == 0 {
		return nil
	}
	return t.makeDefaults(users)
}

// missing returns those whose folder does not exist.
func (t tx) missing(actions []*storage.Action) (out []*storage.Action, err error) {
	var keys tuples
	exists := make(map[int]bool)
	for _, a := range actions {
		keys.add([]string{a.User.Tenant, a.User.UserID, a.FolderID})
	}
	err = t.query(selectExisting, []any{keys.json()}, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		exists[i] = true
		return err
	})
	for i, a := range actions {
		if a.FolderID != "" && !exists[i] {
			out = append(out, a)
		}
	}
	return out, err
}

// follow directs collections into missing folders to others and returns those
// of which it is not known whether they exist.
func (t tx) follow(actions []*storage.Action) (out []*storage.Action, err error) {
	if len(actions) == 0 {
		return nil, nil
	}
	var keys tuples
	for _, a := range actions {
		keys.add([]string{a.User.Tenant, a.User.UserID, a.FolderID})
		a.FolderID = storage.DefaultFolderID
	}
	err = t.query(selectDeleted, []any{keys.json()}, func(scan func(...any) error) error {
		var i int
		var movedTo string
		var version int64
		err := scan(&i, &movedTo, &version)
		if a := actions[i]; version > a.Version {
			a.FolderID = movedTo
			if movedTo != storage.DefaultFolderID {
				out = append(out, a)
			}
		}
		return err
	})
	return out, err
}

// Where another folder has the default folder's name already, the default
// folder gets a suffix, for it must exist.
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

// makeDefaults makes the default folder of each user who has none, as of the
// given time.
func (t tx) makeDefaults(users map[storage.User]int64) error {
	var rows tuples
	for user, at := range users {
		rows.add([]string{user.Tenant, user.UserID}, at)
	}
	_, err := t.exec(insertDefaults, rows.json(), storage.DefaultFolderID,
		storage.DefaultFolderName, storage.FolderNameKey(storage.DefaultFolderName), sqlstore.NameSuffix())
	return err
}
