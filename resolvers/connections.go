package resolvers

import (
	"ovation/graph"
	"ovation/storage"
)

// The connections differ in nothing but their types.

func likedConnection(l list, page storage.Page, found storage.ListPage[storage.Liked], position func(*storage.Liked) storage.Position) *graph.LikedConnection {
	likes, marks, info := cut(l, page, found, position)
	edges := make([]graph.LikedEdge, len(likes))
	out := &graph.LikedConnection{PageInfo: info, Edges: make([]*graph.LikedEdge, len(likes))}
	for i := range likes {
		edges[i] = graph.LikedEdge{Cursor: marks[i], Node: likes[i]}
		out.Edges[i] = &edges[i]
	}
	return out
}

func collectedConnection(l list, page storage.Page, found storage.ListPage[storage.Collected]) *graph.CollectedConnection {
	items, marks, info := cut(l, page, found, func(c *storage.Collected) storage.Position {
		return storage.Position{Version: c.Version, Biz: c.Subject.Biz, ID: c.Subject.BizID}
	})
	edges := make([]graph.CollectedEdge, len(items))
	out := &graph.CollectedConnection{PageInfo: info, Edges: make([]*graph.CollectedEdge, len(items))}
	for i := range items {
		edges[i] = graph.CollectedEdge{Cursor: marks[i], Node: items[i]}
		out.Edges[i] = &edges[i]
	}
	return out
}

func folderConnection(l list, page storage.Page, found storage.ListPage[storage.Folder]) *graph.FolderConnection {
	folders, marks, info := cut(l, page, found, func(f *storage.Folder) storage.Position {
		return storage.Position{Version: f.Created, ID: f.FolderID}
	})
	edges := make([]graph.FolderEdge, len(folders))
	out := &graph.FolderConnection{PageInfo: info, Edges: make([]*graph.FolderEdge, len(folders))}
	for i := range folders {
		edges[i] = graph.FolderEdge{Cursor: marks[i], Node: folders[i]}
		out.Edges[i] = &edges[i]
	}
	return out
}

func readConnection(l list, page storage.Page, found storage.ListPage[storage.Read]) *graph.ReadConnection {
	reads, marks, info := cut(l, page, found, func(r *storage.Read) storage.Position {
		return storage.Position{Version: r.Last, Biz: r.Subject.Biz, ID: r.Subject.BizID}
	})
	edges := make([]graph.ReadEdge, len(reads))
	out := &graph.ReadConnection{PageInfo: info, Edges: make([]*graph.ReadEdge, len(reads))}
	for i := range reads {
		edges[i] = graph.ReadEdge{Cursor: marks[i], Node: reads[i]}
		out.Edges[i] = &edges[i]
	}
	return out
}
