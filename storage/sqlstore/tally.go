// Package sqlstore holds what the SQL databases behind storage.Store decide in
// the same way: by how much counts move, which messages are new, what a folder
// is before it is written, and how a recount is repaired. It writes no SQL.
//
// The suite of storage/storagetest proves it over each of them. This package
// imports storage and a library for UUIDs.
package sqlstore

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ovation/storage"
)

// Tally is by how much counts move. A subject in it gets a new count version even
// if no count moves: a state behind the counts has changed.
type Tally struct {
	Subjects map[storage.Subject]*storage.Counts
	Folders  map[storage.FolderKey]int64
}

// NewTally returns an empty Tally.
func NewTally() Tally {
	return Tally{map[storage.Subject]*storage.Counts{}, map[storage.FolderKey]int64{}}
}

// TallyOf returns what changed states and added reads move.
func TallyOf(changes []storage.StateChange, reads []storage.Action) Tally {
	t := NewTally()
	for i := range changes {
		t.state(&changes[i])
	}
	for i := range reads {
		t.subject(reads[i].Subject).ReadCount += reads[i].Times
	}
	return t
}

// Sorted returns the subjects in the order of CompareSubjects.
func (t Tally) Sorted() []storage.Subject {
	return slices.SortedFunc(maps.Keys(t.Subjects), CompareSubjects)
}

// subject returns the counts to add to.
func (t Tally) subject(s storage.Subject) *storage.Counts {
	counts := t.Subjects[s]
	if counts == nil {
		counts = new(storage.Counts)
		t.Subjects[s] = counts
	}
	return counts
}

func (t Tally) state(c *storage.StateChange) {
	if c.OldReaction == c.Reaction && c.OldFolderID == c.FolderID {
		return
	}
	counts := t.subject(c.Subject)
	react(counts, c.OldReaction, -1)
	react(counts, c.Reaction, +1)
	if c.OldFolderID != "" {
		counts.CollectCount--
		t.Folders[storage.FolderKey{Owner: c.User, FolderID: c.OldFolderID}]--
	}
	if c.FolderID != "" {
		counts.CollectCount++
		t.Folders[storage.FolderKey{Owner: c.User, FolderID: c.FolderID}]++
	}
}

func react(counts *storage.Counts, r storage.Reaction, by int64) {
	switch r {
	case storage.Like:
		counts.LikeCount += by
	case storage.Dislike:
		counts.DislikeCount += by
	case storage.NoReaction:
	}
}

// CompareSubjects orders by tenant, biz and bizId.
func CompareSubjects(a, b storage.Subject) int {
	if by := strings.Compare(a.Tenant, b.Tenant); by != 0 {
		return by
	}
	if by := strings.Compare(a.Biz, b.Biz); by != 0 {
		return by
	}
	return strings.Compare(a.BizID, b.BizID)
}

// CompareUsers orders by tenant and user id.
func CompareUsers(a, b storage.User) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.UserID, b.UserID))
}

// SortCounts sorts by subject.
func SortCounts(counts []storage.SubjectCounts) {
	slices.SortFunc(counts, func(a, b storage.SubjectCounts) int { return CompareSubjects(a.Subject, b.Subject) })
}
