package sqlite

import (
	"strings"
	"testing"
)

// plan returns how SQLite would run a query, a step a line.
func plan(t *testing.T, s *Store, query string) string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "\n")
}

// An entry of a list costs one step on its index, wherever the page begins:
// no scan, no sort.
func TestListsUseTheirIndex(t *testing.T) {
	s := open(t)
	for name, c := range map[string]struct{ query, want string }{
		"likers":         {selectLikers, "SEARCH user_reaction USING COVERING INDEX likers (tenant=? AND biz_id=? AND biz=? AND (version,user_id)<(?,?))"},
		"likes":          {selectLikes, "SEARCH user_reaction USING COVERING INDEX likes (tenant=? AND user_id=? AND (version,biz,biz_id)<(?,?,?))"},
		"likes of a biz": {selectLikesOfBiz, "SEARCH user_reaction USING COVERING INDEX likes_of_biz (tenant=? AND user_id=? AND biz=? AND (version,biz_id)<(?,?))"},
		"items":          {selectItems, "SEARCH user_collection USING COVERING INDEX items (tenant=? AND user_id=? AND state=? AND (version,biz,biz_id)<(?,?,?))"},
		"folders":        {selectFolders, "SEARCH folder USING INDEX folders (tenant=? AND user_id=? AND (created,folder_id)<(?,?))"},
		"public folders": {selectPublicFolders, "SEARCH folder USING INDEX folders_public (tenant=? AND user_id=? AND (created,folder_id)<(?,?))"},
		"reads":          {selectHistory, "SEARCH user_read USING INDEX reads (tenant=? AND user_id=? AND (version,biz,biz_id)<(?,?,?))"},
	} {
		if got := plan(t, s, c.query); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// A statement that takes many keys finds each by an index.
func TestBatchesSearchByKey(t *testing.T) {
	s := open(t)
	for _, query := range []string{
		selectCounts, selectReactions, selectCollections, selectReads, selectFoldersByKey, selectSeen, selectExisting,
		updateItemCounts, rehouseItems, insertDefaults,
	} {
		for step := range strings.Lines(plan(t, s, query)) {
			keys := strings.Contains(step, "VIRTUAL TABLE") || strings.HasPrefix(step, "CORRELATED")
			if !keys && !strings.HasPrefix(step, "SEARCH") {
				t.Errorf("%s\nruns with %s", query, step)
			}
		}
	}
}
