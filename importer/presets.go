package importer

import (
	"maps"
	"slices"
)

// likeStatus is the meaning of the column that soft-deletes a like.
var likeStatus = map[string]string{"1": "like", "t": "like", "true": "like", "0": "unlike", "f": "unlike", "false": "unlike"}

// presets are the built-in mappings by name. Those of tables have the table's name.
var presets = map[string]Mapping{
	"deskdrop": {
		Biz: "article", User: "personId", Subject: "contentId", Event: "eventType", Time: "timestamp", TimeUnit: "s",
		Events: map[string]string{
			"VIEW": "read", "LIKE": "like", "BOOKMARK": "collect",
			// Users who follow an article are notified of its comments.
			"FOLLOW": "follow", "COMMENT CREATED": "comment",
		},
		// The data was published without the texts of its comments.
		Placeholder: "(The text of this comment was not published.)",
	},
	"interactive": {
		BizColumn: "biz", Subject: "biz_id", Time: "utime", TimeUnit: "auto",
		Counts: map[string]string{"read": "read_cnt", "like": "like_cnt", "collect": "collect_cnt"},
	},
	"user_like_biz": {
		BizColumn: "biz", Subject: "biz_id", User: "uid", Event: "status", Events: likeStatus, Unmapped: reject,
		Time: "utime", TimeUnit: "auto",
	},
	"user_collection_biz": {
		BizColumn: "biz", Subject: "biz_id", User: "uid", All: "collect", Time: "utime", TimeUnit: "auto",
		Folder: "cid", Optional: []string{"cid"},
	},
	"user_like": {
		BizColumn: "biz", Subject: "biz_id", User: "user_id", Event: "status", Events: likeStatus, Unmapped: reject,
		Time: "updated_at", TimeUnit: "auto", Deleted: "deleted_at", Optional: []string{"deleted_at"},
	},
	"user_like_stat": {
		BizColumn: "biz", Subject: "biz_id", TimeUnit: "auto", Counts: map[string]string{"like": "like_count"},
	},
	"work_likes": {
		Biz: "work", Subject: "work_id", User: "user_id", All: "like", Time: "created_at", TimeUnit: "auto",
		Deleted: "deleted_at", Optional: []string{"deleted_at"},
	},
	"hasura": {
		Biz: "post", Subject: "post_id", User: "user_id", All: "like", Time: "created_at", TimeUnit: "auto",
		Deleted: "deleted_at", Optional: []string{"deleted_at"},
	},
	"postgraphile": {
		Biz: "post", Subject: "postId", User: "userId", All: "like", Time: "createdAt", TimeUnit: "auto",
		Deleted: "deletedAt", Optional: []string{"deletedAt"},
	},
	"getstream": {
		Biz: "activity", Subject: "activity_id", User: "user_id", Event: "kind", Time: "created_at", TimeUnit: "auto",
		Deleted: "deleted_at", Optional: []string{"deleted_at"}, Text: "text",
		Events: map[string]string{
			"like": "like", "bookmark": "collect", "comment": "comment",
			"activity": skip, "collection": skip, "feed": skip, "feed_group": skip, "feed_view": skip, "follow": skip,
			"poll": skip, "poll_vote": skip, "user": skip, "user_interest": skip,
			"reply": skip, "deleted comment": skip, "removed comment": skip, "hidden comment": skip,
			"like of a comment": skip, "bookmark of a comment": skip, "like of a reaction": skip,
		},
		flatten: flattenStream,
	},
	"mastodon_likes":     mastodon("like"),
	"mastodon_bookmarks": mastodon("collect"),
}

// mastodon returns the mapping of a list of the URIs of statuses: an OrderedCollection of
// an archive, or a CSV file of one column. Neither names a user or a time.
func mastodon(all string) Mapping {
	return Mapping{Biz: "status", Subject: "uri", Columns: []string{"uri"}, All: all, TimeUnit: auto, Rows: "orderedItems"}
}

// Presets returns the names of the built-in mappings, sorted.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }
