package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// douyinClient is a client of the API below /douyin/. Like public clients, it sends every
// parameter both in the URL and in a form, uses no other API, and holds ids as doubles.
type douyinClient struct {
	t   *testing.T
	url string
}

// douyinReply can hold any reply from the API below /douyin/.
type douyinReply struct {
	StatusCode  *int            `json:"status_code"`
	StatusMsg   string          `json:"status_msg"`
	UserID      float64         `json:"user_id"`
	Token       string          `json:"token"`
	NextTime    float64         `json:"next_time"`
	User        *douyinUser     `json:"user"`
	Comment     *douyinComment  `json:"comment"`
	VideoList   []douyinVideo   `json:"video_list"`
	CommentList []douyinComment `json:"comment_list"`
	UserList    []douyinUser    `json:"user_list"`
	MessageList []struct {
		ID         float64 `json:"id"`
		ToUserID   float64 `json:"to_user_id"`
		FromUserID float64 `json:"from_user_id"`
		Content    string  `json:"content"`
		CreateTime float64 `json:"create_time"`
	} `json:"message_list"`
}

type douyinUser struct {
	ID             float64 `json:"id"`
	Name           string  `json:"name"`
	FollowCount    int     `json:"follow_count"`
	FollowerCount  int     `json:"follower_count"`
	IsFollow       bool    `json:"is_follow"`
	Avatar         string  `json:"avatar"`
	TotalFavorited int     `json:"total_favorited"`
	WorkCount      int     `json:"work_count"`
	FavoriteCount  int     `json:"favorite_count"`
	Message        string  `json:"message"`
	MsgType        int     `json:"msgType"`
}

type douyinVideo struct {
	ID            float64    `json:"id"`
	Author        douyinUser `json:"author"`
	PlayURL       string     `json:"play_url"`
	CoverURL      string     `json:"cover_url"`
	FavoriteCount int        `json:"favorite_count"`
	CommentCount  int        `json:"comment_count"`
	IsFavorite    bool       `json:"is_favorite"`
	Title         string     `json:"title"`
}

type douyinComment struct {
	ID         float64    `json:"id"`
	User       douyinUser `json:"user"`
	Content    string     `json:"content"`
	CreateDate string     `json:"create_date"`
}

func (c douyinClient) get(path string, pairs ...any) douyinReply {
	return c.send(http.MethodGet, path, pairs)
}

func (c douyinClient) post(path string, pairs ...any) douyinReply {
	return c.send(http.MethodPost, path, pairs)
}

func (c douyinClient) send(method, path string, pairs []any) douyinReply {
	c.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i].(string), fmt.Sprint(pairs[i+1]))
	}
	request, err := http.NewRequest(method, c.url+"/douyin/"+path+"?"+form.Encode(), strings.NewReader(form.Encode()))
	must.Succeed(c.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(request)
}

func (c douyinClient) do(request *http.Request) (out douyinReply) {
	c.t.Helper()
	response, err := client.Do(request)
	must.Succeed(c.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must.Succeed(c.t, err)
	if err := json.Unmarshal(text, &out); err != nil || response.StatusCode != http.StatusOK || out.StatusCode == nil {
		c.t.Fatalf("%s %s: got status %d, %s, %v, want 200, JSON with a status code", request.Method, request.URL.Path, response.StatusCode, text, err)
	}
	return out
}

// ok fails the test unless the reply reports success, and returns the reply.
func (r douyinReply) ok(t *testing.T) douyinReply {
	t.Helper()
	if *r.StatusCode != 0 {
		t.Fatalf("got status code %d, %q, want 0", *r.StatusCode, r.StatusMsg)
	}
	return r
}

// publish uploads a file in a form in which the token comes after the file.
func (c douyinClient) publish(token, title string, file []byte) {
	c.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("data", "bear.mp4")
	must.Succeed(c.t, err)
	_, err = part.Write(file)
	must.Succeed(c.t, err)
	must.Succeed(c.t, w.WriteField("token", token))
	must.Succeed(c.t, w.WriteField("title", title))
	must.Succeed(c.t, w.Close())
	request, err := http.NewRequest(http.MethodPost, c.url+"/douyin/publish/action/", &form)
	must.Succeed(c.t, err)
	request.Header.Set("Content-Type", w.FormDataContentType())
	c.do(request).ok(c.t)
}

// session sends a request to the path that registers the user with the given name, or to
// the path that logs the user in.
func (c douyinClient) session(path, name string) (id float64, token string) {
	c.t.Helper()
	r := c.post(path, "username", name, "password", "password of "+name).ok(c.t)
	if r.UserID <= 0 || r.Token == "" {
		c.t.Fatalf("got %+v, want a user's id and token", r)
	}
	return r.UserID, r.Token
}

// douyinStory plays the story of two people who register, publish a video, like, comment,
// follow and chat. Actions sent to either of the addresses first and second must be
// visible at the other.
func douyinStory(t *testing.T, first, second string) {
	t.Helper()
	a, b := douyinClient{t, first}, douyinClient{t, second}
	ann, annToken := a.session("user/register/", "douyinTestUserA")
	if r := b.post("user/register/", "username", "douyinTestUserA", "password", "another"); *r.StatusCode == 0 || r.Token != "" {
		t.Errorf("registering a taken name = %+v, want an error and no token", r)
	}
	bob, bobToken := b.session("user/register", "douyinTestUserB")
	if again, _ := b.session("user/login/", "douyinTestUserA"); again != ann {
		t.Errorf("registered as %v, logged in as %v, want one user", ann, again)
	}

	file := clip(100_000)
	before := len(b.get("feed/").ok(t).VideoList) // videos of demo data
	a.publish(annToken, "Bear", file)
	feed := b.get("feed/", "token", bobToken).ok(t)
	if len(feed.VideoList) != before+1 || feed.VideoList[0].Title != "Bear" || feed.VideoList[0].Author.ID != ann || feed.NextTime <= 0 {
		t.Fatalf("the feed is %+v, want %d videos, the first one Bear, of user %v", feed, before+1, ann)
	}
	video := feed.VideoList[0]
	for address, want := range map[string]int{video.PlayURL: len(file), video.CoverURL: 0} {
		if status, _, text := get(t, address); status != http.StatusOK || want > 0 && len(text) != want {
			t.Errorf("GET %s = %d, %d bytes, want 200, %d bytes (0: any)", address, status, len(text), want)
		}
	}
	if next := b.get("feed/", "latest_time", fmt.Sprintf("%.0f", feed.NextTime)).ok(t); len(next.VideoList) != 0 {
		t.Errorf("the page after the last video is %+v, want none", next.VideoList)
	}

	b.post("favorite/action/", "token", bobToken, "video_id", video.ID, "action_type", 1).ok(t)
	await.That(t, "the like is seen", func() bool { // immediately, unless the counts are STALE
		seen := a.get("feed/", "token", bobToken).ok(t).VideoList[0]
		return seen.IsFavorite && seen.FavoriteCount == 1
	})
	await.That(t, "the like is listed", func() bool {
		r := a.get("favorite/list/", "token", annToken, "user_id", bob).ok(t)
		return len(r.VideoList) == 1 && r.VideoList[0].ID == video.ID && r.VideoList[0].FavoriteCount == 1
	})

	remark := b.post("comment/action/", "token", bobToken, "video_id", video.ID, "action_type", 1, "comment_text", "Комментарий 👍").ok(t).Comment
	if remark == nil || remark.ID <= 0 || remark.User.ID != bob || len(remark.CreateDate) != 5 {
		t.Fatalf("the comment is %+v, want one of user %v with a date of 5 characters", remark, bob)
	}
	if r := a.get("comment/list/", "token", annToken, "video_id", video.ID).ok(t); len(r.CommentList) != 1 || r.CommentList[0].ID != remark.ID || r.CommentList[0].Content != "Комментарий 👍" {
		t.Errorf("the comments are %+v, want %+v alone", r.CommentList, remark)
	}
	a.post("comment/action/", "token", bobToken, "video_id", video.ID, "action_type", 2, "comment_id", remark.ID).ok(t)
	if r := b.get("publish/list/", "token", annToken, "user_id", ann).ok(t); len(r.VideoList) != 1 || r.VideoList[0].CommentCount != 0 {
		t.Errorf("published are %+v, want one video without comments", r.VideoList)
	}

	a.post("relation/action/", "token", annToken, "to_user_id", bob, "action_type", 1).ok(t)
	b.post("relation/action/", "token", bobToken, "to_user_id", ann, "action_type", 1).ok(t)
	await.That(t, "the two are friends", func() bool {
		follows := b.get("relation/follow/list/", "token", annToken, "user_id", ann).ok(t).UserList
		followers := a.get("relation/follower/list/", "token", bobToken, "user_id", bob).ok(t).UserList
		friends := b.get("relation/friend/list/", "token", annToken, "user_id", ann).ok(t).UserList
		return len(follows) == 1 && follows[0].ID == bob && follows[0].IsFollow && len(followers) == 1 && followers[0].ID == ann &&
			len(friends) == 1 && friends[0].ID == bob && friends[0].Name == "douyinTestUserB"
	})

	a.post("message/action/", "token", annToken, "to_user_id", bob, "action_type", 1, "content", "Send to UserB").ok(t)
	for _, token := range []string{annToken, bobToken} {
		with := map[string]float64{annToken: bob, bobToken: ann}[token]
		r := b.get("message/chat/", "token", token, "to_user_id", with, "pre_msg_time", 0).ok(t)
		if len(r.MessageList) != 1 || r.MessageList[0].FromUserID != ann || r.MessageList[0].ToUserID != bob || r.MessageList[0].Content != "Send to UserB" {
			t.Fatalf("the messages are %+v, want that of user %v to %v alone", r.MessageList, ann, bob)
		}
		last := fmt.Sprintf("%.0f", r.MessageList[0].CreateTime)
		if r = a.get("message/chat/", "token", token, "to_user_id", with, "pre_msg_time", last).ok(t); len(r.MessageList) != 0 {
			t.Errorf("the messages after the last one are %+v, want none", r.MessageList)
		}
	}
	if r := b.get("relation/friend/list/", "token", annToken, "user_id", ann).ok(t); r.UserList[0].Message != "Send to UserB" || r.UserList[0].MsgType != 1 {
		t.Errorf("the friends are %+v, want one, with the message \"Send to UserB\" of type 1", r.UserList)
	}
	await.That(t, "the totals are right", func() bool {
		r := b.get("user/", "token", annToken, "user_id", ann).ok(t).User
		return r != nil && r.FollowCount == 1 && r.FollowerCount == 1 && r.WorkCount == 1 && r.TotalFavorited == 1
	})
	for _, r := range []douyinReply{b.get("user/", "token", annToken+"x"), b.get("user/"), a.get("message/chat/", "to_user_id", ann), a.get("nothing/")} {
		if *r.StatusCode != 1 || r.StatusMsg == "" {
			t.Errorf("got %+v, want status code 1 with a message", r)
		}
	}
}

// TestDouyinClient plays douyinStory on ovation dev, and checks --public-url and
// --no-douyin.
func TestDouyinClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir)
	douyinStory(t, s.url, s.url)
	var seen struct {
		Feed struct {
			Edges []struct {
				Node struct {
					Title       string
					Interactive struct{ LikeCount int }
				}
			}
		}
	}
	must.Succeed(t, s.graphQL("", `{ feed { edges { node { title interactive { likeCount } } } } }`, &seen))
	if edges := seen.Feed.Edges; len(edges) != 1 || edges[0].Node.Title != "Bear" || edges[0].Node.Interactive.LikeCount != 1 {
		t.Errorf("GraphQL shows %+v, want one video, Bear, with one like", seen)
	}
	s.stop().want(t, 0)
	verified(t, dir)

	s = serve(t, dir, "--public-url=https://films.example")
	if got := (douyinClient{t, s.url}).get("feed/").ok(t).VideoList[0].PlayURL; !strings.HasPrefix(got, "https://films.example/media/videos/") {
		t.Errorf("play_url is %s, want it below https://films.example/media/videos/", got)
	}
	s.stop()
	s = serve(t, dir, "--no-douyin")
	if status, _, _ := get(t, s.url+"/douyin/feed/"); status != http.StatusNotFound {
		t.Errorf("--no-douyin: GET /douyin/feed/ = %d, want 404", status)
	}
	call(t, environment("OVATION_PUBLIC_URL", "films.example"), "dev", "--data="+t.TempDir()).want(t, exitUsage, "OVATION_PUBLIC_URL")
}

// coverIsMade waits for the cover of the latest video.
func coverIsMade(t *testing.T, at string) {
	t.Helper()
	var cover string
	await.That(t, "the cover is made", func() bool {
		cover = (douyinClient{t, at}).get("feed/").ok(t).VideoList[0].CoverURL
		return strings.Contains(cover, "/media/covers/")
	})
	status, header, _ := get(t, cover)
	if kind := header.Get("Content-Type"); status != http.StatusOK || kind != "image/jpeg" {
		t.Errorf("GET %s = %d, %s, want 200, image/jpeg", cover, status, kind)
	}
}

// TestDouyinOverTwoNodes plays douyinStory on two nodes over Postgres, Redis and
// RabbitMQ, with a worker that makes the cover.
func TestDouyinOverTwoNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder := t.TempDir()
	must.Succeed(t, os.Chmod(folder, 0o777))
	s.variables["OVATION_BLOB_URL"], s.variables["OVATION_VIDEOS"] = "file://"+folder, "true"
	s.variables["OVATION_ACCOUNTS"], s.variables["OVATION_ATTEMPTS_PER_ADDRESS"] = "true", "0"
	s.variables["PATH"] = fakeFFmpeg(t)
	s.start(t, "work")
	a, b := s.start(t, "serve"), s.start(t, "serve")
	douyinStory(t, a.url, b.url)
	coverIsMade(t, a.url)
	coverIsMade(t, b.url)
	s.consistent(t)
}
