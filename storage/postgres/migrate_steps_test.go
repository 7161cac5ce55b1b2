package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
)

// stepwise returns a function that migrates the tables up to a version.
func stepwise(t *testing.T, at string) (upTo func(version int64) error) {
	t.Helper()
	cfg, err := configure(at)
	must.Succeed(t, err)
	db := stdlib.OpenDB(*cfg.ConnConfig)
	t.Cleanup(func() { must.Succeed(t, db.Close()) })
	var provider *goose.Provider
	provider, err = newProvider(db, cfg.ConnConfig.RuntimeParams["search_path"])
	must.Succeed(t, err)
	return func(version int64) error {
		_, err := provider.UpTo(context.WithoutCancel(t.Context()), version)
		return err
	}
}

// Migrations that build indexes wait for a long report, which keeps a snapshot, for longer
// than lock_timeout.
func TestMigrateWaitsForLongReports(t *testing.T) {
	at := postgrestest.EmptySchema(t)
	upTo := stepwise(t, withParameters(t, at, "lock_timeout", "100ms"))
	for _, version := range []int64{23, 26} {
		must.Succeed(t, upTo(version-1))
		report, err := pgx.Connect(t.Context(), at)
		must.Succeed(t, err)
		_, err = report.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1`)
		must.Succeed(t, err)
		done := make(chan error, 1)
		go func() { done <- upTo(version) }()
		await.That(t, "the migration waits for the report for 300 ms, or fails", func() bool {
			return len(done) > 0 || ask[bool](t, at, `SELECT count(*) > 0 FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND query LIKE '%CREATE INDEX CONCURRENTLY%' AND clock_timestamp() - query_start > '300 ms'`)
		})
		must.Succeed(t, report.Close(t.Context()))
		if err := <-done; err != nil {
			t.Fatalf("migration %d during a report of 300 ms: got the error %v, want none", version, err)
		}
	}
}

// A migration that is repeated after an interruption keeps the valid indexes that it has
// built, and builds invalid ones anew.
func TestRepeatedMigrationBuildsOnlyInvalidIndexes(t *testing.T) {
	at := postgrestest.EmptySchema(t)
	upTo := stepwise(t, at)
	const built = `SELECT indexrelid::bigint FROM pg_index WHERE indexrelid = $1::text::regclass AND indisvalid`
	for _, indexes := range [][2]string{{"comments_of", "comments_of"}, {"collectors", "dislikers"}} {
		version := int64(23)
		if indexes[0] == "collectors" {
			version = 26
		}
		must.Succeed(t, upTo(version))
		kept, invalid := ask[int64](t, at, built, indexes[0]), ask[int64](t, at, built, indexes[1])
		repeat := func() {
			execute(t, at, `DELETE FROM goose_db_version WHERE version_id = $1`, version)
			must.Succeed(t, upTo(version))
		}
		repeat()
		if got := ask[int64](t, at, built, indexes[0]); got != kept {
			t.Errorf("migration %d built the valid index %s again", version, indexes[0])
		}
		execute(t, at, `UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = $1::text::regclass`, indexes[1])
		repeat()
		if got := ask[int64](t, at, built, indexes[1]); got == invalid {
			t.Errorf("migration %d kept the invalid index %s", version, indexes[1])
		}
		if indexes[0] != indexes[1] && ask[int64](t, at, built, indexes[0]) != kept {
			t.Errorf("migration %d built the valid index %s again", version, indexes[0])
		}
	}
}

// Comments that were deleted before the migration are swept after those that are deleted
// now.
func TestMigrateQueuesOlderDeletionsLast(t *testing.T) {
	at := postgrestest.EmptySchema(t)
	upTo := stepwise(t, at)
	must.Succeed(t, upTo(25))
	postgrestest.Exec(t, at, `INSERT INTO comment (tenant, comment_id, biz, biz_id, user_id, reply_to, text, created, edited, version, deleted, like_count, reply_count, listed)
		SELECT 'default', i, 'video', '1', 'alice', 0, '', 1, 0, i, 5, 0, 0, FALSE FROM generate_series(1, 3) i`)
	must.Succeed(t, Migrate(t.Context(), at))
	if n := ask[int](t, at, `SELECT count(*)::int FROM deleted_subject WHERE biz = 'comment' AND at > 1000000 * extract(epoch FROM now() + '1000 years')`); n != 3 {
		t.Errorf("got %d comments queued after all later deletions, want 3", n)
	}
}
