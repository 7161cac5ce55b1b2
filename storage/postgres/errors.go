package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ovation/storage"
)

// errNoAnswer ends a call that has taken callTimeout.
var errNoAnswer = fmt.Errorf("no answer within %v", callTimeout)

// Classes of the server's error codes that say nothing about the values of a
// call: it may succeed later, once somebody has seen to the server.
var passing = map[string]bool{
	"08": true, // connection
	"0A": true, // a statement prepared before the tables changed
	"26": true, // a prepared statement that is gone
	"25": true, // state of the transaction, read-only among them
	"28": true, // user, password
	"3D": true, // no such database
	"3F": true, // no such schema
	"40": true, // deadlock, serialization
	"42": true, // tables, columns, privileges
	"53": true, // disk, memory, connections
	"55": true, // locks
	"57": true, // shutdown, time-outs
	"58": true, // input and output of the server
	"F0": true, // its configuration
	"XX": true, // damage, faults of its own
}

const (
	readOnly      = "25006"
	serialization = "40001"
	deadlock      = "40P01"
	lockTimeout   = "55P03"
)

// advice says what to do about an error.
var advice = map[string]string{
	readOnly:    "the database is read-only: connect to the primary server (target_session_attrs=read-write in the URL finds it), or see to default_transaction_read_only",
	"28000":     "check the user in the URL and the server's pg_hba.conf",
	"28P01":     "check the user and the password in the URL",
	"3D000":     "make the database with: createdb",
	"3F000":     "check search_path in the URL",
	"42501":     "grant the user of the URL what it lacks; in a schema made for Ovation it needs CREATE and USAGE",
	"42P01":     "run: ovation migrate",
	"53100":     "the disk of the server is full: make room on it",
	"53300":     "raise max_connections of the server, or lower pool_max_conns in the URL",
	lockTimeout: "another transaction kept a row or table locked for longer than lock_timeout",
	"57014":     "a statement took longer than statement_timeout, or an administrator ended it",
}

// fault finds the error of package storage, or of the context, that an error
// of the driver amounts to. c is the connection that it comes from, nil where
// there is none: a URL may name several servers, and the error says which of them
// has answered.
func fault(ctx context.Context, err error, c *pgx.Conn) error {
	if err == nil {
		return nil
	}
	if context.Cause(ctx) == errNoAnswer { //nolint:errorlint // the very one
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, errNoAnswer)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && len(e.Code) == 5 {
		switch todo := advice[e.Code]; {
		case !passing[e.Code[:2]]:
			return err
		case todo != "":
			return fmt.Errorf("%w: %s%w: %s", storage.ErrUnavailable, by(c), err, todo)
		}
		return fmt.Errorf("%w: %s%w", storage.ErrUnavailable, by(c), err)
	}
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fmt.Errorf("%w: %s; see that a PostgreSQL server runs there and that host, port and sslmode in the URL are right",
			storage.ErrUnavailable, oneLine(e.Error()))
	}
	if c == nil || c.IsClosed() || pgconn.SafeToRetry(err) || pgconn.Timeout(err) {
		return fmt.Errorf("%w: %s%w", storage.ErrUnavailable, by(c), err)
	}
	return err
}

// by says which server an error comes from.
func by(c *pgx.Conn) string {
	if c == nil {
		return ""
	}
	return "PostgreSQL at " + address(c) + ": "
}

// address is that of the server of a connection.
func address(c *pgx.Conn) string { return c.PgConn().Conn().RemoteAddr().String() }

// oneLine joins the lines of a text and leaves out what repeats: the driver
// tells of each way it tried to connect.
func oneLine(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if n := len(lines); n == 0 || !strings.HasSuffix(lines[n-1], line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// is reports whether the server answered with one of the codes.
func is(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	for _, code := range codes {
		if ok && e.Code == code {
			return true
		}
	}
	return false
}
