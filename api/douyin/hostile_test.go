package douyin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ovation/api/douyin"
	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
)

// gets and posts list all endpoints, by method.
var (
	gets = []string{
		"feed/", "user/", "publish/list/", "favorite/list/", "comment/list/", "relation/follow/list/", "relation/follower/list/",
		"relation/friend/list/", "message/chat/",
	}
	posts = []string{
		"user/register/", "user/login/", "publish/action/", "favorite/action/", "comment/action/", "relation/action/", "message/action/",
	}
	// public holds the endpoints that need no token.
	public = map[string]bool{"feed/": true, "comment/list/": true, "user/register/": true, "user/login/": true}
)

// lists holds the list field of each endpoint. Every reply has that field, even an error.
var lists = map[string]string{
	"feed/": "video_list", "publish/list/": "video_list", "favorite/list/": "video_list", "comment/list/": "comment_list",
	"relation/follow/list/": "user_list", "relation/follower/list/": "user_list", "relation/friend/list/": "user_list", "message/chat/": "message_list",
}

// For every error, the reply has status 200, a message, and the fields of its endpoint,
// which are empty.
func TestErrorsAreReplies(t *testing.T) {
	s := start(t)
	ann := s.register(t, "Ann")
	expired, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject: fmt.Sprint(ann.id), ExpiresAt: jwt.NewNumericDate(time.Now().Add(-time.Hour)),
	}).SignedString([]byte(secret))
	must.Succeed(t, err)
	forged, err := viewer.Sign([]byte("another secret of at least 32 bytes"), storage.AccountUser(storage.DefaultTenant, ann.id), time.Hour)
	must.Succeed(t, err)
	check := func(path string, reply object) {
		t.Helper()
		refused(t, reply)
		if list := lists[path]; list != "" {
			if got, is := reply[list].([]any); !is || len(got) != 0 {
				t.Errorf("%s: got %v, want an empty %s", path, reply, list)
			}
		}
		if strings.HasPrefix(path, "user/") && path != "user/" && (reply["token"] != "" || reply["user_id"] != 0.0) {
			t.Errorf("%s: got %v, want neither a token nor a user_id", path, reply)
		}
	}
	for method, paths := range map[string][]string{http.MethodGet: gets, http.MethodPost: posts} {
		other := map[string]string{http.MethodGet: http.MethodPost, http.MethodPost: http.MethodGet}[method]
		for _, path := range paths {
			for _, token := range []string{"x", expired, forged, ann.token + "x", strings.Repeat("x", 9000), "\x00", "null", "' OR 1=1 --"} {
				check(path, s.send(t, method, path, inURL, values("token", token)))
				if path != "publish/action/" && method == http.MethodPost {
					check(path, s.send(t, method, path, inParts, values("token", token)))
				}
			}
			if !public[path] {
				check(path, s.send(t, method, path, inURL, nil))
				check(path, s.send(t, method, path, inURL, values("token", ""), "Authorization", "Bearer "+ann.token, "X-Ovation-User", "ann"))
			}
			check(path, s.send(t, other, path, inURL, values("token", ann.token)))
			check(path, s.send(t, http.MethodDelete, path, inURL, values("token", ann.token)))
		}
	}
	for _, path := range []string{"", "feed/x", "user/logout/", "FEED/", "publish/"} {
		refused(t, s.get(t, path, "token", ann.token), "no such endpoint")
	}
}

type panicking struct{}

func (panicking) Record(context.Context, storage.Action, *storage.Interactive) (worker.Recorded, error) {
	panic("a fault")
}

func TestAPanicIsAReply(t *testing.T) {
	s := start(t, func(set *settings) { set.face = func(c *douyin.Config) { c.Recorder = panicking{} } })
	ann, bob := s.register(t, "Ann"), s.register(t, "Bob")
	message := refused(t, s.post(t, "relation/action/", "token", ann.token, "to_user_id", bob.id, "action_type", 1), "internal error")
	if id := message[strings.LastIndexByte(message, ' ')+1:]; strings.Contains(message, "fault") || !strings.Contains(s.logged(), id) {
		t.Errorf("got status_msg %q, want it without the fault and with an id that the log contains:\n%s", message, s.logged())
	}
}

// stored describes the rows and files that requests could have added.
func (s *service) stored(t *testing.T, users ...user) (out string) {
	t.Helper()
	page := storage.Page{First: 100}
	films, err := s.store.Feed(t.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: page}})
	must.Succeed(t, err)
	for _, v := range films[0].Entries {
		comments, err := s.store.ListComments(t.Context(), []storage.CommentsQuery{{Subject: v.Key().Subject(), Order: storage.Newest, Page: page}})
		must.Succeed(t, err)
		out += fmt.Sprintf("%s %d %+v\n", v.Title, v.Number, comments)
	}
	for _, u := range users {
		who := storage.AccountUser(storage.DefaultTenant, u.id)
		likes, err := s.store.Likes(t.Context(), []storage.LikesQuery{{User: who, Page: page}})
		must.Succeed(t, err)
		follows, err := s.store.Following(t.Context(), []storage.FollowingQuery{{User: who, Page: page}})
		must.Succeed(t, err)
		talk, err := s.store.ListConversations(t.Context(), []storage.ConversationsQuery{{Owner: who, Page: page}})
		must.Succeed(t, err)
		out += fmt.Sprintf("%+v %+v %+v\n", likes, follows, talk)
	}
	return fmt.Sprint(out, s.files(t))
}

// A request is refused if a parameter is missing or contradictory, or is a number that is
// invalid, too large or identifies no object. A request with too many parameters, or with
// a body that is not a form, is refused, too. The error names the parameter, and nothing
// is stored.
func TestHostileParametersAreRefused(t *testing.T) {
	s := start(t)
	ann, bob := s.register(t, "Ann"), s.register(t, "Bob")
	video := s.publish(t, ann, "A film")
	good := map[string][]any{
		"favorite/action/": {"video_id", video, "action_type", 1},
		"comment/action/":  {"video_id", video, "action_type", 1, "comment_text", "x"},
		"relation/action/": {"to_user_id", bob.id, "action_type", 1},
		"message/action/":  {"to_user_id", bob.id, "action_type", 1, "content", "x"},
	}
	numbers := []string{
		"", "0", "-1", "1.5", "x", "1e400", "1e16", "9007199254740992", "9223372036854775808", "99999999999999999999999", "0x10", "1_0", " 1", "1 ",
		"NaN", "Inf", "null", "[1]", "{}", "true", "1;DROP TABLE video", "' OR '1'='1", "<b>1</b>", "１", "1\x00", "e", "1e", "--1", "1e-1", strings.Repeat("9", 5000),
	}
	before := s.stored(t, ann, bob)
	change := func(pairs []any, name, value string) url.Values {
		all := values(append([]any{"token", ann.token}, pairs...)...)
		all.Set(name, value)
		return all
	}
	for path, pairs := range good {
		for i := 0; i < len(pairs); i += 2 {
			name := pairs[i].(string)
			if name == "comment_text" || name == "content" {
				for _, text := range []string{"", " \t\n", "\u200b", "a\x00b", "\xff\xfe", "\ufffe", strings.Repeat("x", 2001), strings.Repeat("é", 2001)} {
					refused(t, s.send(t, http.MethodPost, path, inForm, change(pairs, name, text)), name)
				}
				continue
			}
			for _, number := range append(numbers, "3", "123456789") {
				refused(t, s.send(t, http.MethodPost, path, inForm, change(pairs, name, number)), name)
			}
			missing := change(pairs, name, "")
			missing.Del(name)
			refused(t, s.send(t, http.MethodPost, path, inForm, missing), name)
			twice := change(pairs, name, "2")
			twice.Add(name, "4")
			refused(t, s.send(t, http.MethodPost, path, inForm, twice), name, "different values")
		}
		for what, body := range map[string]func(*http.Request){
			"long": func(r *http.Request) { inForm(r, change(pairs, "x", strings.Repeat("x", 70_000))) },
			"long, of unknown length": func(r *http.Request) {
				inForm(r, change(pairs, "x", strings.Repeat("x", 70_000)))
				r.ContentLength = -1
			},
			"long in parts": func(r *http.Request) { inParts(r, change(pairs, "x", strings.Repeat("x", 70_000))) },
			"many fields": func(r *http.Request) {
				all := change(pairs, "x", "1")
				for i := range 40 {
					all.Set(fmt.Sprint("x", i), "1")
				}
				inForm(r, all)
			},
			"an escape that is none": func(r *http.Request) { r.URL.RawQuery = "token=" + ann.token + "&video_id=%zz" },
			"parts without an end": func(r *http.Request) {
				r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
				setBody(r, "--x\r\n")
			},
			"parts without a boundary": func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data"); setBody(r, "--x--\r\n") },
			"JSON": func(r *http.Request) {
				r.Header.Set("Content-Type", "application/json")
				setBody(r, `{"token":"`+ann.token+`","video_id":1}`)
			},
		} {
			reply := s.send(t, http.MethodPost, path, func(r *http.Request, _ url.Values) { body(r) }, nil)
			if reply["status_code"] != 1.0 {
				t.Errorf("%s, %s: got %v, want status_code 1", path, what, reply)
			}
		}
	}
	for _, path := range []string{"user/", "publish/list/", "favorite/list/", "relation/follow/list/", "relation/follower/list/", "relation/friend/list/"} {
		for _, number := range numbers[2:] {
			refused(t, s.get(t, path, "token", ann.token, "user_id", number), "user_id")
		}
	}
	for _, number := range numbers[2:] {
		refused(t, s.get(t, "feed/", "latest_time", number), "latest_time")
		refused(t, s.get(t, "message/chat/", "token", ann.token, "to_user_id", bob.id, "pre_msg_time", number), "pre_msg_time")
		refused(t, s.post(t, "comment/action/", "token", ann.token, "video_id", video, "action_type", 2, "comment_id", number), "comment_id")
	}
	refused(t, s.get(t, "user/", "token", ann.token, "user_id", 123456789), "user_id was not found")
	refused(t, s.get(t, "comment/list/", "video_id", 123456789), "video_id was not found")
	refused(t, s.get(t, "message/chat/", "token", ann.token, "to_user_id", ann.id), "to_user_id")
	refused(t, s.post(t, "message/action/", "token", ann.token, "to_user_id", ann.id, "action_type", 1, "content", "x"), "to_user_id")
	refused(t, s.post(t, "relation/action/", "token", ann.token, "to_user_id", ann.id, "action_type", 1), "to_user_id")
	for _, name := range []string{"", " ", strings.Repeat("x", 33), "a\x00b", "\xff", "ann", "ＡＮＮ"} {
		refused(t, s.post(t, "user/register/", "username", name, "password", "a good password"), "username")
	}
	for _, password := range []string{"", "short", strings.Repeat("x", 129), "a\x00bcdefgh"} {
		refused(t, s.post(t, "user/register/", "username", "Carol", "password", password), "password")
	}
	refused(t, s.post(t, "user/register/", "username", "Carol", "password", "Password1"), "password is one of the most common passwords")
	if after := s.stored(t, ann, bob); after != before {
		t.Errorf("after the refused requests the stored data are\n%s\nwant them unchanged\n%s", after, before)
	}
	for path, pairs := range good { // clients that store ids as doubles write them like this
		for i := range pairs {
			if n, is := pairs[i].(int64); is {
				pairs[i] = float64(n)
			}
		}
		ok(t, s.send(t, http.MethodPost, path, inBoth, values(append([]any{"token", ann.token}, pairs...)...)))
	}
}

func setBody(r *http.Request, text string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

// hostileTexts are texts that a database, a browser, a template or a shell would execute
// if it interpreted them as code.
var hostileTexts = []string{
	`'; DROP TABLE message; --`, `" OR "1"="1`, `1); DELETE FROM account; --`, `<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
	`"><svg onload=alert(1)>`, `{{7*7}} ${7*7} %s %n`, `$(reboot) | ;reboot`, `\u0000 \x00 \' %00`, `../../../etc/passwd`, `%27%20OR%201%3D1`,
}

// Every text is returned unchanged and has no other effect. (send checks that no reply
// contains "<".)
func TestHostileTextsAreTexts(t *testing.T) {
	s := start(t)
	ann := s.register(t, "Ann")
	for i, text := range hostileTexts {
		other := s.register(t, text)
		if got := ok(t, s.get(t, "user/", "token", ann.token, "user_id", other.id))["user"].(object)["name"]; got != text {
			t.Errorf("user = a user named %q, want %q", got, text)
		}
		video := s.publish(t, other, text)
		films := entries(t, s.get(t, "feed/"), "video_list")
		if films[0]["title"] != text || len(films) != i+1 {
			t.Errorf("feed after %d videos = %d, the first one %v, want title %q", i+1, len(films), films[0], text)
		}
		remark := ok(t, s.post(t, "comment/action/", "token", other.token, "video_id", video, "action_type", 1, "comment_text", text))["comment"].(object)
		if got := entries(t, s.get(t, "comment/list/", "video_id", video), "comment_list"); remark["content"] != text || got[0]["content"] != text {
			t.Errorf("the comment is returned as %v, listed as %v, want the text %q", remark, got, text)
		}
		ok(t, s.post(t, "message/action/", "token", other.token, "to_user_id", ann.id, "action_type", 1, "content", text))
		if got := entries(t, s.get(t, "message/chat/", "token", ann.token, "to_user_id", other.id), "message_list"); len(got) != 1 || got[0]["content"] != text {
			t.Errorf("message/chat = %v, want one message %q", got, text)
		}
		for _, path := range append(gets, posts...) { // the name of one parameter, and the value of all others except token
			method := http.MethodGet
			if strings.HasSuffix(path, "/action/") {
				method = http.MethodPost
			}
			s.send(t, method, path, inURL, values("token", ann.token, text, text, "user_id", text, "to_user_id", text, "video_id", text, "action_type", text))
		}
	}
}

// No id allows a user to see or change the data of other users.
func TestWalls(t *testing.T) {
	s := start(t)
	ann, bob, eve := s.register(t, "Ann"), s.register(t, "Bob"), s.register(t, "Eve")
	video, other := s.publish(t, ann, "Ann's film"), s.publish(t, eve, "Eve's film")
	say := func(u user, on int64, text string) int64 {
		reply := ok(t, s.post(t, "comment/action/", "token", u.token, "video_id", on, "action_type", 1, "comment_text", text))
		return int64(reply["comment"].(object)["id"].(float64))
	}
	remark := say(bob, video, "Bob's")
	for _, u := range []user{ann, bob} {
		to := map[int64]int64{ann.id: bob.id, bob.id: ann.id}[u.id]
		ok(t, s.post(t, "relation/action/", "token", u.token, "to_user_id", to, "action_type", 1))
		ok(t, s.post(t, "message/action/", "token", u.token, "to_user_id", to, "action_type", 1, "content", "between Ann and Bob"))
	}
	before := s.stored(t, ann, bob, eve)

	for _, with := range []user{ann, bob} {
		if got := entries(t, s.get(t, "message/chat/", "token", eve.token, "to_user_id", with.id, "user_id", ann.id, "from_user_id", bob.id), "message_list"); len(got) != 0 {
			t.Errorf("message/chat of Eve with %v = %v, want none", with, got)
		}
		got := entries(t, s.get(t, "relation/friend/list/", "token", eve.token, "user_id", with.id), "user_list")
		if len(got) != 1 || got[0]["message"] != "" || got[0]["msgType"] != 0.0 {
			t.Errorf("relation/friend/list of %v for Eve = %v, want one friend without a message", with, got)
		}
	}
	refused(t, s.post(t, "comment/action/", "token", eve.token, "video_id", video, "action_type", 2, "comment_id", remark), "comment_id was not found")
	refused(t, s.post(t, "comment/action/", "token", eve.token, "video_id", other, "action_type", 2, "comment_id", remark), "comment_id was not found") // as the author of that video
	refused(t, s.post(t, "comment/action/", "token", bob.token, "video_id", other, "action_type", 2, "comment_id", remark), "comment_id was not found")
	refused(t, s.post(t, "comment/action/", "token", eve.token, "video_id", video, "action_type", 2, "comment_id", ann.id), "comment_id was not found")
	refused(t, s.post(t, "favorite/action/", "token", eve.token, "video_id", remark, "action_type", 1), "video_id was not found")
	refused(t, s.post(t, "message/action/", "token", eve.token, "to_user_id", video, "action_type", 1, "content", "x"), "to_user_id was not found")
	refused(t, s.post(t, "relation/action/", "token", eve.token, "to_user_id", remark, "action_type", 1), "to_user_id was not found")

	// Another tenant with the same ids.
	abroad, err := viewer.Sign([]byte(secret), storage.AccountUser("abroad", ann.id), time.Hour)
	must.Succeed(t, err)
	for path, list := range lists {
		reply := s.get(t, path, "token", abroad, "video_id", video, "to_user_id", bob.id, "user_id", ann.id)
		if got, is := reply[list].([]any); !is || len(got) != 0 {
			t.Errorf("%s for another tenant = %v, want an empty %s", path, reply, list)
		}
	}
	refused(t, s.get(t, "user/", "token", abroad, "user_id", bob.id), "was not found")
	for path, pairs := range map[string][]any{
		"favorite/action/": {"video_id", video, "action_type", 1},
		"comment/action/":  {"video_id", video, "action_type", 2, "comment_id", remark},
		"relation/action/": {"to_user_id", bob.id, "action_type", 1},
		"message/action/":  {"to_user_id", bob.id, "action_type", 1, "content", "x"},
	} {
		refused(t, s.post(t, path, append(pairs, "token", abroad)...), "was not found")
	}

	// Anonymous clients see the totals, as in GraphQL, but no states of their own.
	if author := entries(t, s.get(t, "feed/"), "video_list")[1]["author"].(object); author["name"] != "Ann" || author["work_count"] != 1.0 || author["is_follow"] != false {
		t.Errorf("the author for an anonymous client is %v, want Ann with 1 work, not followed", author)
	}
	if after := s.stored(t, ann, bob, eve); after != before {
		t.Errorf("after the refused requests the stored data are\n%s\nwant them unchanged\n%s", after, before)
	}
	// The author of a video may delete comments on it.
	ok(t, s.post(t, "comment/action/", "token", ann.token, "video_id", video, "action_type", 2, "comment_id", remark))
}

// A second token, of another user, is refused. Headers are ignored, and so are user ids
// in parameters that an endpoint does not use.
func TestTokensOfOthersAreIgnored(t *testing.T) {
	s := start(t)
	ann, bob, eve := s.register(t, "Ann"), s.register(t, "Bob"), s.register(t, "Eve")
	video := s.publish(t, ann, "A film")
	before := s.stored(t, ann, bob, eve)
	for path, pairs := range map[string][]any{
		"favorite/action/": {"video_id", video, "action_type", 1},
		"comment/action/":  {"video_id", video, "action_type", 1, "comment_text", "x"},
		"relation/action/": {"to_user_id", ann.id, "action_type", 1},
		"message/action/":  {"to_user_id", ann.id, "action_type", 1, "content", "x"},
	} {
		for _, by := range []way{inForm, inParts} {
			refused(t, s.send(t, http.MethodPost, path, func(r *http.Request, form url.Values) {
				r.URL.RawQuery = values("token", eve.token).Encode()
				by(r, form)
			}, values(append(pairs, "token", bob.token)...)), "token", "different values")
		}
	}
	others := part{name: "token", value: bob.token}
	film := []part{{name: "title", value: "x"}, {"data", "x.mp4", mp4("x")}}
	refused(t, s.do(t, s.upload(t, values("token", eve.token), append([]part{others}, film...)...)), "token", "different values")
	refused(t, s.do(t, s.upload(t, values("token", eve.token), append(film, others)...)), "token", "different values")
	if after := s.stored(t, ann, bob, eve); after != before {
		t.Errorf("after the refused requests the stored data are\n%s\nwant them unchanged\n%s", after, before)
	}
	ok(t, s.send(t, http.MethodPost, "message/action/", inForm,
		values("token", eve.token, "to_user_id", ann.id, "action_type", 1, "content", "I am Bob", "user_id", bob.id, "from_user_id", bob.id),
		"Authorization", "Bearer "+bob.token, "X-Ovation-User", fmt.Sprint(bob.id)))
	if got := entries(t, s.get(t, "message/chat/", "token", ann.token, "to_user_id", eve.id), "message_list"); len(got) != 1 || got[0]["from_user_id"] != float64(eve.id) {
		t.Errorf("message/chat = %v, want one message from Eve, %d", got, eve.id)
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	s := start(t)
	ann := s.register(t, "Ann")
	for _, by := range []way{inURL, inForm, inParts} {
		ok(t, s.send(t, http.MethodPost, "user/login/", by, values("username", "Ann", "password", "password of Ann")))
		refused(t, s.send(t, http.MethodPost, "user/login/", by, values("username", "Ann", "password", "a wrong password")))
		refused(t, s.send(t, http.MethodPost, "message/action/", by, values("token", ann.token, "to_user_id", 5, "action_type", 1, "content", "a secret text")))
		refused(t, s.send(t, http.MethodPost, "favorite/action/", by, values("token", ann.token+"x", "video_id", 1)))
	}
	logged := s.logged()
	for _, secret := range []string{ann.token, "password of", "a wrong password", "a secret text"} {
		if strings.Contains(logged, secret) {
			t.Errorf("the log contains %q", secret)
		}
	}
	for _, want := range []string{`"operation":"/douyin/user/login/"`, `"operation":"/douyin/message/action/"`, `"code":"NOT_FOUND"`, `"code":"UNAUTHENTICATED"`, fmt.Sprintf(`"user":"%d"`, ann.id)} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log does not contain %s:\n%s", want, logged)
		}
	}
}

func TestURLsAreAbsolute(t *testing.T) {
	for public, want := range map[string]string{"": "", "https://films.example:8443": "https://films.example:8443"} {
		s := start(t, func(set *settings) { set.face = func(c *douyin.Config) { c.PublicURL = public } })
		ann := s.register(t, "Ann")
		s.publish(t, ann, "A film")
		of := storage.AccountUser(storage.DefaultTenant, ann.id)
		path, address := "/pictures/ann.png", "https://pictures.example/ann.png"
		_, err := s.store.UpdateProfile(t.Context(), of, storage.ProfileChange{Avatar: &path, Background: &address})
		must.Succeed(t, err)
		film := entries(t, s.get(t, "feed/"), "video_list")[0]
		author := film["author"].(object)
		if want == "" {
			want = s.url
		}
		for _, got := range []any{film["play_url"], film["cover_url"], author["avatar"]} {
			if !strings.HasPrefix(got.(string), want+"/") {
				t.Errorf("got the URL %v, want it below %s", got, want)
			}
		}
		if author["background_image"] != address {
			t.Errorf("got the background image %v, want %v", author["background_image"], address)
		}
	}
}
