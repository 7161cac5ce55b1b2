package sqlstore

import (
	"cmp"
	"maps"
	"slices"

	"ovation/storage"
)

// ErrReplyToReply is the error for a comment that replies to a reply.
var ErrReplyToReply = &storage.InvalidError{Field: "replyTo", Reason: "is a reply itself; replies are one level deep"}

// NewID holds the id and the creation time of a comment or video to be added. The time is
// in microseconds since 1970.
type NewID struct{ ID, At int64 }

// IDEpoch and IDShift are the parameters of ids, as defined in package storage.
const (
	IDEpoch = storage.IDEpoch
	IDShift = storage.IDShift
)

// CommentBatch computes the results of adding several comments in one transaction. A
// store locks the counts of Subjects, fills in Now, Counts, Comments and Before, calls
// Decide, and writes the rows that Decide has added to the batch.
type CommentBatch struct {
	// Results holds the results of AddComments. NewCommentBatch sets the results of
	// invalid comments, and Decide sets all others.
	Results []storage.AddedComment
	RequestLog
	// Subjects and Parents are the keys to look up, sorted and without duplicates.
	Subjects []storage.Subject
	Parents  []storage.CommentKey

	// The store fills in the next four fields. Now is the time at which the counts were
	// locked, in microseconds since 1970. Comments holds the parents, and the comments
	// that were added by earlier requests with the same request ids.
	Now      int64
	Counts   map[storage.Subject]storage.CommentCount
	Comments map[storage.CommentKey]*storage.Comment
	// Deleted holds the subjects that are deleted; no comments are added to them.
	Deleted DeletedSubjects
	// Erased holds those of Users that were erased.
	Erased ErasedUsers

	// Decide fills in the next four fields, which the store writes. Added is sorted by id
	// or, in a batch of past comments, by tenant and id.
	Added          []*storage.Comment
	Replies        map[storage.CommentKey]int64 // number of added replies, by parent
	CountChanges   map[storage.Subject]storage.CommentCount
	CommentsByUser map[storage.User]int64 // number of added comments

	comments []storage.NewComment
	times    []int64 // the times at which past comments were written
}

// NewCommentBatch validates comments and returns a batch that adds them.
func NewCommentBatch(comments []storage.NewComment) *CommentBatch {
	b := &CommentBatch{
		Results: make([]storage.AddedComment, len(comments)), comments: slices.Clone(comments),
		Counts:   map[storage.Subject]storage.CommentCount{},
		Comments: map[storage.CommentKey]*storage.Comment{}, Deleted: DeletedSubjects{},
		Replies: map[storage.CommentKey]int64{}, CountChanges: map[storage.Subject]storage.CommentCount{},
		CommentsByUser: map[storage.User]int64{},
	}
	subjects, requests, parents := map[storage.Subject]bool{}, map[RequestKey]bool{}, map[storage.CommentKey]bool{}
	for i := range b.comments {
		c := &b.comments[i]
		if *c, b.Results[i].Err = c.Check(); b.Results[i].Err != nil {
			continue
		}
		subjects[c.Subject] = true
		requests[requestKey(c.User, c.RequestID)] = true
		if c.ParentID != 0 {
			parents[parentOf(c)] = true
		}
	}
	b.Subjects = slices.SortedFunc(maps.Keys(subjects), CompareSubjects)
	b.RequestLog = newRequestLog(requests)
	b.Parents = slices.SortedFunc(maps.Keys(parents), CompareComments)
	return b
}

// Users returns the authors of the comments, and the users who are their subjects.
func (b *CommentBatch) Users() []storage.User {
	out := make([]storage.User, 0, 2*len(b.comments))
	for i := range b.comments {
		out = append(out, b.comments[i].User)
		if about := person(b.comments[i].Subject); !about.Anonymous() {
			out = append(out, about)
		}
	}
	return out
}

// ErasedSubjects returns those of Subjects that are erased users.
func (b *CommentBatch) ErasedSubjects() (out []storage.Subject) {
	for _, s := range b.Subjects {
		if b.Erased[person(s)] {
			out = append(out, s)
		}
	}
	return out
}

// Repeated returns the keys of the comments that the requests in Before have added.
func (b *CommentBatch) Repeated() []storage.CommentKey {
	keys := make([]storage.CommentKey, 0, len(b.Before))
	for _, r := range b.Before {
		keys = append(keys, storage.CommentKey{Tenant: r.Key.User.Tenant, CommentID: r.ResultID})
	}
	return keys
}

// Size returns the maximum number of comments that Decide adds.
func (b *CommentBatch) Size() (n int) {
	for i := range b.Results {
		if b.Results[i].Err == nil {
			n++
		}
	}
	return n
}

// Decide determines the results and the rows to write. It assigns the ids to the added
// comments in order. There must be at least Size ids, in ascending order or as returned
// by AssignPastIDs.
func (b *CommentBatch) Decide(ids []NewID) {
	for i := range b.comments {
		result, c := &b.Results[i], &b.comments[i]
		if result.Err != nil {
			continue
		}
		if before, known := b.Before[requestKey(c.User, c.RequestID)]; known {
			result.Comment = b.Comments[storage.CommentKey{Tenant: c.User.Tenant, CommentID: before.ResultID}]
			if result.Repeated = true; result.Comment == nil || before.Fingerprint != c.Fingerprint() {
				*result = storage.AddedComment{Err: ErrRequestReuse}
			}
			continue
		}
		if result.Err = b.mayAdd(c); result.Err == nil {
			result.Comment = b.add(c, ids[len(b.Added)])
		}
	}
	b.sort()
}

func (b *CommentBatch) mayAdd(c *storage.NewComment) error {
	if err := b.Erased.Refuse(c.User); err != nil {
		return err
	}
	if b.Deleted[c.Subject] || b.Erased[person(c.Subject)] {
		return &storage.DeletedError{Subject: c.Subject}
	}
	if c.ParentID == 0 {
		return nil
	}
	parent := b.Comments[parentOf(c)]
	switch {
	case parent == nil, parent.Subject != c.Subject, parent.Deleted():
		return storage.ErrNotFound
	case parent.ParentID != 0:
		return ErrReplyToReply
	}
	return nil
}

func (b *CommentBatch) add(c *storage.NewComment, id NewID) *storage.Comment {
	counts := b.Counts[c.Subject]
	counts.Comments++
	counts.Version = nextVersion(counts.Version, b.Now)
	b.Counts[c.Subject], b.CountChanges[c.Subject] = counts, counts
	added := &storage.Comment{
		Subject: c.Subject, Number: id.ID, ParentID: c.ParentID, User: c.User, Text: c.Text, Created: id.At, Version: counts.Version,
	}
	b.Added = append(b.Added, added)
	b.CommentsByUser[added.User]++
	b.Comments[added.Key()] = added
	if c.ParentID != 0 {
		b.Replies[parentOf(c)]++
	}
	b.record(requestKey(c.User, c.RequestID), id.ID, c.Fingerprint())
	return added
}

// nextVersion returns the version after a change, given the version before the change and
// the time of the change in microseconds since 1970. The result is not below that time,
// so that a restored database does not reuse versions that clients hold as cursors.
func nextVersion(before, at int64) int64 { return max(before+1, at) }

func parentOf(c *storage.NewComment) storage.CommentKey {
	return storage.CommentKey{Tenant: c.Subject.Tenant, CommentID: c.ParentID}
}

// CompareComments orders comments by tenant and id.
func CompareComments(a, b storage.CommentKey) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.CommentID, b.CommentID))
}

// CommentEdit computes a change to a comment. The store must have locked the counts of
// the comment's subject.
type CommentEdit struct {
	Comment, Parent *storage.Comment // nil if there is none
	Counts          storage.CommentCount
	CommentsByUser  map[storage.User]int64 // change in the number of each user's comments
}

// Edit sets the text of the comment, and its editor if that is not its author. It reports
// whether the text differs from the previous one. Errors: storage.ErrNotFound if the change is not allowed.
func (e *CommentEdit) Edit(change storage.CommentChange, text string, at int64) (bool, error) {
	c := e.Comment
	if !change.Allows(c) {
		return false, storage.ErrNotFound
	}
	if c.Text == text {
		return false, nil
	}
	e.Counts.Version = nextVersion(e.Counts.Version, at)
	c.Text, c.Edited, c.EditorID, c.Version = text, at, "", e.Counts.Version
	if change.By != c.User {
		c.EditorID = change.By.UserID
	}
	return true, nil
}

// Delete removes the text, the author and the editor of the comment. Errors:
// storage.ErrNotFound if the change is not allowed.
func (e *CommentEdit) Delete(change storage.CommentChange, at int64) error {
	c := e.Comment
	if !change.Allows(c) {
		return storage.ErrNotFound
	}
	e.CommentsByUser = map[storage.User]int64{c.User: -1}
	e.remove(at)
	return nil
}

// remove deletes the comment, which is not deleted yet.
func (e *CommentEdit) remove(at int64) {
	c := e.Comment
	e.Counts.Comments--
	e.Counts.Version = nextVersion(e.Counts.Version, at)
	c.Text, c.User.UserID, c.EditorID, c.DeletedAt, c.Version = "", "", "", at, e.Counts.Version
	if p := e.Parent; p != nil {
		if p.ReplyCount--; !p.Listed() {
			e.Counts.Version = nextVersion(e.Counts.Version, at)
			p.Version = e.Counts.Version
		}
	}
}

// StartOfComments returns the position at which a page of comments begins: likes and id
// for the order Top, otherwise only id. The comments of the page are below this position,
// or above it if the order is Oldest. Errors: *storage.InvalidError if q.Order is unknown
// or, for the order Top, if q.After is invalid.
func StartOfComments(q storage.CommentsQuery) (likes, id int64, err error) {
	switch {
	case q.Order != storage.Newest && q.Order != storage.Oldest && q.Order != storage.Top:
		return 0, 0, &storage.InvalidError{Field: "order", Reason: "must be NEWEST, OLDEST or TOP"}
	case q.After == (storage.Position{}) && q.Order != storage.Oldest:
		return storage.MaxCommentID, storage.MaxCommentID, nil
	case q.Order == storage.Top:
		at, ok := storage.ParseCommentID(q.After.ID)
		if !ok {
			return 0, 0, &storage.InvalidError{Field: "after", Reason: "is no position of this list"}
		}
		return q.After.Version, at, nil
	}
	return 0, q.After.Version, nil
}

// CommentsAmong returns the keys of those subjects that are comments, in the order of
// CompareComments.
func CommentsAmong(subjects []storage.Subject) (keys []storage.CommentKey) {
	for _, s := range subjects {
		if key, is := storage.CommentOf(s); is {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, CompareComments)
	return keys
}
