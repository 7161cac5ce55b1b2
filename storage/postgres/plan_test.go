package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
)

// plan returns the plan with which a connection of the store runs a statement, as one
// string per step.
func plan(t *testing.T, s *Store, query string) []string {
	t.Helper()
	c, err := s.pool.Acquire(t.Context())
	must.Succeed(t, err)
	defer c.Release()
	if _, err := c.Exec(t.Context(), "PREPARE asked AS "+query); err != nil {
		t.Fatalf("prepare %s: %v", query, err)
	}
	arguments := ""
	for n := 1; strings.Contains(query, fmt.Sprint("$", n)); n++ {
		arguments += ", NULL"
	}
	rows, _ := c.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE asked("+strings.TrimPrefix(arguments, ", ")+")")
	steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("explain %s: %v", query, err)
	}
	if _, err := c.Exec(t.Context(), "DEALLOCATE asked"); err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		steps[i] = strings.TrimPrefix(strings.TrimSpace(steps[i]), "->  ")
	}
	return steps
}

// databases returns two stores: one without rows, and one with rows and planner
// statistics.
func databases(t *testing.T) map[string]*Store {
	t.Helper()
	at := postgrestest.Schema(t)
	postgrestest.Exec(t, at,
		`INSERT INTO interactive SELECT 'default', 'video', i, 1, 1, 1, 1, 1 FROM generate_series(1, 2000) i`,
		`UPDATE interactive SET author = biz_id::int % 50, authored = biz_id::int`,
		`INSERT INTO user_totals SELECT 'default', i, 1, 1, 1, 1, 1 FROM generate_series(1, 2000) i`,
		`INSERT INTO user_comments SELECT 'default', i, 1 FROM generate_series(1, 2000) i`,
		`INSERT INTO user_reaction SELECT 'default', i % 50, 'video', i, i % 3, 0, i FROM generate_series(1, 5000) i`,
		`INSERT INTO user_collection SELECT 'default', i % 50, 'video', i, 'default', '', i FROM generate_series(1, 5000) i`,
		`INSERT INTO user_read SELECT 'default', i % 50, 'video', i, 1, i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO user_follow SELECT 'default', i % 50, 'user', i, i % 2, 0, i FROM generate_series(1, 5000) i`,
		`INSERT INTO folder SELECT 'default', i % 50, i, 'Folder ' || i, 'folder ' || i, '', i % 2 = 0, 1, 1, i FROM generate_series(1, 2000) i`,
		`INSERT INTO cleared_read SELECT 'default', i % 50, 'video', i, i FROM generate_series(1, 2000) i`,
		`INSERT INTO deleted_folder SELECT 'default', i % 50, i, 'default', i FROM generate_series(1, 2000) i`,
		`INSERT INTO inbox SELECT i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO comment_count SELECT 'default', 'video', i, 10, 10 FROM generate_series(1, 500) i`,
		`INSERT INTO comment SELECT 'default', 'video', i % 500, i, i % 3, i % 50, 'text', i, 0, 0, i % 10 > 0, i % 7, 0, i / 500 + 1 FROM generate_series(1, 5000) i`,
		`INSERT INTO account SELECT 'default', i, 'User ' || i, 'user ' || i, 'x', '', '', '', 1, CASE WHEN i % 50 = 0 THEN i ELSE 0 END, i FROM generate_series(1, 5000) i`,
		`INSERT INTO account_name SELECT 'default', 'user ' || i, i FROM generate_series(1, 5000) i`,
		`INSERT INTO request SELECT 'default', i % 50, i, 1 * i, '', i FROM generate_series(1, 5000) i`,
		`INSERT INTO mailbox SELECT 'default', i, 5000 FROM generate_series(1, 500) i`,
		`INSERT INTO message SELECT 'default', i % 50, 'x' || i % 60, i, i % 2 = 0, 'text', i FROM generate_series(1, 5000) i`,
		`INSERT INTO conversation SELECT 'default', i % 50, 'x' || i % 60, max(i), 0, max(i) FROM generate_series(1, 5000) i GROUP BY 2, 3`,
		`INSERT INTO video SELECT 'default', i, i % 50, 'film', 'file' || i, 1, 1, i % 10 > 0, 0, '', CASE WHEN i % 10 > 0 THEN 0 ELSE i END, i FROM generate_series(1, 5000) i`,
		`INSERT INTO search_word SELECT 'default', 1 + i % 2, 'word' || i % 60, -i FROM generate_series(1, 5000) i`,
		`INSERT INTO deleted_subject SELECT 'default', 'video', i, i FROM generate_series(1, 2000) i`)
	postgrestest.Analyze(t, at)
	return map[string]*Store{"empty": open(t), "filled": openAt(t, Options{URL: at})}
}

// TestListsUseTheirIndex checks that each entry of a list costs one step on the list's
// index, without a scan or a sort, wherever the page begins.
func TestListsUseTheirIndex(t *testing.T) {
	for name, s := range databases(t) {
		for list, c := range map[string]struct {
			query string
			want  []string // the scans, each followed by its index condition
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
			"followers": {selectFollowers, []string{
				"Backward using followers on user_follow s",
				"Index Cond: ((tenant = k.tenant) AND (biz_id = k.biz_id) AND (biz = k.biz) AND (ROW(version, user_id) < ROW(k.version, k.id)))",
			}},
			"following": {selectFollowing, []string{
				"Backward using following on user_follow s",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (ROW(version, biz, biz_id) < ROW(k.version, k.biz, k.biz_id)))",
			}},
			"works": {selectWorks, []string{
				"Backward using works on interactive s",
				"Index Cond: ((tenant = k.tenant) AND (author = k.user_id) AND (ROW(authored, biz, biz_id) < ROW(k.version, k.biz, k.biz_id)))",
			}},
			"folders": {selectFolders, []string{
				"Backward using folders on folder f",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (ROW(created, folder_id) < ROW(k.created, k.id)))",
				"Backward using folders_public on folder f_1",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (ROW(created, folder_id) < ROW(k.created, k.id)))",
			}},
			"comments": {selectCommentLists, []string{
				"using comment_count_pkey on comment_count v",
				"Index Cond: ((tenant = k.tenant) AND (biz_id = k.biz_id) AND (biz = k.biz))",
				"Backward using comments on comment c",
				"Index Cond: ((tenant = k.tenant) AND (biz_id = k.biz_id) AND (biz = k.biz) AND (reply_to = k.reply_to) AND (comment_id < k.id))",
				"using comments on comment c_1",
				"Index Cond: ((tenant = k.tenant) AND (biz_id = k.biz_id) AND (biz = k.biz) AND (reply_to = k.reply_to) AND (comment_id > k.id))",
				"Backward using comments_top on comment c_2",
				"Index Cond: ((tenant = k.tenant) AND (biz_id = k.biz_id) AND (biz = k.biz) AND (reply_to = k.reply_to) AND (ROW(like_count, comment_id) < ROW(k.likes, k.id)))",
			}},
			"changes": {selectCommentChanges, []string{
				"using comment_changes on comment c",
				"Index Cond: ((tenant = $1) AND (biz_id = $3) AND (biz = $2) AND (version > $4))",
			}},
			"conversations": {selectConversationLists, []string{
				"using mailbox_pkey on mailbox v",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id))",
				"Backward using conversations on conversation c",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (latest < k.below))",
				"using message_pkey on message m",
				"Index Cond: ((tenant = c.tenant) AND (user_low = LEAST(c.user_id, c.peer_id)) AND (user_high = GREATEST(c.user_id, c.peer_id)) AND (message_id = c.latest))",
			}},
			"videos": {selectFeed, []string{
				"Backward using video_pkey on video v",
				"Index Cond: ((tenant = k.tenant) AND (video_id < k.below))",
			}},
			"videos of users": {selectUserVideos, []string{
				"Backward using videos_of on video v",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (video_id < k.below))",
			}},
			"comments of users": {selectUserComments, []string{
				"Backward using comments_of on comment c",
				"Index Cond: ((tenant = k.tenant) AND (user_id = k.user_id) AND (comment_id < k.below))",
			}},
			"found users": {selectFoundUsers, []string{
				"using search_word_pkey on search_word w",
				"Index Cond: ((tenant = k.tenant) AND (kind = 1) AND (ROW(word, place) > ROW(k.word, k.place)) AND (word < k.below))",
				"using account_pkey on account a",
				"Index Cond: ((tenant = k.tenant) AND (account_id = (- w.place)))",
			}},
			"found videos": {selectFoundVideos, []string{
				"using search_word_pkey on search_word w",
				"Index Cond: ((tenant = k.tenant) AND (kind = 2) AND (ROW(word, place) > ROW(k.word, k.place)) AND (word < k.below))",
				"using video_pkey on video v",
				"Index Cond: ((tenant = k.tenant) AND (video_id = (- w.place)))",
			}},
			"messages": {selectMessageLists, []string{
				"Backward using message_pkey on message m",
				"Index Cond: ((tenant = k.tenant) AND (user_low = k.user_low) AND (user_high = k.user_high) AND (message_id < k.below))",
			}},
			"mailbox": {selectMailbox, []string{
				"Sort Key: m.message_id", // of a Merge Append
				"using messages_low on message m",
				"Index Cond: ((tenant = $1) AND (user_low = $2) AND (message_id > $3))",
				"using messages_high on message m_1",
				"Index Cond: ((tenant = $1) AND (user_high = $2) AND (message_id > $3))",
			}},
			"a history to clear": {selectHistoryRows, []string{
				"using user_read_pkey on user_read",
				"Index Cond: ((tenant = $1) AND (user_id = $2) AND (ROW(biz, biz_id) >= ROW($4, $5)) AND (ROW(biz, biz_id) < ROW($6, $7)))",
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

// TestFriendsUseTheIndexOfOneList checks that each row examined in the search for friends,
// or for likers who are followed, costs one step on the index of a list and one lookup by
// key, without a scan or a sort.
func TestFriendsUseTheIndexOfOneList(t *testing.T) {
	for name, s := range databases(t) {
		for query, uses := range map[string]struct{ index, lookup string }{
			selectFriendsInFollowing: {"following", "user_follow"}, selectFriendsInFollowers: {"followers", "user_follow"},
			selectFollowedLikers: {"following", "user_reaction"},
		} {
			index, steps := uses.index, strings.Join(plan(t, s, query), "\n")
			if !strings.Contains(steps, "Backward using "+index+" on user_follow s\nIndex Cond:") ||
				strings.Contains(steps, "Sort") || strings.Contains(steps, "Seq") ||
				!strings.Contains(steps, "using "+uses.lookup+"_pkey on "+uses.lookup+" r\nIndex Cond:") {
				t.Errorf("%s: %s\nruns with %s\nwant the index %s, a lookup by key, no scan and no sorting", name, query, steps, index)
			}
		}
	}
}

// TestSweepsTakeTheOldestSubjects checks that the next subjects to sweep are found without
// a scan of the queue or a sort.
func TestSweepsTakeTheOldestSubjects(t *testing.T) {
	for name, s := range databases(t) {
		steps := strings.Join(plan(t, s, takeDeletedSubjects), "\n")
		if !strings.Contains(steps, "using deleted_subject_at on deleted_subject") ||
			!strings.Contains(steps, "using interactive_pkey on interactive i\nIndex Cond:") || strings.Contains(steps, "Seq") {
			t.Errorf("%s: %s\nruns with %s\nwant the index deleted_subject_at and a lookup by key", name, takeDeletedSubjects, steps)
		}
	}
}

// TestPartialIndexesAreUsed checks that what is not in the index of searches, and uploaded
// avatars, are found by their indexes, without a scan or a sort.
func TestPartialIndexesAreUsed(t *testing.T) {
	for name, s := range databases(t) {
		for query, index := range map[string]string{lockUnindexedAccounts: "account_unindexed", lockUnindexedVideos: "video_unindexed", selectNamedAvatars: "account_avatar"} {
			if steps := strings.Join(plan(t, s, query), "\n"); !strings.Contains(steps, "using "+index+" on ") || strings.Contains(steps, "Seq") || strings.Contains(steps, "Sort") {
				t.Errorf("%s: %s\nruns with %s\nwant the index %s", name, query, steps, index)
			}
		}
	}
}

// TestBatchesSearchByKey checks that each statement with keys as arguments finds every
// row by an index. This must be so even in an empty database, because the plan remains in
// use while the tables grow.
func TestBatchesSearchByKey(t *testing.T) {
	t.Parallel()
	for name, s := range databases(t) {
		for _, query := range []string{
			selectInteractives, selectStates, selectWindows, selectFoldersByKey, selectSeen,
			insertInbox, upsertDefaultFolders, selectExisting, upsertReactions, upsertCollections, upsertReads, upsertFollows,
			selectReactions, selectCollections, selectFollows, updateItemCounts, upsertCounts, selectPresentCounts,
			selectNames, selectFolder, updateFolder, takeItems, holdsItems, deleteFolder, deleteInbox,
			closeEpoch, nextEpoch, insertDeleted, selectDeleted, deleteDeleted,
			lockCommentCounts, selectCommentCounts, selectRequests, selectComments, insertComments, insertRequests,
			updateReplyCounts, upsertCommentCounts, updateComment, updateCommentLikes, deleteRequests, repairCommentCounts, lockLikes,
			selectFriendsInFollowing, selectFriendsInFollowers, selectFollowsFewer, selectFollowedLikers,
			lockCounts, selectAuthors, upsertAuthors, upsertTotals, upsertUserComments, selectTotals, selectTakenIDs,
			insertAccount, selectAccount, lockAccount, selectAccountNamed, selectProfiles, selectNamedAvatars, updateAccount, insertAccountName, deleteAccountName, selectRevocations,
			selectVideo, lockVideo, selectVideos, selectNamedFiles, deleteVideo, takeDueCovers, setCover, failCover, selectCoverReason,
			lockMailboxes, selectMailboxes, insertMessages, upsertMailboxes, upsertConversations, lockConversation, updateRead, numberMessages, selectLastNumbered,
			selectMessages, selectConversations, repairUnread,
			selectDeletedAmong, insertDeletedSubjects, removeDeletedSubjects, clearReactions, clearCollections, clearFollows,
			selectLikesOn, selectDislikesOn, selectCollectionsOf, selectFollowsOf, selectCommentsOn,
			insertWords, deleteWords, selectIndexed, setAccountIndexed, setVideoIndexed,
			selectClears, upsertClear, deleteCleared, selectHistoryRows, deleteHistoryRows,
		} {
			steps := plan(t, s, query)
			for i, step := range steps {
				scan := strings.Contains(step, "Scan") &&
					!strings.HasPrefix(step, "Function Scan") && !strings.HasPrefix(step, "Subquery Scan") && !strings.HasPrefix(step, "CTE Scan")
				// A full join compares arguments of the statement, which have no index.
				join := strings.Contains(step, "Join") && !strings.HasPrefix(step, "Nested Loop") && !strings.Contains(step, "Full Join")
				if join ||
					scan && !strings.HasPrefix(step, "Index") || scan && !strings.HasPrefix(steps[i+1], "Index Cond:") {
					t.Errorf("%s: %s\nruns with %s\nwant each table searched by an index condition", name, query, strings.Join(steps, "\n    "))
					break
				}
			}
		}
	}
}
