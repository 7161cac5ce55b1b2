package sqlstore

import "ovation/storage"

// FolderIndex is the result of looking up folders: which of them exist and, as far as
// known, where the items of deleted ones were moved. The zero value is empty.
type FolderIndex struct {
	Exist   map[storage.FolderKey]bool
	Deleted map[storage.FolderKey]Deletion
}

// Deletion is the record of a deleted folder.
type Deletion struct {
	MovedTo string // id of the folder to which its items were moved, or empty if they were uncollected
	Version int64  // when the folder was deleted
}

// ResolveFolders redirects collections into missing folders. If a folder was deleted
// after the action, the collection follows the folder's items, repeatedly if necessary;
// otherwise it goes to the default folder of its user. known holds the folders that the
// actions name; lookUp looks up others.
func ResolveFolders(actions []storage.Action, known *FolderIndex, lookUp func([]storage.FolderKey) (*FolderIndex, error)) error {
	left := make([]*storage.Action, 0, len(actions)) // owned by the caller: returned by Coalesce
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
			if a.FolderID == "" || a.FolderID == storage.DefaultFolderID || known.Exist[key] {
				continue
			}
			a.FolderID = storage.DefaultFolderID
			if d, ok := known.Deleted[key]; ok && d.Version > a.Version && hop < storage.MaxFolderHops {
				a.FolderID = d.MovedTo
				moved = append(moved, a)
				named = append(named, storage.FolderKey{Owner: a.User, FolderID: a.FolderID})
			}
		}
		if len(moved) == 0 {
			return nil
		}
		found, err := lookUp(named)
		if err != nil {
			return err
		}
		left, known = moved, found
	}
}
