package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"ovation/storage"
)

// readers is the number of connections for reads by key, and listers the number of
// connections for lists. A few connections are enough, because SQLite uses the processor
// and no network.
const (
	readers = 4
	listers = 2
)

// listTimeout bounds the duration of a call that lists, including the wait for a
// connection.
const listTimeout = 5 * time.Second

// Options configures a Store.
type Options struct {
	// Path is the database file. It is created if missing (mode 0600), as is its
	// directory (mode 0700). The files Path-wal and Path-shm exist next to it while it is
	// open.
	Path string
	// Now is the clock; the default is time.Now.
	Now func() time.Time
	// Events switches on the log of events; by default, it is off.
	Events storage.EventOptions
}

// Store is a storage.Store in one SQLite file.
type Store struct {
	path     string
	now      func() time.Time
	events   storage.EventOptions
	db       *sql.DB
	writer   chan *conn // the one connection for writes
	reader   chan *conn // connections for reads by key
	lister   chan *conn // connections for lists, so that reads by key do not wait for lists
	surveyor chan *conn // the one connection for surveys

	listTimeout time.Duration

	mu     sync.Mutex // guards closed, and keeps calls.Add from running concurrently with calls.Wait
	closed bool
	calls  sync.WaitGroup
	close  func() error
}

var _ storage.Store = (*Store)(nil)

// Open opens the database and migrates it to the schema of this release. Errors:
// storage.ErrNewerSchema; storage.ErrUnavailable if the file cannot be read and written;
// other errors, for example if the file is not a database. Every error names the path.
func Open(ctx context.Context, options Options) (*Store, error) {
	path, err := filepath.Abs(options.Path)
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", options.Path, err)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if err := createFile(options.Path, path); err != nil {
		return nil, fmt.Errorf("open database %q: %w: %w", options.Path, storage.ErrUnavailable, err)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", path, err)
	}
	s := &Store{
		path:     path,
		now:      options.Now,
		events:   options.Events,
		db:       db,
		writer:   make(chan *conn, 1),
		reader:   make(chan *conn, readers),
		lister:   make(chan *conn, listers),
		surveyor: make(chan *conn, 1),

		listTimeout: listTimeout,
	}
	s.close = sync.OnceValue(s.shutdown)
	err = migrate(ctx, db)
	if err == nil {
		err = s.connect(ctx)
	}
	if err != nil {
		_ = s.Close() // the first error is more precise
		return nil, wrap(ctx, fmt.Sprintf("open database %q", path), err)
	}
	return s, nil
}

// Close waits for the calls in progress and closes the database. The content of the
// write-ahead log is moved into the database file unless another process has the file
// open.
func (s *Store) Close() error { return s.close() }

// Ping returns an error if the database does not respond.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", func(t tx) error {
		return t.query(`SELECT version FROM interactive LIMIT 1`, nil, func(func(...any) error) error { return nil })
	})
}

func (s *Store) shutdown() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	for _, pool := range []chan *conn{s.reader, s.lister, s.surveyor, s.writer} {
		for range len(pool) {
			(<-pool).close()
		}
	}
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close database %q: %w", s.path, err)
	}
	return nil
}

func (s *Store) connect(ctx context.Context) error {
	for _, pool := range []chan *conn{s.reader, s.lister, s.surveyor} {
		for range cap(pool) {
			c, err := newConn(ctx, s.db, "PRAGMA query_only = 1")
			if err != nil {
				return err
			}
			pool <- c
		}
	}
	c, err := newConn(ctx, s.db, "PRAGMA cache_size = -65536") // KiB
	if err != nil {
		return err
	}
	s.writer <- c
	return nil
}

// createFile creates the file if it is missing. It opens an existing file, too, because
// an error from the operating system is clearer than one from SQLite.
func createFile(given, path string) error {
	if given == "" {
		return errors.New("path is required")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn returns the data source name, which configures each connection. The write-ahead log
// may grow to 8,000 pages (about 32 MB), more than by default. A page that several
// commits change is then written to the database file only once.
func dsn(path string) string {
	query := url.Values{
		"mode":          {"rw"},
		"_busy_timeout": {"5000"}, // milliseconds, for locks of other processes; this process has one writer
		"_txlock":       {"immediate"},
		"_pragma":       {"wal_autocheckpoint(8000)", "cache_size(-16384)", "trusted_schema(0)"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

//go:embed migrations/*.sql
var migrations embed.FS

// Attempts to migrate fail while another process migrates, at once or after the busy
// timeout. That process then has fewer steps left.
const (
	minMigrateAttempts = 3
	migratePatience    = 10 * time.Second // for as long, attempts are repeated that meet a lock
	migratePause       = 20 * time.Millisecond
)

// migrate brings the schema up to date.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	began := time.Now()
	for attempts := 1; ; attempts++ {
		err := migrateOnce(ctx, provider)
		again := attempts < minMigrateAttempts || locked(err) && time.Since(began) < migratePatience
		if err == nil || errors.Is(err, storage.ErrNewerSchema) || !again {
			return err
		}
		select {
		case <-time.After(migratePause):
		case <-ctx.Done():
			return err
		}
	}
}

// locked reports whether a call failed because of a lock of another process.
func locked(err error) bool {
	fault, is := errors.AsType[*sqlite.Error](err)
	return is && fault.Code()&0xff == codes.SQLITE_BUSY
}

func migrateOnce(ctx context.Context, provider *goose.Provider) error {
	current, known, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > known {
		return fmt.Errorf("%w: its tables have version %d, this release knows versions up to %d; "+
			"run the release that created it or a newer one, or use another path",
			storage.ErrNewerSchema, current, known)
	}
	_, err = provider.Up(ctx)
	return err
}
