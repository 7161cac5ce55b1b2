package resolvers

import (
	"ovation/loaders"
	"ovation/storage"
)

// listOf is a list of entries T that hangs below an object P and is read by a
// query Q. Its resolver and what loads ahead of it both start from here.
type listOf[P any, Q comparable, T any] struct {
	batch batch[Q, storage.ListPage[T]]

	name  func(of *P, biz string) []string   // what tells it from all other lists
	sees  func(me storage.User, of *P) error // nil: whoever sees the object
	query func(me storage.User, of *P, biz string, page storage.Page) Q
	place func(*T) storage.Position
}

var likers = listOf[storage.Interactive, storage.LikersQuery, storage.Liked]{
	batch: batchOf(func(w *loaders.Wants) *[]storage.LikersQuery { return &w.Likers }, (*loaders.Loaders).Likers),
	name: func(of *storage.Interactive, _ string) []string {
		return []string{"likers", of.Tenant, of.Biz, of.BizID}
	},
	sees: seesLikers,
	query: func(_ storage.User, of *storage.Interactive, _ string, page storage.Page) storage.LikersQuery {
		return storage.LikersQuery{Subject: of.Subject, Page: page}
	},
	place: func(l *storage.Liked) storage.Position {
		return storage.Position{Version: l.Version, ID: l.User.UserID}
	},
}

var items = listOf[storage.Folder, storage.ItemsQuery, storage.Collected]{
	batch: batchOf(func(w *loaders.Wants) *[]storage.ItemsQuery { return &w.Items }, (*loaders.Loaders).Items),
	name: func(of *storage.Folder, _ string) []string {
		return []string{"items", of.Owner.Tenant, of.Owner.UserID, of.FolderID}
	},
	query: func(_ storage.User, of *storage.Folder, _ string, page storage.Page) storage.ItemsQuery {
		return storage.ItemsQuery{Folder: of.Key(), Page: page}
	},
	place: func(c *storage.Collected) storage.Position {
		return storage.Position{Version: c.Version, Biz: c.Subject.Biz, ID: c.Subject.BizID}
	},
}

var likes = listOf[storage.User, storage.LikesQuery, storage.Liked]{
	batch: batchOf(func(w *loaders.Wants) *[]storage.LikesQuery { return &w.Likes }, (*loaders.Loaders).Likes),
	name:  func(of *storage.User, biz string) []string { return []string{"likes", of.Tenant, of.UserID, biz} },
	query: func(_ storage.User, of *storage.User, biz string, page storage.Page) storage.LikesQuery {
		return storage.LikesQuery{User: *of, Biz: biz, Page: page}
	},
	place: func(l *storage.Liked) storage.Position {
		return storage.Position{Version: l.Version, Biz: l.Subject.Biz, ID: l.Subject.BizID}
	},
}

var folderLists = listOf[storage.User, storage.FoldersQuery, storage.Folder]{
	batch: batchOf(func(w *loaders.Wants) *[]storage.FoldersQuery { return &w.FolderLists }, (*loaders.Loaders).Folders),
	name:  func(of *storage.User, _ string) []string { return []string{"folders", of.Tenant, of.UserID} },
	query: func(me storage.User, of *storage.User, _ string, page storage.Page) storage.FoldersQuery {
		return storage.FoldersQuery{Owner: *of, PublicOnly: publicFoldersOnly(me, of), Page: page}
	},
	place: func(f *storage.Folder) storage.Position { return storage.Position{Version: f.Created, ID: f.FolderID} },
}

var reads = listOf[storage.User, storage.ReadsQuery, storage.Read]{
	batch: batchOf(func(w *loaders.Wants) *[]storage.ReadsQuery { return &w.Reads }, (*loaders.Loaders).Reads),
	name:  func(of *storage.User, biz string) []string { return []string{"reads", of.Tenant, of.UserID, biz} },
	sees:  seesReads,
	query: func(_ storage.User, of *storage.User, biz string, page storage.Page) storage.ReadsQuery {
		return storage.ReadsQuery{User: *of, Biz: biz, Page: page}
	},
	place: func(r *storage.Read) storage.Position {
		return storage.Position{Version: r.Last, Biz: r.Subject.Biz, ID: r.Subject.BizID}
	},
}
