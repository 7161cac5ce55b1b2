package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// conn is a connection with its prepared statements. It is used by one goroutine at a
// time.
type conn struct {
	*sql.Conn
	statements map[string]*sql.Stmt
}

func newConn(ctx context.Context, db *sql.DB, setup string) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(ctx, setup); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{Conn: c, statements: map[string]*sql.Stmt{}}, nil
}

// close closes the statements and the connection. It ignores errors, because no data can
// be lost any more when it is called.
func (c *conn) close() {
	for _, s := range c.statements {
		_ = s.Close()
	}
	_ = c.Close()
}

// statement returns a prepared statement. The queries of this package are constants, so
// the number of statements is bounded.
func (c *conn) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := c.statements[query]; s != nil {
		return s, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.statements[query] = s
	return s, nil
}

// tx is a transaction in progress.
type tx struct {
	ctx context.Context
	*conn

	events *sqlstore.Events // the events of the transaction; nil if none are logged
}

// query runs a statement and calls the function row for each row of the result. The
// argument scan of that function copies the columns of the row.
func (t tx) query(query string, args []any, row func(scan func(...any) error) error) (err error) {
	s, err := t.statement(t.ctx, query) //nolint:sqlclosecheck // the connection keeps it
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement and returns the number of rows that it changed.
func (t tx) exec(query string, args ...any) (int64, error) {
	s, err := t.statement(t.ctx, query) //nolint:sqlclosecheck // the connection keeps it
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// read calls the function do with a transaction that reads one snapshot of the database.
func (s *Store) read(ctx context.Context, what string, do func(tx) error) error {
	return wrap(ctx, what, s.withConn(ctx, s.reader, "BEGIN", do))
}

// readList is a variant of read for lists. It uses separate connections and fails after
// listTimeout.
func (s *Store) readList(ctx context.Context, what string, do func(tx) error) error {
	return s.readWithTimeout(ctx, what, s.lister, s.listTimeout, do)
}

// readWithTimeout is a variant of read that takes a pool of connections and a timeout.
func (s *Store) readWithTimeout(ctx context.Context, what string, on chan *conn, timeout time.Duration, do func(tx) error) error {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := s.withConn(within, on, "BEGIN", do)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: the call took longer than %v: %w", storage.ErrUnavailable, timeout, err)
	}
	return wrap(ctx, what, err)
}

// write calls the function do with a transaction that holds the write lock, and commits
// the transaction unless do returns an error.
func (s *Store) write(ctx context.Context, what string, do func(tx) error) error {
	return wrap(ctx, what, s.withConn(ctx, s.writer, "BEGIN IMMEDIATE", func(t tx) error {
		t.events = sqlstore.NewEvents(s.events.Log)
		if err := do(t); err != nil {
			return err
		}
		return t.logEvents(storage.Micros(s.now()))
	}))
}

func (s *Store) withConn(ctx context.Context, pool chan *conn, begin string, do func(tx) error) error {
	if !s.acquire() {
		return fmt.Errorf("%w: the store is closed", storage.ErrUnavailable)
	}
	defer s.calls.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-pool:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { pool <- c }()
	return c.run(ctx, begin, do)
}

// acquire reports whether the store is open. If so, the store stays open until calls.Done
// is called.
func (s *Store) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

func (c *conn) run(ctx context.Context, begin string, do func(tx) error) error {
	// The beginning and the end of the transaction must not be interrupted: the
	// connection would remain in the transaction.
	end := tx{ctx: context.WithoutCancel(ctx), conn: c}
	if _, err := end.exec(begin); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = end.exec("ROLLBACK") // fails if SQLite has rolled back by itself
		}
	}()
	if err := do(tx{ctx: ctx, conn: c}); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := end.exec("COMMIT"); err != nil {
		return err
	}
	committed = true
	return nil
}

// wrap converts an error to one of package storage, if there is a matching one, and adds
// the name of the operation.
func wrap(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	fault := new(sqlite.Error)
	if errors.As(err, &fault) {
		switch fault.Code() & 0xff { // the upper bits hold details
		case codes.SQLITE_INTERRUPT:
			if ctx.Err() != nil {
				err = ctx.Err()
			}
		case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_IOERR,
			codes.SQLITE_NOMEM:
			err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		case codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY, codes.SQLITE_PERM:
			err = fmt.Errorf("%w: the file and its folder must be writable: %w", storage.ErrUnavailable, err)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}
