// Package sqlstore holds the logic that the SQL databases behind storage.Store share: by
// how much counts change, which messages are new, which rows new comments and direct
// messages add, where a collection into a missing folder goes, and what a recount must
// repair. It contains no SQL.
//
// The suite in storage/storagetest tests this package with each database. This package
// imports storage and a library for UUIDs.
package sqlstore

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ovation/storage"
)

// Tally holds the amounts by which counts change. Every subject in it gets a new count
// version. If none of the subject's counts changes, its author or a state that the counts
// are computed from has changed.
type Tally struct {
	Subjects map[storage.Subject]*storage.Counts
	Folders  map[storage.FolderKey]int64
	// Users holds the changes to users' totals, except those implied by LikesToAuthors.
	Users map[storage.User]*storage.UserTotals
	// LikesToAuthors means that each change of a LikeCount in Subjects is also added to
	// the likes received by the subject's author, if there is one. A repair leaves this
	// field unset, because the repair corrects LikeCount and the totals of users
	// separately.
	LikesToAuthors bool
	// FirstVersion is the version that the counts of a subject without counts get.
	FirstVersion int64
	// Deleted holds the subjects that the transaction marks as deleted, with the time in
	// microseconds since 1970. The transaction also withdraws their authors.
	Deleted map[storage.Subject]int64
	// Refused holds the deleted subjects whose authors were to be declared (Declare).
	Refused map[storage.Subject]bool
}

// NewTally returns an empty Tally.
func NewTally() Tally {
	return Tally{
		Subjects: map[storage.Subject]*storage.Counts{}, Folders: map[storage.FolderKey]int64{},
		Users: map[storage.User]*storage.UserTotals{}, Deleted: map[storage.Subject]int64{},
		Refused: map[storage.Subject]bool{}, FirstVersion: 1,
	}
}

// TallyOf returns the changes to counts that result from changes to states, from the
// reads in of.Reads and from of.NewReaders.
func TallyOf(changes []storage.StateChange, of ByKind) Tally {
	t := NewTally()
	t.LikesToAuthors = true
	for i := range changes {
		t.addChange(&changes[i])
	}
	for i := range of.Reads {
		t.subject(of.Reads[i].Subject).ReadCount += of.Reads[i].Times
	}
	for i := range of.NewReaders {
		t.subject(of.NewReaders[i]).ReaderCount++
	}
	return t
}

// Sorted returns the subjects in the order of CompareSubjects.
func (t Tally) Sorted() []storage.Subject {
	return slices.SortedFunc(maps.Keys(t.Subjects), CompareSubjects)
}

// subject returns the changes to a subject's counts, for the caller to add to.
func (t Tally) subject(s storage.Subject) *storage.Counts {
	counts := t.Subjects[s]
	if counts == nil {
		counts = new(storage.Counts)
		t.Subjects[s] = counts
	}
	return counts
}

func (t Tally) addChange(c *storage.StateChange) {
	if c.OldReaction == c.Reaction && c.OldFolderID == c.FolderID && c.OldFollowing == c.Following {
		return
	}
	counts, totals := t.subject(c.Subject), t.user(c.User)
	react(counts, c.OldReaction, -1)
	react(counts, c.Reaction, +1)
	follows := BoolToInt(c.Following) - BoolToInt(c.OldFollowing)
	counts.FollowerCount += follows
	totals.Following += follows
	totals.Likes += BoolToInt(c.Reaction == storage.Like) - BoolToInt(c.OldReaction == storage.Like)
	totals.Collections += BoolToInt(c.FolderID != "") - BoolToInt(c.OldFolderID != "")
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

// BoolToInt returns 1 for true and 0 for false, for numeric columns.
func BoolToInt(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// CompareSubjects orders subjects by tenant, biz and bizId.
func CompareSubjects(a, b storage.Subject) int {
	if by := strings.Compare(a.Tenant, b.Tenant); by != 0 {
		return by
	}
	if by := strings.Compare(a.Biz, b.Biz); by != 0 {
		return by
	}
	return strings.Compare(a.BizID, b.BizID)
}

// CompareUsers orders users by tenant and user id.
func CompareUsers(a, b storage.User) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.UserID, b.UserID))
}

// SortCounts sorts counts by subject.
func SortCounts(counts []storage.SubjectCounts) {
	slices.SortFunc(counts, func(a, b storage.SubjectCounts) int { return CompareSubjects(a.Subject, b.Subject) })
}
