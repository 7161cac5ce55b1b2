package sqlitetest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlite"
)

// Database is a SQLite store that implements mirror.Database, so that tests of the mirror
// need no Postgres. In production, SQLite is used without a mirror. Epochs and barriers
// are in separate tables in the same file. They change only while no transaction on the
// store holds SQLite's write lock. Every mark is called under that lock, so no
// transaction spans a change.
type Database struct {
	*sqlite.Store

	Path      string
	db        *sql.DB
	shortWait *sql.DB // waits only 10 ms for a running transaction
}

var _ mirror.Database = (*Database)(nil)

const mirrorTables = `
CREATE TABLE IF NOT EXISTS mirror (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    epoch      INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    free_at    INTEGER NOT NULL,
    holder     TEXT NOT NULL,
    held_at    INTEGER NOT NULL,
    barrier    INTEGER NOT NULL,
    raised_at  INTEGER NOT NULL
) STRICT;
INSERT INTO mirror VALUES (1, 1, FALSE, 0, 0, '', 0, 0, 0) ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS watermark (
    partitions INTEGER NOT NULL,
    partition  INTEGER NOT NULL,
    barrier    INTEGER NOT NULL,
    PRIMARY KEY (partitions, partition)
) STRICT, WITHOUT ROWID;`

// OpenDatabase opens an empty database that is closed when the test ends.
func OpenDatabase(tb testing.TB) *Database {
	tb.Helper()
	return OpenDatabaseAt(tb, NewFile(tb))
}

// OpenDatabaseAt opens the database in a file, which is created if it is missing. A file
// may be opened several times, as if by several processes.
func OpenDatabaseAt(tb testing.TB, path string) *Database {
	tb.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
	if err != nil {
		tb.Fatal(err)
	}
	d := &Database{Store: store, Path: path, db: connect(tb, path, "5000"), shortWait: connect(tb, path, "10")}
	tb.Cleanup(func() { _ = d.Close() })
	if _, err := d.db.ExecContext(context.Background(), mirrorTables); err != nil {
		tb.Fatal(err)
	}
	return d
}

// connect opens connections that wait for the write lock for up to the given number of
// milliseconds.
func connect(tb testing.TB, path, wait string) *sql.DB {
	tb.Helper()
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_txlock=immediate&_busy_timeout=" + wait}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

// Edit runs an SQL statement on the file, bypassing the store.
func (d *Database) Edit(tb testing.TB, statement string) {
	tb.Helper()
	execute(tb, d.db, statement)
}

// Edit runs an SQL statement on the database in a file, bypassing its stores.
func Edit(tb testing.TB, path, statement string) {
	tb.Helper()
	db := connect(tb, path, "5000")
	defer func() { _ = db.Close() }()
	execute(tb, db, statement)
}

func execute(tb testing.TB, db *sql.DB, statement string) {
	tb.Helper()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		tb.Fatalf("execute %s: %v", statement, err)
	}
}

// Close closes the store and the connections to its file.
func (d *Database) Close() error { return cmp.Or(d.Store.Close(), d.db.Close(), d.shortWait.Close()) }

// Persist persists messages in the current epoch, and records the barriers among them
// after everything else is committed.
func (d *Database) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	for i := range messages {
		if err := messages[i].Validate(); err != nil {
			return storage.Outcome{}, err
		}
	}
	barriers, others := mirror.SplitBarriers(messages)
	outcome := new(storage.Outcome)
	if _, err := d.Store.Persist(ctx, others, d.markInEpoch(mark, outcome)); err != nil {
		return storage.Outcome{}, err
	}
	for _, b := range barriers {
		if _, err := d.db.ExecContext(ctx, recordWatermark, b.Partitions, b.Partition, b.Number); err != nil {
			return storage.Outcome{}, unavailable(ctx, err)
		}
	}
	return *outcome, nil
}

// EmptyFolder empties a folder in the current epoch.
func (d *Database) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	outcome := new(storage.Outcome)
	n, _, err := d.Store.EmptyFolder(ctx, key, moveTo, at, limit, d.markInEpoch(mark, outcome))
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, *outcome, nil
}

// ClearReads clears a read history in the current epoch.
func (d *Database) ClearReads(ctx context.Context, clearing storage.ReadsClear, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	outcome := new(storage.Outcome)
	n, _, err := d.Store.ClearReads(ctx, clearing, limit, d.markInEpoch(mark, outcome))
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, *outcome, nil
}

// PublishVideo publishes a video in the current epoch.
func (d *Database) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (storage.PublishedVideo, storage.Outcome, error) {
	outcome := new(storage.Outcome)
	out, _, err := d.Store.PublishVideo(ctx, video, d.markInEpoch(mark, outcome))
	if err != nil {
		return storage.PublishedVideo{}, storage.Outcome{}, err
	}
	return out, *outcome, nil
}

// DeleteVideo deletes a video in the current epoch.
func (d *Database) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (*storage.Video, storage.Outcome, error) {
	outcome := new(storage.Outcome)
	video, _, err := d.Store.DeleteVideo(ctx, deletion, d.markInEpoch(mark, outcome))
	if err != nil {
		return nil, storage.Outcome{}, err
	}
	return video, *outcome, nil
}

// SweepDeleted sweeps deleted subjects in the current epoch.
func (d *Database) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (storage.Swept, storage.Outcome, error) {
	outcome := new(storage.Outcome)
	swept, _, err := d.Store.SweepDeleted(ctx, limit, d.markInEpoch(mark, outcome))
	if err != nil {
		return storage.Swept{}, storage.Outcome{}, err
	}
	return swept, *outcome, nil
}

// Restore restores an archive in the current epoch.
func (d *Database) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (storage.Outcome, error) {
	outcome := new(storage.Outcome)
	if _, err := d.Store.Restore(ctx, part, d.markInEpoch(mark, outcome)); err != nil {
		return storage.Outcome{}, err
	}
	return *outcome, nil
}

// EraseNext erases a part of a user in the current epoch.
func (d *Database) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	outcome := new(storage.Outcome)
	n, _, err := d.Store.EraseNext(ctx, user, limit, d.markInEpoch(mark, outcome))
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, *outcome, nil
}

// Verify verifies the counts. It repairs them only in an epoch that admits transactions.
func (d *Database) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	if repair {
		epoch, err := d.Epoch(ctx)
		if err == nil {
			_, err = epoch.Enter()
		}
		if err != nil {
			return 0, err
		}
	}
	return d.Store.Verify(ctx, repair, report)
}

// markInEpoch returns a mark that enters the current epoch. The mark stores the outcome
// of the transaction in outcome.
func (d *Database) markInEpoch(mark storage.Mark, outcome *storage.Outcome) storage.Mark {
	return func(ctx context.Context, o storage.Outcome) error {
		*outcome = o
		epoch, err := d.Epoch(ctx)
		if err == nil {
			outcome.Epoch, err = epoch.Enter()
		}
		if err != nil {
			return err
		}
		return mirror.Mark(ctx, mark, outcome)
	}
}

// States reads states and adds the versions of the counts. It repeats the read until the
// versions before and after it are the same. These versions therefore held during the
// read.
func (d *Database) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	for {
		before, err := d.versions(ctx, keys)
		if err != nil {
			return nil, err
		}
		states, err := d.Store.States(ctx, keys, kinds)
		if err != nil {
			return nil, err
		}
		after, err := d.versions(ctx, keys)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(before, after) {
			continue
		}
		for i := range states {
			if s := &states[i]; s.Reaction.Version() > 0 || s.CollectionVersion > 0 || s.FollowVersion > 0 || s.Read != nil {
				s.CountsVersion = after[i]
			}
		}
		return states, nil
	}
}

// versions returns the versions of the counts of each key's subject.
func (d *Database) versions(ctx context.Context, keys []storage.StateKey) ([]int64, error) {
	out := make([]int64, len(keys))
	for from := 0; from < len(keys); { // one call for each run of keys with the same tenant
		tenant, n := keys[from].Subject.Tenant, from
		var subjects []storage.Subject
		for ; n < len(keys) && keys[n].Subject.Tenant == tenant; n++ {
			subjects = append(subjects, keys[n].Subject)
		}
		found, err := d.Interactives(ctx, storage.User{Tenant: tenant}, subjects, 0)
		if err != nil {
			return nil, err
		}
		for i := range found {
			out[from+i] = found[i].Version
		}
		from = n
	}
	return out, nil
}

// Windows looks up windows. It repeats the read of a window until the same subjects are
// in the window before and after the read.
func (d *Database) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	out := make([]mirror.Window, len(keys))
	for i, key := range keys {
		before, rows, err := d.subjects(ctx, key)
		for err == nil && rows <= limit && !out[i].Complete {
			var states []storage.States
			if states, err = d.States(ctx, before, storage.AllKinds&^storage.KindsOf(storage.KindRead)); err != nil {
				break
			}
			var after []storage.StateKey
			if after, rows, err = d.subjects(ctx, key); slices.Equal(before, after) {
				out[i] = mirror.Window{Complete: true, States: make(map[string]storage.States)}
				for n := range states {
					out[i].States[before[n].Subject.BizID] = states[n]
				}
			}
			before = after
		}
		if err != nil {
			return nil, unavailable(ctx, err)
		}
	}
	return out, nil
}

const selectSubjects = `
SELECT biz_id, count(*) FROM (
    SELECT biz_id FROM user_reaction WHERE tenant = ?1 AND user_id = ?2 AND biz = ?3
    UNION ALL SELECT biz_id FROM user_collection WHERE tenant = ?1 AND user_id = ?2 AND biz = ?3
    UNION ALL SELECT biz_id FROM user_follow WHERE tenant = ?1 AND user_id = ?2 AND biz = ?3
) GROUP BY biz_id ORDER BY biz_id`

// subjects returns a key for each subject in a window, and the total number of states on
// these subjects.
func (d *Database) subjects(ctx context.Context, of mirror.WindowKey) (keys []storage.StateKey, states int, err error) {
	rows, err := d.db.QueryContext(ctx, selectSubjects, of.User.Tenant, of.User.UserID, of.Biz)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		key := storage.StateKey{User: of.User, Subject: storage.Subject{Tenant: of.User.Tenant, Biz: of.Biz}}
		var n int
		if err := rows.Scan(&key.Subject.BizID, &n); err != nil {
			return nil, 0, err
		}
		keys, states = append(keys, key), states+n
	}
	return keys, states, rows.Err()
}

// unavailable wraps an error from the database file in storage.ErrUnavailable. If the
// context has been cancelled, it returns the context's error instead.
func unavailable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
}

// NewFile creates a database with empty tables and returns the path of its file.
func NewFile(tb testing.TB) string {
	tb.Helper()
	empty, err := templateFile()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "ovation.db")
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
