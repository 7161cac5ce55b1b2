// Package calls passes every call of a store through one function. What is to happen
// around the calls of a store, such as measuring them or limiting them, is thereby written
// once, for the calls of today and those to come.
//
// The methods of Store are generated (make generate) from the interface storage.Store, so
// that none is missing. The class of each follows from the role that declares it: what is
// in a role that reads is a Read or, if it returns pages, a List; everything else is a
// Write, except for what the generator lists.
//
// This package imports storage and no other package of this module.
package calls

import (
	"context"

	"ovation/storage"
)

// Call describes a method of a store.
type Call struct {
	Method string // its name
	Class  Class
}

// Class says what a call is for.
type Class int

// The classes.
const (
	Read   Class = iota + 1 // reads by key, for a request
	List                    // reads pages or rows of lists, for a request
	Write                   // changes something
	Upkeep                  // of workers and commands, and of what must be persisted: they try the database in any case
	Scan                    // reads everything, in minutes
	Other                   // at the start, at the end, or a probe
)

// Around is called in place of each call. It calls do, at most once and before it returns,
// or returns an error.
type Around func(ctx context.Context, call Call, do func(context.Context) error) error

// Store is a storage.Store whose calls pass through a function. Close is passed on directly.
type Store struct {
	next   storage.Store
	around Around
}

// New returns a Store that passes the calls to next through around.
func New(next storage.Store, around Around) *Store { return &Store{next, around} }

// Close implements storage.Store.
func (s *Store) Close() error { return s.next.Close() }
