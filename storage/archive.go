package storage

import (
	"context"
	"fmt"
)

// Archive is a part of everything that a tenant has, except what follows from it: counts,
// totals, item counts, running numbers of messages and unread counts. It is also the list
// of everything that belongs to a user.
type Archive struct {
	Accounts []Account
	Folders  []Folder // without ItemCount
	Deleted  []DeletedMark
	Comments []Comment // also deleted ones; without LikeCount, ReplyCount and Version
	Videos   []Video   // without their files
	// Actions leads to the states and authors: for each, the latest action and, for a
	// reaction, the clears that a later merge may need (see Register). Reads are in the
	// field Reads.
	Actions   []Action
	Reads     []Read // those of the anonymous users have no UserID
	Messages  []DirectMessage
	ReadMarks []ReadMark
	Imports   []string // ids of messages that are kept forever (Message.Forever)
}

// DeletedMark is the mark of a deleted subject (Deletions).
type DeletedMark struct {
	Subject Subject
	At      int64 // when the subject was marked, in microseconds since 1970
	Since   int64 // the version of the declaration that withdrew its author
}

// ReadMark is how far the owner of a conversation has read it.
type ReadMark struct {
	Conversation ConversationKey
	UpTo         int64 // see Conversation.ReadTo
}

// ArchiveQuery selects what Export returns.
type ArchiveQuery struct {
	Tenant string
	// UserID selects what belongs to one user: the account, folders, comments, videos,
	// states, works, reads and conversations, including the messages that the user
	// received. If it is empty, everything of the tenant is selected.
	UserID string
}

// Validate returns an *InvalidError if the query names no tenant, or an invalid user.
func (q ArchiveQuery) Validate() error {
	if err := ValidateTenant(q.Tenant); err != nil || q.UserID == "" {
		return err
	}
	return ValidateUserID(q.UserID)
}

// Refusal states why a part of an Archive was not restored.
type Refusal struct {
	What   string // the kind of record: account, comment, user or video
	ID     string
	Reason string // follows What and ID in a sentence
}

func (r Refusal) String() string { return r.What + " " + r.ID + " " + r.Reason }

// ArchivePart is the maximum number of elements of an Archive that Export returns.
const ArchivePart = 1000

// Archives copies everything that a tenant or a user has out of a store, and into one.
type Archives interface {
	// Export calls the function each with one Archive after another, which together hold
	// what the query selects, all as of one moment. Each Archive holds at most ArchivePart
	// elements, all of one field, and is valid until each returns. The order of all
	// elements is the same in every store: fields in the order of Archive, comments before
	// their replies, a user's default folder before the user's other folders, and messages
	// in the order of their numbers. Other calls are not held up. Errors: ErrInvalid; those
	// of each.
	Export(ctx context.Context, query ArchiveQuery, each func(*Archive) error) error
	// Restore merges an Archive into the store, in one transaction, and calls mark, as
	// Persist does. Merging the same Archive again changes nothing, and several Archives
	// may be merged in any order, except that comments must precede their replies, folders
	// their items, and messages the read marks:
	//
	//   - Actions are applied as Persist applies them.
	//   - Of reads of one subject by one user, and by the anonymous users, the higher number
	//     of times remains. Reads that the user has cleared are left out.
	//   - A folder, and the text of a comment, is that of the later change. A comment that is
	//     deleted stays deleted, and so does a folder that was deleted after its last change.
	//   - An account, a video and a message that exist stay as they are, except that an
	//     account gets the higher Generation.
	//
	// Ids and times are kept. A folder whose name the user has given to another folder gets
	// a number after its name. Elements that cannot be restored are listed in
	// Outcome.Refused, and the others are restored. Nothing is restored on a subject that
	// is deleted, including the video and the comment that it stands for, and nothing that
	// names a user who was erased (Erasures).
	//
	// The Archive must be valid (Archive.Validate); otherwise, the error is an
	// *InvalidError, and nothing is restored.
	Restore(ctx context.Context, part *Archive, mark Mark) (Outcome, error)
}

// Len returns the number of elements.
func (a *Archive) Len() int {
	return len(a.Accounts) + len(a.Folders) + len(a.Deleted) + len(a.Comments) + len(a.Videos) + len(a.Actions) +
		len(a.Reads) + len(a.Messages) + len(a.ReadMarks) + len(a.Imports)
}

// Validate returns an *InvalidError for the first element that no store could restore.
func (a *Archive) Validate() error {
	return firstError(
		validateEach(a.Accounts, validateAccount), validateEach(a.Folders, validateFolder),
		validateEach(a.Deleted, validateDeleted), validateEach(a.Comments, validateComment),
		validateEach(a.Videos, validateVideo), validateEach(a.Actions, validateArchived),
		validateEach(a.Reads, validateRead), validateEach(a.Messages, validateMessage),
		validateEach(a.ReadMarks, validateReadMark), validateEach(a.Imports, validateImport))
}

func validateEach[T any](all []T, validate func(*T) error) error {
	for i := range all {
		if err := validate(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// validateTime checks times in microseconds since 1970, which must be above 0.
func validateTime(times ...int64) error {
	for _, at := range times {
		if at <= 0 {
			return &InvalidError{Field: "time", Reason: "must be after 1970"}
		}
	}
	return nil
}

func validateNumber(field string, number int64) error {
	if number <= 0 || number >= MaxCommentID {
		return &InvalidError{Field: field, Reason: "must be a positive number below 2^53"}
	}
	return nil
}

func validateMember(u User) error {
	return firstError(ValidateTenant(u.Tenant), ValidateUserID(u.UserID))
}

func validateAccount(a *Account) error {
	if _, ok := a.User.AccountKey(); !ok {
		return &InvalidError{Field: "userId", Reason: "must be the id of an account: a positive number below 2^53, or a lower-case letter followed by up to 11 of a-z, 0-9 and -"}
	}
	if a.Generation < 1 {
		return &InvalidError{Field: "generation", Reason: "must be at least 1"}
	}
	profile := ProfileChange{Name: &a.Name, NameKey: a.NameKey, Avatar: &a.Avatar, Background: &a.Background, Signature: &a.Signature}
	_, err := profile.Check()
	return firstError(ValidateTenant(a.User.Tenant), err, validatePassword(a.Password), validateTime(a.Created))
}

func validateFolder(f *Folder) error {
	if err := validateID("folderId", f.FolderID); err != nil {
		return err
	}
	if len(f.FolderID) > MaxFolderIDBytes {
		return &InvalidError{Field: "folderId", Reason: fmt.Sprintf("is longer than %d bytes", MaxFolderIDBytes)}
	}
	return firstError(validateMember(f.Owner), FolderChange{Name: &f.Name, Description: &f.Description}.Validate(), validateTime(f.Created, f.Updated))
}

func validateDeleted(d *DeletedMark) error {
	if d.Since < 0 {
		return &InvalidError{Field: "since", Reason: "must not be before 1970"}
	}
	return firstError(d.Subject.Validate(), validateTime(d.At))
}

func validateComment(c *Comment) error {
	if err := firstError(c.Subject.Validate(), validateNumber("commentId", c.Number), validateTime(c.Created)); err != nil {
		return err
	}
	switch {
	case c.Subject.Biz == BizComment:
		return &InvalidError{Field: "biz", Reason: "must not be " + BizComment + ": a reply is on the same subject as its comment"}
	case c.ParentID != 0 && (c.ParentID < 0 || c.ParentID >= MaxCommentID || c.ParentID == c.Number):
		return &InvalidError{Field: "replyTo", Reason: "must be the id of another comment"}
	case c.Edited < 0 || c.DeletedAt < 0:
		return &InvalidError{Field: "time", Reason: "must be after 1970"}
	case c.User.Tenant != c.Subject.Tenant:
		return &InvalidError{Field: "tenant", Reason: "must be the same for user and subject"}
	case c.Deleted() && (c.User.UserID != "" || c.Text != "" || c.EditorID != ""):
		return &InvalidError{Field: "text", Reason: "must be empty, as user and editor must: the comment is deleted"}
	case c.Deleted():
		return nil
	case c.EditorID != "":
		if err := ValidateUserID(c.EditorID); err != nil {
			return err
		}
	}
	_, err := NewComment{Subject: c.Subject, User: c.User, Text: c.Text}.Check()
	return err
}

func validateVideo(v *Video) error {
	_, err := NewVideo{Author: v.Author, Title: v.Title, File: v.File, Format: v.Format, Bytes: v.Bytes}.Check()
	return firstError(err, v.Key().Validate(), validateTime(v.Created))
}

func validateArchived(a *Action) error {
	if a.Kind.AddsUp() {
		return &InvalidError{Field: "kind", Reason: "must not be one that adds up"}
	}
	return a.Validate()
}

func validateRead(r *Read) error {
	return Action{User: r.User, Subject: r.Subject, Kind: KindRead, Times: r.Times, First: r.First, Version: r.Last}.Validate()
}

func validateMessage(m *DirectMessage) error {
	_, err := NewDirectMessage{From: m.From, To: m.To, Text: m.Text}.Check()
	return firstError(err, validateNumber("messageId", m.Number), validateTime(m.Created))
}

func validateReadMark(r *ReadMark) error {
	return firstError(r.Conversation.Validate(), validateNumber("upTo", r.UpTo))
}

func validateImport(id *string) error { return Message{ID: *id}.Validate() }
