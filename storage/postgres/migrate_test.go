package postgres

import (
	"slices"
	"testing"

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
	must(t, Migrate(t.Context(), migrated))
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
