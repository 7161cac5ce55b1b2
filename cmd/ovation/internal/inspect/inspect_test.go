package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/api/viewer"
	"ovation/cmd/ovation/internal/inspect"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/sqlite"
)

// start is the time of the first action.
const start = int64(1_750_000_000_000_000)

// page returns a handler for a store that contains actions by users of two tenants.
func page(t *testing.T, headers viewer.DevHeaders) http.Handler {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "ovation.db")})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, store.Close()) })
	var m storage.Message
	for i, a := range []storage.Action{
		{User: storage.User{UserID: "alice"}, Subject: storage.Subject{Biz: "video", BizID: "1"}, Kind: storage.KindReaction, Reaction: storage.Like},
		{User: storage.User{UserID: "bob"}, Subject: storage.Subject{Biz: "video", BizID: "1"}, Kind: storage.KindReaction, Reaction: storage.Dislike},
		{User: storage.User{UserID: "bob"}, Subject: storage.Subject{Biz: "video", BizID: "1"}, Kind: storage.KindReaction, Reaction: storage.Like},
		{Subject: storage.Subject{Biz: "video", BizID: "1"}, Kind: storage.KindRead, Times: 3},
		{User: storage.User{UserID: "alice"}, Subject: storage.Subject{Biz: "video", BizID: "1"}, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID},
		{User: storage.User{UserID: "alice"}, Subject: storage.Subject{Biz: "user", BizID: "bob"}, Kind: storage.KindFollow, Following: true},
		{User: storage.User{UserID: "alice"}, Subject: storage.Subject{Biz: "video", BizID: "2"}, Kind: storage.KindRead, Times: 1},
		{User: storage.User{Tenant: "other", UserID: "eve"}, Subject: storage.Subject{Tenant: "other", Biz: "song", BizID: "1"}, Kind: storage.KindRead, Times: 9},
	} {
		if a.User.Tenant == "" {
			a.User.Tenant, a.Subject.Tenant = storage.DefaultTenant, storage.DefaultTenant
		}
		if a.Version = start + int64(i); a.Kind == storage.KindRead {
			a.First = start
		}
		m = storage.Message{ID: fmt.Sprint("m", i), Actions: []storage.Action{a}}
		_, err := store.Persist(t.Context(), []storage.Message{m}, nil)
		must.Succeed(t, err)
	}
	auth, err := viewer.New(t.Context(), viewer.Config{DevHeaders: headers, Logger: slog.New(slog.DiscardHandler)})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, auth.Close()) })
	return inspect.NewHandler(inspect.Config{
		Store: store, Folders: store, Auth: auth, Logger: slog.New(slog.DiscardHandler),
		Lag: func(context.Context) (int64, error) { return 7, errors.New("the disk is full") },
	})
}

// ask sends a request as a page on this machine does, and decodes the response. header
// lists names, each followed by its value.
func ask(t *testing.T, h http.Handler, target string, into any, header ...string) int {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://localhost:8080"+target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	must.Succeed(t, json.Unmarshal(w.Body.Bytes(), into))
	return w.Code
}

type kind struct {
	Biz                                                    string
	Subjects, ReadCount, LikeCount, CollectCount, Follower int64
}

type survey struct {
	Tenant         string
	Kinds          []kind
	Users, Waiting int64
	PersistedAt    *time.Time
	Problem        string
}

func TestASurveyAddsUpEachKind(t *testing.T) {
	var got survey
	if status := ask(t, page(t, viewer.LocalDevHeaders), "/data/survey", &got); status != http.StatusOK {
		t.Fatalf("got status %d, want 200", status)
	}
	want := []kind{{Biz: "user", Subjects: 1}, {Biz: "video", Subjects: 2, ReadCount: 4, LikeCount: 2, CollectCount: 1}}
	if fmt.Sprint(got.Kinds) != fmt.Sprint(want) || got.Users < 2 || got.Tenant != "default" {
		t.Errorf("got %+v, want the kinds %v of the tenant default, with at least 2 users", got, want)
	}
	if got.Waiting != 7 || got.Problem != "the disk is full" || got.PersistedAt == nil || time.Since(*got.PersistedAt) > time.Hour {
		t.Errorf("got %+v, want 7 waiting, the problem \"the disk is full\" and a persisted time within the hour", got)
	}
}

func TestATenantSeesItself(t *testing.T) {
	h := page(t, viewer.LocalDevHeaders)
	var got survey
	ask(t, h, "/data/survey", &got, "X-Ovation-Tenant", "other")
	if got.Tenant != "other" || len(got.Kinds) != 1 || got.Kinds[0].Biz != "song" {
		t.Errorf("got %+v, want the one kind song of the tenant other", got)
	}
	var hottest, history []struct{ BizID string }
	ask(t, h, "/data/hottest?biz=video", &hottest, "X-Ovation-Tenant", "other")
	ask(t, h, "/data/history?biz=video&bizId=1", &history, "X-Ovation-Tenant", "other")
	if len(hottest)+len(history) != 0 {
		t.Errorf("the tenant other is shown %v and %v, want nothing of the tenant default", hottest, history)
	}
}

func TestHottestComeFirst(t *testing.T) {
	h := page(t, viewer.LocalDevHeaders)
	for by, want := range map[string]string{"": "1 2", "readCount": "1 2", "likeCount": "1", "dislikeCount": "", "followerCount": "bob", "collectCount": "1"} {
		var got []struct {
			BizID     string
			ReadCount int64
		}
		ask(t, h, "/data/hottest?by="+by, &got)
		var ids []string
		for _, s := range got {
			ids = append(ids, s.BizID)
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("hottest by %q = %v, want the subjects %q", by, got, want)
		}
	}
}

func TestAHistoryHasTheLatestChangeOfEachState(t *testing.T) {
	var got []struct {
		At                  time.Time
		User, What, Was, Is string
		Times               int64
		Since               *time.Time
	}
	ask(t, page(t, viewer.LocalDevHeaders), "/data/history?biz=video&bizId=1", &got)
	var lines []string
	for _, c := range got {
		lines = append(lines, fmt.Sprintf("%d %s %s %s>%s %d", c.At.UnixMicro()-start, c.User, c.What, c.Was, c.Is, c.Times))
	}
	want := "4 alice folder >Default 0\n3  read > 3\n2 bob reaction dislike>like 0\n0 alice reaction >like 0"
	if strings.Join(lines, "\n") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(lines, "\n"), want)
	}
}

func TestTheActivityIsThatOfTheLastDay(t *testing.T) {
	h := page(t, viewer.LocalDevHeaders)
	var got []struct {
		Biz   string
		Hours []int64
	}
	if ask(t, h, "/data/activity", &got); len(got) != 0 {
		t.Errorf("got %v, want nothing: all actions are older than a day", got)
	}
}

func TestListsAreBounded(t *testing.T) {
	h := page(t, viewer.LocalDevHeaders)
	for target, status := range map[string]int{
		"/data/hottest?first=1": 200, "/data/hottest?first=0": 400, "/data/hottest?first=201": 400, "/data/hottest?first=x": 400,
		"/data/hottest?by=version": 400, "/data/history?biz=video&bizId=1&first=201": 400, "/data/history?biz=Video&bizId=1": 400,
		"/data/history?biz=video": 400, "/data/nothing": 404,
		"/data/activity": 200, "/data/activity?biz=video&bizId=1": 200, "/data/activity?biz=video": 400,
	} {
		var got any
		if is := ask(t, h, target, &got); is != status {
			t.Errorf("%s: got status %d, want %d: %v", target, is, status, got)
		}
	}
	var one []any
	if ask(t, h, "/data/history?biz=video&bizId=1&first=1", &one); len(one) != 1 {
		t.Errorf("got %v, want one entry", one)
	}
}

func TestOnlyDevelopersAreAnswered(t *testing.T) {
	for _, test := range []struct {
		headers viewer.DevHeaders
		header  []string
		status  int
	}{
		{viewer.LocalDevHeaders, nil, 200},
		{viewer.LocalDevHeaders, []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{viewer.LocalDevHeaders, []string{"Sec-Fetch-Site", "none"}, 200},
		{viewer.LocalDevHeaders, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{viewer.LocalDevHeaders, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{viewer.LocalDevHeaders, []string{"X-Forwarded-For", "192.0.2.1"}, 403},
		{viewer.LocalDevHeaders, []string{"X-Ovation-Tenant", "No"}, 403},
		{viewer.LocalDevHeaders, []string{"Authorization", "Bearer x"}, 403},
		{viewer.RefuseDevHeaders, nil, 403},
	} {
		h := page(t, test.headers)
		for _, target := range []string{"/data/survey", "/data/hottest", "/data/history?biz=video&bizId=1", "/data/activity"} {
			var got any
			if status := ask(t, h, target, &got, test.header...); status != test.status {
				t.Errorf("%v %v, %s: got status %d, want %d: %v", test.headers, test.header, target, status, test.status, got)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "http://evil.example/data/survey", http.NoBody) // the name resolves to this machine
	w := httptest.NewRecorder()
	page(t, viewer.LocalDevHeaders).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("with another host name: got status %d, want 403", w.Code)
	}
}
