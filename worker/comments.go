package worker

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"ovation/storage"
)

// CommentsOptions configure Comments. The zero value is a good choice.
type CommentsOptions struct {
	// Changed is called with the subjects whose comments have changed, after the commit.
	// It may be nil.
	Changed func(subjects []storage.Subject)
	// Timeout bounds a transaction, the retries after a lock conflict, and the wait of a
	// separate call for its turn; 3 s if 0.
	Timeout time.Duration
	// Logger logs when the breaker opens and when it closes; slog.Default() if nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// Comments adds and changes comments, and is safe for concurrent use. Comments are
// written directly to the database; concurrent additions share a transaction.
type Comments struct {
	store storage.Comments
	opts  CommentsOptions
	adds  *groupCommit[storage.NewComment, storage.AddedComment]
}

// NewComments returns a Comments that writes to the store. Call Close when the Comments
// is no longer needed.
func NewComments(store storage.Comments, opts CommentsOptions) *Comments {
	opts.Logger, opts.Metrics = cmp.Or(opts.Logger, slog.Default()), cmp.Or(opts.Metrics, noMetrics)
	opts.Timeout = cmp.Or(opts.Timeout, groupTimeout)
	c := &Comments{store: store, opts: opts}
	c.adds = &groupCommit[storage.NewComment, storage.AddedComment]{
		name: "add comment", commit: c.commit,
		lockKey:  func(c storage.NewComment) any { return c.Subject },
		breaker:  FallbackOptions{Logger: opts.Logger}.breaker("comments", opts.Timeout, 0),
		timeout:  opts.Timeout,
		sizes:    func(n int) { opts.Metrics.groupSizes.WithLabelValues("comments").Observe(float64(n)) },
		separate: make(semaphore, maxSeparate),
	}
	return c
}

// Add adds a comment and returns it once it is committed. Errors: storage.ErrInvalid and
// storage.ErrNotFound, as documented for storage.Comments; storage.ErrUnavailable;
// ErrClosed; context.Canceled. After storage.ErrUnavailable, the comment may or may not
// be added. Only a comment with a request id can then be retried safely.
func (c *Comments) Add(ctx context.Context, comment storage.NewComment) (*storage.Comment, error) {
	comment, err := comment.Check()
	if err != nil {
		return nil, err
	}
	added, err := c.adds.do(ctx, comment)
	return added.Comment, cmp.Or(err, added.Err)
}

func (c *Comments) commit(ctx context.Context, comments []storage.NewComment) ([]storage.AddedComment, error) {
	out, err := c.store.AddComments(ctx, comments)
	if err != nil {
		return nil, err
	}
	var changed []storage.Subject
	for i := range out {
		if out[i].Err == nil && !out[i].Repeated {
			changed = append(changed, comments[i].Subject)
		}
	}
	c.changed(changed)
	return out, nil
}

// Edit changes the text of a comment. Errors: as documented for storage.Comments;
// ErrClosed; context.Canceled.
func (c *Comments) Edit(ctx context.Context, change storage.CommentChange, text string) (*storage.Comment, error) {
	return c.change(ctx, "edit comment", func(ctx context.Context) (*storage.Comment, error) {
		return c.store.EditComment(ctx, change, text)
	})
}

// Delete removes the text and the author of a comment. Errors: as documented for
// storage.Comments; ErrClosed; context.Canceled.
func (c *Comments) Delete(ctx context.Context, change storage.CommentChange) (*storage.Comment, error) {
	return c.change(ctx, "delete comment", func(ctx context.Context) (*storage.Comment, error) {
		return c.store.DeleteComment(ctx, change)
	})
}

func (c *Comments) change(
	ctx context.Context, what string, do func(context.Context) (*storage.Comment, error),
) (*storage.Comment, error) {
	out, err := runSeparately(ctx, c.adds, what, do)
	if err != nil {
		return nil, err
	}
	c.changed([]storage.Subject{out.Subject})
	return out, nil
}

func (c *Comments) changed(subjects []storage.Subject) {
	if c.opts.Changed != nil && len(subjects) > 0 {
		c.opts.Changed(subjects)
	}
}

// Close rejects new calls with ErrClosed and waits until every accepted call to Add, Edit
// or Delete has ended. It returns an error if the context ends first. It may be called
// twice.
func (c *Comments) Close(ctx context.Context) error { return c.adds.close(ctx, c.adds.name) }
