package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// plan returns how a store's connections run a statement, a step a line, and
// without what costs and rows the server guesses.
func plan(t *testing.T, s *Store, query string) string {
	t.Helper()
	c, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if _, err := c.Exec(t.Context(), "PREPARE asked AS "+query); err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer func() { _, _ = c.Exec(t.Context(), "DEALLOCATE asked") }()
	arguments := ""
	if n := len(regexp.MustCompile(`\$\d+`).FindAllString(query, -1)); n > 0 {
		most := 0
		for n := 1; strings.Contains(query, fmt.Sprint("$", n)); n++ {
			most = n
		}
		arguments = "(" + strings.Repeat("NULL, ", most-1) + "NULL)"
	}
	rows, err := c.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE asked"+arguments)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "\n")
}

func TestX(t *testing.T) {
	s := open(t)
	fillForPlans(t, s)
	for _, q := range []string{
		insertDefaults, selectInteractives, selectStates, selectLikers, selectLikes, selectItems, selectFolders, selectHistory, selectFoldersByKey,
		holdExisting, updateItemCounts, selectReactions, selectCollections, selectPresentCounts, selectSeen, deleteInbox, takeItems, holdsItems, upsertReads,
	} {
		fmt.Println(q)
		fmt.Println("---")
		fmt.Println(plan(t, s, q))
	}
}

func fillForPlans(t *testing.T, s *Store) {
	t.Helper()
	edit(t, s.pool.Config().ConnString(),
		`INSERT INTO folder SELECT 'default', 'user-' || i, 'default', 'Default', 'default', '', FALSE, 0, 1, 1 FROM generate_series(1, 5000) i`,
		`INSERT INTO user_reaction SELECT 'default', 'user-' || i % 500, 'video', i % 1000, i % 3, 0, i FROM generate_series(1, 20000) i ON CONFLICT DO NOTHING`,
		`ANALYZE`)
}
