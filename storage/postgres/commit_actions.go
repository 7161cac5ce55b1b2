package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

// CommitActions sends one statement, which is its own transaction: it locks the epoch,
// upserts the states, and moves the counts and totals by what the states have changed.
// Each part reads what the previous part returns, so the parts lock rows in the same order
// as Persist: states, counts, comments, totals, each in the order of their keys.
func (s *Store) CommitActions(ctx context.Context, actions []storage.Action) (storage.Outcome, error) {
	for i := range actions {
		if err := validateReaction(&actions[i]); err != nil {
			return storage.Outcome{}, fmt.Errorf("commit actions: %w", err)
		}
	}
	if err := s.commits.checkHung(); err != nil {
		return storage.Outcome{}, fmt.Errorf("commit actions: %w", err)
	}
	for try := 1; ; try++ {
		d := newDirectCommit(actions)
		err := s.runDirect(ctx, d)
		if err == nil {
			return d.outcome, nil
		}
		if !s.mayRetry(ctx, "commit actions", try, err) {
			return storage.Outcome{}, fmt.Errorf("commit actions: %w", err)
		}
	}
}

func validateReaction(a *storage.Action) error {
	if a.Kind != storage.KindReaction {
		return &storage.InvalidError{Field: "kind", Reason: "must be a reaction"}
	}
	return a.Validate()
}

// directCommit is one attempt at a CommitActions.
type directCommit struct {
	reactions *stateWrites
	history   string // of the server
	comments  bool   // some of the subjects may be comments
	epoch     mirror.Epoch
	outcome   storage.Outcome
}

func newDirectCommit(actions []storage.Action) *directCommit {
	d := &directCommit{reactions: newStateWrites(storage.Coalesce(actions))}
	d.comments = slices.ContainsFunc(d.reactions.changes, func(c storage.StateChange) bool {
		_, is := storage.CommentOf(c.Subject)
		return is
	})
	d.outcome.Counts = make([]storage.SubjectCounts, 0, len(d.reactions.changes))
	return d
}

// runDirect runs the transaction, and completes the outcome.
func (s *Store) runDirect(ctx context.Context, d *directCommit) error {
	bounded, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	c, err := s.connection(bounded)
	if err != nil {
		return err
	}
	defer c.Release()
	if d.history, err = historyOf(bounded, c.Conn()); err != nil {
		return err
	}
	d.outcome.At = time.Now()
	err = s.awaitCommit(ctx, c.Conn(), func(ctx context.Context) error { return d.send(ctx, c.Conn()) })
	if err != nil {
		return err
	}
	if d.outcome.Epoch, err = d.epoch.Enter(); err != nil {
		return err // the statement has changed nothing
	}
	return d.complete(bounded, c.Conn())
}

// send sends the statement and reads its results. It returns when the server has committed
// the transaction or rolled it back.
func (d *directCommit) send(ctx context.Context, c *pgx.Conn) error {
	changes := d.reactions.changes
	rows := newColumns(4, 4, len(changes))
	for i := range changes {
		c := &changes[i]
		r := &c.Register
		rows.add([]string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID}, int64(r.Value), r.Set, r.Clears[0], r.Clears[1])
	}
	statement := commitReactions
	if d.comments {
		statement = commitReactionsToComments
	}
	found, err := c.Query(ctx, statement, rows.args(d.history)...)
	if err == nil {
		err = eachRow(d.scan)(found)
	}
	return storageError(ctx, err, c)
}

// The parts of a result of commitReactions, in its first column.
const (
	epochPart = iota
	statePart
	countsPart
)

// scan reads one row of a result of commitReactions.
func (d *directCommit) scan(row pgx.Rows) error {
	values := row.RawValues()
	var part, n1, n2, n3, n4, n5, n6 int64
	if err := row.Scan(&part, nil, nil, nil, nil, &n1, &n2, &n3, &n4, &n5, &n6, nil); err != nil {
		return err
	}
	switch part {
	case epochPart:
		d.epoch = mirror.Epoch{Number: n1, Open: n2 == 1, Rewound: n3 == 1, Wait: time.Duration(n4) * time.Microsecond}
	case statePart:
		c, err := d.reactions.match(values[1:])
		if err != nil {
			return err
		}
		c.OldReaction = storage.Reaction(n1)
		r := storage.Register{Value: storage.Reaction(n2), Set: n3}
		if values[len(values)-1] != nil {
			var clears []int64
			if err := row.Scan(nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, &clears); err != nil {
				return err
			}
			copy(r.Clears[:], clears)
		}
		c.Register = storage.Register{}
		c.Include(r)
	default:
		d.outcome.Counts = append(d.outcome.Counts, storage.SubjectCounts{
			Subject: storage.Subject{Tenant: string(values[1]), Biz: string(values[3]), BizID: string(values[4])},
			Counts: storage.Counts{
				ReadCount: n1, LikeCount: n2, DislikeCount: n3, CollectCount: n4, FollowerCount: n5, AuthorID: string(values[2]), Version: n6,
			},
		})
	}
	return nil
}

// complete sets the rest of the outcome after the commit. It reads the states that were
// not written, because they already include the actions or later ones. These states may be
// newer than the transaction.
func (d *directCommit) complete(ctx context.Context, c *pgx.Conn) error {
	if d.reactions.remaining > 0 {
		none := newStateWrites(nil)
		t := &tx{ctx: ctx, conn: c, options: pgx.TxOptions{AccessMode: pgx.ReadOnly}}
		defer t.rollback(ctx)
		if err := t.loadRemaining(d.reactions, none, none); err != nil {
			return err
		}
	}
	d.outcome.Applied = d.reactions.changes
	sqlstore.SortCounts(d.outcome.Counts)
	return nil
}

// knownHistory is a key in a connection's CustomData. Its value is the history that the
// server is on.
const knownHistory = "ovation: history"

const selectOwnHistory = `SELECT ` + history + ` FROM mirror WHERE one`

// historyOf returns the history that the server of a connection is on. A server that
// accepts writes stays on it as long as it runs, so historyOf asks once per connection. A
// standby does not answer.
func historyOf(ctx context.Context, c *pgx.Conn) (string, error) {
	notes := c.PgConn().CustomData()
	if known, ok := notes[knownHistory].(string); ok {
		return known, nil
	}
	var found string
	if err := c.QueryRow(ctx, selectOwnHistory).Scan(&found); err != nil {
		return "", storageError(ctx, err, c)
	}
	notes[knownHistory] = found
	return found, nil
}
