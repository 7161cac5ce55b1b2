package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

const (
	selectNames = `
SELECT count(*), coalesce(bool_or(name_key = $3 AND folder_id <> $4), FALSE),
    coalesce(array_agg(name) FILTER (WHERE folder_id <> $4 AND octet_length(name) <> char_length(name)), '{}')
FROM folder WHERE tenant = $1 AND user_id = $2`

	insertFolder = `
INSERT INTO folder (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9)`
)

// CreateFolder creates a folder with an id that sorts by time.
func (s *Store) CreateFolder(ctx context.Context, folder storage.Folder) (*storage.Folder, error) {
	f, err := sqlstore.NewFolder(folder)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, "create folder", func(t *tx) error {
		b := t.batch()
		// Lists are sorted by creation, and the default folder must be the oldest folder.
		lockOwners(b, map[storage.User]int64{f.Owner: f.Created - 1})
		folders, taken := lookUpName(b, f.Key(), f.Name)
		erased := lookUpErasedLocked(b, f.Owner)
		if err := t.send(b); err != nil {
			return err
		}
		if err := erased.Refuse(f.Owner); err != nil {
			return err
		}
		switch {
		case *folders >= storage.MaxFolders:
			return storage.ErrTooManyFolders
		case *taken:
			return storage.ErrNameTaken
		}
		t.events.Folder(storage.EventFolderCreated, f.Key(), f.Created)
		b = t.batch()
		queueEvents(b, t.events)
		b.Queue(insertFolder, f.Owner.Tenant, f.Owner.UserID, f.FolderID,
			f.Name, storage.FolderNameKey(f.Name), f.Description, f.Public, f.Created, f.Updated)
		return nameTaken(t.send(b))
	})
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// nameTaken converts a violation of a unique key to storage.ErrNameTaken, and returns any
// other error unchanged. Callers can violate only the unique key of folder names.
func nameTaken(err error) error {
	if fault, is := errors.AsType[*pgconn.PgError](err); is && fault.Code == uniqueViolation {
		return storage.ErrNameTaken
	}
	return err
}

const uniqueViolation = "23505"

// lookUpName queues a lookup of a folder name. Once the batch is sent, *folders is the
// number of folders that key.Owner has, and *taken reports whether any of these folders,
// except the one with the given key, has the name.
func lookUpName(b *pgx.Batch, key storage.FolderKey, name string) (folders *int, taken *bool) {
	folders, taken = new(int), new(bool)
	b.Queue(selectNames, key.Owner.Tenant, key.Owner.UserID, storage.FolderNameKey(name), key.FolderID).
		QueryRow(func(row pgx.Row) error {
			var others []string
			err := row.Scan(folders, taken, &others)
			*taken = *taken || sqlstore.NameTaken(name, others)
			return err
		})
	return folders, taken
}

const (
	selectFolder = `
SELECT folder_id, name, description, public, item_count, created, updated FROM folder
WHERE tenant = $1 AND user_id = $2 AND folder_id = $3`

	updateFolder = `
UPDATE folder SET name = $4, name_key = coalesce($5, name_key), description = $6, public = $7, updated = $8
WHERE tenant = $1 AND user_id = $2 AND folder_id = $3`
)

// UpdateFolder changes those fields of a folder that are set in the given change.
func (s *Store) UpdateFolder(
	ctx context.Context, key storage.FolderKey, change storage.FolderChange, at time.Time,
) (*storage.Folder, error) {
	if err := sqlstore.ValidateFolderChange(key.Owner, change); err != nil {
		return nil, err
	}
	if !storable(key.FolderID) {
		return nil, storage.ErrNotFound
	}
	var f storage.Folder
	err := s.change(ctx, "update folder", func(t *tx) error {
		f = storage.Folder{}
		b := t.batch()
		lockOwners(b, map[storage.User]int64{key.Owner: storage.Micros(at)})
		b.Queue(selectFolder, key.Owner.Tenant, key.Owner.UserID, key.FolderID).Query(eachRow(func(row pgx.Rows) error {
			f.Owner = key.Owner
			return row.Scan(&f.FolderID, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated)
		}))
		taken := new(bool)
		if change.Name != nil {
			_, taken = lookUpName(b, key, *change.Name)
		}
		if err := t.send(b); err != nil {
			return err
		}
		newKey := sqlstore.NewNameKey(&f, change)
		changed := sqlstore.ApplyFolderChange(&f, change)
		switch {
		case f.FolderID == "":
			return storage.ErrNotFound
		case *taken && newKey != nil:
			return storage.ErrNameTaken
		case !changed:
			return nil
		}
		f.Updated = storage.Micros(at)
		t.events.Folder(storage.EventFolderUpdated, key, f.Updated)
		b = t.batch()
		queueEvents(b, t.events)
		b.Queue(updateFolder, key.Owner.Tenant, key.Owner.UserID, key.FolderID,
			f.Name, newKey, f.Description, f.Public, f.Updated)
		return nameTaken(t.send(b))
	})
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// EmptyFolder moves up to limit items of a folder to another folder, or uncollects them.
func (s *Store) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	if moveTo == key.FolderID {
		return 0, storage.Outcome{}, sqlstore.ErrSameFolder
	}
	var outcome storage.Outcome
	err := s.change(ctx, "empty folder", func(t *tx) (err error) {
		epoch, err := t.beginFolderChange(key.Owner, at, key.FolderID, moveTo)
		if err != nil {
			return err
		}
		if outcome, err = t.moveItems(key, moveTo, storage.Micros(at), limit); err != nil {
			return err
		}
		outcome.Epoch = epoch
		return mirror.Mark(t.ctx, mark, &outcome)
	})
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return len(outcome.Applied), outcome, nil
}

// beginFolderChange pins the epoch, locks the owner, and returns the value of
// Outcome.Epoch for the transaction. Errors: storage.ErrNotFound if one of the folders
// with these ids does not exist. Empty ids are ignored.
func (t *tx) beginFolderChange(owner storage.User, at time.Time, ids ...string) (int64, error) {
	if sqlstore.ValidateOwner(owner) != nil {
		return 0, storage.ErrNotFound
	}
	var keys []storage.FolderKey
	for _, id := range ids {
		if id != "" {
			keys = append(keys, storage.FolderKey{Owner: owner, FolderID: id})
		}
	}
	b := t.batch()
	epoch := pinEpoch(b)
	lockOwners(b, map[storage.User]int64{owner: storage.Micros(at)})
	found := existingFolders(b, keys)
	if err := t.send(b); err != nil {
		return 0, err
	}
	for _, key := range keys {
		if !found[key] {
			return 0, storage.ErrNotFound
		}
	}
	return epoch.Enter()
}

// takeItems inserts nothing, because all the items exist. Unlike an UPDATE, it always
// finds each item by its key.
const takeItems = `
INSERT INTO user_collection AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT $2, $3, biz, biz_id, $1, '', 0 FROM (
    SELECT biz, biz_id FROM user_collection
    WHERE tenant = $2 AND user_id = $3 AND state = $4 AND state <> ''
    ORDER BY biz, biz_id LIMIT $5) taken
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET
    prev_state = s.state, state = excluded.state, version = s.version + 1
RETURNING biz, biz_id, version`

// moveItems moves up to limit items of a folder whose owner is locked, and adjusts the
// counts.
func (t *tx) moveItems(key storage.FolderKey, moveTo string, at int64, limit int) (outcome storage.Outcome, err error) {
	b := t.batch()
	args := []any{moveTo, key.Owner.Tenant, key.Owner.UserID, key.FolderID, max(limit, 0)}
	b.Queue(takeItems, args...).Query(eachRow(func(row pgx.Rows) error {
		c := storage.StateChange{
			User: key.Owner, Kind: storage.KindCollection, OldFolderID: key.FolderID, FolderID: moveTo,
		}
		c.Subject.Tenant = key.Owner.Tenant
		if err := row.Scan(&c.Subject.Biz, &c.Subject.BizID, &c.Version); err != nil {
			return err
		}
		outcome.Applied = append(outcome.Applied, c)
		return nil
	}))
	if err := t.send(b); err != nil {
		return outcome, err
	}
	slices.SortFunc(outcome.Applied, func(a, b storage.StateChange) int { return sqlstore.CompareSubjects(a.Subject, b.Subject) })
	t.events.States(outcome.Applied, at)
	outcome.Counts, err = t.applyTally(sqlstore.TallyOf(outcome.Applied, sqlstore.ByKind{}), nil, nil)
	return outcome, err
}

const (
	holdsItems   = `SELECT FROM user_collection WHERE tenant = $1 AND user_id = $2 AND state = $3 AND state <> '' LIMIT 1`
	deleteFolder = `DELETE FROM folder WHERE tenant = $1 AND user_id = $2 AND folder_id = $3`

	insertDeleted = `
INSERT INTO deleted_folder (tenant, user_id, folder_id, moved_to, version) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, user_id, folder_id) DO UPDATE SET moved_to = excluded.moved_to, version = excluded.version`
)

// DeleteFolder removes an empty folder.
func (s *Store) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time) error {
	switch {
	case key.FolderID == storage.DefaultFolderID:
		return storage.ErrDefaultFolder
	case moveTo == key.FolderID:
		return sqlstore.ErrSameFolder
	case sqlstore.ValidateOwner(key.Owner) != nil || !storable(key.FolderID) || !storable(moveTo):
		return storage.ErrNotFound
	}
	return s.change(ctx, "delete folder", func(t *tx) error {
		var items, deleted int64
		b := t.batch()
		lockOwners(b, map[storage.User]int64{key.Owner: storage.Micros(at)})
		target := storage.FolderKey{Owner: key.Owner, FolderID: moveTo}
		exist := existingFolders(b, []storage.FolderKey{target})
		b.Queue(holdsItems, key.Owner.Tenant, key.Owner.UserID, key.FolderID).Exec(rowsAffected(&items))
		b.Queue(deleteFolder, key.Owner.Tenant, key.Owner.UserID, key.FolderID).Exec(rowsAffected(&deleted))
		b.Queue(insertDeleted, key.Owner.Tenant, key.Owner.UserID, key.FolderID, moveTo, storage.Micros(at))
		switch err := t.send(b); {
		case err != nil:
			return err
		case deleted == 0, moveTo != "" && moveTo != storage.DefaultFolderID && !exist[target]:
			return storage.ErrNotFound // the folder does not exist, or the target was deleted in the meantime
		case items > 0:
			return storage.ErrFolderNotEmpty // the deletion is rolled back
		}
		t.events.Folder(storage.EventFolderDeleted, key, storage.Micros(at))
		return nil
	})
}
