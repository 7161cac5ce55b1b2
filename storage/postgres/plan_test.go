package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// plan returns how the connections of a store run a statement, a step a line.
func plan(t *testing.T, s *Store, query string) []string {
	t.Helper()
	c, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if _, err := c.Exec(t.Context(), "PREPARE asked AS "+query); err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	arguments := ""
	for n := 1; strings.Contains(query, fmt.Sprint("$", n)); n++ {
		arguments += ", NULL"
	}
	rows, _ := c.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE asked("+strings.TrimPrefix(arguments, ", ")+")")
	steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	if _, err := c.Exec(t.Context(), "DEALLOCATE asked"); err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		steps[i] = strings.TrimPrefix(strings.TrimSpace(steps[i]), "->  ")
	}
	return steps
}

// databases are an empty one and one with rows of which the server knows.
func databases(t *testing.T) map[string]*Store {
	t.Helper()
	at := database(t)
	edit(t, at,
		`INSERT INTO interactive SELECT 'default', 'video', i, 1, 1, 1, 1, 1 FROM generate_series(1, 2000) i`,
		`INSERT INTO user_reaction SELECT 'default', i % 50, 'video', i, i % 3, 0, i FROM generate_series(1, 5000) i`,
		`INSERT INTO user_collection SELECT 'default', i % 50, 'video', i, 'default', '', i FROM generate_series(1, 5000) i`,
		`INSERT INTO user_read SELECT 'default', i % 50, 'video', i, 1, i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO folder SELECT 'default', i % 50, i, 'Folder ' || i, 'folder ' || i, '', i % 2 = 0, 1, 1, i FROM generate_series(1, 2000) i`,
		`INSERT INTO deleted_folder SELECT 'default', i % 50, i, 'default', i FROM generate_series(1, 2000) i`,
		`INSERT INTO inbox SELECT i, i FROM generate_series(1, 5000) i`,
		`ANALYZE`)
	return map[string]*Store{"empty": open(t), "filled": openAt(t, Options{URL: at})}
}

// An entry of a list costs one step on its index, wherever the page begins:
// no scan, no sort.
func TestListsUseTheirIndex(t *testing.T) {
	for name, s := range databases(t) {
		for list, c := range map[string]struct {
			query string
			want  []string // the scans, and what they find by the index
		}{
			"likers": {selectLikers, []string{
				"Backward using likers on user_reaction s",
				"Index Cond: ((tenant = k.tenant) AND (biz_id = k.biz_id) AND (biz = k.biz) AND (ROW(version, user_id) < ROW(k.version, k.id)))",
			}},
			"likes": {selectLikes, []string{
				"Backward using likes on user_reaction s",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (ROW(version, biz, biz_id) < ROW(k.version, k.biz, k.biz_id)))",
			}},
			"items": {selectItems, []string{
				"Backward using items on user_collection s",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (state = k.folder_id) AND (ROW(version, biz, biz_id) < ROW(k.version, k.biz, k.biz_id)))",
			}},
			"folders": {selectFolders, []string{
				"Backward using folders on folder f",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (ROW(created, folder_id) < ROW(k.created, k.id)))",
				"Backward using folders_public on folder f_1",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (ROW(created, folder_id) < ROW(k.created, k.id)))",
			}},
			"reads": {selectHistory, []string{
				"Backward using reads on user_read s",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (ROW(version, biz, biz_id) < ROW(k.version, k.biz, k.biz_id)))",
			}},
		} {
			var got []string
			for _, step := range plan(t, s, c.query) {
				if strings.HasPrefix(step, "Index") || strings.Contains(step, "Sort") || strings.Contains(step, "Seq") {
					got = append(got, strings.TrimPrefix(strings.TrimPrefix(step, "Index Only Scan "), "Index Scan "))
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s, %s:\n got %s\nwant %s", name, list, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		}
	}
}

// A statement that takes many keys finds each by an index, in an empty
// database too: the plan is kept while the tables grow.
func TestBatchesSearchByKey(t *testing.T) {
	for name, s := range databases(t) {
		for _, query := range []string{
			selectInteractives, selectStates, selectWindows, selectFoldersByKey, selectSeen,
			insertInbox, guardOwners, selectExisting, upsertReactions, upsertCollections, upsertReads,
			selectReactions, selectCollections, updateItemCounts, upsertCounts, selectPresentCounts,
			selectNames, selectFolder, updateFolder, takeItems, holdsItems, deleteFolder, deleteInbox,
			closeEpoch, nextEpoch, insertDeleted, selectDeleted, deleteDeleted,
		} {
			steps := plan(t, s, query)
			for i, step := range steps {
				scan := strings.Contains(step, "Scan") &&
					!strings.HasPrefix(step, "Function Scan") && !strings.HasPrefix(step, "Subquery Scan")
				if strings.Contains(step, "Join") && !strings.HasPrefix(step, "Nested Loop") ||
					scan && !strings.HasPrefix(step, "Index") || scan && !strings.HasPrefix(steps[i+1], "Index Cond:") {
					t.Errorf("%s: %s\nruns with %s", name, query, strings.Join(steps, "\n    "))
					break
				}
			}
		}
	}
}
