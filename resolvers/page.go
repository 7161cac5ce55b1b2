package resolvers

import (
	"context"
	"fmt"
	"strings"

	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

const (
	defaultPage = 20
	maxPage     = 100
)

// slice is which part of a list is asked for.
type slice struct {
	biz   *string
	first *int
	after *string
}

// ask returns the query for a part of the list below an object, its page, and the
// name that cursors of the list are signed with. It asks storage for one entry
// more than the client did: that one tells whether there is a next page.
func (l *listOf[P, Q, T]) ask(r *Root, me storage.User, of *P, part slice) (query Q, page storage.Page, name string, err error) {
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

// line is the list's line: its page is wanted, and what the nodes of the page
// need.
func (l *listOf[P, Q, T]) line() line {
	return line{Line: plan.Line{Loads: true}, ahead: func(a *ahead, field *plan.Field, object any) {
		of, is := object.(*P)
		if !is {
			return
		}
		query, page, _, err := l.ask(a.Root, a.me, of, a.slice(field))
		if err != nil {
			return // the resolver tells
		}
		want(a, l.batch, query, func(found storage.ListPage[T]) {
			for _, edges := range field.Below().Named("edges") {
				for _, node := range edges.Below().Named("node") {
					for i := range min(len(found.Entries), page.First-1) {
						a.look(node, &found.Entries[i])
					}
				}
			}
		})
	}}
}

// connect returns a part of the list below an object as edges. A page that
// storage left short ends where it can be resumed, behind its last entry, and has
// an end even if it is empty.
func connect[P any, Q comparable, T, E any](ctx context.Context, r *Root, l *listOf[P, Q, T], of *P, part slice, edge func(cursor string, node T) E) (out []*E, info graph.PageInfo, err error) {
	query, page, name, err := l.ask(r, viewer.From(ctx), of, part)
	if err != nil {
		return nil, info, err
	}
	found, err := l.batch.load(loaders.From(ctx), ctx, query)
	if err != nil {
		return nil, info, err
	}
	full, short := len(found.Entries) == page.First, found.Resume != storage.Position{}
	info.HasNextPage, info.HasPreviousPage = full || short, page.After != storage.Position{}
	entries := found.Entries[:min(len(found.Entries), page.First-1)]
	edges, out, cursors := make([]E, len(entries)), make([]*E, len(entries)), make([]string, len(entries))
	for i := range entries {
		cursors[i] = r.cursors.encode(name, l.place(&entries[i]))
		edges[i] = edge(cursors[i], entries[i])
		out[i] = &edges[i]
	}
	if n := len(entries); n > 0 {
		info.StartCursor, info.EndCursor = &cursors[0], &cursors[n-1]
	}
	if short {
		resume := r.cursors.encode(name, found.Resume)
		info.EndCursor = &resume
	}
	return out, info, nil
}
