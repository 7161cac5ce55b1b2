// Package migrations holds the SQL migrations of Postgres.
package migrations

import "embed"

// Files are the migrations, each in a file whose name begins with its version. A new
// migration has a higher version than all others; some versions are not used.
//
//go:embed *.sql
var Files embed.FS
