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

	"ovation/storage/mirror"
)

const (
	defaultMaxConns = 16
	minMaxConns     = 2 // a repair reads on one while it writes on the other
	oldestServer    = 14
)

// Options say where the database is.
type Options struct {
	// URL is postgres://USER:PASSWORD@HOST:PORT/DATABASE with the parameters
	// that libpq knows, among them sslmode, sslrootcert, target_session_attrs,
	// connect_timeout (5 s if not given), and any setting of the server, which
	// then takes the place of the one that this package makes, for example
	// statement_timeout=60s.
	URL string
	// MaxConns is how many connections are open at most; if 0, what
	// pool_max_conns in the URL says, otherwise 16. There are always at least 2.
	MaxConns int
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Logger is told of transactions that are tried again, slog.Default() if
	// nil.
	Logger *slog.Logger
}

// Store is a storage.Store in a PostgreSQL database.
//
// The mark of Persist and of EmptyFolder must not call the same store: with
// every connection in such a call, it would wait for itself.
type Store struct {
	pool    *pgxpool.Pool
	now     func() time.Time
	logger  *slog.Logger
	commits *commits
	closing context.Context //nolint:containedctx // ended by Close
	close   context.CancelFunc
}

var _ mirror.Database = (*Store)(nil)

// ErrNotMigrated says that the database lacks tables of this release. Migrate
// makes them.
var ErrNotMigrated = errors.New("the database is not migrated")

// Open connects to a database that Migrate has prepared. Errors:
// ErrNotMigrated; storage.ErrNewerSchema; storage.ErrUnavailable where the
// server cannot be reached, refuses now, or does not let the user read and
// write the tables; storage.ErrInvalid for a URL that
// cannot be read. All say what to do, and none holds the password.
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
	cfg.ConnConfig.OnNotice = noteWarning
	if options.MaxConns > 0 {
		cfg.MaxConns = int32(options.MaxConns)
	}
	cfg.MaxConns = max(cfg.MaxConns, minMaxConns)
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		writeArrays(c)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", name(cfg.ConnConfig, nil), fault(ctx, err, nil))
	}
	s := &Store{pool: pool, now: options.Now, logger: cmp.Or(options.Logger, slog.Default())}
	s.commits = newCommits(s.logger, max(1, int(cfg.MaxConns)/4))
	s.closing, s.close = context.WithCancel(context.WithoutCancel(ctx))
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// Close waits for the calls under way and closes every connection.
func (s *Store) Close() error {
	s.close()
	s.pool.Close()
	return nil
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", `SELECT version FROM interactive LIMIT 1`, nil, func(pgx.Rows) error { return nil })
}

// inspect connects once and returns the settings that this database needs.
// Errors say why this release cannot work with it, and name it.
func inspect(ctx context.Context, cfg *pgx.ConnConfig) (needed map[string]string, err error) {
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name(cfg, nil), fault(ctx, err, nil))
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name(cfg, c), err)
		}
		_ = c.Close(context.WithoutCancel(ctx)) // nothing is lost
	}()
	if err := suits(c); err != nil {
		return nil, err
	}
	if _, _, _, err := schemaIn(ctx, c); err != nil {
		return nil, err
	}
	current, err := schemaVersion(ctx, c)
	if err != nil {
		return nil, fault(ctx, err, c)
	}
	known, err := knownVersion()
	switch {
	case err != nil:
		return nil, err
	case current > known:
		return nil, newer(current, known)
	case current < known:
		return nil, fmt.Errorf("%w: its tables have version %d, this release needs version %d; run: ovation migrate",
			ErrNotMigrated, current, known)
	}
	if err := mayWrite(ctx, c); err != nil {
		return nil, err
	}
	var commit, messages string
	if err := c.QueryRow(ctx, `SELECT current_setting('synchronous_commit'), current_setting('client_min_messages')`).
		Scan(&commit, &messages); err != nil {
		return nil, fault(ctx, err, c)
	}
	needed = make(map[string]string)
	if commit == "off" { // a commit must be on the disk when it returns
		needed["synchronous_commit"] = "on"
	}
	if messages == "error" { // noteWarning needs the warnings
		needed["client_min_messages"] = "warning"
	}
	return needed, nil
}

// suits checks what kind of server this is.
func suits(c *pgx.Conn) error {
	version := c.PgConn().ParameterStatus("server_version")
	var major int
	if _, err := fmt.Sscanf(version, "%d", &major); err != nil || major < oldestServer {
		return fmt.Errorf("the server is PostgreSQL %q; version %d or newer is needed", version, oldestServer)
	}
	if encoding := c.PgConn().ParameterStatus("server_encoding"); encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s; make it anew with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return nil
}
