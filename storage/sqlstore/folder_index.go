package sqlstore

import "ovation/storage"

// FolderIndex holds the result of looking up folders: the folders that exist, and the
// records of folders that were deleted. Old records are pruned. The zero value is empty.
type FolderIndex struct {
	Exist   map[storage.FolderKey]bool
	Deleted map[storage.FolderKey]Deletion
}

// Deletion is the record of a deleted folder.
type Deletion struct {
	MovedTo string // id of the folder that received the items, or empty if they were uncollected
	Version int64  // the time of the deletion, in microseconds since 1970
}

// ResolveFolders redirects collections into folders that do not exist, by changing the
// actions. If the folder was deleted after the action, the collection goes to the folder
// that the items were moved to. If that folder does not exist either, the collection is
// redirected again, up to storage.MaxFolderHops times in total. If the items were
// uncollected, the action uncollects its subject, too. Any other collection into a
// missing folder goes to the user's default folder. The parameter known holds the folders
// that the actions name; lookUp looks up further folders.
func ResolveFolders(actions []storage.Action, known *FolderIndex, lookUp func([]storage.FolderKey) (*FolderIndex, error)) error {
	left := make([]*storage.Action, 0, len(actions)) // pointers into actions
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
