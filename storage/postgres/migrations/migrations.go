// Package migrations holds the SQL migrations of Postgres.
package migrations

import "embed"

// Files are the migrations, each in a file whose name begins with its version.
//
//go:embed *.sql
var Files embed.FS
