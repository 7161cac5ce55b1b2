package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/api/codes"
	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/storage"
)

// configFile writes a configuration and returns its path.
func configFile(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "ovation.yaml")
	must.Succeed(tb, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestConfigCheckListsEveryError(t *testing.T) {
	good := configFile(t, "biz: {article: , photo: {}}\ntenants: {acme: {}}\n")
	call(t, environment(), "config", "check", good).want(t, 0, good+" is valid: settings for 2 kinds of content, and for 1 tenants of their own.\n")
	bad := configFile(t, "unknown: never\nbiz:\n  article: {likes: 1}\n")
	for _, of := range [][]string{{"config", "check", bad}, {"dev", "--config=" + bad, "--data=" + t.TempDir()}} {
		code := map[string]int{"config": exitFailed, "dev": exitUsage}[of[0]]
		call(t, environment(), of...).want(t, code, bad+`:1:10: unknown is "never"`+"; it must be allow or refuse\n", bad+`:3:13: biz.article has no setting "likes"; it may have allow, `)
	}
	call(t, environment("OVATION_CONFIG", "/none.yaml"), "dev", "--data="+t.TempDir()).want(t, exitUsage, "--config or OVATION_CONFIG: open /none.yaml")
	printed := call(t, environment(), "config", "schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(printed.stdout), &schema); err != nil || schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("config schema printed %s, %v", printed.stdout, err)
	}
}

const configSecret = "0123456789012345678901234567890123"

// tokens makes the server send tokens of users in its requests. A user is written as
// tenant/id or tenant/id/scope.
func (s *server) tokens(tb testing.TB) {
	tb.Helper()
	s.as = func(user string) map[string]string {
		if user == "" {
			return nil
		}
		tenant, id, _ := strings.Cut(user, "/")
		id, scope, _ := strings.Cut(id, "/")
		token, err := viewer.Sign([]byte(configSecret), storage.User{Tenant: tenant, UserID: id}, time.Hour, viewer.Scope(scope))
		must.Succeed(tb, err)
		return map[string]string{"Authorization": "Bearer " + token}
	}
}

// refused checks that an operation fails with a code and a message, and that its field is
// not resolved.
func (s *server) refused(t *testing.T, user, query, code, message string) {
	t.Helper()
	err := s.graphQL(user, query, nil)
	if err == nil || !strings.Contains(err.Error(), `"code":"`+code+`"`) || !strings.Contains(err.Error(), message) {
		t.Errorf("%s by %q: got %v, want %s with %q", query, user, err, code, message)
	}
}

// do mutates a subject: what is the name of a mutation.
func do(what, biz, id string) string {
	return fmt.Sprintf(`mutation { %s(input: {biz: %q, bizId: %q}) { changed } }`, what, biz, id)
}

func remark(biz, text string) string {
	return fmt.Sprintf(`mutation { addComment(input: {biz: %q, bizId: "1", text: %q}) { comment { id } } }`, biz, text)
}

// recordLikes likes one subject of each kind for a user.
func recordLikes(kinds ...string) string {
	actions := ""
	for _, biz := range kinds {
		actions += fmt.Sprintf(`{action: LIKE, userId: "alice", biz: %q, bizId: "77", at: "2026-01-01T00:00:00Z"} `, biz)
	}
	return `mutation { recordActions(input: {requestId: "1", actions: [` + actions + `]}) { recorded } }`
}

// shownCounts is what a viewer sees of a subject.
type shownCounts struct {
	Interactive struct {
		LikeCount, ReadCount, CommentCount int
		Freshness                          string
		Liked                              *struct{ ID string }
		Likers                             struct {
			Edges []struct {
				Node struct{ User struct{ UserID string } }
			}
		}
	}
}

func (s *server) shown(t *testing.T, user, biz, id string) (out shownCounts) {
	t.Helper()
	likers := ""
	if user != "" {
		likers = "likers { edges { node { user { userId } } } }"
	}
	must.Succeed(t, s.graphQL(user, fmt.Sprintf(`{ interactive(biz: %q, bizId: %q) { likeCount readCount commentCount freshness liked { id } %s } }`, biz, id, likers), &out))
	return out
}

const enforced = `
unknown: refuse
defaults: {maxCommentLength: 20}
biz:
  article:
    allow: {read: users, like: "scope:fan", dislike: none, collect: none, follow: none, comment: "scope:fan"}
    ratePerMinute: {like: 2}
  photo: {counts: author, likers: author}
  video: {counts: author, likers: author, maxCommentLength: 5, ratePerMinute: {comment: 2}}
  user: {allow: {follow: none}}
tenants:
  acme:
    unknown: allow
    biz:
      article: {allow: {read: anyone, like: users, dislike: users, collect: users, follow: users, comment: users}, maxCommentLength: 30, ratePerMinute: {like: 0}}
      video: {allow: {like: none, comment: none}}
`

// TestConfigIsEnforcedByEveryAPI checks each setting by GraphQL and by /douyin.
func TestConfigIsEnforcedByEveryAPI(t *testing.T) {
	t.Parallel()
	data := emptyData(t)
	s := serveBare(t, data, "--config="+configFile(t, enforced), "--jwt-secret="+configSecret)
	s.tokens(t)
	t.Run("GraphQL", func(t *testing.T) { enforcedByGraphQL(t, s) })
	t.Run("hidden", func(t *testing.T) { hiddenByGraphQL(t, s) })
	t.Run("live", func(t *testing.T) { hiddenLive(t, s) })
	t.Run("douyin", func(t *testing.T) { enforcedByDouyin(t, s) })
	s.stop().want(t, 0)
	verified(t, data)
}

func enforcedByGraphQL(t *testing.T, s *server) {
	t.Helper()
	const fan, bob, other = "default/ann/fan", "default/bob", "acme/bob"
	for _, c := range []struct{ user, query, code, message string }{
		{bob, do("like", "song", "1"), codes.BadUserInput, "biz song is not known to this site"},
		{bob, do("unlike", "song", "1"), codes.BadUserInput, "biz song is not known to this site"},
		{"", do("read", "song", "1"), codes.BadUserInput, "biz song is not known to this site"},
		{bob, remark("song", "hi"), codes.BadUserInput, "biz song is not known to this site"},
		{"", do("read", "article", "1"), codes.Unauthenticated, "reads of biz article need a signed-in user"},
		{bob, do("like", "article", "1"), codes.Unauthenticated, "likes of biz article need a token whose scope holds fan"},
		{bob, do("dislike", "article", "1"), codes.BadUserInput, "biz article takes no dislikes on this site"},
		{bob, do("collect", "article", "1"), codes.BadUserInput, "biz article takes no collections on this site"},
		{bob, do("follow", "article", "1"), codes.BadUserInput, "biz article takes no follows on this site"},
		{bob, do("follow", "user", "ann"), codes.BadUserInput, "biz user takes no follows on this site"},
		{bob, remark("article", "hi"), codes.Unauthenticated, "comments of biz article need a token whose scope holds fan"},
		{fan, remark("article", strings.Repeat("x", 21)), codes.BadUserInput, "input.text is 21 characters long; at most 20 are allowed"},
		{
			"default/ann/subjects:write", `mutation { declareSubjects(input: {subjects: [{biz: "photo", bizId: "1"}, {biz: "song", bizId: "1"}]}) { durability } }`,
			codes.BadUserInput, "input.subjects[1].biz is not known to this site",
		},
		{"default/cms/actions:write", recordLikes("photo", "song"), codes.BadUserInput, "input.actions[1].biz is not known to this site"},
		{"acme/cms/actions:write", recordLikes("photo", "video"), codes.BadUserInput, "input.actions[1].biz must be a kind that takes likes on this site"},
		{other, do("like", "video", "1"), codes.BadUserInput, "biz video takes no likes on this site"},
		{other, remark("article", strings.Repeat("x", 31)), codes.BadUserInput, "at most 30 are allowed"},
	} {
		s.refused(t, c.user, c.query, c.code, c.message)
	}
	if seen := s.shown(t, bob, "article", "1").Interactive; seen.LikeCount+seen.ReadCount+seen.CommentCount != 0 {
		t.Errorf("what was refused has changed %+v", seen)
	}
	for _, c := range [][2]string{
		{bob, do("read", "article", "1")},
		{fan, do("like", "article", "1")},
		{bob, do("unlike", "article", "1")}, // taking back is always allowed
		{bob, do("uncollect", "article", "1")},
		{bob, do("unfollow", "article", "1")},
		{bob, do("like", "comment", "1")}, // the site's own kinds are known
		{"", do("read", "photo", "1")},
		{"default/cms/actions:write", recordLikes("article", "photo")}, // without the scope fan
		{other, do("like", "song", "1")},                               // the tenant allows unknown kinds
		{other, do("like", "article", "1")},
		{other, do("dislike", "article", "1")},
		{other, do("follow", "article", "1")},
		{other, do("follow", "article", "2")},
		{"", do("read", "photo", "2")},
	} {
		must.Succeed(t, s.graphQL(c[0], c[1], nil))
	}

	// Two likes a minute, whatever is taken back.
	must.Succeed(t, s.graphQL(fan, do("unlike", "article", "1"), nil))
	must.Succeed(t, s.graphQL(fan, do("like", "article", "2"), nil))
	s.refused(t, fan, do("like", "article", "3"), codes.RateLimited, `"retryAfter":`)
	must.Succeed(t, s.graphQL("default/eve/fan", do("like", "article", "3"), nil)) // another user
	must.Succeed(t, s.graphQL(fan, do("like", "photo", "3"), nil))                 // another kind

	// A long comment cannot be written by editing a short one either.
	var written struct {
		AddComment struct{ Comment struct{ ID string } }
	}
	must.Succeed(t, s.graphQL(fan, remark("article", "short"), &written))
	edit := func(text string) string {
		return fmt.Sprintf(`mutation { editComment(input: {id: %q, text: %q}) { comment { text } } }`, written.AddComment.Comment.ID, text)
	}
	s.refused(t, fan, edit(strings.Repeat("x", 21)), codes.BadUserInput, "input.text is 21 characters long; at most 20 are allowed")
	s.refused(t, "default/ann", edit("new"), codes.Unauthenticated, "scope holds fan")
	must.Succeed(t, s.graphQL(fan, edit("new"), nil))
	must.Succeed(t, s.graphQL("default/ann", fmt.Sprintf(`mutation { deleteComment(input: {id: %q}) { deletedId } }`, written.AddComment.Comment.ID), nil))
}

func hiddenByGraphQL(t *testing.T, s *server) {
	t.Helper()
	const author, bob, eve = "default/ann", "default/bob", "default/eve"
	must.Succeed(t, s.graphQL("default/cms/subjects:write", `mutation { declareSubjects(input: {subjects: [{biz: "photo", bizId: "9", author: "ann"}]}) { durability } }`, nil))
	var liked struct {
		Like struct {
			Changed     bool
			Interactive struct {
				LikeCount int
				Freshness string
				Liked     struct{ ID string }
			}
		}
	}
	must.Succeed(t, s.graphQL(bob, `mutation { like(input: {biz: "photo", bizId: "9"}) { changed interactive { likeCount freshness liked { id } } } }`, &liked))
	if of := liked.Like; !of.Changed || of.Interactive.LikeCount != 0 || of.Interactive.Freshness != "HIDDEN" || of.Interactive.Liked.ID == "" {
		t.Errorf("the payload of a like of hidden counts is %+v", liked)
	}
	must.Succeed(t, s.graphQL(bob, do("like", "comment", "5"), nil)) // public
	if seen := s.shown(t, author, "photo", "9").Interactive; seen.LikeCount != 1 || seen.Freshness != "LIVE" || len(seen.Likers.Edges) != 1 || seen.Likers.Edges[0].Node.User.UserID != "bob" {
		t.Errorf("the author sees %+v, want the like of bob", seen)
	}
	if seen := s.shown(t, bob, "photo", "9").Interactive; seen.LikeCount != 0 || seen.Freshness != "HIDDEN" || seen.Liked == nil || len(seen.Likers.Edges) != 1 {
		t.Errorf("bob sees %+v, want hidden counts and no like but the own", seen)
	}
	for _, user := range []string{"", eve} {
		if seen := s.shown(t, user, "photo", "9").Interactive; seen.LikeCount != 0 || seen.Freshness != "HIDDEN" || len(seen.Likers.Edges) != 0 {
			t.Errorf("%q sees %+v, want hidden counts and no likers", user, seen)
		}
	}
	for user, want := range map[string]int{author: 2, bob: 2, eve: 1} {
		var listed struct {
			User struct {
				Likes struct {
					Edges []struct{ Node struct{ ID string } }
				}
			}
			Node *struct{ ID string }
		}
		must.Succeed(t, s.graphQL(user, fmt.Sprintf(`{ user(userId: "bob") { likes { edges { node { id } } } } node(id: %q) { id } }`, liked.Like.Interactive.Liked.ID), &listed))
		// bob also likes comment 1.
		if got := len(listed.User.Likes.Edges) - 1; got != want || (listed.Node != nil) != (user != eve) {
			t.Errorf("%s sees %d likes of bob, and the one of the photo by its id: %v; want %d", user, got, listed.Node != nil, want)
		}
	}
}

// hiddenLive checks that events hide what queries hide.
func hiddenLive(t *testing.T, s *server) {
	t.Helper()
	must.Succeed(t, s.graphQL("default/cms/subjects:write", `mutation { declareSubjects(input: {subjects: [{biz: "video", bizId: "movie", author: "ann"}]}) { durability } }`, nil))
	all := watchers(t, s, "", "", "default/ann", "default/eve")
	anonymous, other, author, eve := all[0], all[1], all[2], all[3]
	must.Succeed(t, s.graphQL("default/bob", do("like", "video", "movie"), nil))
	must.Succeed(t, author.until(t.Context(), func(e event) bool { return e.LikeCount == 1 && e.Freshness == "LIVE" }))
	for _, one := range []*follower{anonymous, other} {
		must.Succeed(t, one.until(t.Context(), func(e event) bool { return e.Version >= author.last.Version }))
		if one.last.LikeCount != 0 || one.last.Freshness != "HIDDEN" {
			t.Errorf("an anonymous viewer received %+v, want hidden counts", one.last)
		}
	}
	// The like of bob is no event for eve, but the own one is.
	must.Succeed(t, s.graphQL("default/eve", do("like", "video", "movie"), nil))
	must.Succeed(t, eve.next(t.Context()))
	if eve.last.Liked == nil || eve.last.LikeCount != 0 || eve.last.Freshness != "HIDDEN" || len(eve.took) != 2 {
		t.Errorf("eve received %+v as event %d, want the own like with hidden counts as the second", eve.last, len(eve.took))
	}
	for _, one := range all {
		must.Succeed(t, one.conn.CloseNow())
	}
}

func enforcedByDouyin(t *testing.T, s *server) {
	t.Helper()
	c := douyinClient{t, s.url}
	ann, annToken := c.session("user/register/", "configAnn")
	_, bobToken := c.session("user/register/", "configBob")
	c.publish(annToken, "Bear", clip(1000))
	video := c.get("feed/").ok(t).VideoList[0]
	wrong := func(message, path string, pairs ...any) {
		t.Helper()
		if r := c.post(path, append(pairs, "token", bobToken)...); *r.StatusCode == 0 || !strings.Contains(r.StatusMsg, message) {
			t.Errorf("%s: got %d, %q, want an error with %q", path, *r.StatusCode, r.StatusMsg, message)
		}
	}
	wrong("biz user takes no follows on this site", "relation/action/", "to_user_id", ann, "action_type", 1)
	wrong("comment_text is 6 characters long; at most 5 are allowed", "comment/action/", "video_id", video.ID, "action_type", 1, "comment_text", "123456")
	c.post("relation/action/", "token", bobToken, "to_user_id", ann, "action_type", 2).ok(t)
	c.post("favorite/action/", "token", bobToken, "video_id", video.ID, "action_type", 1).ok(t)
	for range 2 {
		c.post("comment/action/", "token", bobToken, "video_id", video.ID, "action_type", 1, "comment_text", "12345").ok(t)
	}
	wrong("try again in", "comment/action/", "video_id", video.ID, "action_type", 1, "comment_text", "12345")
	for token, want := range map[string]int{annToken: 1, bobToken: 0} {
		if seen := c.get("feed/", "token", token).ok(t).VideoList[0]; seen.FavoriteCount != want || seen.IsFavorite != (token == bobToken) {
			t.Errorf("the video is %+v, want %d likes: its author sees them, others do not", seen, want)
		}
	}
	_, eveToken := c.session("user/register/", "configEve")
	bob := c.get("comment/list/", "token", annToken, "video_id", video.ID).ok(t).CommentList[0].User.ID
	for token, want := range map[string]int{annToken: 1, bobToken: 1, eveToken: 0} {
		if got := len(c.get("favorite/list/", "token", token, "user_id", bob).ok(t).VideoList); got != want {
			t.Errorf("%d likes of bob are listed, want %d", got, want)
		}
	}
}
