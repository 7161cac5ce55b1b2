package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

// A transaction that persists reads holds lockClears and then looks up clears. BeginClear
// commits a clear and then waits for the transactions that held the lock at that time, as
// they may have missed the clear; it takes no lock that others wait for. A transaction
// that takes the lock later finds the clear.
const (
	lockClears = `LOCK TABLE cleared_read IN ROW SHARE MODE`

	selectClears = `
SELECT k.ord, s.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT max(version) AS version FROM cleared_read s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz IN ('', k.biz) AND s.biz_id IN ('', k.biz_id)) s
WHERE EXISTS (SELECT FROM cleared_read WHERE version > 0) AND s.version IS NOT NULL`

	selectLockers = `
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'cleared_read'::regclass AND mode = 'RowShareLock' AND granted AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

	upsertClear = `
INSERT INTO cleared_read AS c (tenant, user_id, biz, biz_id, version) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET version = greatest(c.version, excluded.version)`
)

// lookUpClears queues a lookup of the clears that cover reads in messages. Once the batch
// is sent, the result maps reads to the highest version that a clear covers.
func lookUpClears(b *pgx.Batch, messages []storage.Message) map[storage.StateKey]int64 {
	var reads []storage.StateKey
	for i := range messages {
		for j := range messages[i].Actions {
			if a := &messages[i].Actions[j]; a.Kind == storage.KindRead && !a.User.Anonymous() {
				reads = append(reads, storage.StateKey{User: a.User, Subject: a.Subject})
			}
		}
	}
	return lookUpClearsOf(b, reads)
}

// lookUpClearsOf is a variant of lookUpClears for the keys of reads.
func lookUpClearsOf(b *pgx.Batch, reads []storage.StateKey) map[storage.StateKey]int64 {
	if len(reads) == 0 {
		return nil
	}
	clears := map[storage.StateKey]int64{}
	b.Queue(lockClears)
	b.Queue(selectClears, stateKeys(reads).args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var version int64
		err := row.Scan(&i, &version)
		if err == nil {
			clears[reads[i-1]] = version
		}
		return err
	}))
	return clears
}

const (
	// clearWait bounds how long BeginClear waits for transactions that persist reads.
	clearWait = 5 * time.Second
	// The time between two looks at the transactions in progress doubles up to the maximum.
	minClearPoll, maxClearPoll = 2 * time.Millisecond, 50 * time.Millisecond
	// maxClearWaits bounds how many calls of a process wait at the same time, since each
	// look briefly locks the server's whole table of locks.
	maxClearWaits = 4
)

// clearWaits bounds the calls that wait for transactions.
type clearWaits chan struct{}

// wait returns when the transactions have ended that the function holders returns at
// first. Errors: those of holders; storage.ErrUnavailable after clearWait, which includes
// the time until fewer than maxClearWaits other calls are waiting.
func (w clearWaits) wait(ctx context.Context, holders func(context.Context) ([]string, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clearWait, errNoAnswer)
	defer cancel()
	select {
	case <-ctx.Done():
		return storage.ErrUnavailable
	case w <- struct{}{}:
		defer func() { <-w }()
	}
	earlier, err := holders(ctx)
	for pause := minClearPoll; err == nil && len(earlier) > 0; pause = min(2*pause, maxClearPoll) {
		select {
		case <-ctx.Done():
			return storage.ErrUnavailable
		case <-time.After(pause):
		}
		var now []string
		now, err = holders(ctx)
		earlier = slices.DeleteFunc(earlier, func(id string) bool { return !slices.Contains(now, id) })
	}
	return err
}

// BeginClear records a clear, and waits until no transaction that may have missed it is in
// progress.
func (s *Store) BeginClear(ctx context.Context, clearing storage.ReadsClear) error {
	if err := clearing.Validate(); err != nil {
		return err
	}
	err := s.change(ctx, "record a clear", func(t *tx) error {
		b := t.batch()
		erased := lookUpErasedLocked(b, clearing.User)
		b.Queue(upsertClear, clearing.User.Tenant, clearing.User.UserID, clearing.Biz, clearing.BizID, clearing.Until)
		if err := t.send(b); err != nil {
			return err
		}
		return erased.Refuse(clearing.User)
	})
	if err != nil {
		return err
	}
	return s.clears.wait(ctx, s.clearLockers)
}

// clearLockers returns the ids of the transactions that hold lockClears.
func (s *Store) clearLockers(ctx context.Context) (ids []string, err error) {
	return s.lockers(ctx, selectLockers)
}

// lockers returns the ids of the transactions that a query finds.
func (s *Store) lockers(ctx context.Context, query string) (ids []string, err error) {
	err = s.read(ctx, "look up transactions", query, nil, func(row pgx.Rows) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

const (
	selectHistoryRows = `
SELECT biz, biz_id, times, first_read, version FROM user_read
WHERE tenant = $1 AND user_id = $2 AND first_read <= $3 AND (biz, biz_id) >= ($4, $5) AND (biz, biz_id) < ($6, $7)
ORDER BY biz, biz_id LIMIT $8`

	deleteHistoryRows = `
DELETE FROM user_read
WHERE tenant = $1 AND user_id = $2 AND first_read <= $3 AND (biz, biz_id) >= ($4, $5) AND (biz, biz_id) <= ($6, $7)
RETURNING biz, biz_id, times, first_read, version`
)

// errReadRaced is returned if the user has read one of the subjects again in the meantime.
var errReadRaced = errors.New("a read is in progress")

// ClearReads moves rows of a user to the anonymous users. The rows of the anonymous users
// are locked first, in the order of the keys. Therefore the user's rows are looked up
// without a lock, and the transaction is repeated if they have changed when they are
// deleted.
func (s *Store) ClearReads(ctx context.Context, clearing storage.ReadsClear, limit int, mark storage.Mark) (n int, outcome storage.Outcome, err error) {
	if err := clearing.Validate(); err != nil {
		return 0, storage.Outcome{}, err
	}
	err = s.changeReads(ctx, "clear a read history", func(t *tx) (err error) {
		outcome = storage.Outcome{}
		b := t.batch()
		epoch := pinEpoch(b)
		if err := t.send(b); err != nil {
			return err
		}
		if outcome.Epoch, err = epoch.Enter(); err != nil {
			return err
		}
		if n, err = t.clearReads(clearing, limit, &outcome); err != nil {
			return err
		}
		return mirror.Mark(t.ctx, mark, &outcome)
	})
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, outcome, nil
}

// changeReads is a variant of change that repeats the transaction after errReadRaced.
// Errors: storage.ErrUnavailable after maxTries.
func (s *Store) changeReads(ctx context.Context, what string, do func(*tx) error) error {
	for try := 1; ; try++ {
		err := s.change(ctx, what, do)
		switch {
		case !errors.Is(err, errReadRaced):
			return err
		case try == maxTries:
			return storage.ErrUnavailable
		}
	}
}

// clearReads moves up to limit rows of a user to the anonymous users, and returns their
// number. The caller has pinned the epoch. Errors: errReadRaced.
func (t *tx) clearReads(clearing storage.ReadsClear, limit int, outcome *storage.Outcome) (int, error) {
	from, to := sqlstore.RowRange(clearing)
	b := t.batch()
	found := historyRows(b, clearing.User, selectHistoryRows, clearing.User.Tenant, clearing.User.UserID, clearing.Until, from[0], from[1], to[0], to[1], limit)
	if err := t.send(b); err != nil || len(found.Rows) == 0 {
		return 0, err
	}
	first, last := found.Bounds()
	b = t.batch()
	addReads(b, found.Hidden())
	deleted := historyRows(b, clearing.User, deleteHistoryRows, clearing.User.Tenant, clearing.User.UserID, clearing.Until, first[0], first[1], last[0], last[1])
	if err := t.send(b); err != nil {
		return 0, err
	}
	slices.SortFunc(deleted.Rows, func(a, b storage.Read) int { return sqlstore.CompareSubjects(a.Subject, b.Subject) })
	if !slices.Equal(deleted.Rows, found.Rows) {
		return 0, errReadRaced
	}
	t.events.Cleared(found, clearing.Until)
	var err error
	outcome.Counts, err = t.applyTally(found.Tally(), nil, nil)
	return len(found.Rows), err
}

// historyRows queues a statement that returns rows of a user's history. Once the batch is
// sent, the result holds the rows.
func historyRows(b *pgx.Batch, user storage.User, statement string, args ...any) *sqlstore.ClearedReads {
	rows := new(sqlstore.ClearedReads)
	b.Queue(statement, args...).Query(eachRow(func(row pgx.Rows) error { return rows.Scan(user, row.Scan) }))
	return rows
}
