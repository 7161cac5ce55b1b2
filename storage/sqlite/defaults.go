package sqlite

import (
	"github.com/google/uuid"

	"ovation/storage"
)

const selectExisting = `
SELECT k.key FROM json_each(?) k CROSS JOIN folder f
WHERE f.tenant = k.value ->> 0 AND f.user_id = k.value ->> 1 AND f.folder_id = k.value ->> 2`

// place directs collections into folders that do not exist to the default
// folder of their users, and makes those that are missing.
func (t tx) place(actions []storage.Action) error {
	var keys tuples
	missing := make(map[int]bool)
	asked := make([]int, 0, len(actions)) // the index of the action of each key
	for i, a := range actions {
		if a.FolderID != "" {
			missing[i] = true
			asked = append(asked, i)
			keys.add([]string{a.User.Tenant, a.User.UserID, a.FolderID})
		}
	}
	if len(asked) == 0 {
		return nil
	}
	err := t.query(selectExisting, []any{keys.json()}, func(scan func(...any) error) error {
		var k int
		err := scan(&k)
		delete(missing, asked[k])
		return err
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	users := make(map[storage.User]int64)
	for i := range missing {
		a := &actions[i] // the caller's: apply owns what Coalesce returned
		a.FolderID = storage.DefaultFolderID
		if at, ok := users[a.User]; !ok || a.Version < at {
			users[a.User] = a.Version
		}
	}
	return t.makeDefaults(users)
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
    FROM json_each(?1) k)
WHERE true
ON CONFLICT (tenant, user_id, folder_id) DO NOTHING`

// makeDefaults makes the default folder of each user who has none, as of the
// given time.
func (t tx) makeDefaults(users map[storage.User]int64) error {
	var rows tuples
	for user, at := range users {
		rows.add([]string{user.Tenant, user.UserID}, at)
	}
	suffix := " " + uuid.NewString()[:8]
	_, err := t.exec(insertDefaults, rows.json(), storage.DefaultFolderID,
		storage.DefaultFolderName, storage.FolderNameKey(storage.DefaultFolderName), suffix)
	return err
}
