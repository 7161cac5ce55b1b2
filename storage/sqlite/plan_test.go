package sqlite

import (
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// plan returns how SQLite would run a query, one step per line.
func plan(t *testing.T, s *Store, query string) string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("explain %s: %v", query, err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		must.Succeed(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	must.Succeed(t, rows.Err())
	return strings.Join(steps, "\n")
}

// TestListsUseTheirIndex checks that each entry of a list costs one step on the list's
// index, without a scan or a sort, wherever the page begins.
func TestListsUseTheirIndex(t *testing.T) {
	s := open(t)
	for name, c := range map[string]struct{ query, want string }{
		"likers":          {selectLikers, "SEARCH user_reaction USING COVERING INDEX likers (tenant=? AND biz_id=? AND biz=? AND (version,user_id)<(?,?))"},
		"likes":           {selectLikes, "SEARCH user_reaction USING COVERING INDEX likes (tenant=? AND user_id=? AND (version,biz,biz_id)<(?,?,?))"},
		"likes of a biz":  {selectLikesOfBiz, "SEARCH user_reaction USING COVERING INDEX likes_of_biz (tenant=? AND user_id=? AND biz=? AND (version,biz_id)<(?,?))"},
		"items":           {selectItems, "SEARCH user_collection USING COVERING INDEX items (tenant=? AND user_id=? AND state=? AND (version,biz,biz_id)<(?,?,?))"},
		"followers":       {selectFollowers, "SEARCH user_follow USING COVERING INDEX followers (tenant=? AND biz_id=? AND biz=? AND (version,user_id)<(?,?))"},
		"following":       {selectFollowing, "SEARCH user_follow USING COVERING INDEX following (tenant=? AND user_id=? AND (version,biz,biz_id)<(?,?,?))"},
		"their number":    {selectFollowingTotal, "SEARCH user_totals USING PRIMARY KEY (tenant=? AND user_id=?)"}, // looked up, not counted
		"a follow back":   {selectFollowOfUser, "SEARCH user_follow USING PRIMARY KEY (tenant=? AND user_id=? AND biz=? AND biz_id=?)"},
		"works":           {selectWorks, "SEARCH interactive USING COVERING INDEX works (tenant=? AND author=? AND (authored,biz,biz_id)<(?,?,?))"},
		"folders":         {selectFolders, "SEARCH folder USING INDEX folders (tenant=? AND user_id=? AND (created,folder_id)<(?,?))"},
		"public folders":  {selectPublicFolders, "SEARCH folder USING INDEX folders_public (tenant=? AND user_id=? AND (created,folder_id)<(?,?))"},
		"comments":        {selectNewestComments, "SEARCH comment USING INDEX comments (tenant=? AND biz_id=? AND biz=? AND reply_to=? AND comment_id<?)"},
		"old comments":    {selectOldestComments, "SEARCH comment USING INDEX comments (tenant=? AND biz_id=? AND biz=? AND reply_to=? AND comment_id>?)"},
		"top comments":    {selectTopComments, "SEARCH comment USING INDEX comments_top (tenant=? AND biz_id=? AND biz=? AND reply_to=? AND (like_count,comment_id)<(?,?))"},
		"of a user":       {selectUserComments, "SEARCH comment USING INDEX comments_of (tenant=? AND user_id=? AND comment_id<?)"},
		"changes":         {selectCommentChanges, "SEARCH comment USING INDEX comment_changes (tenant=? AND biz_id=? AND biz=? AND version>?)"},
		"revocations":     {selectRevocations, "SEARCH account USING INDEX account_revoked ((revoked,tenant,account_id)>(?,?,?))"},
		"of erased users": {selectErasedRevocations, "SEARCH erased_user USING COVERING INDEX erased_user_revoked (revoked>?)"},
		"videos":          {selectFeed, "SEARCH v USING PRIMARY KEY (tenant=? AND video_id<?)"},
		"user videos":     {selectUserVideos, "SEARCH v USING INDEX videos_of (tenant=? AND user_id=? AND video_id<?)"},
		"found users": {selectFoundUsers, "SEARCH w USING PRIMARY KEY (tenant=? AND kind=? AND (word,place)>(?,?) AND word<?)\n" +
			"SEARCH a USING PRIMARY KEY (tenant=? AND account_id=?) LEFT-JOIN"},
		"found videos": {selectFoundVideos, "SEARCH w USING PRIMARY KEY (tenant=? AND kind=? AND (word,place)>(?,?) AND word<?)\n" +
			"SEARCH v USING PRIMARY KEY (tenant=? AND video_id=?) LEFT-JOIN"},
		"messages":      {selectMessageList, "SEARCH message USING PRIMARY KEY (tenant=? AND user_low=? AND user_high=? AND message_id<?)"},
		"cleared reads": {selectHistoryRows, "SEARCH user_read USING PRIMARY KEY (tenant=? AND user_id=? AND (biz,biz_id)>(?,?) AND (biz,biz_id)<(?,?))"},
		"reads":         {selectHistory, "SEARCH user_read USING INDEX reads (tenant=? AND user_id=? AND (version,biz,biz_id)<(?,?,?))"},
	} {
		if got := plan(t, s, c.query); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestBatchesSearchByKey checks that each statement with keys as arguments finds every
// row by an index.
func TestBatchesSearchByKey(t *testing.T) {
	s := open(t)
	for _, query := range []string{
		selectCounts, selectReactions, selectCollections, selectFollows, selectReads, selectFoldersByKey, selectSeen, selectExisting,
		updateItemCounts, moveItemsToDefault, insertDefaults,
		selectComments, selectCommentCounts, selectRequests, selectLastComment, insertComments, insertMessages, upsertMailboxes, upsertConversations,
		selectMailboxes, selectMessages, selectConversations, updateRead, updateReplyCounts, updateComment, updateCommentLikes,
		selectAuthors, selectTotals, selectTakenIDs,
		selectLastAccount, selectAccount, selectAccountNamed, selectProfiles, selectNamedAvatars, updateAccount,
		selectVideo, selectVideos, selectNamedFiles, takeVideoNumber, deleteVideo, rescheduleCover, setCover, selectClears, deleteHistoryRows, selectDeletedAmong, clearReactions, clearCollections, clearFollows,
		selectLikesOn, selectDislikesOn, selectCollectionsOf, selectFollowsOf, selectCommentsOn, failCover, selectCoverReason,
		insertWords, deleteWords, selectIndexed, setAccountIndexed, setVideoIndexed,
	} {
		for step := range strings.Lines(plan(t, s, query)) {
			keys := strings.Contains(step, "VIRTUAL TABLE") || strings.HasPrefix(step, "CORRELATED") || strings.HasPrefix(step, "SCALAR SUBQUERY") || strings.HasPrefix(step, "LIST SUBQUERY")
			if !keys && !strings.HasPrefix(step, "SEARCH") {
				t.Errorf("%s\nruns with %s\nwant SEARCH, by a key", query, step)
			}
		}
	}
}

// TestStepsUseTheirIndexes checks that each step of a statement with several steps uses
// an index.
func TestStepsUseTheirIndexes(t *testing.T) {
	s := open(t)
	for name, c := range map[string]struct {
		query       string
		never, want []string
	}{
		"conversations": {selectConversationList, nil, []string{ // the page is sorted
			"SEARCH conversation USING INDEX conversations (tenant=? AND user_id=? AND latest<?)",
			"SEARCH m USING PRIMARY KEY (tenant=? AND user_low=? AND user_high=? AND message_id=?)",
		}},
		"a mailbox": {selectMailbox, []string{"TEMP B-TREE"}, []string{ // two indexes are merged
			"SEARCH message USING INDEX messages_low (tenant=? AND user_low=? AND message_id>?)",
			"SEARCH message USING INDEX messages_high (tenant=? AND user_high=? AND message_id>?)",
		}},
		"numbers of messages": {numberMessages, []string{"SCAN message"}, []string{
			"SEARCH message USING PRIMARY KEY (tenant=? AND user_low=? AND user_high=?)",
		}},
		"likers who are followed": {selectFollowedLikers, []string{"SCAN user", "INDEX likers"}, []string{ // up to 500 follows are sorted
			"SEARCH user_follow USING COVERING INDEX following (tenant=? AND user_id=? AND (version,biz,biz_id)<(?,?,?))",
			"SEARCH r USING PRIMARY KEY (tenant=? AND user_id=? AND biz=? AND biz_id=?) LEFT-JOIN",
		}},
		"unindexed names":  {selectUnindexedAccounts, []string{"TEMP B-TREE"}, []string{"INDEX account_unindexed"}},
		"unindexed titles": {selectUnindexedVideos, []string{"TEMP B-TREE"}, []string{"INDEX video_unindexed"}},
		"avatars":          {selectNamedAvatars, []string{"SCAN account"}, []string{"INDEX account_avatar (avatar=?)"}},
		"due covers":       {selectDueCovers, []string{"SCAN", "TEMP B-TREE"}, []string{"INDEX covers_due (cover_due>? AND cover_due<?)"}},
	} {
		got := plan(t, s, c.query)
		has := func(step string) bool { return strings.Contains(got, step) }
		if slices.ContainsFunc(c.never, has) || slices.ContainsFunc(c.want, func(step string) bool { return !has(step) }) {
			t.Errorf("%s: got %s\nwant %s\nand not %q", name, got, strings.Join(c.want, "\n     "), c.never)
		}
	}
}
