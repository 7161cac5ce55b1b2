package sqlstore

import (
	"errors"
	"fmt"
	"slices"

	"ovation/storage"
)

// DeletedSubjects is a set of subjects that are known to be marked as deleted.
type DeletedSubjects map[storage.Subject]bool

// deletedError is returned by Check.
type deletedError struct{ subjects []storage.Subject }

func (e *deletedError) Error() string {
	return fmt.Sprintf("%d subjects were deleted while their states changed", len(e.subjects))
}

// Clear replaces the actions that would set a state on a subject in the set with actions
// that clear the state, in place.
func (d DeletedSubjects) Clear(actions []storage.Action) {
	for i := range actions {
		if len(d) > 0 && d[actions[i].Subject] && actions[i].Sets() {
			actions[i] = actions[i].Cleared()
		}
	}
}

// Check returns an error if one of the actions sets a state on a subject that is deleted.
// The parameter counts holds the counts of the changed subjects, whose rows are locked. The
// transaction must then be rolled back, and repeated if Learn returns true.
//
// No state is therefore set once the transaction that marks a subject has committed, and
// a like of a subject that is not deleted costs no lookup.
func (d DeletedSubjects) Check(actions []storage.Action, counts []storage.SubjectCounts) error {
	var found []storage.Subject
	for i := range counts {
		if c := &counts[i]; c.Deleted && slices.ContainsFunc(actions, func(a storage.Action) bool {
			return a.Subject == c.Subject && a.Sets()
		}) {
			found = append(found, c.Subject)
		}
	}
	if found == nil {
		return nil
	}
	return &deletedError{found}
}

// Learn adds the subjects in an error of Check to the set, and reports whether there were
// any.
func (d DeletedSubjects) Learn(err error) bool {
	var found *deletedError
	if !errors.As(err, &found) {
		return false
	}
	for _, s := range found.subjects {
		d[s] = true
	}
	return true
}

// DeletedSubject is a subject in the queue of sweeps.
type DeletedSubject struct {
	storage.Subject

	Marked bool // an earlier transaction has marked the subject, and it has no author
}

// Sweep is one step of the sweep of deleted subjects. A store fills in all fields. The
// states and comments are candidates: each list holds at most Limit of those that
// refer to one of the subjects, and all of them if it is shorter.
type Sweep struct {
	Limit    int
	Now      int64 // in microseconds since 1970
	Subjects []DeletedSubject

	Reactions, Collections, Follows []storage.StateKey
	Comments                        []*storage.Comment // replies before the comments that they reply to
}

// Commentable returns the subjects that may have comments, in the order of
// CompareSubjects.
func (s *Sweep) Commentable() []storage.Subject {
	var out []storage.Subject
	for i := range s.Subjects {
		if s.Subjects[i].Biz != storage.BizComment {
			out = append(out, s.Subjects[i].Subject)
		}
	}
	slices.SortFunc(out, CompareSubjects)
	return out
}

// Names returns the subjects.
func (s *Sweep) Names() []storage.Subject {
	out := make([]storage.Subject, len(s.Subjects))
	for i := range s.Subjects {
		out[i] = s.Subjects[i].Subject
	}
	return out
}

// Marks returns the declarations that the subjects which are not marked yet have no
// author, and adds these subjects to the tally, which marks them.
func (s *Sweep) Marks(by Tally) (declared []storage.Action) {
	for i := range s.Subjects {
		if d := &s.Subjects[i]; !d.Marked {
			by.Deleted[d.Subject] = s.Now
			declared = append(declared, Withdraw(d.Subject, s.Now))
		}
	}
	return storage.Coalesce(declared)
}

// Finished returns the subjects that nothing refers to once this step has committed: they
// were marked before the candidates were looked up, and all candidates were found.
func (s *Sweep) Finished() []storage.Subject {
	if max(len(s.Reactions), len(s.Collections), len(s.Follows), len(s.Comments)) >= s.Limit {
		return nil
	}
	var out []storage.Subject
	for i := range s.Subjects {
		if s.Subjects[i].Marked {
			out = append(out, s.Subjects[i].Subject)
		}
	}
	return out
}

// Owners returns the owners of the collections, for a store that locks them.
func (s *Sweep) Owners() map[storage.User]int64 {
	out := make(map[storage.User]int64, len(s.Collections))
	for i := range s.Collections {
		out[s.Collections[i].User] = s.Now
	}
	return out
}

// CompareStateKeys orders the keys of states by tenant, user, biz and bizId, which is the
// order in which stores lock states.
func CompareStateKeys(a, b storage.StateKey) int {
	if by := CompareUsers(a.User, b.User); by != 0 {
		return by
	}
	return CompareSubjects(a.Subject, b.Subject)
}

// DeleteComments computes the deletion of comments of several subjects. A store fills in
// Comments, which holds the comments to delete and those that they reply to, and Counts.
type DeleteComments struct {
	Now      int64
	Comments map[storage.CommentKey]*storage.Comment
	Counts   map[storage.Subject]storage.CommentCount

	// Delete fills in the following fields, which the store writes.
	Changed []*storage.Comment // in the order of CompareComments
	Gone    []storage.Subject  // the deleted comments as subjects
	ByUser  map[storage.User]int64
}

// Delete deletes those of the comments that are not deleted.
func (d *DeleteComments) Delete(candidates []*storage.Comment) {
	d.ByUser = map[storage.User]int64{}
	changed := map[storage.CommentKey]*storage.Comment{}
	for _, candidate := range candidates {
		c := d.Comments[candidate.Key()]
		if c == nil || c.Deleted() {
			continue
		}
		d.ByUser[c.User]--
		e := CommentEdit{Comment: c, Parent: d.Comments[c.ParentKey()], Counts: d.Counts[c.Subject]}
		e.remove(d.Now)
		d.Counts[c.Subject] = e.Counts
		d.Gone = append(d.Gone, c.Key().Subject())
		changed[c.Key()] = c
		if e.Parent != nil {
			changed[e.Parent.Key()] = e.Parent
		}
	}
	for _, c := range changed {
		d.Changed = append(d.Changed, c)
	}
	slices.SortFunc(d.Changed, func(a, b *storage.Comment) int { return CompareComments(a.Key(), b.Key()) })
	slices.SortFunc(d.Gone, CompareSubjects)
}

// Commented returns the subjects whose comments have changed.
func (d *DeleteComments) Commented() []storage.Subject {
	out := make([]storage.Subject, 0, len(d.Changed))
	for _, c := range d.Changed {
		out = append(out, c.Subject)
	}
	slices.SortFunc(out, CompareSubjects)
	return slices.Compact(out)
}
