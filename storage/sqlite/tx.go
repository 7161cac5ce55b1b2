package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"ovation/storage"
)

// conn is a connection with the statements it has prepared. One goroutine at
// a time uses it.
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

// close is called when nothing is lost any more, so errors tell nothing.
func (c *conn) close() {
	for _, s := range c.statements {
		_ = s.Close()
	}
	_ = c.Close()
}

// statement prepares what is not prepared yet. The queries of this package
// are constants, so there is a bounded number.
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

// tx is a transaction under way.
type tx struct {
	ctx context.Context
	*conn
}

// query calls row for each row of the answer. scan copies the row's columns.
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

// exec returns how many rows it changed.
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

// read runs do on a snapshot of the database.
func (s *Store) read(ctx context.Context, what string, do func(tx) error) error {
	return wrap(ctx, what, s.with(ctx, s.reader, "BEGIN", do))
}

// readList is read for lists: on their own connections, and within listTimeout.
func (s *Store) readList(ctx context.Context, what string, do func(tx) error) error {
	within, cancel := context.WithTimeout(ctx, s.listTimeout)
	defer cancel()
	err := s.with(within, s.lister, "BEGIN", do)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: it took longer than %v: %w", storage.ErrUnavailable, s.listTimeout, err)
	}
	return wrap(ctx, what, err)
}

// write runs do while nobody else writes, and commits what it wrote unless it
// returns an error.
func (s *Store) write(ctx context.Context, what string, do func(tx) error) error {
	return wrap(ctx, what, s.with(ctx, s.writer, "BEGIN IMMEDIATE", do))
}

func (s *Store) with(ctx context.Context, pool chan *conn, begin string, do func(tx) error) error {
	if !s.enter() {
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

// enter reports whether the store is open, and keeps it open until calls.Done.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

func (c *conn) run(ctx context.Context, begin string, do func(tx) error) error {
	// The beginning and the end of the transaction must not be cut short: the
	// connection would stay in it.
	end := tx{context.WithoutCancel(ctx), c}
	if _, err := end.exec(begin); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = end.exec("ROLLBACK") // fails where SQLite has rolled back itself
		}
	}()
	if err := do(tx{ctx, c}); err != nil {
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

// wrap says what was being done and finds the error of package storage that
// err amounts to.
func wrap(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	fault := new(sqlite.Error)
	if errors.As(err, &fault) {
		switch fault.Code() & 0xff { // the upper bits tell details
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
