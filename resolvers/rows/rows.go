// Package rows represents a list of JSON objects with the same members, such as a page of
// subjects, as one list of strings. A decoder allocates a map for each object and a value
// for each string; rows take four allocations in total.
//
// The transport reads such lists as rows, and resolvers/limits checks them against their
// type. Code that supports Rows reads them directly. For all other code, Unfold converts
// them to what a decoder returns.
//
// # Invariant
//
//   - Unfolded rows are what a decoder returns for the same text:
//     TestScanReadsAnyValues and FuzzScan of package resolvers/transport.
//
// This package imports no other package of this module.
package rows

import (
	"slices"
	"strings"
)

// Rows is a list of one or more objects. All objects have the same members, and all
// values are strings. Rows must not be modified.
type Rows struct {
	Names  []string // of the members, without duplicates
	Values []string // of the first object, in the order of Names, then of the next object
}

// Len returns the number of objects.
func (r *Rows) Len() int { return len(r.Values) / len(r.Names) }

// Column returns the index of a member in Names, or -1 if there is no such member.
func (r *Rows) Column(name string) int { return slices.Index(r.Names, name) }

// Value returns the value of a member of the i-th object, by the member's index in Names.
func (r *Rows) Value(i, column int) string { return r.Values[i*len(r.Names)+column] }

// Objects returns the objects as a JSON decoder returns them. They share no memory with
// the rows.
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

// Unfold replaces each Rows among the variables with its objects.
func Unfold(variables map[string]any) {
	for name, value := range variables {
		if r, is := value.(*Rows); is {
			variables[name] = r.Objects()
		}
	}
}
