package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// callTimeout bounds a call whose server has gone silent. It is above the
	// time-outs of the server, which tell more.
	callTimeout = 40 * time.Second
	// endTimeout bounds the end of a transaction that failed.
	endTimeout = 5 * time.Second
	// tries is how often a transaction is tried that the server broke off in
	// favour of another one.
	tries = 3
)

// read runs one statement, which sees one moment, and calls row for each row
// of the answer.
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
		err = each(row)(rows)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, fault(ctx, err, c.Conn()))
	}
	return nil
}

// each makes a function of all rows of one of a row.
func each(row func(pgx.Rows) error) func(pgx.Rows) error {
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
		return nil, fault(ctx, err, nil)
	}
	return c, nil
}

// change is write for what users and workers change. It begins nothing while many
// commits hang.
func (s *Store) change(ctx context.Context, what string, do func(*tx) error) error {
	if err := s.commits.refuse(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, do)
}

// write runs do in a transaction and commits what it wrote unless it returns
// an error. do may run several times; each time nothing of before is left.
func (s *Store) write(caller context.Context, what string, do func(*tx) error) error {
	ctx, cancel := context.WithTimeoutCause(caller, callTimeout, errNoAnswer)
	defer cancel()
	for try := 1; ; try++ {
		err := s.transact(ctx, caller, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, do)
		switch {
		case err == nil:
			return nil
		case try < tries && ctx.Err() == nil && is(err, deadlock, serialization):
			s.logger.Warn("transaction tried again", "doing", what, "error", err)
			continue
		case is(err, readOnly):
			s.pool.Reset() // the server may have become a standby: look for the primary
		}
		return fmt.Errorf("%s: %w", what, err)
	}
}

// transact runs do within ctx. The commit heeds the caller's context alone.
func (s *Store) transact(ctx, caller context.Context, options pgx.TxOptions, do func(*tx) error) error {
	c, err := s.connection(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // after a panic too: the pool closes what is in a transaction
	t := &tx{ctx: ctx, conn: c.Conn(), options: options}
	err = do(t)
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

// tx is a transaction under way. It begins with the first batch.
type tx struct {
	ctx     context.Context
	conn    *pgx.Conn
	options pgx.TxOptions
	begun   pgx.Tx
}

// batch returns a batch to queue statements on, for send. They go to the server
// and their answers come back in one round trip.
func (t *tx) batch() *pgx.Batch {
	b := new(pgx.Batch)
	if t.begun == nil {
		b.BeginTx(t.options)
	}
	return b
}

// send runs the statements of a batch in order and calls their functions.
func (t *tx) send(b *pgx.Batch) error {
	results := t.conn.SendBatch(t.ctx, b)
	if t.begun == nil {
		t.begun = results.Tx()
	}
	return fault(t.ctx, results.Close(), t.conn)
}

func (t *tx) rollback(ctx context.Context) {
	if t.begun == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	_ = t.begun.Rollback(ctx) // where it fails, the connection is closed
}
