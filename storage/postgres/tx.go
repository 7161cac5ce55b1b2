package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ovation/storage/sqlstore"
)

const (
	// callTimeout bounds a call to a server that does not respond. It is longer than the
	// server's own timeouts, because the server's errors are more precise.
	callTimeout = 40 * time.Second
	// rollbackTimeout bounds the rollback of a transaction.
	rollbackTimeout = 5 * time.Second
	// maxTries is the maximum number of attempts at a transaction that the server aborts
	// in favour of a different one (see write). Separately, it is the maximum number of
	// calls that return errRequestRaced (see retryRaced).
	maxTries = 3
)

// read runs one statement, which reads one snapshot, and calls the function row for each
// row of the result.
func (s *Store) read(ctx context.Context, what, query string, args []any, row func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	c, err := s.connection(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer c.Release()
	rows, err := c.Query(ctx, query, args...)
	if err == nil {
		err = eachRow(row)(rows)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, storageError(ctx, err, c.Conn()))
	}
	return nil
}

// eachRow returns a function that calls the function row for each row of a result.
func eachRow(row func(pgx.Rows) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := row(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

func (s *Store) connection(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, storageError(ctx, err, nil)
	}
	return c, nil
}

// change is a variant of write for changes by users and workers. It fails if too many
// commits hang.
func (s *Store) change(ctx context.Context, what string, do func(*tx) error) error {
	if err := s.commits.checkHung(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, do)
}

const (
	// lockWait bounds how long a statement of changeWithLockTimeout waits for a lock.
	lockWait = time.Second
	// idleTimeout is how long the server waits for the next statement of
	// changeWithLockTimeout before it aborts the transaction.
	idleTimeout = 3 * time.Second
)

// changeWithLockTimeout is a variant of change for calls that a client waits for. A
// statement that waits for a lock fails with storage.ErrLocked before the context ends,
// so that a locked row is not mistaken for an unresponsive server. If this process is
// paused or disconnected within the transaction, the server releases the locks after
// idleTimeout.
func (s *Store) changeWithLockTimeout(ctx context.Context, what string, do func(*tx) error) error {
	return s.change(ctx, what, func(t *tx) error {
		t.limitLocks = true
		return do(t)
	})
}

// write calls the function do with a transaction, and commits the transaction unless do
// returns an error. It may call do several times, each time with a new transaction.
func (s *Store) write(caller context.Context, what string, do func(*tx) error) error {
	ctx, cancel := context.WithTimeoutCause(caller, callTimeout, errNoAnswer)
	defer cancel()
	for try := 1; ; try++ {
		err := s.transact(ctx, caller, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, do)
		switch {
		case err == nil:
			return nil
		case try < maxTries && ctx.Err() == nil && hasCode(err, deadlock, serialization):
			s.logger.Warn("transaction retried", "doing", what, "error", err)
			continue
		case hasCode(err, readOnly):
			s.pool.Reset() // the server may have become a standby: reconnect to the primary
		}
		return fmt.Errorf("%s: %w", what, err)
	}
}

// transact calls the function do with a transaction that ctx bounds, and commits the
// transaction unless do returns an error. The commit itself is not bounded by ctx; see
// the method commit.
func (s *Store) transact(ctx, caller context.Context, options pgx.TxOptions, do func(*tx) error) error {
	c, err := s.connection(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // even after a panic: the pool closes a connection that is in a transaction
	t := &tx{ctx: ctx, conn: c.Conn(), options: options, events: sqlstore.NewEvents(s.events.Log)}
	err = do(t)
	if err == nil {
		err = t.logEvents()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		t.rollback(ctx)
		return err
	}
	if t.begun == nil {
		return nil
	}
	return s.commit(caller, t)
}

// tx is a transaction in progress. It begins with the first batch.
type tx struct {
	ctx        context.Context
	conn       *pgx.Conn
	options    pgx.TxOptions
	limitLocks bool // for changeWithLockTimeout
	begun      pgx.Tx
	events     *sqlstore.Events // the events of the transaction; nil if none are logged
}

// batch returns a new batch of statements, to be passed to the method send. One round
// trip sends the statements to the server and returns their results.
func (t *tx) batch() *pgx.Batch {
	b := new(pgx.Batch)
	if t.begun == nil {
		b.BeginTx(t.options)
		if t.limitLocks {
			setLockTimeouts(t.ctx, b)
		}
	}
	return b
}

const setTimeouts = `SELECT set_config('lock_timeout', $1, TRUE), set_config('idle_in_transaction_session_timeout', $2, TRUE)`

// setLockTimeouts sets the timeouts of changeWithLockTimeout. A transaction may wait for
// locks several times, so each wait gets a part of the time until the deadline.
func setLockTimeouts(ctx context.Context, b *pgx.Batch) {
	lock, idle := lockWait, idleTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		lock, idle = min(lock, left/3), min(idle, left)
	}
	text := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) } // 0 means no timeout
	b.Queue(setTimeouts, text(lock), text(idle))
}

// send runs the statements of a batch in order and calls the functions that were queued
// with the statements.
func (t *tx) send(b *pgx.Batch) error {
	results := t.conn.SendBatch(t.ctx, b)
	if t.begun == nil {
		t.begun = results.Tx()
	}
	return storageError(t.ctx, results.Close(), t.conn)
}

func (t *tx) rollback(ctx context.Context) {
	if t.begun == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = t.begun.Rollback(ctx) // if it fails, the connection is closed
}
