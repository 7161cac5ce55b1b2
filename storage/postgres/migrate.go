package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"ovation/storage"
	"ovation/storage/postgres/migrations"
)

// Migrate brings the tables of a database up to this release. A step runs in a
// transaction, unless it would block users of the tables for long, as creating an index
// on a large table would. Such a step is marked NO TRANSACTION and uses CONCURRENTLY. It
// may fail halfway, and can be repeated. Processes of the previous release continue to
// use the tables during and after the migration.
//
// Several processes may call Migrate at the same time. One process works under an
// advisory lock. The others poll for the lock outside a transaction, so that CREATE INDEX
// CONCURRENTLY does not wait for them. Migrate does not change a database that is up to
// date. Errors: those of Open, except ErrNotMigrated.
func Migrate(ctx context.Context, url string) error {
	cfg, err := configure(url)
	if err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	// The settings of the planner suit only statements that look up rows by key, and the
	// timeouts are too short for an index on a large table. The timeout for locks is
	// kept, so that the queue behind a table that is to be changed does not grow. Steps
	// that use CONCURRENTLY turn it off, because nothing queues behind them.
	params := cfg.ConnConfig.RuntimeParams
	for name, value := range settings {
		if name != "application_name" && name != "lock_timeout" && params[name] == value {
			delete(params, name)
		}
	}
	if err := migrate(ctx, cfg.ConnConfig); err != nil {
		return fmt.Errorf("migrate database %w", err)
	}
	return nil
}

func migrate(ctx context.Context, cfg *pgx.ConnConfig) (err error) {
	known, err := knownVersion()
	if err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", describe(cfg, nil), storageError(ctx, err, nil))
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", describe(cfg, c), err)
		}
	}()
	current, err := func() (current int64, err error) {
		defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // nothing is lost
		if err := checkServer(c); err != nil {
			return 0, err
		}
		if current, err = schemaVersion(ctx, c); err != nil {
			return 0, storageError(ctx, err, c)
		}
		if current < known {
			err = checkMigrationPrivileges(ctx, c)
		}
		return current, err
	}()
	switch {
	case err != nil:
		return err
	case current > known:
		return newerSchemaError(current, known)
	case current == known:
		return nil
	}
	db := stdlib.OpenDB(*cfg)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := newProvider(db, cfg.RuntimeParams["search_path"])
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return storageError(ctx, err, c)
	}
	return nil
}

func newProvider(db *sql.DB, schema string) (*goose.Provider, error) {
	// An advisory lock belongs to a database, so each schema needs a lock id of its own.
	id := fnv.New32a()
	_, _ = id.Write([]byte("ovation migrate " + schema)) // never fails
	const period, attempts = 1, 600
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(int64(id.Sum32())), lock.WithLockTimeout(period, attempts))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, migrations.Files, goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}

// knownVersion returns the schema version of this release.
func knownVersion() (known int64, err error) {
	files, err := migrations.Files.ReadDir(".")
	for _, f := range files {
		version, bad := goose.NumericComponent(f.Name())
		known, err = max(known, version), errors.Join(err, bad)
	}
	return known, err
}

// schemaVersion returns the schema version of a database, or 0 if it has no tables.
func schemaVersion(ctx context.Context, c *pgx.Conn) (version int64, err error) {
	err = c.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	const undefinedTable = "42P01"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == undefinedTable {
		return 0, nil
	}
	return version, err
}

func newerSchemaError(current, known int64) error {
	return fmt.Errorf("%w: its tables have version %d, this release knows versions up to %d; "+
		"run the release that created it or a newer one, or use another database",
		storage.ErrNewerSchema, current, known)
}
