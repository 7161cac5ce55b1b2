package storage

import (
	"strconv"
	"time"
)

// MaxCommentRunes is the maximum length of a comment, in code points.
const MaxCommentRunes = 2000

// BizComment is the kind of content of subjects that are comments. Every comment is a
// subject, whose bizId is the comment's id in decimal.
const BizComment = "comment"

// MaxCommentID is above every comment id. A double represents every number below it
// exactly.
const MaxCommentID = 1 << 53

// CommentKey identifies a comment.
type CommentKey struct {
	Tenant    string
	CommentID int64
}

// Subject returns the comment as a subject.
func (k CommentKey) Subject() Subject {
	return Subject{k.Tenant, BizComment, strconv.FormatInt(k.CommentID, 10)}
}

// CommentOf returns the key of the comment that a subject stands for. The result ok is
// false if the subject does not stand for a comment. The comment need not exist.
func CommentOf(s Subject) (key CommentKey, ok bool) {
	if s.Biz != BizComment {
		return CommentKey{}, false
	}
	id, ok := ParseCommentID(s.BizID)
	return CommentKey{s.Tenant, id}, ok
}

// ParseCommentID parses an id. It accepts only the canonical form.
func ParseCommentID(text string) (id int64, ok bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && id < MaxCommentID && strconv.FormatInt(id, 10) == text
}

// Comment is a text that a user wrote on a subject, or in reply to a comment on the
// subject.
//
// A deleted comment has no Text, User or EditorID. If it has replies, it keeps its place in
// lists; otherwise it is not listed.
type Comment struct {
	Subject    Subject
	Number     int64 // the comment's id; below MaxCommentID, increasing with time
	ParentID   int64 // the id of the comment that this one replies to, or 0 if it is no reply
	User       User
	Text       string
	Created    int64  // in microseconds since 1970
	Edited     int64  // when the text last changed, or 0 if it never did
	EditorID   string // the id of the user whose edit Text is, or "" if User wrote it
	DeletedAt  int64  // 0 if it is not deleted
	LikeCount  int64  // likes of the comment as a subject, for the order Top
	ReplyCount int64  // replies that are not deleted
	// Version is the version of the subject's comments as of the last change to this
	// comment. No two comments of a subject have the same version, and versions rise in
	// the order in which the changes were committed. A version is at least the time of
	// the change, in microseconds since 1970 by the store's clock.
	Version int64
}

// Key is the comment's key.
func (c *Comment) Key() CommentKey { return CommentKey{c.Subject.Tenant, c.Number} }

// ParentKey is the key of the comment that this one replies to.
func (c *Comment) ParentKey() CommentKey { return CommentKey{c.Subject.Tenant, c.ParentID} }

// CommentID is the comment's id in decimal.
func (c *Comment) CommentID() string { return strconv.FormatInt(c.Number, 10) }

// Author returns the user who wrote the comment, or nil if it is deleted.
func (c *Comment) Author() *User {
	if c.Deleted() {
		return nil
	}
	return &c.User
}

// At is when the comment was written.
func (c *Comment) At() time.Time { return Time(c.Created) }

// EditedAt is when the text last changed, or nil if it never did.
func (c *Comment) EditedAt() *time.Time {
	if c.Edited == 0 {
		return nil
	}
	at := Time(c.Edited)
	return &at
}

// EditedBy returns the user whose edit the text is, or nil if the author of the comment
// wrote it.
func (c *Comment) EditedBy() *User {
	if c.EditorID == "" || c.Deleted() {
		return nil
	}
	return &User{Tenant: c.Subject.Tenant, UserID: c.EditorID}
}

// Deleted reports whether the comment is deleted.
func (c *Comment) Deleted() bool { return c.DeletedAt != 0 }

// Listed reports whether lists include the comment: it is not deleted, or has replies.
func (c *Comment) Listed() bool { return !c.Deleted() || c.ReplyCount > 0 }

// NewComment is a comment to add.
type NewComment struct {
	Subject  Subject
	User     User // of the same tenant
	ParentID int64
	Text     string
	// RequestID makes the addition idempotent: a second request by the same user with the
	// same id, within RequestAge, adds nothing. It is optional.
	RequestID string
}

// Check returns the comment with its text as it will be stored, or an *InvalidError.
func (c NewComment) Check() (NewComment, error) {
	if err := c.Subject.Validate(); err != nil {
		return c, err
	}
	if c.Subject.Biz == BizComment {
		return c, &InvalidError{Field: "biz", Reason: "must not be " + BizComment + ": reply to the comment"}
	}
	if err := c.User.Validate(); err != nil {
		return c, err
	}
	if err := ValidateUserID(c.User.UserID); err != nil {
		return c, err
	}
	if c.User.Tenant != c.Subject.Tenant {
		return c, &InvalidError{Field: "tenant", Reason: "must be the same for user and subject"}
	}
	if err := ValidateRequestID(c.RequestID); err != nil {
		return c, err
	}
	var err error
	c.Text, err = CleanText("text", c.Text, MaxCommentRunes)
	return c, err
}

// PastComment is a comment that was written in the past, on another platform. It is part
// of a Message.
type PastComment struct {
	Subject Subject
	User    User // of the same tenant
	Text    string
	At      int64 // when it was written, in microseconds since 1970
}

// Check returns the comment with its text as it will be stored, or an *InvalidError.
func (c PastComment) Check() (PastComment, error) {
	checked, err := NewComment{Subject: c.Subject, User: c.User, Text: c.Text}.Check()
	if err != nil {
		return c, err
	}
	if c.At <= 0 {
		return c, &InvalidError{Field: "at", Reason: "must be above 0"}
	}
	c.Text = checked.Text
	return c, nil
}

// Fingerprint returns a hash that distinguishes c from other comments with the same
// request id.
func (c NewComment) Fingerprint() string {
	return fingerprint(c.Subject.Biz, c.Subject.BizID, strconv.FormatInt(c.ParentID, 10), c.Text)
}

// AddedComment is the result of adding a NewComment.
type AddedComment struct {
	Comment *Comment // its current state; nil if there is an error
	// Repeated is true if the comment had been added before with the same request id.
	Repeated bool
	Err      error
}

// CommentChange names a comment to change and the user who changes it.
type CommentChange struct {
	Key CommentKey
	By  User
	// Moderates allows the user to change the comments of others.
	Moderates bool
}

// Allows reports whether the change may be made to the comment.
func (c CommentChange) Allows(to *Comment) bool {
	return to != nil && !to.Deleted() && c.By.Tenant == to.Subject.Tenant && (c.Moderates || c.By == to.User)
}

// CommentCount is the number of comments on a subject, including replies but not deleted
// comments. Version is 0 if the subject never had a comment, and increases whenever a
// comment on the subject changes.
type CommentCount struct {
	Comments int64
	Version  int64
}

// CommentOrder is an order of a subject's comments.
type CommentOrder string

// The orders.
const (
	Newest CommentOrder = "NEWEST"
	Oldest CommentOrder = "OLDEST"
	Top    CommentOrder = "TOP" // most liked, then newest
)

// Place returns the comment's position in a list in this order.
func (o CommentOrder) Place(c *Comment) Position {
	if o == Top {
		return Position{Version: c.LikeCount, ID: c.CommentID()}
	}
	return Position{Version: c.Number}
}

// The lists of comments.
type (
	// CommentsQuery lists the replies to the comment Parent on Subject or, if Parent is
	// 0, the comments on Subject that are not replies. The positions in its pages are
	// those that Order.Place returns.
	CommentsQuery struct {
		Subject Subject
		Parent  int64
		Order   CommentOrder
		Page
	}
	// UserCommentsQuery lists a user's comments, replies included, without deleted ones,
	// newest first. The positions in its pages are those of the order Newest.
	UserCommentsQuery struct {
		User User
		Page
	}
	// CommentChangesQuery lists up to First comments on a subject, those with the lowest
	// versions above Version, in the order of versions. Replies and deleted comments are
	// included.
	CommentChangesQuery struct {
		Subject Subject
		Version int64
		First   int // at least 1
	}
)
