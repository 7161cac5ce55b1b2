package resolvers

import (
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// listSpec describes a list of entries of type T that belongs to an object of type P. The
// list is read with queries of type Q. The list's resolver and its prefetch share the
// listSpec.
type listSpec[P any, Q comparable, T any] struct {
	lookup *loaders.Lookup[Q, storage.ListPage[T]]

	name  func(of *P, biz string) []string   // identifies the list among all lists
	sees  func(me storage.User, of *P) error // nil if the list is as visible as its object
	empty func(me storage.User) bool         // whether the list is known to be empty; may be nil
	query func(me storage.User, of *P, biz string, page storage.Page) Q
	place func(*T) storage.Position
	// node collects what the node of an entry needs. It is nil if the entry is the node.
	node func(a *prefetch, field *plan.Field, entry *T)
}

var likers = listSpec[storage.Interactive, storage.LikersQuery, storage.Liked]{
	lookup: loaders.Likers,
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

// likedByFriends is the list of the likes by users whom the viewer follows.
var likedByFriends = listSpec[storage.Interactive, storage.FollowedLikersQuery, storage.FollowedLike]{
	lookup: loaders.FollowedLikers,
	name: func(of *storage.Interactive, _ string) []string {
		return []string{"likedByFriends", of.Tenant, of.Biz, of.BizID}
	},
	empty: storage.User.Anonymous,
	query: func(me storage.User, of *storage.Interactive, _ string, page storage.Page) storage.FollowedLikersQuery {
		return storage.FollowedLikersQuery{User: me, Subject: of.Subject, Page: page}
	},
	place: func(l *storage.FollowedLike) storage.Position { return l.Position },
	node:  func(a *prefetch, field *plan.Field, l *storage.FollowedLike) { a.visit(field, &l.Liked) },
}

var items = listSpec[storage.Folder, storage.ItemsQuery, storage.Collected]{
	lookup: loaders.Items,
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

var likes = listSpec[storage.User, storage.LikesQuery, storage.Liked]{
	lookup: loaders.Likes,
	name:   func(of *storage.User, biz string) []string { return []string{"likes", of.Tenant, of.UserID, biz} },
	sees:   seesUser,
	query: func(_ storage.User, of *storage.User, biz string, page storage.Page) storage.LikesQuery {
		return storage.LikesQuery{User: *of, Biz: biz, Page: page}
	},
	place: func(l *storage.Liked) storage.Position {
		return storage.Position{Version: l.Version, Biz: l.Subject.Biz, ID: l.Subject.BizID}
	},
}

var followers = listSpec[storage.Interactive, storage.FollowersQuery, storage.Followed]{
	lookup: loaders.Followers,
	name: func(of *storage.Interactive, _ string) []string {
		return []string{"followers", of.Tenant, of.Biz, of.BizID}
	},
	sees: seesFollowers,
	query: func(_ storage.User, of *storage.Interactive, _ string, page storage.Page) storage.FollowersQuery {
		return storage.FollowersQuery{Subject: of.Subject, Page: page}
	},
	place: placeOfFollower,
}

// userFollowers is the list of a user's followers.
var userFollowers = listSpec[storage.User, storage.FollowersQuery, storage.Followed]{
	lookup: loaders.Followers,
	name: func(of *storage.User, _ string) []string {
		return []string{"followers", of.Tenant, storage.BizUser, of.UserID}
	},
	sees: seesUser,
	query: func(_ storage.User, of *storage.User, _ string, page storage.Page) storage.FollowersQuery {
		return storage.FollowersQuery{Subject: of.Subject(), Page: page}
	},
	place: placeOfFollower,
}

func placeOfFollower(f *storage.Followed) storage.Position {
	return storage.Position{Version: f.Version, ID: f.User.UserID}
}

var following = listSpec[storage.User, storage.FollowingQuery, storage.Followed]{
	lookup: loaders.Following,
	name:   func(of *storage.User, biz string) []string { return []string{"following", of.Tenant, of.UserID, biz} },
	sees:   seesUser,
	query: func(_ storage.User, of *storage.User, biz string, page storage.Page) storage.FollowingQuery {
		return storage.FollowingQuery{User: *of, Biz: biz, Page: page}
	},
	place: func(f *storage.Followed) storage.Position {
		return storage.Position{Version: f.Version, Biz: f.Subject.Biz, ID: f.Subject.BizID}
	},
}

var friends = listSpec[storage.User, storage.FriendsQuery, storage.Friend]{
	lookup: loaders.Friends,
	name:   func(of *storage.User, _ string) []string { return []string{"friends", of.Tenant, of.UserID} },
	sees:   seesUser,
	query: func(_ storage.User, of *storage.User, _ string, page storage.Page) storage.FriendsQuery {
		return storage.FriendsQuery{User: *of, Page: page}
	},
	place: func(f *storage.Friend) storage.Position { return f.Position },
}

// works is the list of a user's works. Its nodes are the subjects of the works.
var works = listSpec[storage.User, storage.WorksQuery, storage.Work]{
	lookup: loaders.Works,
	name:   func(of *storage.User, biz string) []string { return []string{"works", of.Tenant, of.UserID, biz} },
	sees:   seesUser,
	query: func(_ storage.User, of *storage.User, biz string, page storage.Page) storage.WorksQuery {
		return storage.WorksQuery{User: *of, Biz: biz, Page: page}
	},
	place: func(w *storage.Work) storage.Position {
		return storage.Position{Version: w.Since, Biz: w.Subject.Biz, ID: w.Subject.BizID}
	},
	node: func(a *prefetch, field *plan.Field, w *storage.Work) {
		a.visitSubject(field, w.Subject)
	},
}

var folderLists = listSpec[storage.User, storage.FoldersQuery, storage.Folder]{
	lookup: loaders.FolderLists,
	name:   func(of *storage.User, _ string) []string { return []string{"folders", of.Tenant, of.UserID} },
	sees:   seesUser,
	query: func(me storage.User, of *storage.User, _ string, page storage.Page) storage.FoldersQuery {
		return storage.FoldersQuery{Owner: *of, PublicOnly: publicFoldersOnly(me, of), Page: page}
	},
	place: func(f *storage.Folder) storage.Position { return storage.Position{Version: f.Created, ID: f.FolderID} },
}

var reads = listSpec[storage.User, storage.ReadsQuery, storage.Read]{
	lookup: loaders.Reads,
	name:   func(of *storage.User, biz string) []string { return []string{"reads", of.Tenant, of.UserID, biz} },
	sees:   seesReads,
	query: func(_ storage.User, of *storage.User, biz string, page storage.Page) storage.ReadsQuery {
		return storage.ReadsQuery{User: *of, Biz: biz, Page: page}
	},
	place: func(r *storage.Read) storage.Position {
		return storage.Position{Version: r.Last, Biz: r.Subject.Biz, ID: r.Subject.BizID}
	},
}
