package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
)

// tables are those that hold data.
var tables = []string{"deleted_folder", "folder", "inbox", "interactive", "mirror", "secret", "user_collection", "user_reaction", "user_read", "watermark"}

const selectForbidden = `
SELECT current_user, current_schema, coalesce(string_agg(name, ', '), '') FROM unnest($1::text[]) name
WHERE NOT (has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT')
    AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))`

// mayWrite checks that the user may use the tables, so that it does not come
// out with the first action.
func mayWrite(ctx context.Context, c *pgx.Conn) error {
	var user, schema, forbidden string
	if err := c.QueryRow(ctx, selectForbidden, tables).Scan(&user, &schema, &forbidden); err != nil {
		return fault(ctx, err, c)
	}
	if forbidden == "" {
		return nil
	}
	return fmt.Errorf("%w: the user %q may not read and write the tables %s; their owner can run: "+
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s",
		storage.ErrUnavailable, user, forbidden, pgx.Identifier{schema}.Sanitize(), pgx.Identifier{user}.Sanitize())
}

const selectSchema = `
SELECT current_user, coalesce(current_schema, ''), current_setting('search_path'),
    current_schema IS NOT NULL AND has_schema_privilege(current_schema, 'CREATE')`

// schemaIn finds the schema of the tables and whether the user may make tables
// in it. Without the privilege to use it, a schema is as if it were not there.
func schemaIn(ctx context.Context, c *pgx.Conn) (user, schema string, mayCreate bool, err error) {
	var path string
	if err := c.QueryRow(ctx, selectSchema).Scan(&user, &schema, &path, &mayCreate); err != nil {
		return "", "", false, fault(ctx, err, c)
	}
	if schema == "" {
		return "", "", false, fmt.Errorf("%w: no schema of search_path (%s) exists that the user %q may use; "+
			"make it, or have its owner run: GRANT USAGE ON SCHEMA … TO %s",
			storage.ErrUnavailable, path, user, pgx.Identifier{user}.Sanitize())
	}
	return user, schema, mayCreate, nil
}

// mayMigrate checks that the user may make tables.
func mayMigrate(ctx context.Context, c *pgx.Conn) error {
	user, schema, mayCreate, err := schemaIn(ctx, c)
	if err != nil || mayCreate {
		return err
	}
	return fmt.Errorf("%w: the user %q may not make tables in the schema %q; its owner can run: GRANT USAGE, CREATE ON SCHEMA %s TO %s",
		storage.ErrUnavailable, user, schema, pgx.Identifier{schema}.Sanitize(), pgx.Identifier{user}.Sanitize())
}
