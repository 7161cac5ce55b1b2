package postgres

import (
	"fmt"
	"slices"
	"testing"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
)

// schemaQuery returns lines that describe the columns, views, indexes, constraints and
// versions of a schema.
const schemaQuery = `
SELECT array_agg(replace(line, current_schema || '.', '')) FROM (
    SELECT concat_ws(' ', relkind, relname, reloptions, attnum, attname, format_type(atttypid, atttypmod), collname,
        attnotnull, attidentity, attstorage, pg_get_expr(adbin, adrelid)) AS line
    FROM pg_class c
    JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0
    LEFT JOIN pg_collation l ON l.oid = attcollation
    LEFT JOIN pg_attrdef ON adrelid = c.oid AND adnum = attnum
    WHERE relnamespace = current_schema::regnamespace
    UNION ALL SELECT viewname || ' ' || definition FROM pg_views WHERE schemaname = current_schema
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema
    UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema::regnamespace
    UNION ALL SELECT concat_ws(' ', id, version_id, is_applied) FROM goose_db_version
) AS lines`

// TestTablesOfTestsAreThoseOfMigrate checks that postgrestest.Migrate, from which most
// tests get their tables, creates the same tables as Migrate.
func TestTablesOfTestsAreThoseOfMigrate(t *testing.T) {
	migrated := postgrestest.EmptySchema(t)
	must.Succeed(t, Migrate(t.Context(), migrated))
	want := ask[[]string](t, migrated, schemaQuery)
	got := ask[[]string](t, postgrestest.Schema(t), schemaQuery)
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 200 {
		t.Errorf("got %d lines that describe the tables, want at least 200", len(want))
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("not in the tables of tests: %s", line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the tables of tests are described by %d lines, want %d", len(got), len(want))
	}
}

// TestMigrateCountsTheReadersOfOldRows migrates a database with more subjects than are
// written in one transaction.
func TestMigrateCountsTheReadersOfOldRows(t *testing.T) {
	url := postgrestest.EmptySchema(t)
	upTo := stepwise(t, url)
	const before, readers, subjects = 28, 29, 2500
	must.Succeed(t, upTo(before))
	postgrestest.Exec(t, url, fmt.Sprintf(`INSERT INTO interactive (tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, version)
		SELECT 'default', 'video', i, 1 + i %% 3, 0, 0, 0, 7 FROM generate_series(1, %d) i`, subjects),
		fmt.Sprintf(`INSERT INTO user_read SELECT 'default', 'user' || n, 'video', i, 1, 1, 1 FROM generate_series(1, %d) i, generate_series(1, i %% 3) n`, subjects),
		fmt.Sprintf(`INSERT INTO user_read SELECT 'default', '', 'video', i, 1, 1, 1 FROM generate_series(1, %d) i`, subjects))
	for range 2 { // the second time as after an interruption
		must.Succeed(t, upTo(readers))
		got := ask[[]int](t, url, `SELECT array_agg(n ORDER BY n) FROM (SELECT count(*)::int AS n FROM interactive
			WHERE reader_count = biz_id::int % 3 AND version = 7 GROUP BY reader_count) c`)
		if want := []int{subjects / 3, subjects / 3, subjects/3 + 1}; !slices.Equal(got, want) {
			t.Errorf("subjects with the right number of readers, 0, 1 and 2: got %v, want %v", got, want)
		}
		postgrestest.Exec(t, url, `UPDATE interactive SET reader_count = 9 WHERE biz_id::int % 3 > 0`, `DELETE FROM goose_db_version WHERE version_id = 29`)
	}
}
