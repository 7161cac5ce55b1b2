package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ovation/storage"
	"ovation/storage/mirror"
)

const (
	defaultMaxConns  = 16
	minMaxConns      = 2 // a repair reads on one connection while it writes on another
	minServerVersion = 14
)

// Options configures a Store.
type Options struct {
	// URL has the form postgres://USER:PASSWORD@HOST:PORT/DATABASE, with the parameters
	// of libpq, among them sslmode, sslrootcert, target_session_attrs and connect_timeout
	// (default 5 s). It may also contain any setting of the server, such as
	// statement_timeout=60s, which overrides the value that this package sets.
	URL string
	// MaxConns is the maximum number of open connections. The default is pool_max_conns
	// in the URL, or 16 if the URL does not set it. A maximum of 1 is raised to 2.
	MaxConns int
	// Now is the clock; the default is time.Now.
	Now func() time.Time
	// Events switches on the log of events; by default, it is off.
	Events storage.EventOptions
	// Logger receives messages about retried transactions and hanging commits; the
	// default is slog.Default().
	Logger *slog.Logger
}

// Store is a storage.Store in a PostgreSQL database.
//
// A storage.Mark, such as the one that is passed to Persist, must not call the same
// store. If the transactions that call marks held every connection, the marks would wait
// for a connection forever.
type Store struct {
	pool    *pgxpool.Pool
	now     func() time.Time
	events  storage.EventOptions
	logger  *slog.Logger
	commits *commitTracker
	clears  clearWaits
	closing context.Context //nolint:containedctx // ended by Close
	close   context.CancelFunc
}

var _ mirror.Database = (*Store)(nil)

// ErrNotMigrated means that the database lacks tables of this release. Migrate creates
// them.
var ErrNotMigrated = errors.New("the database is not migrated")

// Open connects to a database that Migrate has prepared. Errors: ErrNotMigrated;
// storage.ErrNewerSchema; storage.ErrUnavailable if the server cannot be reached, refuses
// connections, or denies the user access to the tables; storage.ErrInvalid for an invalid
// URL. Every error names the remedy, and none contains the password.
func Open(ctx context.Context, options Options) (*Store, error) {
	cfg, err := configure(options.URL)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	needed, err := inspect(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("open database %w", err)
	}
	maps.Copy(cfg.ConnConfig.RuntimeParams, needed)
	cfg.ConnConfig.OnNotice = onNotice
	if options.MaxConns > 0 {
		cfg.MaxConns = int32(options.MaxConns)
	}
	cfg.MaxConns = max(cfg.MaxConns, minMaxConns)
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		registerArrayCodec(c)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", describe(cfg.ConnConfig, nil), storageError(ctx, err, nil))
	}
	s := &Store{pool: pool, clears: make(clearWaits, maxClearWaits), now: options.Now, events: options.Events, logger: cmp.Or(options.Logger, slog.Default())}
	s.commits = newCommitTracker(s.logger, max(1, int(cfg.MaxConns)/4))
	s.closing, s.close = context.WithCancel(context.WithoutCancel(ctx))
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// Close waits for the calls in progress and closes every connection.
func (s *Store) Close() error {
	s.close()
	s.pool.Close()
	return nil
}

// Ping returns an error if the database does not respond.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", `SELECT version FROM interactive LIMIT 1`, nil, func(pgx.Rows) error { return nil })
}

// inspect connects once and returns the settings that this database needs. It returns an
// error if this release cannot work with the database.
func inspect(ctx context.Context, cfg *pgx.ConnConfig) (needed map[string]string, err error) {
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(cfg, nil), storageError(ctx, err, nil))
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", describe(cfg, c), err)
		}
		_ = c.Close(context.WithoutCancel(ctx)) // nothing is lost
	}()
	if err := checkServer(c); err != nil {
		return nil, err
	}
	if _, _, _, err := schemaIn(ctx, c); err != nil {
		return nil, err
	}
	current, err := schemaVersion(ctx, c)
	if err != nil {
		return nil, storageError(ctx, err, c)
	}
	known, err := knownVersion()
	switch {
	case err != nil:
		return nil, err
	case current > known:
		return nil, newerSchemaError(current, known)
	case current < known:
		return nil, fmt.Errorf("%w: its tables have version %d, this release needs version %d; run: ovation migrate",
			ErrNotMigrated, current, known)
	}
	if err := checkPrivileges(ctx, c); err != nil {
		return nil, err
	}
	var commit, messages string
	if err := c.QueryRow(ctx, `SELECT current_setting('synchronous_commit'), current_setting('client_min_messages')`).
		Scan(&commit, &messages); err != nil {
		return nil, storageError(ctx, err, c)
	}
	needed = make(map[string]string)
	if commit == "off" { // a commit must be on disk when it returns
		needed["synchronous_commit"] = "on"
	}
	if messages == "error" { // onNotice needs the warnings
		needed["client_min_messages"] = "warning"
	}
	return needed, nil
}

// checkServer checks the version and the encoding of the server.
func checkServer(c *pgx.Conn) error {
	version := c.PgConn().ParameterStatus("server_version")
	var major int
	if _, err := fmt.Sscanf(version, "%d", &major); err != nil || major < minServerVersion {
		return fmt.Errorf("the server is PostgreSQL %q; version %d or newer is needed", version, minServerVersion)
	}
	if encoding := c.PgConn().ParameterStatus("server_encoding"); encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s; recreate it with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return nil
}
