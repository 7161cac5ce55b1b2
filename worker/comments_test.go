package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ovation/internal/breaker"
	"ovation/storage"
	"ovation/worker"
)

// heldComments lets a test delay calls to AddComments and EditComment, and make calls to
// AddComments fail. A database cannot be used within a bubble of package synctest.
type heldComments struct {
	storage.Comments

	mu    sync.Mutex
	sizes []int
	hold  chan struct{} // if not nil, calls wait until it is closed
	fail  func([]storage.NewComment) error
	edits int           // number of edits that have begun
	takes time.Duration // duration of an edit
}

func (h *heldComments) AddComments(_ context.Context, comments []storage.NewComment) ([]storage.AddedComment, error) {
	h.mu.Lock()
	h.sizes = append(h.sizes, len(comments))
	hold, fail := h.hold, h.fail
	h.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if fail != nil {
		if err := fail(comments); err != nil {
			return nil, err
		}
	}
	out := make([]storage.AddedComment, len(comments))
	for i := range out {
		out[i].Comment = &storage.Comment{Text: comments[i].Text}
	}
	return out, nil
}

// EditComment waits until the test lets it return. Like a commit in progress, it does not
// return when its context ends.
func (h *heldComments) EditComment(_ context.Context, _ storage.CommentChange, text string) (*storage.Comment, error) {
	h.mu.Lock()
	h.edits++
	h.mu.Unlock()
	if h.hold != nil {
		<-h.hold
	}
	time.Sleep(h.takes)
	return &storage.Comment{Text: text}, nil
}

func (h *heldComments) calls() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sizes
}

func newComment(text string) storage.NewComment {
	return storage.NewComment{
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"},
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Text: text,
	}
}

func quietComments(store storage.Comments, changed func([]storage.Subject)) *worker.Comments {
	return worker.NewComments(store, worker.CommentsOptions{Changed: changed, Logger: quiet})
}

func TestCommentsThatWaitShareATransaction(t *testing.T) {
	store := &heldComments{}
	synctest.Test(t, func(t *testing.T) {
		store.hold = make(chan struct{})
		told := 0
		c := quietComments(store, func(s []storage.Subject) { told += len(s) })
		var writers sync.WaitGroup
		for i := range 21 {
			writers.Go(func() {
				text := fmt.Sprint(i)
				if i == 20 {
					text = ""
				}
				got, err := c.Add(t.Context(), newComment(text))
				if text == "" && !errors.Is(err, storage.ErrInvalid) || text != "" && (err != nil || got.Text != text) {
					t.Errorf("adding comment %q: got %+v, %v, want %v if it is blank, or the comment", text, got, err, storage.ErrInvalid)
				}
			})
			synctest.Wait() // the first transaction is under way
		}
		close(store.hold)
		writers.Wait()
		if got := store.calls(); len(got) != 2 || got[0] != 1 || got[1] != 19 {
			t.Errorf("got transactions of %v comments, want [1 19]", got)
		}
		if err := c.Close(t.Context()); err != nil || told != 20 {
			t.Errorf("Close: got %v after Changed received %d comments, want no error, 20", err, told)
		}
		if _, err := c.Add(t.Context(), newComment("late")); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Add after Close: got %v, want %v", err, worker.ErrClosed)
		}
	})
}

func TestCommentThatCannotBeStoredFailsAlone(t *testing.T) {
	bad := errors.New("the database does not take it")
	store := &heldComments{fail: func(comments []storage.NewComment) error {
		for _, one := range comments {
			if one.Text == "3" {
				return bad
			}
		}
		return nil
	}}
	synctest.Test(t, func(t *testing.T) {
		store.hold = make(chan struct{})
		c := quietComments(store, nil)
		var writers sync.WaitGroup
		for i := range 6 {
			writers.Go(func() {
				_, err := c.Add(t.Context(), newComment(fmt.Sprint(i)))
				if (i == 3) != errors.Is(err, bad) || i != 3 && err != nil {
					t.Errorf("adding comment %d: got %v, want %v for comment 3 alone", i, err, bad)
				}
			})
			synctest.Wait()
		}
		close(store.hold)
		writers.Wait()
		_ = c.Close(t.Context())
	})
}

// onSubject returns a copy of the comment with another subject.
func onSubject(id string, c storage.NewComment) storage.NewComment {
	c.Subject.BizID = id
	return c
}

// lockedComments returns comments that cannot be added to locked subjects. Each attempt
// fails after a second, as with a lock timeout of one second.
func lockedComments(locked func(bizID string) bool) *heldComments {
	return &heldComments{fail: func(comments []storage.NewComment) error {
		if !slices.ContainsFunc(comments, func(c storage.NewComment) bool { return locked(c.Subject.BizID) }) {
			return nil
		}
		time.Sleep(time.Second)
		return fmt.Errorf("add comments: %w", storage.ErrLocked)
	}}
}

func TestCommentsOnALockedSubjectFailAlone(t *testing.T) {
	store := lockedComments(func(id string) bool { return id == "2" })
	synctest.Test(t, func(t *testing.T) {
		c := quietComments(store, nil)
		for range 5 {
			var writers sync.WaitGroup
			began := time.Now()
			for i := range 40 {
				writers.Go(func() {
					id := fmt.Sprint(i % 4)
					_, err := c.Add(t.Context(), onSubject(id, newComment("x")))
					if (id == "2") != errors.Is(err, storage.ErrLocked) || id != "2" && err != nil {
						t.Errorf("adding a comment on subject %s: got %v, want %v on subject 2 alone", id, err, storage.ErrLocked)
					}
				})
			}
			writers.Wait()
			// At most two transactions for all comments and one transaction for the
			// locked subject take a second each.
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("40 comments took %v, want at most 4 s", took)
			}
		}
		_ = c.Close(t.Context())
	})
}

func TestManyLockedSubjectsDelayOthersForABoundedTime(t *testing.T) {
	store := lockedComments(func(id string) bool { return id != "0" })
	synctest.Test(t, func(t *testing.T) {
		c := quietComments(store, nil)
		var writers sync.WaitGroup
		add := func(id string) {
			if _, err := c.Add(t.Context(), onSubject(id, newComment("x"))); !errors.Is(err, storage.ErrLocked) {
				t.Errorf("adding a comment on the locked subject %s: got %v, want %v", id, err, storage.ErrLocked)
			}
		}
		writers.Go(func() { add("1") })
		synctest.Wait() // the first transaction is under way; all other comments share the second
		for i := range 39 {
			writers.Go(func() { add(fmt.Sprint(2 + i)) })
		}
		// The first and the second transaction take one second each. The separate retries
		// of the second transaction end after three more seconds.
		time.Sleep(3 * time.Second / 2)
		began := time.Now()
		if _, err := c.Add(t.Context(), onSubject("0", newComment("x"))); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("a comment beside locked subjects took %v, want at most 4 s", took)
		}
		writers.Wait()
		_ = c.Close(t.Context())
	})
}

// A comment that shares its transaction with many comments on locked subjects is added or
// fails within a bounded time, and can be repeated.
func TestCommentsAmongManyOnLockedSubjectsFailInBoundedTime(t *testing.T) {
	store := lockedComments(func(id string) bool { return id != "0" })
	synctest.Test(t, func(t *testing.T) {
		c := quietComments(store, nil)
		var writers sync.WaitGroup
		began := time.Now()
		for i := range 40 {
			writers.Go(func() { _, _ = c.Add(t.Context(), onSubject(fmt.Sprint(1+i), newComment("x"))) })
		}
		synctest.Wait()
		_, err := c.Add(t.Context(), onSubject("0", newComment("x")))
		if err != nil && !errors.Is(err, storage.ErrLocked) {
			t.Error(err)
		}
		// Two transactions, the previous one and that of the comment, each with separate
		// retries.
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("a comment among many on locked subjects took %v, %v, want at most 8 s", took, err)
		}
		writers.Wait()
		if _, err := c.Add(t.Context(), onSubject("0", newComment("x"))); err != nil {
			t.Errorf("the comment repeated: got %v, want it added", err)
		}
		_ = c.Close(t.Context())
	})
}

func TestCommentsAreUnavailableWhileTheDatabaseIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &heldComments{hold: make(chan struct{})}
		c := quietComments(store, nil)
		for range 10 {
			if _, err := c.Add(t.Context(), newComment("x")); !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("Add while the database hangs: got %v, want %v", err, storage.ErrUnavailable)
			}
		}
		if n := len(store.calls()); n != 1 {
			t.Errorf("got %d calls of the hanging database, want 1", n)
		}
		if _, err := c.Edit(t.Context(), storage.CommentChange{}, "x"); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Edit while the database hangs: got %v, want %v", err, storage.ErrUnavailable)
		}
		close(store.hold)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestEditTimesOutWhileItsCommitHangs(t *testing.T) {
	store := &heldComments{}
	synctest.Test(t, func(t *testing.T) {
		store.hold = make(chan struct{})
		c := quietComments(store, nil)
		began := time.Now()
		if _, err := c.Edit(t.Context(), storage.CommentChange{}, "x"); !errors.Is(err, storage.ErrUnavailable) || time.Since(began) > 3*time.Second {
			t.Errorf("Edit while its commit hangs: got %v after %v, want %v within 3 s", err, time.Since(began), storage.ErrUnavailable)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Close while the commit hangs: got %v, want %v", err, storage.ErrUnavailable)
		}
		close(store.hold)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := c.Edit(t.Context(), storage.CommentChange{}, "x"); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Edit after Close: got %v, want %v", err, worker.ErrClosed)
		}
	})
}

func TestChangesOfCommentsUseFewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &heldComments{hold: make(chan struct{})}
		c := quietComments(store, nil)
		const many = 100
		var writers sync.WaitGroup
		edit := func(ctx context.Context, want error) {
			writers.Go(func() {
				if _, err := c.Edit(ctx, storage.CommentChange{}, "x"); !errors.Is(err, want) {
					t.Errorf("Edit: got %v, want %v", err, want)
				}
			})
		}
		for range many {
			edit(t.Context(), nil)
		}
		synctest.Wait()
		leaving, leave := context.WithCancel(t.Context()) // of an edit that waits behind the others
		edit(leaving, context.Canceled)
		synctest.Wait()
		if store.edits != 2 {
			t.Errorf("got %d concurrent edits in the database, want 2", store.edits)
		}
		leave()
		synctest.Wait()
		close(store.hold)
		writers.Wait()
		if err := c.Close(t.Context()); err != nil || store.edits != many {
			t.Errorf("Close: got %v after %d edits, want no error, %d", err, store.edits, many)
		}
	})
}

// The database is slow, but it responds: an edit that waits too long for its turn is
// refused, and everything else continues.
func TestWaitingForOtherChangesIsNoFailureOfTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &heldComments{takes: 1900 * time.Millisecond}
		c := quietComments(store, nil)
		const many, served = 12, 4 // two immediately, two after 1.9 s; the others give up after 3 s
		var edited, refused atomic.Int64
		var writers sync.WaitGroup
		for range many {
			writers.Go(func() {
				began := time.Now()
				switch _, err := c.Edit(t.Context(), storage.CommentChange{}, "x"); {
				case err == nil:
					edited.Add(1)
				case !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, breaker.ErrOpen) || time.Since(began) > 3*time.Second:
					t.Errorf("Edit that waits for others: got %v after %v, want %v within 3 s and a closed breaker", err, time.Since(began), storage.ErrUnavailable)
				default:
					refused.Add(1)
				}
			})
		}
		time.Sleep(3100 * time.Millisecond)
		if _, err := c.Add(t.Context(), newComment("x")); err != nil {
			t.Errorf("Add after edits were refused: got %v, want the comment added", err)
		}
		writers.Wait()
		if edited.Load() != served || refused.Load() != many-served || store.edits != served {
			t.Errorf("got %d edits, %d refused, %d in the database, want %d, %d, %d", edited.Load(), refused.Load(), store.edits, served, many-served, served)
		}
		if _, err := c.Edit(t.Context(), storage.CommentChange{}, "x"); err != nil {
			t.Errorf("Edit once the slots are free: got %v, want no error", err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCommentWhoseCallerLeavesIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &heldComments{hold: make(chan struct{})}
		told := make(chan []storage.Subject, 1)
		c := quietComments(store, func(s []storage.Subject) { told <- s })
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := c.Add(ctx, newComment("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("Add of a caller that leaves: got %v, want %v", err, context.Canceled)
		}
		close(store.hold)
		if got := <-told; len(got) != 1 {
			t.Errorf("Changed received %v, want the one comment", got)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
