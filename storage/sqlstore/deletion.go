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

	full bool // a list holds as many candidates as the share of a subject
	cut  bool // a list may lack candidates, because it is full
}

// Sweep is one step of the sweep of deleted subjects. A store fills in all fields. The
// states and comments are candidates. Each list holds, in the order of Subjects, up to
// Share of those that refer to each subject, and at most Limit in total.
type Sweep struct {
	Limit    int
	Now      int64            // in microseconds since 1970
	Subjects []DeletedSubject // in the order of the queue

	Reactions, Collections, Follows []storage.StateKey
	Comments                        []*storage.Comment // replies before the comments that they reply to
	Withdrawn                       []storage.Action   // declarations that works of an erased user have no author
}

// Share is the maximum number of candidates of each list that refer to one subject: a
// tenth of Limit, or more if there are fewer than ten subjects. Therefore a subject with
// many candidates does not hold up the others.
func (s *Sweep) Share() int { return max(s.Limit/max(min(len(s.Subjects), 10), 1), 1) }

// Commentable returns the subjects that may have comments, in the order of the queue.
func (s *Sweep) Commentable() []storage.Subject {
	var out []storage.Subject
	for i := range s.Subjects {
		if s.Subjects[i].Biz != storage.BizComment {
			out = append(out, s.Subjects[i].Subject)
		}
	}
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
// author, and adds these subjects to the tally, which marks them. It also returns
// Withdrawn.
func (s *Sweep) Marks(by Tally) (declared []storage.Action) {
	declared = slices.Clone(s.Withdrawn)
	for i := range s.Subjects {
		if d := &s.Subjects[i]; !d.Marked {
			by.Deleted[d.Subject] = s.Now
			declared = append(declared, Withdraw(d.Subject, s.Now))
		}
	}
	return storage.Coalesce(declared)
}

// Found records which candidates one list holds. The function subject returns the subject
// that each of the n candidates refers to.
func (s *Sweep) Found(n int, subject func(int) storage.Subject) {
	at, held := 0, 0
	for i := range n {
		for s.Subjects[at].Subject != subject(i) {
			at, held = at+1, 0
		}
		if held++; held == s.Share() {
			s.Subjects[at].full = true
		}
	}
	if n >= s.Limit {
		for i := range s.Subjects[at:] {
			s.Subjects[at+i].cut = true
		}
	}
}

// Finished returns the subjects that nothing refers to once this step has committed: they
// were marked before the candidates were looked up, and all candidates were found. The
// others that had their share move to the end of the queue. Those whose share a full list
// has cut keep their place, and come first in the next step.
func (s *Sweep) Finished() (finished, moved []storage.Subject) {
	for i := range s.Subjects {
		switch d := &s.Subjects[i]; {
		case d.full || !d.cut && !d.Marked:
			moved = append(moved, d.Subject)
		case !d.cut:
			finished = append(finished, d.Subject)
		}
	}
	return finished, moved
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
	Removed []*storage.Comment // copies of the deleted comments, as they were before
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
		before := *c
		d.Removed = append(d.Removed, &before)
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
func (d *DeleteComments) Commented() []storage.Subject { return SubjectsOf(d.Changed) }

// SubjectsOf returns the subjects of comments, in the order of CompareSubjects.
func SubjectsOf(comments []*storage.Comment) []storage.Subject {
	out := make([]storage.Subject, 0, len(comments))
	for _, c := range comments {
		out = append(out, c.Subject)
	}
	slices.SortFunc(out, CompareSubjects)
	return slices.Compact(out)
}
