package postgres

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// What stands at DO UPDATE changes nothing: the row is only locked. Where
// another folder has the default folder's name already, the default folder
// gets a suffix, for it must exist.
const guardOwners = `
INSERT INTO folder AS o (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT k.tenant, k.user_id, 'default', $4 || suffix, $5 || suffix, '', FALSE, 0, k.at, k.at
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (tenant, user_id, at, ord)
CROSS JOIN LATERAL (SELECT coalesce((SELECT $6 FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.name_key = $5 AND f.folder_id <> 'default' LIMIT 1), '') AS suffix) x
ORDER BY k.ord
ON CONFLICT (tenant, user_id, folder_id) DO UPDATE SET item_count = o.item_count WHERE FALSE`

// guard locks the default folder of each owner until the transaction ends, so
// that nobody else changes what lies in the folders of the owner, or the
// folders. It makes default folders that are missing, as of the given time.
func guard(b *pgx.Batch, owners map[storage.User]int64) {
	if len(owners) == 0 {
		return
	}
	rows := newColumns(2, 1, len(owners))
	for _, owner := range slices.SortedFunc(maps.Keys(owners), sqlstore.CompareUsers) {
		rows.add([]string{owner.Tenant, owner.UserID}, owners[owner])
	}
	b.Queue(guardOwners, rows.args(storage.DefaultFolderName, storage.FolderNameKey(storage.DefaultFolderName), sqlstore.NameSuffix())...)
}

const selectExisting = `
SELECT k.ord FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, folder_id, ord)
CROSS JOIN LATERAL (SELECT FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.folder_id = k.folder_id LIMIT 1) f`

// existing returns a set that, once the batch is sent, holds those of the
// folders that exist.
func existing(b *pgx.Batch, keys []storage.FolderKey) map[storage.FolderKey]bool {
	found := make(map[storage.FolderKey]bool, len(keys))
	b.Queue(selectExisting, folderKeys(keys).args()...).Query(each(func(row pgx.Rows) error {
		var i int
		if err := row.Scan(&i); err != nil {
			return err
		}
		found[keys[i-1]] = true
		return nil
	}))
	return found
}

// guardCollections guards the owners of what the messages collect and
// uncollect. Once the batch is sent, what it returns knows the folders that the
// messages name.
func guardCollections(b *pgx.Batch, messages []storage.Message) *places {
	owners := make(map[storage.User]int64)
	named := make(map[storage.FolderKey]bool)
	for i := range messages {
		for j := range messages[i].Actions {
			a := &messages[i].Actions[j]
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
	guard(b, owners)
	p := new(places)
	p.lookUp(b, slices.Collect(maps.Keys(named)))
	return p
}

// places are folders of guarded owners: those that exist, and of those that do
// not where their items went, where that is known.
type places struct {
	exist   map[storage.FolderKey]bool
	deleted map[storage.FolderKey]deletion
}

type deletion struct {
	movedTo string
	version int64
}

const selectDeleted = `
SELECT k.ord, d.moved_to, d.version
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, folder_id, ord)
CROSS JOIN LATERAL (SELECT moved_to, version FROM deleted_folder d
    WHERE d.tenant = k.tenant AND d.user_id = k.user_id AND d.folder_id = k.folder_id LIMIT 1) d`

// lookUp fills the places in once the batch is sent.
func (p *places) lookUp(b *pgx.Batch, keys []storage.FolderKey) {
	if len(keys) == 0 {
		return
	}
	p.exist, p.deleted = existing(b, keys), make(map[storage.FolderKey]deletion)
	b.Queue(selectDeleted, folderKeys(keys).args()...).Query(each(func(row pgx.Rows) error {
		var i int
		var d deletion
		if err := row.Scan(&i, &d.movedTo, &d.version); err != nil {
			return err
		}
		p.deleted[keys[i-1]] = d
		return nil
	}))
}

// place directs collections into folders that do not exist to where the items
// of those went when they were deleted after the action, from there on in the
// same way, and else to the default folder of their users.
func (t *tx) place(actions []storage.Action, known *places) error {
	left := make([]*storage.Action, 0, len(actions)) // the caller's own: what Coalesce returned
	for i := range actions {
		if actions[i].Kind == storage.KindCollection {
			left = append(left, &actions[i])
		}
	}
	for hop := 0; ; hop++ {
		var moved []*storage.Action
		var named []storage.FolderKey
		for _, a := range left {
			key := storage.FolderKey{Owner: a.User, FolderID: a.FolderID}
			if a.FolderID == "" || a.FolderID == storage.DefaultFolderID || known.exist[key] {
				continue
			}
			a.FolderID = storage.DefaultFolderID
			if d, ok := known.deleted[key]; ok && d.version > a.Version && hop < storage.MaxFolderHops {
				a.FolderID = d.movedTo
				moved = append(moved, a)
				named = append(named, storage.FolderKey{Owner: a.User, FolderID: a.FolderID})
			}
		}
		if len(moved) == 0 {
			return nil
		}
		left, known = moved, new(places)
		b := t.batch()
		known.lookUp(b, named)
		if err := t.send(b); err != nil {
			return err
		}
	}
}
