package sqlite

import (
	"cmp"
	"context"
	"errors"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const insertFolder = `
INSERT INTO folder (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`

// CreateFolder creates a folder with an id that sorts by time.
func (s *Store) CreateFolder(ctx context.Context, folder storage.Folder) (*storage.Folder, error) {
	f, err := sqlstore.NewFolder(folder)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, "create folder", func(t tx) error {
		// Lists are sorted by creation, and the default folder must be the oldest folder.
		if err := t.createDefaultFolders(map[storage.User]int64{f.Owner: f.Created - 1}); err != nil {
			return err
		}
		if n, err := t.countFolders(f.Owner); err != nil || n >= storage.MaxFolders {
			return cmp.Or(err, storage.ErrTooManyFolders)
		}
		if err := t.checkName(f.Key(), f.Name); err != nil {
			return err
		}
		t.events.Folder(storage.EventFolderCreated, f.Key(), f.Created)
		_, err := t.exec(insertFolder, f.Owner.Tenant, f.Owner.UserID, f.FolderID,
			f.Name, storage.FolderNameKey(f.Name), f.Description, f.Public, f.Created, f.Updated)
		return nameTaken(err)
	})
	if err != nil {
		return nil, err
	}
	return &f, nil
}

const updateFolder = `
UPDATE folder SET name = ?, name_key = coalesce(?, name_key), description = ?, public = ?, updated = ?
WHERE tenant = ? AND user_id = ? AND folder_id = ?`

// UpdateFolder changes those fields of a folder that are set in the given change.
func (s *Store) UpdateFolder(
	ctx context.Context, key storage.FolderKey, change storage.FolderChange, at time.Time,
) (*storage.Folder, error) {
	if err := sqlstore.ValidateFolderChange(key.Owner, change); err != nil {
		return nil, err
	}
	var f storage.Folder
	err := s.write(ctx, "update folder", func(t tx) (err error) {
		if f, err = t.folder(key, at); err != nil {
			return err
		}
		newKey := sqlstore.NewNameKey(&f, change)
		if !sqlstore.ApplyFolderChange(&f, change) {
			return nil
		}
		if newKey != nil {
			if err := t.checkName(key, f.Name); err != nil {
				return err
			}
		}
		f.Updated = storage.Micros(at)
		t.events.Folder(storage.EventFolderUpdated, key, f.Updated)
		_, err = t.exec(updateFolder, f.Name, newKey, f.Description, f.Public, f.Updated,
			key.Owner.Tenant, key.Owner.UserID, key.FolderID)
		return nameTaken(err)
	})
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// takeItems selects the rows first, because by default SQLite does not support UPDATE
// with LIMIT.
const takeItems = `
UPDATE user_collection AS s SET prev_state = s.state, state = ?1, version = s.version + 1
FROM (SELECT biz, biz_id FROM user_collection
      WHERE tenant = ?2 AND user_id = ?3 AND state = ?4 AND state <> '' LIMIT ?5) AS i
WHERE s.tenant = ?2 AND s.user_id = ?3 AND s.biz = i.biz AND s.biz_id = i.biz_id
RETURNING biz, biz_id, version`

// EmptyFolder moves up to limit items of a folder to another folder, or uncollects them.
func (s *Store) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	if moveTo == key.FolderID {
		return 0, storage.Outcome{}, sqlstore.ErrSameFolder
	}
	var outcome storage.Outcome
	err := s.write(ctx, "empty folder", func(t tx) error {
		if _, err := t.folder(key, at); err != nil {
			return err
		}
		if moveTo != "" {
			if _, err := t.folder(storage.FolderKey{Owner: key.Owner, FolderID: moveTo}, at); err != nil {
				return err
			}
		}
		args := []any{moveTo, key.Owner.Tenant, key.Owner.UserID, key.FolderID, max(limit, 0)}
		err := t.query(takeItems, args, func(scan func(...any) error) error {
			c := storage.StateChange{
				User: key.Owner, Kind: storage.KindCollection, OldFolderID: key.FolderID, FolderID: moveTo,
			}
			c.Subject.Tenant = key.Owner.Tenant
			err := scan(&c.Subject.Biz, &c.Subject.BizID, &c.Version)
			outcome.Applied = append(outcome.Applied, c)
			return err
		})
		if err != nil {
			return err
		}
		t.events.States(outcome.Applied, storage.Micros(at))
		if outcome.Counts, err = t.applyTally(sqlstore.TallyOf(outcome.Applied, sqlstore.ByKind{}), nil); err != nil {
			return err
		}
		return callMark(ctx, mark, outcome)
	})
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return len(outcome.Applied), outcome, nil
}

const (
	holdsItems   = `SELECT 1 FROM user_collection WHERE tenant = ? AND user_id = ? AND state = ? AND state <> '' LIMIT 1`
	deleteFolder = `DELETE FROM folder WHERE tenant = ? AND user_id = ? AND folder_id = ?`

	insertDeleted = `
INSERT INTO deleted_folder (tenant, user_id, folder_id, moved_to, version) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET moved_to = excluded.moved_to, version = excluded.version`
)

// DeleteFolder removes an empty folder.
func (s *Store) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time) error {
	switch key.FolderID {
	case storage.DefaultFolderID:
		return storage.ErrDefaultFolder
	case moveTo:
		return sqlstore.ErrSameFolder
	}
	return s.write(ctx, "delete folder", func(t tx) error {
		if moveTo != "" && moveTo != storage.DefaultFolderID { // the target may have been deleted meanwhile
			if _, err := t.folder(storage.FolderKey{Owner: key.Owner, FolderID: moveTo}, at); err != nil {
				return err
			}
		}
		holds := false
		err := t.query(holdsItems, []any{key.Owner.Tenant, key.Owner.UserID, key.FolderID},
			func(func(...any) error) error { holds = true; return nil })
		if err != nil {
			return err
		}
		n, err := t.exec(deleteFolder, key.Owner.Tenant, key.Owner.UserID, key.FolderID)
		switch {
		case err != nil:
			return err
		case n == 0:
			return storage.ErrNotFound
		case holds:
			return storage.ErrFolderNotEmpty // the deletion is rolled back
		}
		t.events.Folder(storage.EventFolderDeleted, key, storage.Micros(at))
		_, err = t.exec(insertDeleted, key.Owner.Tenant, key.Owner.UserID, key.FolderID, moveTo, storage.Micros(at))
		return err
	})
}

const selectFolder = `
SELECT folder_id, name, description, public, item_count, created, updated FROM folder
WHERE tenant = ? AND user_id = ? AND folder_id = ?`

// folder returns a folder. A missing default folder is created, with the given time as
// its creation time. Errors: storage.ErrNotFound.
func (t tx) folder(key storage.FolderKey, at time.Time) (f storage.Folder, err error) {
	if key.FolderID == storage.DefaultFolderID && !key.Owner.Anonymous() {
		if err := t.createDefaultFolders(map[storage.User]int64{key.Owner: storage.Micros(at)}); err != nil {
			return f, err
		}
	}
	err = t.query(selectFolder, []any{key.Owner.Tenant, key.Owner.UserID, key.FolderID},
		func(scan func(...any) error) error {
			f, err = scanFolder(key.Owner, scan)
			return err
		})
	if err == nil && f.FolderID == "" {
		err = storage.ErrNotFound
	}
	return f, err
}

func scanFolder(owner storage.User, scan func(...any) error) (storage.Folder, error) {
	f := storage.Folder{Owner: owner}
	err := scan(&f.FolderID, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated)
	return f, err
}

func (t tx) countFolders(owner storage.User) (n int, err error) {
	err = t.query(`SELECT count(*) FROM folder WHERE tenant = ? AND user_id = ?`, []any{owner.Tenant, owner.UserID},
		func(scan func(...any) error) error { return scan(&n) })
	return n, err
}

// checkName returns storage.ErrNameTaken if another folder of the owner has the same name
// and may have a key by an earlier rule. All other folders are left to the unique key.
func (t tx) checkName(key storage.FolderKey, name string) error {
	var others []string
	err := t.query(`SELECT name FROM folder WHERE tenant = ? AND user_id = ? AND folder_id <> ? AND length(CAST(name AS BLOB)) <> length(name)`,
		[]any{key.Owner.Tenant, key.Owner.UserID, key.FolderID}, func(scan func(...any) error) error {
			var other string
			err := scan(&other)
			others = append(others, other)
			return err
		})
	if err == nil && sqlstore.NameTaken(name, others) {
		err = storage.ErrNameTaken
	}
	return err
}

// nameTaken converts a violation of a unique key to storage.ErrNameTaken, and returns any
// other error unchanged. Callers can violate only the unique key of folder names.
func nameTaken(err error) error {
	fault := new(sqlite.Error)
	if errors.As(err, &fault) && fault.Code() == codes.SQLITE_CONSTRAINT_UNIQUE {
		return storage.ErrNameTaken
	}
	return err
}
