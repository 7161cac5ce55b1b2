package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/mirror"
)

func reaction(user string, to storage.Reaction, version int64) storage.Action {
	return storage.Action{
		User: storage.User{Tenant: storage.DefaultTenant, UserID: user}, Subject: movie,
		Kind: storage.KindReaction, Reaction: to, Version: version,
	}
}

// A change to the epoch is in progress when the statement begins. The statement must not
// use the epoch that it ends, whether the statement is prepared already (all rounds but the
// first) or not, and even if transactions begin in another isolation level by default.
func TestCommitActionsReadsTheEpochAfterItsLock(t *testing.T) {
	for name, parameters := range map[string][]string{"read committed": nil, "serializable": {"default_transaction_isolation", "serializable"}} {
		t.Run(name, func(t *testing.T) {
			at := withParameters(t, postgrestest.Schema(t), parameters...)
			s := openAt(t, Options{URL: at, MaxConns: 2})
			_, err := s.NextEpoch(t.Context(), 1, mirror.NewEpoch{Number: 2})
			must(t, err)
			for i := range int64(10) {
				if outcome := committedDuring(t, s, at, i); outcome.Epoch != 3+i {
					t.Fatalf("round %d: the transaction committed in epoch %d, want %d", i, outcome.Epoch, 3+i)
				}
			}
		})
	}
}

// committedDuring returns the outcome of a commit that begins while a transaction changes
// the epoch.
func committedDuring(t *testing.T, s *Store, at string, i int64) storage.Outcome {
	t.Helper()
	c, err := s.pool.Acquire(t.Context())
	must(t, err)
	defer c.Release()
	_, err = c.Exec(t.Context(), `BEGIN; `+lockEpochExclusive+`; UPDATE mirror SET epoch = epoch + 1`)
	must(t, err)
	committed := make(chan storage.Outcome, 1)
	go func() {
		outcome, err := s.CommitActions(context.WithoutCancel(t.Context()), []storage.Action{reaction("alice", storage.Like, 10+i)})
		if err != nil {
			t.Error(err)
		}
		committed <- outcome
	}()
	eventually(t, "the statement waits for the epoch", func() bool {
		return ask[bool](t, at, `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'mirror'::regclass`)
	})
	_, err = c.Exec(t.Context(), `COMMIT`)
	must(t, err)
	return <-committed
}

// The epoch cannot end while a transaction that has entered it is in progress.
func TestEpochDoesNotEndBeforeCommitActions(t *testing.T) {
	at := postgrestest.Schema(t)
	s := openAt(t, Options{URL: at})
	_, err := s.CommitActions(t.Context(), []storage.Action{reaction("alice", storage.Like, 1)})
	must(t, err)
	release := lockedIn(t, at, `SELECT FROM user_reaction FOR UPDATE`)
	done := make(chan error, 1)
	go func() {
		_, err := s.CommitActions(context.WithoutCancel(t.Context()), []storage.Action{reaction("alice", storage.NoReaction, 2)})
		done <- err
	}()
	eventually(t, "the statement has locked the epoch", func() bool {
		return ask[bool](t, at, `SELECT count(*) > 0 FROM pg_locks WHERE relation = 'mirror'::regclass AND mode = 'RowShareLock'`)
	})
	if _, err := s.NextEpoch(t.Context(), 1, mirror.NewEpoch{Number: 2}); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("NextEpoch during the transaction: got %v, want %v", err, storage.ErrUnavailable)
	}
	release()
	must(t, <-done)
}

// Actions that are committed again, at once or after later ones, change neither states nor
// counts nor totals. Their states are returned as they are now.
func TestRepeatedCommitActionsChangeNothing(t *testing.T) {
	at := postgrestest.Schema(t)
	s := openAt(t, Options{URL: at})
	postgrestest.Exec(t, at, `INSERT INTO interactive (tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, follower_count, version, author, authored)
VALUES ('default', 'video', '1', 0, 0, 0, 0, 0, 1, 'carol', 1)`)
	unlike := reaction("bob", storage.NoReaction, 7)
	unlike.If = storage.Like
	batches := [][]storage.Action{
		{reaction("alice", storage.Like, 5), reaction("bob", storage.Like, 6)},
		{unlike, reaction("alice", storage.Dislike, 8)},
		{reaction("alice", storage.Like, 9), reaction("dora", storage.Like, 10)},
	}
	const everything = `SELECT concat((SELECT array_agg((r.user_id, state, version, clears) ORDER BY user_id) FROM user_reaction r),
    (SELECT array_agg((like_count, dislike_count, version)) FROM interactive),
    (SELECT array_agg((user_id, likes, likes_received) ORDER BY user_id) FROM user_totals))`
	for i, batch := range batches {
		_, err := s.CommitActions(t.Context(), batch)
		must(t, err)
		want := ask[string](t, at, everything)
		for _, again := range slices.Backward(batches[:i+1]) {
			outcome, err := s.CommitActions(t.Context(), again)
			must(t, err)
			for _, c := range outcome.Applied {
				state := ask[int](t, at, `SELECT state FROM user_reaction WHERE user_id = $1`, c.User.UserID)
				if c.OldReaction != c.Reaction || int(c.Reaction) != state {
					t.Errorf("repeated %v after batch %d: got %+v, want the unchanged state %d", again, i, c, state)
				}
			}
			if got := ask[string](t, at, everything); got != want || len(outcome.Counts) > 0 {
				t.Errorf("repeated %v after batch %d: got the counts %v and\n     %s\nwant %s", again, i, outcome.Counts, got, want)
			}
		}
	}
}

// A transaction finds every row by its key.
func TestCommitActionsScansNoTable(t *testing.T) {
	for name, s := range databases(t) {
		for _, statement := range []string{commitReactions, commitReactionsToComments} {
			for _, step := range plan(t, s, statement) {
				if strings.HasPrefix(step, "Seq Scan") || strings.HasPrefix(step, "Bitmap") {
					t.Errorf("%s: the plan has the step %q", name, step)
				}
			}
		}
	}
}
