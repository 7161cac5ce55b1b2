package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/sqlstore"
	"ovation/storage/storagetest"
)

// failOnRetry fails the test for every retried transaction. Other lines, for example
// about a slow commit, are only logged.
type failOnRetry struct{ t *testing.T }

func (c failOnRetry) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("transaction retried")) {
		c.t.Errorf("got the log line %s, want no transaction retried", line)
	} else {
		c.t.Logf("%s", line)
	}
	return len(line), nil
}

// noticingDeadlocks returns the options of a store that fails the test if a transaction is
// the victim of a deadlock. The server detects a deadlock before a wait for a lock ends
// with storage.ErrLocked, which writers may repeat. Only a superuser may set the timeout.
func noticingDeadlocks(t *testing.T, at string) Options {
	t.Helper()
	return Options{
		URL:    withParameters(t, at, "deadlock_timeout", "100ms"),
		Logger: slog.New(slog.NewTextHandler(failOnRetry{t}, nil)),
	}
}

// writers runs concurrent writers. They collide, because there are few users, subjects
// and folders.
type writers struct {
	stores  []*Store
	version atomic.Int64
	folders sync.Map // set of the storage.FolderKey of every folder ever created
}

func newWriters(t *testing.T, at string) *writers {
	t.Helper()
	c := new(writers)
	for range 2 {
		c.stores = append(c.stores, openAt(t, noticingDeadlocks(t, at)))
	}
	return c
}

func (c *writers) user(random *rand.Rand) storage.User {
	return storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint("user", random.IntN(5))}
}

// folder returns one of the owner's folders, possibly a deleted one.
func (c *writers) folder(random *rand.Rand, owner storage.User) storage.FolderKey {
	chosen := storage.FolderKey{Owner: owner, FolderID: storage.DefaultFolderID}
	c.folders.Range(func(key, _ any) bool {
		if key := key.(storage.FolderKey); key.Owner == owner {
			chosen = key
		}
		return chosen.FolderID == storage.DefaultFolderID || random.IntN(4) > 0
	})
	return chosen
}

func (c *writers) action(random *rand.Rand) storage.Action {
	v := c.version.Add(1)
	a := storage.Action{
		User:    c.user(random),
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: strconv.Itoa(random.IntN(12))},
		Version: v,
	}
	switch random.IntN(5) {
	case 0:
		a.Kind, a.Times, a.First = storage.KindRead, 1, v
	case 1:
		a.Kind, a.Reaction = storage.KindReaction, storage.Reaction(random.IntN(3))
	case 2:
		a.Kind = storage.KindCollection
	case 3:
		a.Kind, a.Following = storage.KindFollow, random.IntN(2) == 0
	default:
		a.Kind, a.FolderID = storage.KindCollection, c.folder(random, a.User).FolderID
	}
	return a
}

// step performs one random operation. An error that results from another writer's change
// is ignored.
func (c *writers) step(ctx context.Context, s *Store, random *rand.Rand, id string) (err error) {
	owner := c.user(random)
	switch random.IntN(9) {
	case 0:
		var made *storage.Folder
		name := "Folder " + strconv.Itoa(random.IntN(6))
		made, err = s.CreateFolder(ctx, storage.Folder{Owner: owner, Name: name, Created: c.version.Add(1)})
		if err == nil {
			c.folders.Store(made.Key(), true)
		}
	case 1:
		name := "Folder " + strconv.Itoa(random.IntN(6))
		_, err = s.UpdateFolder(ctx, c.folder(random, owner), storage.FolderChange{Name: &name}, storage.Time(c.version.Add(1)))
	case 2:
		from, to := c.folder(random, owner), []string{"", storage.DefaultFolderID, c.folder(random, owner).FolderID}[random.IntN(3)]
		_, _, err = s.EmptyFolder(ctx, from, to, storage.Time(c.version.Add(1)), 1+random.IntN(5), nil)
	case 3:
		err = s.DeleteFolder(ctx, c.folder(random, owner), "", time.Now())
	case 4:
		err = c.comment(ctx, s, random, owner, id)
	default:
		messages := make([]storage.Message, 1+random.IntN(3))
		for i := range messages {
			messages[i].ID = fmt.Sprint(id, "-", i)
			for range random.IntN(25) {
				messages[i].Actions = append(messages[i].Actions, c.action(random))
			}
			for range random.IntN(4) {
				messages[i].Comments = append(messages[i].Comments, storage.PastComment{
					Subject: c.action(random).Subject, User: owner, Text: id, At: int64(1 + random.IntN(3)),
				})
			}
		}
		if _, err = s.Persist(ctx, messages, nil); err == nil && random.IntN(4) == 0 {
			_, err = s.Persist(ctx, messages, nil) // delivered again
		}
	}
	for _, fine := range []error{
		storage.ErrNameTaken, storage.ErrNotFound, storage.ErrFolderNotEmpty, storage.ErrDefaultFolder, storage.ErrInvalid,
	} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	return err
}

// comment adds two comments, and a reply to each of the three latest comments of a
// subject. Sometimes, it then deletes the last comment that it added.
func (c *writers) comment(ctx context.Context, s *Store, random *rand.Rand, by storage.User, text string) error {
	of := c.action(random).Subject
	lists, err := s.ListComments(ctx, []storage.CommentsQuery{{Subject: of, Order: storage.Newest, Page: storage.Page{First: 3}}})
	if err != nil {
		return err
	}
	added := []storage.NewComment{{Subject: of, User: by, Text: text}, {Subject: c.action(random).Subject, User: by, Text: text}}
	for _, parent := range lists[0].Entries {
		added = append(added, storage.NewComment{Subject: of, User: by, Text: text, ParentID: parent.Number})
	}
	var out []storage.AddedComment
	err = storagetest.UntilUnlocked(func() (err error) {
		out, err = s.AddComments(ctx, added)
		return err
	})
	if err != nil || random.IntN(2) == 0 {
		return err
	}
	last := out[len(out)-1].Comment // a reply, if there was a comment to reply to
	if last == nil {
		return nil
	}
	return storagetest.UntilUnlocked(func() error {
		_, err := s.DeleteComment(ctx, storage.CommentChange{Key: last.Key(), By: by})
		return err
	})
}

// write runs the given number of writers, with the given number of steps each.
func (c *writers) write(t *testing.T, writers, steps int) {
	t.Helper()
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 7))
			for i := range steps {
				if err := c.step(t.Context(), c.stores[n%len(c.stores)], random, fmt.Sprint(n, "-", i)); err != nil {
					t.Errorf("writer %d, step %d: %v", n, i, err)
				}
			}
		})
	}
	group.Wait()
}

func TestWritersNeverDeadlock(t *testing.T) {
	t.Parallel()
	neverDeadlock(t, 60)
}

// neverDeadlock runs eight writers, with the given number of steps each, and checks the
// counts afterwards.
func neverDeadlock(t *testing.T, times int) {
	t.Helper()
	at := postgrestest.Schema(t)
	c := newWriters(t, at)
	c.write(t, 8, times)
	storagetest.CheckCounts(t, c.stores[0])
}

// TestRepairIsExactUnderWriters checks that a repair corrects wrong counts while writers
// change the same counts, and that correct counts remain correct.
func TestRepairIsExactUnderWriters(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	c := newWriters(t, at)
	c.write(t, 4, 30)
	postgrestest.Exec(t, at,
		`UPDATE interactive SET like_count = like_count + 7, read_count = 0 WHERE biz_id < '3'`,
		`DELETE FROM interactive WHERE biz_id = '5'`,
		`UPDATE folder SET item_count = item_count - 3`,
		`UPDATE comment SET reply_count = reply_count + 5, like_count = 9 WHERE reply_to = 0`,
		`UPDATE comment_count SET comments = comments + 2 WHERE biz_id < '4'`)
	var group sync.WaitGroup
	group.Go(func() { c.write(t, 6, 60) })
	for range 4 {
		if _, err := c.stores[0].Verify(t.Context(), true, func(storage.Difference) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	storagetest.CheckCounts(t, c.stores[1])
}

// TestRepairOfRepliesWaitsForADeletion checks that a repair waits while a reply is
// deleted. The deletion reads the reply count and then writes a count that is one lower.
func TestRepairOfRepliesWaitsForADeletion(t *testing.T) {
	at := postgrestest.Schema(t)
	s, other := openAt(t, Options{URL: at}), openAt(t, Options{URL: at})
	added, err := s.AddComments(t.Context(), []storage.NewComment{commentOn("1", "top")})
	must.Succeed(t, err)
	reply := commentOn("1", "a reply")
	reply.ParentID = added[0].Comment.Number
	added, err = s.AddComments(t.Context(), []storage.NewComment{reply, reply})
	must.Succeed(t, err)
	postgrestest.Exec(t, at, `UPDATE comment SET reply_count = 7 WHERE text = 'top'`)

	repaired := make(chan error, 1)
	change := storage.CommentChange{Key: added[0].Comment.Key(), By: reply.User}
	_, err = s.changeComment(t.Context(), "delete comment", change, func(e *sqlstore.CommentEdit, now int64) (bool, error) {
		go func() {
			_, err := other.Verify(t.Context(), true, func(storage.Difference) error { return nil })
			repaired <- err
		}()
		await.That(t, "the repair waits for the lock", func() bool {
			return len(repaired) > 0 || ask[bool](t, at, `SELECT count(*) > 0 FROM pg_stat_activity JOIN pg_locks USING (pid)
				WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO comment_count%' AND relation = 'comment_count'::regclass`)
		})
		return true, e.Delete(change, now)
	})
	must.Succeed(t, err)
	must.Succeed(t, <-repaired)
	storagetest.CheckCounts(t, s)
	if n := ask[int](t, at, `SELECT reply_count::int FROM comment WHERE text = 'top'`); n != 1 {
		t.Errorf("got %d replies counted, want 1", n)
	}
}

// TestRepairWaitsForAnAnalyze checks that a repair waits for an ANALYZE of the table
// secret. Repairs lock this table to exclude each other.
func TestRepairWaitsForAnAnalyze(t *testing.T) {
	at := postgrestest.Schema(t)
	s := openAt(t, Options{URL: at})
	analyzing, err := s.pool.Begin(t.Context())
	must.Succeed(t, err)
	defer func() { _ = analyzing.Rollback(context.WithoutCancel(t.Context())) }() // otherwise the pool of a failed test is never closed
	_, err = analyzing.Exec(t.Context(), `ANALYZE secret`)
	must.Succeed(t, err)

	repaired := make(chan error, 1)
	go func() {
		_, err := s.Verify(t.Context(), true, func(storage.Difference) error { return nil })
		repaired <- err
	}()
	await.That(t, "the repair waits for the lock", func() bool {
		return len(repaired) > 0 || ask[bool](t, at, `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'secret'::regclass`)
	})
	if len(repaired) > 0 {
		t.Error("the repair ended during ANALYZE, want it to wait")
	}
	must.Succeed(t, analyzing.Commit(t.Context()))
	if err := <-repaired; err != nil {
		t.Errorf("a repair during ANALYZE: got %v, want no error", err)
	}
}

func TestOneRepairAtATime(t *testing.T) {
	t.Parallel()
	s := open(t)
	if _, err := s.Persist(t.Context(), []storage.Message{storagetest.NewTraffic().Message("1", 10)}, nil); err != nil {
		t.Fatal(err)
	}
	postgrestest.Exec(t, s.pool.Config().ConnString(), `UPDATE interactive SET read_count = read_count + 1`)
	asked := false
	_, err := s.Verify(t.Context(), true, func(storage.Difference) error {
		if asked {
			return nil
		}
		asked = true
		if _, err := s.Verify(t.Context(), true, nil); !errors.Is(err, ErrRepairInProgress) {
			t.Errorf("a second repair meanwhile: got %v, want %v", err, ErrRepairInProgress)
		}
		_, err := s.Verify(t.Context(), false, func(storage.Difference) error { return nil })
		return err
	})
	if err != nil || !asked {
		t.Errorf("Verify = %v, reported anything: %t, want nil and true", err, asked)
	}
	storagetest.CheckCounts(t, s)
}

// TestRepairFixesMoreThanItHoldsInMemory checks a repair of more wrong rows than Verify
// holds in memory. Verify must repair them in several batches.
func TestRepairFixesMoreThanItHoldsInMemory(t *testing.T) {
	s := open(t)
	at := s.pool.Config().ConnString()
	const many = 2*sqlstore.RepairBatch + 10
	postgrestest.Exec(t, at,
		fmt.Sprintf(`INSERT INTO user_read SELECT 'default', '', 'video', i, 3, 1, 1 FROM generate_series(1, %d) i`, many),
		fmt.Sprintf(`INSERT INTO user_collection SELECT 'default', 'alice', 'video', i, 'gone', '', 1 FROM generate_series(1, %d) i`, many),
		`INSERT INTO user_collection VALUES ('default', 'bob', 'video', '1', 'default', '', 1)`)
	// The reads and collections of each subject, the items of two folders, and the
	// collections of two users.
	for _, want := range []int{2*many + 4, 0} {
		got := 0
		_, err := s.Verify(t.Context(), true, func(storage.Difference) error {
			got++
			return nil
		})
		if got != want || err != nil {
			t.Errorf("Verify reported %d differences, %v, want %d", got, err, want)
		}
	}
	if n := ask[int](t, at, `SELECT sum(item_count)::int FROM folder WHERE folder_id = 'default'`); n != many+1 {
		t.Errorf("got %d items in the default folders, want %d", n, many+1)
	}
}

// TestCountsStayHeapOnly checks that at least 80 % of the updates to counts write to no
// index. The new row is then on the same page as the old row. The test has a server of its
// own, because open transactions of other tests would keep old rows on the pages.
func TestCountsStayHeapOnly(t *testing.T) {
	t.Parallel()
	at := startServer(t).url(t, "127.0.0.1", "sslmode", "disable")
	postgrestest.Migrate(t, at)
	s := openAt(t, Options{URL: at})
	g := storagetest.NewTraffic()
	for i := range 60 {
		if _, err := s.Persist(t.Context(), []storage.Message{g.Message(strconv.Itoa(i), 500)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, s.Close()) // the server updates its statistics when a connection ends
	for _, table := range []string{"interactive", "folder"} {
		percent := ask[float64](t, at, `SELECT 100.0 * pg_stat_get_tuples_hot_updated(c) / greatest(pg_stat_get_tuples_updated(c), 1)
			FROM (SELECT $1::regclass::oid AS c) t`, table)
		t.Logf("%s: %.1f %% of the updates touch no index", table, percent)
		if percent < 80 {
			t.Errorf("%s: %.1f %% of the updates touch no index, want at least 80 %%", table, percent)
		}
	}
}
