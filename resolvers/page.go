package resolvers

import (
	"fmt"
	"strings"

	"ovation/graph"
	"ovation/storage"
)

const (
	defaultPage = 20
	maxPage     = 100
)

// list is one list that a client pages through.
type list struct {
	cursors *cursors
	name    string
}

// list names a list by what tells it from all others.
func (r *Root) list(parts ...string) list {
	return list{r.cursors, strings.Join(parts, "\x00")}
}

// page reads the arguments of a list. It asks storage for one entry more than
// the client did: that one tells whether there is a next page.
func (l list) page(first *int, after *string) (storage.Page, error) {
	n := defaultPage
	if first != nil {
		n = *first
	}
	if n < 1 || n > maxPage {
		return storage.Page{}, &storage.InvalidError{
			Field: "first", Reason: fmt.Sprintf("must be 1 to %d; it is %d", maxPage, n),
		}
	}
	page := storage.Page{First: n + 1}
	if after != nil {
		at, err := l.cursors.decode(l.name, *after)
		if err != nil {
			return storage.Page{}, err
		}
		page.After = at
	}
	return page, nil
}

// cut takes the extra entry off again and returns the entries' cursors. A page
// that storage left short ends where it can be resumed, behind its last entry,
// and has an end even if it is empty.
func cut[T any](l list, page storage.Page, found storage.ListPage[T], position func(*T) storage.Position) ([]T, []string, graph.PageInfo) {
	entries := found.Entries
	full, short := len(entries) == page.First, found.Resume != storage.Position{}
	info := graph.PageInfo{
		HasNextPage:     full || short,
		HasPreviousPage: page.After != storage.Position{},
	}
	if full {
		entries = entries[:len(entries)-1]
	}
	marks := make([]string, len(entries))
	for i := range entries {
		marks[i] = l.cursors.encode(l.name, position(&entries[i]))
	}
	if len(marks) > 0 {
		info.StartCursor, info.EndCursor = &marks[0], &marks[len(marks)-1]
	}
	if short {
		resume := l.cursors.encode(l.name, found.Resume)
		info.EndCursor = &resume
	}
	return entries, marks, info
}
