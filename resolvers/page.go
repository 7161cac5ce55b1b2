package resolvers

import (
	"context"
	"fmt"
	"strings"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/resolvers/plan"
	"ovation/storage"
)

const (
	defaultPage = 20
	maxPage     = 100
)

// pageArgs holds the arguments of a list field.
type pageArgs struct {
	biz   *string
	first *int
	after *string
}

// buildQuery returns the query for a page of an object's list, the storage.Page in that
// query, and the name with which the list's cursors are signed. The page has room for one
// entry more than the client requests, to find out whether there is a next page.
func (l *listSpec[P, Q, T]) buildQuery(r *Root, me storage.User, of *P, part pageArgs) (query Q, page storage.Page, name string, err error) {
	biz, first := "", defaultPage
	if l.sees != nil {
		err = l.sees(me, of)
	}
	if err == nil && part.biz != nil {
		biz, err = *part.biz, storage.ValidateBiz(*part.biz)
	}
	if part.first != nil {
		first = *part.first
	}
	if err == nil && (first < 1 || first > maxPage) {
		err = &storage.InvalidError{Field: "first", Reason: fmt.Sprintf("must be 1 to %d; it is %d", maxPage, first)}
	}
	page.First, name = first+1, strings.Join(l.name(of, biz), "\x00")
	if err == nil && part.after != nil {
		page.After, err = r.cursors.decode(name, *part.after)
	}
	if err != nil {
		return query, page, name, err
	}
	return l.query(me, of, biz, page), page, name, nil
}

// field returns the spec of the list's field. The spec prefetches a page and what the
// page's nodes need.
func (l *listSpec[P, Q, T]) field() fieldSpec {
	return loads(func(a *prefetch, field *plan.Field, object any) {
		of, is := object.(*P)
		if !is {
			return
		}
		query, page, _, err := l.buildQuery(a.Root, a.me, of, a.pageArgs(field))
		if err != nil || l.empty != nil && l.empty(a.me) {
			return // the resolver reports the error
		}
		load := func(ctx context.Context) (storage.ListPage[T], error) { return l.lookup.Load(ctx, query) }
		attempt(a, load, func(found storage.ListPage[T]) {
			for _, edges := range field.Below().Named("edges") {
				for _, node := range edges.Below().Named("node") {
					for i := range min(len(found.Entries), page.First-1) {
						if l.node != nil {
							l.node(a, node, &found.Entries[i])
							continue
						}
						a.visit(node, &found.Entries[i])
					}
				}
			}
		})
	})
}

// edge is an edge type of package graph for entries of type T.
type edge[T any] interface {
	~struct {
		Cursor string `json:"cursor"`
		Node   T      `json:"node"`
	}
}

// connect returns a page of an object's list as edges. If storage stops searching before
// the page is full, the end cursor is the position from which the search can continue,
// and not that of the last entry. Such a page has an end cursor even if it is empty.
func connect[E edge[T], P any, Q comparable, T any](ctx context.Context, r *Root, l *listSpec[P, Q, T], of *P, part pageArgs) (out []*E, info graph.PageInfo, err error) {
	out, info, _, err = connectVersion[E](ctx, r, l, of, part)
	return out, info, err
}

// connectVersion is like connect, but also returns the version of the page.
func connectVersion[E edge[T], P any, Q comparable, T any](ctx context.Context, r *Root, l *listSpec[P, Q, T], of *P, part pageArgs) (out []*E, info graph.PageInfo, version int64, err error) {
	me := viewer.FromContext(ctx)
	query, page, name, err := l.buildQuery(r, me, of, part)
	if err != nil || l.empty != nil && l.empty(me) {
		return nil, info, 0, err
	}
	found, err := l.lookup.Load(ctx, query)
	if err != nil {
		return nil, info, 0, err
	}
	full, short := len(found.Entries) == page.First, found.Resume != storage.Position{}
	info.HasNextPage, info.HasPreviousPage = full || short, page.After != storage.Position{}
	entries := found.Entries[:min(len(found.Entries), page.First-1)]
	edges, out, cursors := make([]E, len(entries)), make([]*E, len(entries)), make([]string, len(entries))
	for i := range entries {
		cursors[i] = r.cursors.encode(name, l.place(&entries[i]))
		edges[i] = E{cursors[i], entries[i]}
		out[i] = &edges[i]
	}
	if n := len(entries); n > 0 {
		info.StartCursor, info.EndCursor = &cursors[0], &cursors[n-1]
	}
	if short {
		resume := r.cursors.encode(name, found.Resume)
		info.EndCursor = &resume
	}
	return out, info, found.Version, nil
}
