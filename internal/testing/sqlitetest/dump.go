package sqlitetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Dump returns the rows of all tables of the database in a file, as text.
func Dump(tb testing.TB, path string) string {
	tb.Helper()
	db := connect(tb, path, "5000")
	defer func() { _ = db.Close() }()
	ask := func(query string) (out [][]any) {
		rows, err := db.QueryContext(context.Background(), query)
		if err != nil {
			tb.Fatalf("query %s: %v", query, err)
		}
		defer func() { _ = rows.Close() }()
		columns, err := rows.Columns()
		for err == nil && rows.Next() {
			values, dests := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				dests[i] = &values[i]
			}
			err = rows.Scan(dests...)
			out = append(out, values)
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			tb.Fatalf("query %s: %v", query, err)
		}
		return out
	}
	var b strings.Builder
	for _, table := range ask(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`) {
		for _, row := range ask(fmt.Sprintf(`SELECT * FROM "%s"`, table[0])) { //nolint:unqueryvet // of any table
			fmt.Fprintln(&b, table[0], row)
		}
	}
	return b.String()
}
