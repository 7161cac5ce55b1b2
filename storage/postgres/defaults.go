package postgres

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// upsertDefaultFolders creates missing default folders and locks existing ones. Its DO
// UPDATE changes nothing. If another folder of the user already has the default name, a
// suffix is added to the name, because the default folder must exist even then.
const upsertDefaultFolders = `
INSERT INTO folder AS o (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT k.tenant, k.user_id, 'default', $4 || suffix, $5 || suffix, '', FALSE, 0, k.at, k.at
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (tenant, user_id, at, ord)
CROSS JOIN LATERAL (SELECT coalesce((SELECT $6 FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.name_key = $5 AND f.folder_id <> 'default' LIMIT 1), '') AS suffix) x
WHERE ` + notErased + `
ORDER BY k.ord
ON CONFLICT (tenant, user_id, folder_id) DO UPDATE SET item_count = o.item_count WHERE FALSE`

// lockOwners locks the default folder of each owner until the transaction ends, so that
// no other transaction changes the owner's folders or their items. It creates missing
// default folders, except those of erased users, whose items only decrease. The parameter
// owners maps each owner to the creation time of the
// owner's default folder, in microseconds since 1970.
func lockOwners(b *pgx.Batch, owners map[storage.User]int64) {
	if len(owners) == 0 {
		return
	}
	rows := newColumns(2, 1, len(owners))
	for _, owner := range slices.SortedFunc(maps.Keys(owners), sqlstore.CompareUsers) {
		rows.add([]string{owner.Tenant, owner.UserID}, owners[owner])
	}
	b.Queue(upsertDefaultFolders, rows.args(storage.DefaultFolderName, storage.FolderNameKey(storage.DefaultFolderName), sqlstore.NameSuffix())...)
}

const selectExisting = `
SELECT k.ord FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, folder_id, ord)
CROSS JOIN LATERAL (SELECT FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.folder_id = k.folder_id LIMIT 1) f`

// existingFolders queues a lookup of folders. Once the batch is sent, the returned set
// contains the folders that exist.
func existingFolders(b *pgx.Batch, keys []storage.FolderKey) map[storage.FolderKey]bool {
	found := make(map[storage.FolderKey]bool, len(keys))
	b.Queue(selectExisting, folderKeys(keys).args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		if err := row.Scan(&i); err != nil {
			return err
		}
		found[keys[i-1]] = true
		return nil
	}))
	return found
}

// lockCollectionOwners queues statements that lock the owners of the collections in the
// messages, and look up the folders that the messages name. Once the batch is sent, the
// returned index contains these folders.
func lockCollectionOwners(b *pgx.Batch, messages []storage.Message) *sqlstore.FolderIndex {
	owners := make(map[storage.User]int64)
	named := make(map[storage.FolderKey]bool)
	for _, m := range messages {
		for i := range m.Actions {
			a := &m.Actions[i]
			if a.Kind != storage.KindCollection {
				continue
			}
			if at, ok := owners[a.User]; !ok || a.Version < at {
				owners[a.User] = a.Version
			}
			if a.FolderID != "" && a.FolderID != storage.DefaultFolderID {
				named[storage.FolderKey{Owner: a.User, FolderID: a.FolderID}] = true
			}
		}
	}
	lockOwners(b, owners)
	return lookUpFolders(b, slices.Collect(maps.Keys(named)))
}

const selectDeleted = `
SELECT k.ord, d.moved_to, d.version
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, folder_id, ord)
CROSS JOIN LATERAL (SELECT moved_to, version FROM deleted_folder d
    WHERE d.tenant = k.tenant AND d.user_id = k.user_id AND d.folder_id = k.folder_id LIMIT 1) d`

// lookUpFolders queues a lookup of folders whose owners are locked. Once the batch is
// sent, the returned index contains the result.
func lookUpFolders(b *pgx.Batch, keys []storage.FolderKey) *sqlstore.FolderIndex {
	p := new(sqlstore.FolderIndex)
	if len(keys) == 0 {
		return p
	}
	p.Exist, p.Deleted = existingFolders(b, keys), make(map[storage.FolderKey]sqlstore.Deletion)
	b.Queue(selectDeleted, folderKeys(keys).args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var d sqlstore.Deletion
		if err := row.Scan(&i, &d.MovedTo, &d.Version); err != nil {
			return err
		}
		p.Deleted[keys[i-1]] = d
		return nil
	}))
	return p
}

// fetchFolders looks up folders whose owners are locked, in a separate batch.
func (t *tx) fetchFolders(keys []storage.FolderKey) (*sqlstore.FolderIndex, error) {
	b := t.batch()
	found := lookUpFolders(b, keys)
	return found, t.send(b)
}
