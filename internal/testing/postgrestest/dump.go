package postgrestest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Dump returns the rows of all tables in the schema of a URL, as text.
func Dump(tb testing.TB, at string) string {
	tb.Helper()
	ctx := tb.Context()
	c, err := pgx.Connect(ctx, at)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	ask := func(query string) []string {
		rows, _ := c.Query(ctx, query)
		out, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			tb.Fatalf("query %s: %v", query, err)
		}
		return out
	}
	var b strings.Builder
	for _, table := range ask(`SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema ORDER BY 1`) {
		for _, row := range ask(fmt.Sprintf("SELECT t::text FROM %s t", pgx.Identifier{table}.Sanitize())) {
			fmt.Fprintln(&b, table, row)
		}
	}
	return b.String()
}
