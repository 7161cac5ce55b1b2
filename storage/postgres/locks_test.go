package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/sqlstore"
	"ovation/storage/storagetest"
	"ovation/worker"
)

// lockedIn runs a statement in a transaction, which keeps its locks until release is
// called.
func lockedIn(t *testing.T, at, statement string) (release func()) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), at)
	must.Succeed(t, err)
	_, err = c.Exec(t.Context(), "BEGIN; "+statement)
	must.Succeed(t, err)
	release = sync.OnceFunc(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	t.Cleanup(release)
	return release
}

func commentOn(bizID, text string) storage.NewComment {
	return storage.NewComment{
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: bizID},
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: "user-" + bizID}, Text: text,
	}
}

// long is longer than the slowest step of a test, such as a call of a healthy server.
const long = 2 * time.Minute

const lockSubject1 = `SELECT FROM comment_count WHERE biz_id = '1' FOR UPDATE`

func TestLockedSubjectHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	c := worker.NewComments(openAt(t, Options{URL: at}), worker.CommentsOptions{Timeout: long, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	first := map[string]*storage.Comment{}
	for _, id := range []string{"1", "2"} {
		var err error
		first[id], err = c.Add(t.Context(), commentOn(id, "first"))
		must.Succeed(t, err)
	}
	release := lockedIn(t, at, lockSubject1)
	check := func(id, what string, err error) {
		if (id == "1") != errors.Is(err, storage.ErrLocked) || id == "2" && err != nil {
			t.Errorf("%s on subject %s: got %v, want %v on subject 1 only", what, id, err, storage.ErrLocked)
		}
	}
	for round := range 2 {
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				id := fmt.Sprint(1 + i%2)
				_, err := c.Add(t.Context(), commentOn(id, fmt.Sprint(round, i)))
				check(id, "add", err)
			})
		}
		group.Wait()
		for id, one := range first {
			_, err := c.Edit(t.Context(), storage.CommentChange{Key: one.Key(), By: one.User}, fmt.Sprint("edited ", round))
			check(id, "edit", err)
		}
	}
	release()
	_, err := c.Add(t.Context(), commentOn("1", "last"))
	must.Succeed(t, err)
}

func TestLockedMailboxHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	m := worker.NewMessages(openAt(t, Options{URL: at}), worker.MessagesOptions{Timeout: long, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = m.Close(context.WithoutCancel(t.Context())) })
	user := func(id string) storage.User { return storage.User{Tenant: storage.DefaultTenant, UserID: id} }
	send := func(id string) error {
		_, err := m.Send(t.Context(), storage.NewDirectMessage{From: user("from-" + id), To: user("to-" + id), Text: "x"})
		return err
	}
	for _, id := range []string{"1", "2"} {
		must.Succeed(t, send(id))
	}
	release := lockedIn(t, at, `SELECT FROM mailbox WHERE user_id = 'to-1' FOR UPDATE`)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			id := fmt.Sprint(1 + i%2)
			if err := send(id); (id == "1") != errors.Is(err, storage.ErrLocked) || id == "2" && err != nil {
				t.Errorf("Send in conversation %s: got %v, want %v in conversation 1 only", id, err, storage.ErrLocked)
			}
		})
	}
	group.Wait()
	release()
	must.Succeed(t, send("1"))
}

// TestLockIsReportedBeforeTheDeadline checks that a call that waits for a lock fails with
// storage.ErrLocked before its deadline, even if the deadline is short. A circuit
// breaker's trial call has a short deadline, and a timeout would look like an
// unresponsive server.
func TestLockIsReportedBeforeTheDeadline(t *testing.T) {
	at := postgrestest.Schema(t)
	s := openAt(t, Options{URL: at})
	add := func(ctx context.Context) error {
		_, err := s.AddComments(ctx, []storage.NewComment{commentOn("1", "x")})
		return err
	}
	must.Succeed(t, add(t.Context()))
	release := lockedIn(t, at, lockSubject1)
	try := func() (err, ended error) {
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer cancel()
		err = add(ctx)
		return err, ctx.Err()
	}
	// The wait for the lock takes at most a third of the time until the deadline. On a busy
	// machine, the other steps may take the rest, so the attempt is repeated.
	err, ended := try()
	for begun := time.Now(); ended != nil && time.Since(begun) < long; {
		err, ended = try()
	}
	if !errors.Is(err, storage.ErrLocked) || ended != nil {
		t.Errorf("AddComments on a locked subject: got %v, context %v, want %v before the deadline", err, ended, storage.ErrLocked)
	}
	release()
	must.Succeed(t, add(t.Context()))
}

func TestPausedCallReleasesItsLocks(t *testing.T) {
	at := postgrestest.Schema(t)
	paused, other := openAt(t, Options{URL: at}), openAt(t, Options{URL: at})
	const deadline = 300 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	err := paused.changeWithLockTimeout(ctx, "add comments", func(tx *tx) error {
		if _, err := tx.lookUpComments(sqlstore.NewCommentBatch([]storage.NewComment{commentOn("1", "paused")})); err != nil {
			return err
		}
		var idle string
		if err := tx.conn.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&idle); err != nil {
			return err
		}
		if limit, err := time.ParseDuration(idle); err != nil || limit > deadline {
			t.Errorf("the server waits %s for the next statement, %v, want at most %v", idle, err, deadline)
		}
		// The server releases the locks after that time. A call waits for a lock for one second
		// only, so it may need several.
		must.Succeed(t, storagetest.Repeat(storage.ErrLocked, long, func() error {
			_, err := other.AddComments(t.Context(), []storage.NewComment{commentOn("1", "other")})
			return err
		}))
		return nil
	})
	if err == nil {
		t.Error("a transaction that outlasts its deadline: got no error")
	}
}

// TestCommentsAndLikesOfAUserDoNotWaitForEachOther checks that the comments and the likes
// of one user take different locks. A worker that waits for Redis holds locks on the
// totals of the users whose likes it persists. A paused node holds locks on the totals of
// the users whose comments it adds.
func TestCommentsAndLikesOfAUserDoNotWaitForEachOther(t *testing.T) {
	at := postgrestest.Schema(t)
	s, other := openAt(t, Options{URL: at}), openAt(t, Options{URL: at})
	comment := commentOn("1", "x")
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	comments := func() error {
		_, err := other.AddComments(ctx, []storage.NewComment{comment})
		return err
	}
	likes := 0
	like := func(on *Store, mark storage.Mark) error {
		likes++
		_, err := on.Persist(ctx, []storage.Message{{ID: fmt.Sprint(likes), Actions: []storage.Action{{
			User: comment.User, Subject: comment.Subject, Kind: storage.KindReaction, Reaction: storage.Reaction(likes % 2), Version: int64(likes),
		}}}}, mark)
		return err
	}
	for range 2 { // the rows are inserted, then updated
		must.Succeed(t, like(s, func(context.Context, storage.Outcome) error { return comments() }))
		must.Succeed(t, s.changeWithLockTimeout(ctx, "add comments", func(tx *tx) error {
			b := sqlstore.NewCommentBatch([]storage.NewComment{comment})
			ids, err := tx.lookUpComments(b)
			if err != nil {
				return err
			}
			if _, err := tx.conn.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = '2min'`); err != nil {
				return err // the like below may take longer than idleTimeout
			}
			b.Decide(ids)
			if err := tx.writeComments(b); err != nil {
				return err
			}
			return like(other, nil)
		}))
	}
	totals, err := s.TotalsOf(t.Context(), []storage.User{comment.User})
	if err != nil || totals[0] != (storage.UserTotals{Comments: 4}) {
		t.Errorf("TotalsOf = %+v, %v, want 4 comments and nothing else", totals, err)
	}
	storagetest.CheckCounts(t, s)
}
