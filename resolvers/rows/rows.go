// Package rows keeps a list of JSON objects that are made alike, as a page of
// subjects is, as one list of texts: where a decoder makes a map of each object
// and a value of each text, this makes four things of all.
//
// The transport reads such lists as rows, resolvers/limits checks them against
// their type, and who knows them reads them. For everybody else Unfold makes
// them what a decoder makes.
//
// # Invariant
//
//   - Unfolded rows are what a decoder makes of the same text:
//     TestScanReadsAnyValues and FuzzScan of package resolvers/transport.
//
// It imports nothing of this module.
package rows

import (
	"slices"
	"strings"
)

// Rows are objects with the same members, one or more, each of them a text. It
// is read only.
type Rows struct {
	Names  []string // of the members, no two the same
	Values []string // of the first object in the order of Names, then of the next
}

// Len is how many objects there are.
func (r *Rows) Len() int { return len(r.Values) / len(r.Names) }

// Column is where a member stands in Names; -1 where it does not.
func (r *Rows) Column(name string) int { return slices.Index(r.Names, name) }

// Value is a member of the i-th object.
func (r *Rows) Value(i, column int) string { return r.Values[i*len(r.Names)+column] }

// Objects are the rows as a decoder of JSON makes them. They hold no part of
// the rows in memory.
func (r *Rows) Objects() []any {
	out := make([]any, r.Len())
	for i := range out {
		object := make(map[string]any, len(r.Names))
		for k, name := range r.Names {
			object[name] = strings.Clone(r.Value(i, k))
		}
		out[i] = object
	}
	return out
}

// Unfold puts objects in the place of rows.
func Unfold(variables map[string]any) {
	for name, value := range variables {
		if r, is := value.(*Rows); is {
			variables[name] = r.Objects()
		}
	}
}
