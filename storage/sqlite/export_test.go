package sqlite

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// TestEveryTableIsExportedOrFollows fails if a table is new: its rows may have to be in
// archives.
func TestEveryTableIsExportedOrFollows(t *testing.T) {
	t.Parallel()
	s := open(t)
	left := map[string]string{
		"user_totals": "follows from states, authors and comments", "user_comments": "follows from comments",
		"comment_count": "follows from comments", "account_name": "follows from accounts", "mailbox": "follows from messages", "search_word": "follows from names and titles",
		"video_number": "follows from videos", "deleted_subject": "follows from the marks",
		"request": "is kept for a day", "deleted_folder": "is kept for a week", "cleared_read": "is kept for a week",
		"erased_user": "is kept for a while", "trend_bucket": "follows from recent events", "trend_score": "follows from recent events",
		"event_stream": "is a log of changes", "event_log": "is a log of changes", "event_consumer": "is a log of changes", "dead_event": "is a log of changes",
		"secret": "belongs to the database", "goose_db_version": "belongs to the database", "sqlite_sequence": "belongs to the database",
	}
	exported := map[string]bool{}
	for _, l := range archiveLists {
		_, from, _ := strings.Cut(l.rows, " FROM ")
		exported[strings.Fields(from)[0]] = true
	}
	rows, err := s.db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table'`)
	must.Succeed(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		must.Succeed(t, rows.Scan(&name))
		if !exported[name] && left[name] == "" {
			t.Errorf("the table %s is neither exported nor left out for a reason", name)
		}
		delete(exported, name)
	}
	must.Succeed(t, rows.Err())
	if len(exported) > 0 {
		t.Errorf("there are no tables %v, which are exported", slices.Sorted(maps.Keys(exported)))
	}
}

// TestExportsReadInOrder checks that no list of an export is sorted as a whole, which
// would take memory or disk for all its rows.
func TestExportsReadInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, l := range archiveLists {
		text, _, wanted := l.query(storage.ArchiveQuery{Tenant: "default"})
		if !wanted {
			continue
		}
		if steps := plan(t, s, text); strings.Contains(steps, "TEMP B-TREE FOR ORDER BY") {
			t.Errorf("%s is sorted:\n%s", text, steps)
		}
	}
}
