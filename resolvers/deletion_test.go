package resolvers_test

import (
	"strings"
	"testing"

	"ovation/internal/testing/must"
)

// A video that users have liked, disliked, collected, followed and commented is deleted.
// Until the sweep, every total equals its list; after it, nothing refers to the video.
func TestDeletedVideosLeaveTotalsAndLists(t *testing.T) {
	s := start(t, withVideos)
	video, kept := s.upload(t, "alice", "film"), s.upload(t, "alice", "kept")
	comment := dig(t, s.ok(t, "alice", `mutation($v: ID!) { addComment(input: {biz: "video", bizId: $v, text: "first"}) { comment { id } } }`, "v", video), "addComment", "comment", "id")
	for _, user := range []string{"bob", "carol", "dave"} {
		for _, id := range []string{video, kept} {
			s.ok(t, user, `mutation($v: ID!) { like(input: {biz: "video", bizId: $v}) { changed } collect(input: {biz: "video", bizId: $v}) { changed }
				follow(input: {biz: "video", bizId: $v}) { changed } read(input: {biz: "video", bizId: $v}) { durability }
				addComment(input: {biz: "video", bizId: $v, text: "text"}) { comment { commentId } } }`, "v", id)
		}
	}
	s.ok(t, "alice", `mutation($v: ID!) { dislike(input: {biz: "video", bizId: $v}) { changed } }`, "v", video)
	s.ok(t, "alice", `mutation($v: ID!) { deleteVideo(input: {videoId: $v}) { deletedId } }`, "v", video)

	for _, do := range []string{"like", "dislike", "collect", "follow"} {
		for _, selected := range []string{"changed", "interactive { likeCount }"} {
			s.refused(t, "NOT_FOUND", "erin", `mutation($v: ID!) { `+do+`(input: {biz: "video", bizId: $v}) { `+selected+` } }`, "v", video)
		}
	}
	s.refused(t, "NOT_FOUND", "erin", `mutation($v: ID!) { addComment(input: {biz: "video", bizId: $v, text: "late"}) { comment { id } } }`, "v", video)
	got := s.ask(t, "erin", `mutation($v: ID!, $c: ID!) { addComment(input: {biz: "video", bizId: $v, replyTo: $c, text: "late"}) { comment { id } } }`, "v", video, "c", comment)
	if len(got.Errors) != 1 || !strings.HasPrefix(got.Errors[0].Message, "input.bizId was not found") {
		t.Errorf("a reply to a comment on a deleted video: got %+v, want NOT_FOUND with input.bizId", got.Errors)
	}
	s.ok(t, "bob", `mutation($v: ID!) { unlike(input: {biz: "video", bizId: $v}) { changed interactive { liked { reaction } } } }`, "v", video)

	const lists = `query($v: ID!) { interactive(biz: "video", bizId: $v) { deleted likeCount dislikeCount collectCount followerCount commentCount readCount
		author { userId } likers { edges { cursor } } followers { edges { cursor } } comments { edges { cursor } } }
		viewer { totals { likes collections following comments } likes { edges { node { interactive { bizId } } } } following(biz: "video") { edges { node { interactive { bizId } } } }
			folders { edges { node { itemCount items { edges { node { interactive { bizId } } } } } } } } }`
	for done := false; !done; {
		for _, user := range []string{"bob", "carol", "dave"} {
			data := s.ok(t, user, lists, "v", video)
			for total, list := range map[string][]any{
				"likes": {"likes"}, "following": {"following"}, "collections": {"folders", "edges", 0, "node", "items"},
			} {
				n := len(dig(t, data, append(append([]any{"viewer"}, list...), "edges")...).([]any))
				same(t, dig(t, data, "viewer", "totals", total), toJSON(t, n))
			}
			same(t, dig(t, data, "interactive", "likeCount"), toJSON(t, len(dig(t, data, "interactive", "likers", "edges").([]any))))
			same(t, dig(t, data, "interactive", "commentCount"), toJSON(t, len(dig(t, data, "interactive", "comments", "edges").([]any))))
		}
		swept, _, err := s.store.SweepDeleted(t.Context(), 2, nil)
		must.Succeed(t, err)
		done = swept.Subjects == 0
	}
	data := s.ok(t, "bob", lists, "v", video)
	same(t, dig(t, data, "interactive"), `{"deleted":true,"likeCount":0,"dislikeCount":0,"collectCount":0,"followerCount":0,"commentCount":0,"readCount":3,
		"author":null,"likers":{"edges":[]},"followers":{"edges":[]},"comments":{"edges":[]}}`)
	node := `{"edges":[{"node":{"interactive":{"bizId":"` + kept + `"}}}]}`
	same(t, dig(t, data, "viewer"), `{"totals":{"likes":1,"collections":1,"following":1,"comments":1},"likes":`+node+`,"following":`+node+`,
		"folders":{"edges":[{"node":{"itemCount":1,"items":`+node+`}}]}}`)
}
