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

// errNoAnswer ends a call that has exceeded callTimeout.
var errNoAnswer = fmt.Errorf("no answer within %v", callTimeout)

// retryableClasses holds the classes of error codes whose cause does not lie in the
// arguments of a call. A call that fails with such a code may succeed later, for example
// once an operator has fixed the server.
var retryableClasses = map[string]bool{
	"08": true, // connection
	"0A": true, // a statement prepared before the tables changed
	"26": true, // a prepared statement that no longer exists
	"25": true, // state of the transaction, for example read-only
	"28": true, // user, password
	"3D": true, // no such database
	"3F": true, // no such schema
	"40": true, // deadlock, serialisation
	"42": true, // tables, columns, privileges
	"53": true, // disk, memory, connections
	"55": true, // locks
	"57": true, // shutdown, timeouts
	"58": true, // I/O on the server
	"F0": true, // the server's configuration file
	"XX": true, // internal errors, corruption
}

const (
	readOnly      = "25006"
	serialization = "40001"
	deadlock      = "40P01"
	lockTimeout   = "55P03"
)

// remedies maps error codes to instructions for fixing the error.
var remedies = map[string]string{
	readOnly:    "the database is read-only: connect to the primary server (target_session_attrs=read-write in the URL finds it), or check default_transaction_read_only",
	"28000":     "check the user in the URL and the server's pg_hba.conf",
	"28P01":     "check the user and the password in the URL",
	"3D000":     "create the database with: createdb",
	"3F000":     "check search_path in the URL",
	"42501":     "grant the user of the URL the missing privilege; in a schema created for Ovation it needs CREATE and USAGE",
	"42P01":     "run: ovation migrate",
	"53100":     "the disk of the server is full: free some space on it",
	"53300":     "increase max_connections of the server, or reduce pool_max_conns in the URL",
	lockTimeout: "another transaction kept a row or table locked for longer than lock_timeout",
	"57014":     "a statement took longer than statement_timeout, or an administrator cancelled it",
}

// storageError converts a driver error to an error of package storage or of the context.
// The parameter c is the connection on which the driver error occurred, or nil if there
// was none. Since a URL may name several servers, the returned error names the server
// that c is connected to.
func storageError(ctx context.Context, err error, c *pgx.Conn) error {
	if err == nil {
		return nil
	}
	if context.Cause(ctx) == errNoAnswer { //nolint:errorlint // set by this package, never wrapped
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, errNoAnswer)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && len(e.Code) == 5 {
		switch remedy := remedies[e.Code]; {
		case !retryableClasses[e.Code[:2]]:
			return err
		case e.Code == lockTimeout:
			return fmt.Errorf("%w: %s%w: %s", storage.ErrLocked, serverPrefix(c), err, remedy)
		case remedy != "":
			return fmt.Errorf("%w: %s%w: %s", storage.ErrUnavailable, serverPrefix(c), err, remedy)
		}
		return fmt.Errorf("%w: %s%w", storage.ErrUnavailable, serverPrefix(c), err)
	}
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fmt.Errorf("%w: %s; check that a PostgreSQL server runs there and that host, port and sslmode in the URL are correct",
			storage.ErrUnavailable, oneLine(e.Error()))
	}
	if c == nil || c.IsClosed() || pgconn.SafeToRetry(err) || pgconn.Timeout(err) {
		return fmt.Errorf("%w: %s%w", storage.ErrUnavailable, serverPrefix(c), err)
	}
	return err
}

// serverPrefix returns a prefix for error messages. The prefix names the server that c is
// connected to, and is empty if c is nil.
func serverPrefix(c *pgx.Conn) string {
	if c == nil {
		return ""
	}
	return "PostgreSQL at " + remoteAddr(c) + ": "
}

// remoteAddr returns the address of the server that c is connected to.
func remoteAddr(c *pgx.Conn) string { return c.PgConn().Conn().RemoteAddr().String() }

// oneLine joins the lines of a text and omits repetitions, because the driver reports
// each of its attempts to connect.
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

// hasCode reports whether the server returned one of the error codes.
func hasCode(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	for _, code := range codes {
		if ok && e.Code == code {
			return true
		}
	}
	return false
}
