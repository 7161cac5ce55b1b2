package storage

import "context"

// ReadsClear selects what is removed from a user's read history: everything, the subjects
// of one kind, or one subject.
type ReadsClear struct {
	User  User
	Biz   string // only subjects of this kind; of every kind if empty
	BizID string // only this subject, of the kind Biz; every subject if empty
	// Until is the version up to which reads are removed. A subject whose first read is
	// later stays.
	Until int64
}

// Validate returns an *InvalidError if no store could apply the clear.
func (c ReadsClear) Validate() error {
	if err := c.User.Validate(); err != nil {
		return err
	}
	switch {
	case c.User.Anonymous():
		return &InvalidError{Field: "userId", Reason: "must not be empty: anonymous visitors have no history"}
	case c.Until <= 0:
		return &InvalidError{Field: "until", Reason: "must be above 0"}
	case c.BizID != "":
		return Subject{c.User.Tenant, c.Biz, c.BizID}.Validate()
	case c.Biz != "":
		return ValidateBiz(c.Biz)
	}
	return nil
}

// Histories removes subjects from users' read histories. The reads were made nevertheless:
// they are added to those of the anonymous users, so that no ReadCount changes.
type Histories interface {
	// BeginClear records a clear for InboxAge. From when it returns, Persist adds a read
	// up to clearing.Until that the clear selects to those of the anonymous users: a read
	// that is still queued does not bring its subject back. Errors: ErrInvalid.
	BeginClear(ctx context.Context, clearing ReadsClear) error
	// ClearReads removes up to limit subjects from a history, after BeginClear. It runs
	// in one transaction and calls mark, as Persist does. It returns the number of
	// subjects removed; if it is less than limit, none is left. Errors: ErrInvalid.
	ClearReads(ctx context.Context, clearing ReadsClear, limit int, mark Mark) (int, Outcome, error)
}
