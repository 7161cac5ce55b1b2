package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
)

// tables names the tables that hold data.
var tables = []string{"account", "account_name", "cleared_read", "comment", "comment_count", "conversation", "dead_event", "deleted_folder", "deleted_subject", "erased_user", "event_consumer", "event_log", "event_outbox", "event_stream", "folder", "inbox", "interactive", "mailbox", "message", "mirror", "request", "search_word", "secret", "trend_bucket", "trend_score", "user_collection", "user_comments", "user_follow", "user_reaction", "user_read", "user_totals", "video", "watermark"}

// sequences names the sequences. They need separate grants, because grants on tables do
// not cover them.
var sequences = []string{"account_number", "comment_number", "event_number", "video_number"}

const selectForbidden = `
SELECT current_user, current_schema,
    (SELECT coalesce(string_agg(name, ', '), '') FROM unnest($1::text[]) name
    WHERE NOT (has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT')
        AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))),
    (SELECT coalesce(string_agg(name, ', '), '') FROM unnest($2::text[]) name
    WHERE NOT has_sequence_privilege(name, 'USAGE'))`

// checkPrivileges checks that the user may use all tables and sequences. A missing
// privilege is therefore reported at the start rather than by the first action or
// comment.
func checkPrivileges(ctx context.Context, c *pgx.Conn) error {
	var user, schema, ofTables, ofSequences string
	if err := c.QueryRow(ctx, selectForbidden, tables, sequences).Scan(&user, &schema, &ofTables, &ofSequences); err != nil {
		return storageError(ctx, err, c)
	}
	var forbidden, grants []string
	grant := func(what string) {
		grants = append(grants, fmt.Sprintf("GRANT %s IN SCHEMA %s TO %s", what, pgx.Identifier{schema}.Sanitize(), pgx.Identifier{user}.Sanitize()))
	}
	if ofTables != "" {
		forbidden = append(forbidden, "read and write the tables "+ofTables)
		grant("SELECT, INSERT, UPDATE, DELETE ON ALL TABLES")
	}
	if ofSequences != "" {
		forbidden = append(forbidden, "use the sequences "+ofSequences)
		grant("USAGE ON ALL SEQUENCES")
	}
	if len(forbidden) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the user %q may not %s; their owner can run: %s",
		storage.ErrUnavailable, user, strings.Join(forbidden, ", nor "), strings.Join(grants, "; "))
}

const selectSchema = `
SELECT current_user, coalesce(current_schema, ''), current_setting('search_path'),
    current_schema IS NOT NULL AND has_schema_privilege(current_schema, 'CREATE')`

// schemaIn returns the user, the schema of the tables, and whether the user may create
// tables in that schema. A schema that the user may not use counts as missing.
func schemaIn(ctx context.Context, c *pgx.Conn) (user, schema string, mayCreate bool, err error) {
	var path string
	if err := c.QueryRow(ctx, selectSchema).Scan(&user, &schema, &path, &mayCreate); err != nil {
		return "", "", false, storageError(ctx, err, c)
	}
	if schema == "" {
		return "", "", false, fmt.Errorf("%w: no schema of search_path (%s) exists that the user %q may use; "+
			"make it, or have its owner run: GRANT USAGE ON SCHEMA … TO %s",
			storage.ErrUnavailable, path, user, pgx.Identifier{user}.Sanitize())
	}
	return user, schema, mayCreate, nil
}

// checkMigrationPrivileges checks that the user may create tables in the schema.
func checkMigrationPrivileges(ctx context.Context, c *pgx.Conn) error {
	user, schema, mayCreate, err := schemaIn(ctx, c)
	if err != nil || mayCreate {
		return err
	}
	return fmt.Errorf("%w: the user %q may not make tables in the schema %q; its owner can run: GRANT USAGE, CREATE ON SCHEMA %s TO %s",
		storage.ErrUnavailable, user, schema, pgx.Identifier{schema}.Sanitize(), pgx.Identifier{user}.Sanitize())
}
