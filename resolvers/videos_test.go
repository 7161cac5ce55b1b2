package resolvers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// upload publishes a video over HTTP and returns its id.
func (s *service) upload(t *testing.T, user, title string) string {
	t.Helper()
	status, body := s.post(t, user, title)
	var out struct{ Video struct{ VideoID string } }
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusCreated || out.Video.VideoID == "" {
		t.Fatalf("upload: got status %d, %s, want 201 with a video id", status, body)
	}
	return out.Video.VideoID
}

func (s *service) post(t *testing.T, user, title string) (status int, body string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	must.Succeed(t, w.WriteField("title", title))
	part, err := w.CreateFormFile("file", "film.mp4")
	must.Succeed(t, err)
	_, err = part.Write([]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2 and the rest of " + title))
	must.Succeed(t, err)
	must.Succeed(t, w.Close())
	status, _, body = s.exchange(t, http.MethodPost, "/media/videos", form.String(), "Content-Type", w.FormDataContentType(), "X-Ovation-User", user)
	return status, body
}

const videoFields = `id videoId title playUrl coverUrl at author { userId } interactive { biz bizId likeCount author { userId } }`

func TestUploadedVideoIsInTheFeed(t *testing.T) {
	s := start(t, withVideos)
	first, second := s.upload(t, "alice", "first"), s.upload(t, "bob", "second <b>'; DROP TABLE video;--")
	data := s.ok(t, "", `{ feed { edges { node { `+videoFields+` } } pageInfo { hasNextPage } } }`)
	latest := dig(t, data, "feed", "edges", 0, "node")
	same(t, dig(t, latest, "title"), `"second <b>'; DROP TABLE video;--"`)
	same(t, dig(t, latest, "interactive"), `{"biz":"video","bizId":"`+second+`","likeCount":0,"author":{"userId":"bob"}}`)
	same(t, dig(t, latest, "author"), `{"userId":"bob"}`)
	same(t, dig(t, data, "feed", "edges", 1, "node", "videoId"), `"`+first+`"`)
	same(t, dig(t, s.ok(t, "", `query($v: ID!) { video(videoId: $v) { `+videoFields+` } }`, "v", second), "video"), toJSON(t, latest))
	same(t, dig(t, s.ok(t, "", `query($v: ID!) { node(id: $v) { ... on Video { `+videoFields+` } } }`, "v", dig(t, latest, "id")), "node"), toJSON(t, latest))
	for _, path := range []string{"playUrl", "coverUrl"} {
		status, header, _ := s.get(t, dig(t, latest, path).(string))
		if status != http.StatusOK || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got status %d, X-Content-Type-Options %q, want 200, nosniff", path, status, header.Get("X-Content-Type-Options"))
		}
	}
	same(t, s.ok(t, "carol", `{ user(userId: "alice") { videos(first: 5) { edges { node { title author { userId } } } } totals { works } works { edges { node { bizId } } } } }`),
		`{"user":{"videos":{"edges":[{"node":{"title":"first","author":{"userId":"alice"}}}]},"totals":{"works":1},"works":{"edges":[{"node":{"bizId":"`+first+`"}}]}}}`)
	for _, id := range []string{"1", "x", "", "-5", "9007199254740993", "1e3"} {
		same(t, s.ok(t, "", `query($v: ID!) { video(videoId: $v) { title } }`, "v", id), `{"video":null}`)
	}
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, `query($v: ID!, $n: ID!) { video(videoId: $v) { title } node(id: $n) { id } feed { edges { node { title } } } }`,
		"v", first, "n", dig(t, latest, "id"))
	same(t, other.Data, `{"video":null,"node":null,"feed":{"edges":[]}}`)
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	must.Succeed(t, err)
	return string(text)
}

func TestFeedIsPaged(t *testing.T) {
	s := start(t, withVideos)
	for i := range 7 {
		s.upload(t, "alice", fmt.Sprint("film ", i))
	}
	if got := strings.Join(s.pages(t, "bob", "", `feed(%s)`, "title", 3), ","); got != "film 6,film 5,film 4,film 3,film 2,film 1,film 0" {
		t.Errorf("got the feed %s, want film 6 to film 0", got)
	}
	s.refused(t, "BAD_USER_INPUT", "bob", `{ feed(first: 101) { edges { cursor } } }`)
	s.refused(t, "BAD_USER_INPUT", "bob", `{ feed(after: "x") { edges { cursor } } }`)
}

func TestVideosAreDeletedByTheirAuthors(t *testing.T) {
	s := start(t, withVideos)
	video := s.upload(t, "alice", "film")
	s.ok(t, "bob", `mutation($v: ID!) { like(input: {biz: "video", bizId: $v}) { changed } }`, "v", video)
	play := dig(t, s.ok(t, "", `{ feed { edges { node { playUrl } } } }`), "feed", "edges", 0, "node", "playUrl").(string)
	const remove = `mutation($v: ID!) { deleteVideo(input: {videoId: $v}) { deletedId interactive { likeCount author { userId } liked { reaction } } } }`
	s.refused(t, "UNAUTHENTICATED", "", remove, "v", video)
	for _, id := range []string{video, "1", "x", ""} {
		s.refused(t, "NOT_FOUND", "bob", remove, "v", id)
	}
	if other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, remove, "v", video); len(other.Errors) != 1 || other.Errors[0].Extensions["code"] != "NOT_FOUND" {
		t.Errorf("a user of another tenant: got %+v, want NOT_FOUND alone", other)
	}
	data := s.ok(t, "alice", remove, "v", video)
	same(t, dig(t, data, "deleteVideo", "interactive"), `{"likeCount":1,"author":null,"liked":null}`)
	same(t, s.ok(t, "bob", `query($v: ID!) { video(videoId: $v) { title } feed { edges { cursor } } interactive(biz: "video", bizId: $v) { likeCount liked { reaction } author { userId } } user(userId: "alice") { totals { works likesReceived } } }`, "v", video),
		`{"video":null,"feed":{"edges":[]},"interactive":{"likeCount":1,"liked":{"reaction":"LIKE"},"author":null},"user":{"totals":{"works":0,"likesReceived":0}}}`)
	if status, _, _ := s.get(t, play); status != http.StatusNotFound {
		t.Errorf("the file of a deleted video: got status %d, want 404", status)
	}
	s.refused(t, "NOT_FOUND", "alice", remove, "v", video)
}

func TestVideosAreOff(t *testing.T) {
	s := start(t)
	for _, query := range []string{
		`{ feed { edges { cursor } } }`, `{ video(videoId: "1") { title } }`, `{ viewer { videos { edges { cursor } } } }`,
		`mutation { deleteVideo(input: {videoId: "1"}) { deletedId } }`,
	} {
		if message := s.refused(t, "NOT_FOUND", "alice", query); !strings.Contains(message, "--videos") {
			t.Errorf("%s: got %q, want a mention of --videos", query, message)
		}
	}
	if status, body := s.post(t, "alice", "film"); status != http.StatusNotFound || !strings.Contains(body, "--videos") {
		t.Errorf("an upload: got status %d, %s, want 404 and a mention of --videos", status, body)
	}

	// Videos that were published before videos were turned off are not found by id.
	out, _, err := s.store.PublishVideo(t.Context(), storage.NewVideo{
		Author: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Title: "film", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Digest: "1",
	}, nil)
	must.Succeed(t, err)
	id := out.Video.ID()
	s.calls.taken(t)
	for _, query := range []string{`query($id: ID!) { node(id: $id) { id ... on Video { title } } }`, `query($id: ID!) { nodes(ids: [$id]) { id ... on Video { title interactive { likeCount } } } }`} {
		if message := s.refused(t, "NOT_FOUND", "bob", query, "id", id); !strings.Contains(message, "--videos") {
			t.Errorf("%s: got %q, want a mention of --videos", query, message)
		}
	}
	if calls := s.calls.taken(t); len(calls) > 0 {
		t.Errorf("got the calls %v, want none of the store", calls)
	}
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, `query($id: ID!) { node(id: $id) { id } }`, "id", id)
	same(t, other.Data, `{"node":null}`)
}

// A page of videos with all their fields takes the same number of calls for any number of
// videos.
func TestFeedCostsAConstantNumberOfCalls(t *testing.T) {
	s := start(t, withVideos, withAccounts)
	for i := range 25 {
		s.upload(t, fmt.Sprint("author", i), fmt.Sprint("film ", i))
	}
	const fields = `edges { node { title playUrl coverUrl at author { userId profile { name avatarUrl } totals { works } interactive { followerCount followed { at } } }
		interactive { likeCount commentCount collectCount liked { reaction } collected { at } } } }`
	for name, c := range map[string]struct {
		query string
		want  map[string]int
	}{
		"feed":            {`query($n: Int!) { feed(first: $n) { ` + fields + ` } }`, map[string]int{"Feed": 1, "Interactives": 1, "CommentCounts": 1, "Profiles": 1, "TotalsOf": 1}},
		"found videos":    {`query($n: Int!) { searchVideos(text: "fil", first: $n) { ` + fields + ` } }`, map[string]int{"SearchVideos": 1, "Interactives": 1, "CommentCounts": 1, "Profiles": 1, "TotalsOf": 1}},
		"videos of users": {`query($n: Int!) { viewer { videos(first: $n) { ` + fields + ` } } }`, map[string]int{"UserVideos": 1, "Interactives": 1, "CommentCounts": 1, "Profiles": 1, "TotalsOf": 1}},
	} {
		for range 3 {
			s.upload(t, "alice", "hers")
		}
		for _, n := range []int{2, 20} {
			s.calls.taken(t)
			s.ok(t, "alice", c.query, "n", n)
			if got := s.calls.taken(t); !maps.Equal(got, c.want) {
				t.Errorf("%s of %d: got the calls %v, want %v", name, n, got, c.want)
			}
		}
	}
}
