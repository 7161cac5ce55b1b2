package resolvers

import (
	"context"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// searched identifies the lists of what a search finds in a tenant.
type searched struct{ tenant, text string }

// searchFor returns the lists of a search. The names of its lists are those of the words
// that it is for.
func searchFor(me storage.User, text string) (*searched, error) {
	_, err := storage.ParseSearch(text)
	return &searched{me.Tenant, text}, err
}

func (s *searched) name(list string) []string {
	of, _ := storage.ParseSearch(s.text) // it is valid
	return []string{list, s.tenant, of.String()}
}

func (s *searched) query(page storage.Page) storage.SearchQuery {
	return storage.SearchQuery{Tenant: s.tenant, Text: s.text, Page: page}
}

var foundUsers = listSpec[searched, storage.SearchQuery, storage.FoundUser]{
	lookup: loaders.FoundUsers,
	name:   func(of *searched, _ string) []string { return of.name("searchUsers") },
	query: func(_ storage.User, of *searched, _ string, page storage.Page) storage.SearchQuery {
		return of.query(page)
	},
	place: (*storage.FoundUser).Place,
	node:  func(a *prefetch, field *plan.Field, f *storage.FoundUser) { a.visit(field, &f.User) },
}

var foundVideos = listSpec[searched, storage.SearchQuery, storage.FoundVideo]{
	lookup: loaders.FoundVideos,
	name:   func(of *searched, _ string) []string { return of.name("searchVideos") },
	query: func(_ storage.User, of *searched, _ string, page storage.Page) storage.SearchQuery {
		return of.query(page)
	},
	place: (*storage.FoundVideo).Place,
	node:  func(a *prefetch, field *plan.Field, f *storage.FoundVideo) { a.visit(field, &f.Video) },
}

func (r queryResolver) SearchUsers(ctx context.Context, text string, first *int, after *string) (*graph.UserConnection, error) {
	type edge struct {
		Cursor string            `json:"cursor"`
		Node   storage.FoundUser `json:"node"`
	}
	of, err := searchFor(viewer.FromContext(ctx), text)
	if err != nil {
		return nil, err
	}
	edges, info, err := connect[edge](ctx, r.Root, &foundUsers, of, pageArgs{nil, first, after})
	if err != nil {
		return nil, err
	}
	out := make([]*graph.UserEdge, len(edges))
	for i, e := range edges {
		out[i] = &graph.UserEdge{Cursor: e.Cursor, Node: e.Node.User}
	}
	return &graph.UserConnection{Edges: out, PageInfo: info}, nil
}

func (r queryResolver) SearchVideos(ctx context.Context, text string, first *int, after *string) (*graph.VideoConnection, error) {
	if r.videos == nil {
		return nil, errVideosDisabled
	}
	type edge struct {
		Cursor string             `json:"cursor"`
		Node   storage.FoundVideo `json:"node"`
	}
	of, err := searchFor(viewer.FromContext(ctx), text)
	if err != nil {
		return nil, err
	}
	edges, info, err := connect[edge](ctx, r.Root, &foundVideos, of, pageArgs{nil, first, after})
	if err != nil {
		return nil, err
	}
	out := make([]*graph.VideoEdge, len(edges))
	for i, e := range edges {
		out[i] = &graph.VideoEdge{Cursor: e.Cursor, Node: e.Node.Video}
	}
	return &graph.VideoConnection{Edges: out, PageInfo: info}, nil
}

func (p *prefetch) searchUsers(field *plan.Field, _ any) {
	if of := p.searched(field); of != nil {
		foundUsers.field().prefetch(p, field, of)
	}
}

func (p *prefetch) searchVideos(field *plan.Field, _ any) {
	if of := p.searched(field); of != nil && p.videos != nil {
		foundVideos.field().prefetch(p, field, of)
	}
}

// searched returns the search that a field is for, or nil if the resolver refuses it.
func (p *prefetch) searched(field *plan.Field) *searched {
	text, _ := p.argument(field, "text").(string)
	of, err := searchFor(p.me, text)
	if err != nil {
		return nil
	}
	return of
}
