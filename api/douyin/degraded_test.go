package douyin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ovation/api/douyin"
	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/loaders"
	"ovation/storage"
)

// On a site without accounts or videos, errors name the flag that turns the missing part
// on, and everything else works.
func TestPartsThatAreOff(t *testing.T) {
	s := start(t, func(set *settings) { set.face = func(c *douyin.Config) { c.Accounts, c.Videos = nil, nil } })
	token, err := viewer.Sign([]byte(secret), storage.User{Tenant: storage.DefaultTenant, UserID: "ann"}, time.Hour)
	must.Succeed(t, err)
	for _, path := range []string{"user/register/", "user/login/"} {
		refused(t, s.post(t, path, "username", "Ann", "password", "password of Ann"), "--accounts")
	}
	for _, path := range []string{"feed/", "publish/list/", "favorite/list/", "comment/list/"} {
		refused(t, s.get(t, path, "token", token, "video_id", 1), "--videos")
	}
	for _, path := range []string{"favorite/action/", "comment/action/"} {
		refused(t, s.post(t, path, "token", token, "video_id", 1, "action_type", 1), "--videos")
	}
	refused(t, s.do(t, s.upload(t, nil, part{name: "token", value: token}, part{"data", "x", mp4("x")})), "--videos")

	// Users whose tokens come from another issuer need not have numbers as ids.
	ok(t, s.post(t, "relation/action/", "token", token, "to_user_id", 5, "action_type", 1))
	if got := entries(t, s.get(t, "relation/follow/list/", "token", token), "user_list"); len(got) != 1 || got[0]["id"] != 5.0 || got[0]["name"] != "5" {
		t.Errorf("the list of follows is %v, want user 5 named 5", got)
	}
	if got := ok(t, s.get(t, "user/", "token", token))["user"].(object); got["id"] != 0.0 || got["name"] != "ann" {
		t.Errorf("the user is %v, want ann with id 0", got)
	}
}

// without is a source whose database is unavailable.
type without struct{ loaders.Source }

func (without) VideosOf(context.Context, []storage.VideoKey) ([]*storage.Video, error) {
	return nil, storage.ErrUnavailable
}

func (without) Profiles(context.Context, []storage.User) ([]*storage.Profile, error) {
	return nil, storage.ErrUnavailable
}

func (without) Feed(context.Context, []storage.FeedQuery) ([]storage.ListPage[storage.Video], error) {
	return nil, storage.ErrUnavailable
}

// Without the database, likes and follows still work. All other requests are refused as
// unavailable.
func TestLikesContinueWithoutTheDatabase(t *testing.T) {
	s := start(t, over(func(source loaders.Source) loaders.Source { return without{source} }))
	ann, bob := s.register(t, "Ann"), s.register(t, "Bob")
	ok(t, s.post(t, "favorite/action/", "token", ann.token, "video_id", 5, "action_type", 1))
	ok(t, s.post(t, "relation/action/", "token", ann.token, "to_user_id", bob.id, "action_type", 1))
	refused(t, s.get(t, "feed/"), "unavailable")
	refused(t, s.get(t, "user/", "token", ann.token), "unavailable")
	refused(t, s.get(t, "comment/list/", "video_id", 5), "unavailable")
	refused(t, s.post(t, "comment/action/", "token", ann.token, "video_id", 5, "action_type", 1, "comment_text", "x"), "unavailable")
	refused(t, s.post(t, "message/action/", "token", ann.token, "to_user_id", bob.id, "action_type", 1, "content", "x"), "unavailable")
	if !strings.Contains(s.logged(), "cannot be answered") {
		t.Errorf("the log does not contain \"cannot be answered\":\n%s", s.logged())
	}
}
