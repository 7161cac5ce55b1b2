package douyin_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/loaders"
	"ovation/storage"
	"ovation/storage/metered"
)

// fields checks that an object has the given fields and no others. It returns the object.
func fields(t *testing.T, of any, names ...string) object {
	t.Helper()
	got, is := of.(object)
	if have := slices.Sorted(maps.Keys(got)); !is || !slices.Equal(have, slices.Sorted(slices.Values(names))) {
		t.Errorf("got %v with the fields %v, want %v", of, have, names)
	}
	return got
}

var (
	personFields = []string{
		"id", "name", "follow_count", "follower_count", "is_follow", "avatar", "background_image", "signature",
		"total_favorited", "work_count", "favorite_count",
	}
	filmFields    = []string{"id", "author", "play_url", "cover_url", "favorite_count", "comment_count", "is_favorite", "title"}
	messageFields = []string{"id", "to_user_id", "from_user_id", "content", "create_time"}
)

// Every endpoint works for an ordinary client, whether the client sends its parameters in
// the URL, in a form or in both.
func TestEveryEndpoint(t *testing.T) {
	for name, by := range map[string]way{"URL": inURL, "form": inForm, "multipart": inParts, "both": inBoth} {
		for _, slash := range []string{"/", ""} {
			t.Run(fmt.Sprintf("%s, final %q", name, slash), func(t *testing.T) {
				s := start(t)
				everyEndpoint(t, s, func(method, path string, pairs ...any) object {
					t.Helper()
					return s.send(t, method, path+slash, by, values(pairs...))
				})
			})
		}
	}
}

func everyEndpoint(t *testing.T, s *service, send func(method, path string, pairs ...any) object) {
	t.Helper()
	const get, post = http.MethodGet, http.MethodPost
	session := func(path, name string) user {
		reply := fields(t, ok(t, send(post, path, "username", name, "password", "password of "+name)), "status_code", "status_msg", "user_id", "token")
		return user{int64(reply["user_id"].(float64)), reply["token"].(string)}
	}
	ann, bob := session("user/register", "Ann"), session("user/register", "Bob")
	if again := session("user/login", "Ann"); again.id != ann.id || ann.id == bob.id || ann.id <= 0 || ann.id >= 1<<53 {
		t.Fatalf("registered %v and %v, logged in as %v, want the first again, ids that differ and are below 2^53", ann, bob, again)
	}

	// Videos: with the token before the file, and after it.
	ok(t, s.do(t, s.upload(t, nil, part{name: "token", value: ann.token}, part{name: "title", value: "First"}, part{"data", "bear.mp4", mp4("1")})))
	ok(t, s.do(t, s.upload(t, nil, part{"data", "bear.mp4", mp4("2")}, part{name: "token", value: ann.token}, part{name: "title", value: "Second"})))
	ok(t, s.do(t, s.upload(t, values("token", bob.token, "title", "Third"), part{"data", "bear.mp4", mp4("3")})))
	feed := send(get, "feed")
	fields(t, feed, "status_code", "status_msg", "video_list", "next_time")
	films := entries(t, feed, "video_list")
	for i, title := range []string{"Third", "Second", "First"} {
		film := fields(t, films[i], filmFields...)
		fields(t, film["author"], personFields...)
		if film["title"] != title {
			t.Errorf("video %d of the feed is %v, want %s", i, film, title)
		}
	}
	first := films[2]["id"]
	if author := films[2]["author"].(object); author["id"] != float64(ann.id) || author["name"] != "Ann" {
		t.Errorf("the author of the first video is %v, want Ann, %d", author, ann.id)
	}
	for _, name := range []string{"play_url", "cover_url"} {
		response, err := http.Get(films[2][name].(string))
		must.Succeed(t, err)
		must.Succeed(t, response.Body.Close())
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s %v: got status %d, want 200", name, films[2][name], response.StatusCode)
		}
	}
	if got := entries(t, send(get, "publish/list", "token", bob.token, "user_id", ann.id), "video_list"); len(got) != 2 || got[1]["id"] != first {
		t.Errorf("publish/list of Ann = %v, want 2 videos, the last one with id %v", got, first)
	}

	// Likes. Clients that hold ids as doubles write them with an exponent.
	for range 2 {
		ok(t, send(post, "favorite/action", "token", bob.token, "video_id", first, "action_type", 1))
	}
	liked := entries(t, send(get, "favorite/list", "token", ann.token, "user_id", bob.id), "video_list")
	if len(liked) != 1 || liked[0]["favorite_count"] != 1.0 || liked[0]["is_favorite"] != false {
		t.Errorf("favorite/list of Bob for Ann = %v, want one video, liked once, not by her", liked)
	}
	if film := entries(t, send(get, "feed", "token", bob.token), "video_list")[2]; film["is_favorite"] != true || film["favorite_count"] != 1.0 {
		t.Errorf("the video that Bob likes = %v, want is_favorite, favorite_count 1", film)
	}
	ok(t, send(post, "favorite/action", "token", bob.token, "video_id", first, "action_type", 2))
	if got := entries(t, send(get, "favorite/list", "token", bob.token, "user_id", bob.id), "video_list"); len(got) != 0 {
		t.Errorf("favorite/list of Bob after the unlike = %v, want none", got)
	}
	ok(t, send(post, "favorite/action", "token", bob.token, "video_id", first, "action_type", 1))

	// Comments.
	added := ok(t, send(post, "comment/action", "token", bob.token, "video_id", first, "action_type", 1, "comment_text", "Комментарий 👍"))
	remark := fields(t, added["comment"], "id", "user", "content", "create_date")
	fields(t, remark["user"], personFields...)
	if day := remark["create_date"].(string); remark["content"] != "Комментарий 👍" || day != time.Now().UTC().Format("01-02") && len(day) != 5 {
		t.Errorf("the comment is %v, want its text and the date as MM-DD", remark)
	}
	if got := entries(t, send(get, "comment/list", "token", ann.token, "video_id", first), "comment_list"); len(got) != 1 || got[0]["id"] != remark["id"] {
		t.Errorf("comment/list = %v, want the comment %v alone", got, remark["id"])
	}
	if film := entries(t, send(get, "feed"), "video_list")[2]; film["comment_count"] != 1.0 {
		t.Errorf("the video with a comment is %v, want comment_count 1", film)
	}
	fields(t, ok(t, send(post, "comment/action", "token", bob.token, "video_id", first, "action_type", 2, "comment_id", remark["id"])), "status_code", "status_msg")
	if got := entries(t, send(get, "comment/list", "video_id", first), "comment_list"); len(got) != 0 {
		t.Errorf("comment/list after the deletion = %v, want none", got)
	}

	// Follows.
	ok(t, send(post, "relation/action", "token", ann.token, "to_user_id", bob.id, "action_type", 1))
	if got := entries(t, send(get, "relation/follow/list", "token", ann.token, "user_id", ann.id), "user_list"); len(got) != 1 || fields(t, got[0], personFields...)["id"] != float64(bob.id) || got[0]["is_follow"] != true {
		t.Errorf("relation/follow/list of Ann = %v, want Bob, followed", got)
	}
	if got := entries(t, send(get, "relation/follower/list", "token", bob.token, "user_id", bob.id), "user_list"); len(got) != 1 || got[0]["id"] != float64(ann.id) || got[0]["is_follow"] != false {
		t.Errorf("relation/follower/list of Bob = %v, want Ann, not followed", got)
	}
	if got := entries(t, send(get, "relation/friend/list", "token", bob.token, "user_id", bob.id), "user_list"); len(got) != 0 {
		t.Errorf("relation/friend/list of Bob = %v, want none", got)
	}
	ok(t, send(post, "relation/action", "token", bob.token, "to_user_id", ann.id, "action_type", 1))

	// Messages.
	ok(t, send(post, "message/action", "token", ann.token, "to_user_id", bob.id, "action_type", 1, "content", "Hello"))
	begun := entries(t, send(get, "message/chat", "token", bob.token, "to_user_id", ann.id, "pre_msg_time", 0), "message_list")
	if len(begun) != 1 || fields(t, begun[0], messageFields...)["from_user_id"] != float64(ann.id) || begun[0]["to_user_id"] != float64(bob.id) {
		t.Fatalf("message/chat = %v, want one message from %d to %d", begun, ann.id, bob.id)
	}
	await.That(t, "the clock shows the next millisecond", func() bool { return float64(time.Now().UnixMilli()) > begun[0]["create_time"].(float64) })
	ok(t, send(post, "message/action", "token", bob.token, "to_user_id", ann.id, "action_type", 1, "content", "Hi"))
	if got := entries(t, send(get, "message/chat", "token", ann.token, "to_user_id", bob.id, "pre_msg_time", fmt.Sprintf("%.0f", begun[0]["create_time"])), "message_list"); len(got) != 1 || got[0]["content"] != "Hi" {
		t.Errorf("message/chat after the first message = %v, want Hi alone", got)
	}
	if got := entries(t, send(get, "message/chat", "token", ann.token, "to_user_id", bob.id), "message_list"); len(got) != 2 || got[0]["content"] != "Hello" {
		t.Errorf("message/chat = %v, want Hello, then one more", got)
	}
	for token, want := range map[string][2]any{ann.token: {"Hi", 0.0}, bob.token: {"Hi", 1.0}} {
		got := entries(t, send(get, "relation/friend/list", "token", token), "user_list")
		if len(got) != 1 || fields(t, got[0], append(personFields, "message", "msgType")...)["message"] != want[0] || got[0]["msgType"] != want[1] {
			t.Errorf("relation/friend/list = %v, want one friend with message and msgType %v", got, want)
		}
	}

	// A user, with totals.
	ok(t, send(post, "relation/action", "token", bob.token, "to_user_id", ann.id, "action_type", 2))
	await.That(t, "the totals are right", func() bool {
		got := fields(t, ok(t, send(get, "user", "token", bob.token, "user_id", ann.id))["user"], personFields...)
		return got["follow_count"] == 1.0 && got["follower_count"] == 0.0 && got["is_follow"] == false &&
			got["work_count"] == 2.0 && got["total_favorited"] == 1.0 && got["favorite_count"] == 0.0 && got["name"] == "Ann"
	})
	if got := ok(t, send(get, "user", "token", bob.token))["user"].(object); got["id"] != float64(bob.id) {
		t.Errorf("user without user_id = %v, want Bob, %d", got, bob.id)
	}
}

// A feed that is paged by its next_time shows every video once, including videos of the
// same millisecond. At its end, it starts again.
func TestFeedIsPagedByTime(t *testing.T) {
	s := start(t)
	author := storage.AccountUser(storage.DefaultTenant, s.register(t, "Ann").id)
	want := map[string]bool{}
	for i := range 3*20 + 5 {
		title := fmt.Sprint("film ", i)
		_, _, err := s.store.PublishVideo(t.Context(), storage.NewVideo{
			Author: author, Title: title, File: strings.ReplaceAll(uuid.NewString(), "-", ""), Format: storage.MP4, Bytes: 1, Digest: title,
		}, nil)
		must.Succeed(t, err)
		want[title] = true
	}
	reply := s.get(t, "feed/")
	for pages := 0; ; pages++ {
		films := entries(t, reply, "video_list")
		if len(films) == 0 {
			break
		}
		if len(films) > 20 || pages > 10 {
			t.Fatalf("page %d has %d videos, want at most 20 on 10 pages at most", pages, len(films))
		}
		for _, film := range films {
			if title := film["title"].(string); !want[title] {
				t.Errorf("%s is listed twice", title)
			} else {
				delete(want, title)
			}
		}
		reply = s.get(t, "feed/", "latest_time", fmt.Sprintf("%.0f", reply["next_time"]))
	}
	if len(want) > 0 {
		t.Errorf("the feed does not list %v", want)
	}
	now := time.Now()
	if next := int64(reply["next_time"].(float64)); next < now.Add(-time.Minute).UnixMilli() || next > now.UnixMilli() {
		t.Errorf("after the last page next_time is %d, want the present, %d", next, now.UnixMilli())
	}
	for _, latest := range []any{0, "", now.Unix() + 1, now.UnixMilli() + 1, now.Add(24 * time.Hour).UnixMilli(), fmt.Sprint(float64(now.Unix() + 1)), int64(1<<53 - 1)} {
		if films := entries(t, s.get(t, "feed/", "latest_time", latest), "video_list"); len(films) == 0 || films[0]["title"] != "film 64" {
			t.Errorf("feed with latest_time %v = %v, want film 64 first", latest, films)
		}
	}
	for _, latest := range []any{1, now.Add(-time.Hour).Unix(), now.Add(-time.Hour).UnixMilli()} {
		if films := entries(t, s.get(t, "feed/", "latest_time", latest), "video_list"); len(films) != 0 {
			t.Errorf("feed with latest_time %v = %v, want no videos", latest, films)
		}
	}
}

// newCalls returns, by method, the number of calls to a measured store that are not in
// the map counted. It adds them to that map.
func newCalls(t *testing.T, registry *prometheus.Registry, counted map[string]int) map[string]int {
	t.Helper()
	families, err := registry.Gather()
	must.Succeed(t, err)
	calls := map[string]int{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			method, n := metric.GetLabel()[0].GetValue(), int(metric.GetHistogram().GetSampleCount())
			if n > counted[method] {
				calls[method], counted[method] = n-counted[method], n
			}
		}
	}
	return calls
}

// TestConstantNumberOfCalls proves invariant I7: a page with one entry costs as many
// calls as a page with many.
func TestConstantNumberOfCalls(t *testing.T) {
	registry, counted := prometheus.NewRegistry(), map[string]int{}
	s := start(t, over(func(source loaders.Source) loaders.Source { return metered.New(source.(storage.Store), registry) }))
	ann := s.register(t, "Ann")
	video := s.publish(t, ann, "first")
	fill := func(i int) {
		other := s.register(t, fmt.Sprint("user ", i))
		s.publish(t, other, fmt.Sprint("film ", i))
		liked := s.publish(t, ann, fmt.Sprint("Ann's film ", i))
		ok(t, s.post(t, "favorite/action/", "token", ann.token, "video_id", liked, "action_type", 1))
		ok(t, s.post(t, "comment/action/", "token", other.token, "video_id", video, "action_type", 1, "comment_text", i))
		ok(t, s.post(t, "relation/action/", "token", ann.token, "to_user_id", other.id, "action_type", 1))
		ok(t, s.post(t, "relation/action/", "token", other.token, "to_user_id", ann.id, "action_type", 1))
		ok(t, s.post(t, "message/action/", "token", other.token, "to_user_id", ann.id, "action_type", 1, "content", i))
	}
	users := map[string]int{"Interactives": 1, "Profiles": 1, "TotalsOf": 1}
	films := map[string]int{"Interactives": 1, "Profiles": 1, "TotalsOf": 1, "CommentCounts": 1}
	with := func(calls map[string]int, more ...string) map[string]int {
		out := map[string]int{}
		maps.Copy(out, calls)
		for _, name := range more {
			out[name]++
		}
		return out
	}
	want := map[string]map[string]int{
		"feed/":                   with(films, "Feed"),
		"publish/list/":           with(films, "UserVideos"),
		"favorite/list/":          with(films, "Likes", "VideosOf"),
		"comment/list/":           with(users, "VideosOf", "ListComments"),
		"relation/follow/list/":   with(users, "Following"),
		"relation/follower/list/": with(users, "Followers"),
		"relation/friend/list/":   with(users, "Friends", "ConversationsOf"),
		"message/chat/":           with(nil, "ListMessages"),
		"user/":                   users,
	}
	fill(0)
	friend := entries(t, s.get(t, "relation/follow/list/", "token", ann.token), "user_list")[0]["id"]
	for round := range 2 {
		for path, calls := range want {
			newCalls(t, registry, counted)
			ok(t, s.get(t, path, "token", ann.token, "video_id", video, "to_user_id", friend))
			if got := newCalls(t, registry, counted); !maps.Equal(got, calls) {
				t.Errorf("%s, round %d: got the calls %v, want %v", path, round, got, calls)
			}
		}
		if round == 0 {
			for i := 1; i <= 12; i++ {
				fill(i)
			}
			await.That(t, "13 follows are listed", func() bool {
				return len(entries(t, s.get(t, "relation/follow/list/", "token", ann.token), "user_list")) == 13
			})
		}
	}
}
