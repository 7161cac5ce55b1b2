package postgres

import (
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ovation/storage"
)

const holdExisting = `
SELECT f.tenant, f.user_id, f.folder_id
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, user_id, folder_id)
CROSS JOIN LATERAL (SELECT * FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.folder_id = k.folder_id LIMIT 1 FOR KEY SHARE) f`

// holdFolders keeps the folders that the messages collect into from being
// removed. Once the batch is sent, it holds those that exist.
func holdFolders(b *pgx.Batch, messages []storage.Message) map[storage.FolderKey]bool {
	asked := make(map[storage.FolderKey]bool)
	for i := range messages {
		for j := range messages[i].Actions {
			if a := &messages[i].Actions[j]; a.FolderID != "" && a.Kind == storage.KindCollection {
				asked[storage.FolderKey{Owner: a.User, FolderID: a.FolderID}] = true
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return hold(b, slices.Collect(maps.Keys(asked)))
}

func hold(b *pgx.Batch, keys []storage.FolderKey) map[storage.FolderKey]bool {
	rows := newColumns(3, 0, len(keys))
	for _, k := range keys {
		rows.add([]string{k.Owner.Tenant, k.Owner.UserID, k.FolderID})
	}
	existing := make(map[storage.FolderKey]bool, len(keys))
	b.Queue(holdExisting, rows.args()...).Query(each(func(row pgx.Rows) error {
		var k storage.FolderKey
		err := row.Scan(&k.Owner.Tenant, &k.Owner.UserID, &k.FolderID)
		existing[k] = true
		return err
	}))
	return existing
}

// place directs collections into folders that do not exist to the default
// folder of their users, and makes those that are missing.
func (t *tx) place(actions []storage.Action, existing map[storage.FolderKey]bool) error {
	users := make(map[storage.User]int64)
	for i := range actions {
		a := &actions[i] // the caller's own: what Coalesce returned
		if a.FolderID == "" || a.Kind != storage.KindCollection || existing[storage.FolderKey{Owner: a.User, FolderID: a.FolderID}] {
			continue
		}
		a.FolderID = storage.DefaultFolderID
		if at, ok := users[a.User]; !ok || a.Version < at {
			users[a.User] = a.Version
		}
	}
	if len(users) == 0 {
		return nil
	}
	b := t.batch()
	makeDefaults(b, users)
	return t.send(b)
}

// Where another folder has the default folder's name already, the default
// folder gets a suffix, for it must exist.
const insertDefaults = `
INSERT INTO folder (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT k.tenant, k.user_id, $4, $5 || suffix, $6 || suffix, '', FALSE, 0, k.at, k.at
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (tenant, user_id, at, ord)
CROSS JOIN LATERAL (SELECT coalesce((SELECT $7 FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.name_key = $6 AND f.name_key <> '' LIMIT 1), '') AS suffix) x
ORDER BY k.ord
ON CONFLICT DO NOTHING`

// makeDefaults makes the default folder of each user who has none, as of the
// given time.
func makeDefaults(b *pgx.Batch, users map[storage.User]int64) {
	rows := newColumns(2, 1, len(users))
	for _, user := range slices.SortedFunc(maps.Keys(users), byUser) {
		rows.add([]string{user.Tenant, user.UserID}, users[user])
	}
	suffix := " " + uuid.NewString()[:8]
	b.Queue(insertDefaults, rows.args(storage.DefaultFolderID,
		storage.DefaultFolderName, storage.FolderNameKey(storage.DefaultFolderName), suffix)...)
}

func byUser(a, b storage.User) int {
	return byFolder(storage.FolderKey{Owner: a}, storage.FolderKey{Owner: b})
}
