package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/internal/testing/redistest"
	"ovation/storage"
)

// erasable is the id of a user who is erased. No other text contains it.
const erasable = "erasable-7f3a"

// actAsErasable makes the user erasable, and others, do what they can do to each other.
func (s *server) actAsErasable(t *testing.T) {
	t.Helper()
	do := func(user, mutation string) {
		t.Helper()
		await.That(t, mutation, func() bool { return s.graphQL(user, "mutation { "+mutation+" }", nil) == nil })
	}
	for _, user := range []string{erasable, "alice", "bob"} {
		do(user, `like(input: {biz: "video", bizId: "movie"}) { changed }`)
		do(user, `collect(input: {biz: "video", bizId: "movie"}) { changed }`)
		do(user, `read(input: {biz: "video", bizId: "movie"}) { changed }`)
	}
	for _, user := range []string{"alice", "bob"} {
		do(user, fmt.Sprintf(`follow(input: {biz: "user", bizId: %q}) { changed }`, erasable))
		do(user, fmt.Sprintf(`addComment(input: {biz: "user", bizId: %q, text: "planted on the user"}) { comment { id } }`, erasable))
		do(user, fmt.Sprintf(`sendMessage(input: {to: %q, text: "planted answer"}) { message { id } }`, erasable))
		do(erasable, fmt.Sprintf(`follow(input: {biz: "user", bizId: %q}) { changed }`, user))
		do(erasable, fmt.Sprintf(`sendMessage(input: {to: %q, text: "planted message"}) { message { id } }`, user))
	}
	do(erasable, `addComment(input: {biz: "video", bizId: "movie", text: "planted comment"}) { comment { id } }`)
	do(erasable, `createFolder(input: {name: "planted folder", description: "", public: true}) { folder { id } }`)
	do("alice", `sendMessage(input: {to: "bob", text: "stays"}) { message { id } }`)
}

// erasableReply is what a user sees of the movie, and of the erased user.
type erasableReply struct {
	Movie struct {
		LikeCount, CollectCount, ReadCount, CommentCount int
		Freshness                                        string
	}
	User struct {
		Followers struct{ Edges []struct{ Cursor string } }
	}
	Viewer struct{ Totals struct{ Following int } }
}

func (s *server) seesErasable(t *testing.T, user string) (got erasableReply) {
	t.Helper()
	must.Succeed(t, s.graphQL(user, fmt.Sprintf(`{ movie: interactive(biz: "video", bizId: "movie") { likeCount collectCount readCount commentCount freshness }
		user(userId: %q) { followers { edges { cursor } } } viewer { totals { following } } }`, erasable), &got))
	return got
}

// showsErased reports whether the others see everything of theirs and nothing of the
// erased user.
func (s *server) showsErased(t *testing.T) bool {
	t.Helper()
	var want erasableReply
	want.Movie.LikeCount, want.Movie.CollectCount, want.Movie.ReadCount, want.Movie.Freshness = 2, 2, 3, "LIVE"
	got, err := json.Marshal(s.seesErasable(t, "alice"))
	must.Succeed(t, err)
	wanted, err := json.Marshal(want)
	must.Succeed(t, err)
	return strings.ReplaceAll(string(got), "[]", "null") == string(wanted)
}

// wantNoTrace checks that a dump contains neither the id of the erased user nor a secret.
func wantNoTrace(t *testing.T, of, dump string) {
	t.Helper()
	for line := range strings.Lines(dump) {
		if strings.Contains(line, erasable) || strings.Contains(line, "planted ") {
			t.Errorf("%s still holds %s", of, line)
		}
	}
}

func TestEraseBesideADevelopmentServer(t *testing.T) {
	t.Parallel()
	data := emptyData(t)
	s := serve(t, data)
	s.actAsErasable(t)
	erase := []string{"erase", "--data=" + data, "--user=" + erasable}
	call(t, environment(), erase...).want(t, exitUsage, "--yes", erasable)
	call(t, environment(), append(erase, "--yes", "--tenant=other")...).want(t, exitFailed, `nothing is stored of or about user "`+erasable+`" of tenant other`)
	verified(t, data)
	call(t, environment(), append(erase, "--yes")...).want(t, 0, `Erased user "`+erasable+`"`, "0 videos", "Stop the server and run the same command again")
	verified(t, data)
	if !s.showsErased(t) {
		t.Errorf("the server shows %+v", s.seesErasable(t, "alice"))
	}
	if err := s.graphQL(erasable, `mutation { addComment(input: {biz: "video", bizId: "movie", text: "late"}) { comment { id } } }`, nil); err == nil || !strings.Contains(err.Error(), "was erased") {
		t.Errorf("a comment of the erased user: got %v, want that the user was erased", err)
	}
	must.Succeed(t, s.graphQL(erasable, `mutation { like(input: {biz: "video", bizId: "movie"}) { changed } }`, nil))
	verified(t, data)
	s.stop().want(t, 0)
	call(t, environment(), append(erase, "--yes")...).want(t, 0, "Nothing of the user is left")
	verified(t, data)
	must.Succeed(t, filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(erasable)) || bytes.Contains(content, []byte("planted ")) {
			t.Errorf("the file %s still holds the user", path)
		}
		return err
	}))
}

func TestEraseRemovesVideosWithTheirFiles(t *testing.T) {
	t.Parallel()
	data := emptyData(t)
	s := serveBinary(t, data, "--demo")
	var feed struct {
		Feed struct {
			Edges []struct {
				Node struct{ Author struct{ UserID string } }
			}
		}
	}
	await.That(t, "the demo has clips", func() bool {
		must.Succeed(t, s.graphQL("alice", `{ feed(first: 1) { edges { node { author { userId } } } } }`, &feed))
		return len(feed.Feed.Edges) > 0
	})
	s.stop().want(t, 0)
	author := feed.Feed.Edges[0].Node.Author.UserID
	files := func() (n int) {
		found, err := filepath.Glob(filepath.Join(data, mediaFolder, "videos", "*"))
		must.Succeed(t, err)
		return len(found)
	}
	before := files()
	got := call(t, environment(), "erase", "--data="+data, "--user="+author, "--yes")
	got.want(t, 0, "Erased user")
	var rows, videos int
	if _, err := fmt.Sscanf(got.stdout[strings.Index(got.stdout, ": ")+2:], "%d rows and %d videos", &rows, &videos); err != nil || videos == 0 || files() >= before || files() < before-2*videos {
		t.Errorf("%s: got %d files before and %d after, want the files of %d videos less", got.stdout, before, files(), videos)
	}
	verified(t, data)
}

func TestEraseFromASite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(t, "work")
	nodes := []*server{s.start(t, "serve"), s.start(t, "serve")}
	nodes[0].actAsErasable(t)
	await.That(t, "everything is persisted", func() bool {
		for _, n := range nodes {
			if got := n.seesErasable(t, "alice"); got.Movie.LikeCount != 3 || got.Movie.ReadCount != 3 || len(got.User.Followers.Edges) != 2 {
				return false
			}
		}
		return true
	})
	erase := []string{"erase", "--user=" + erasable, "--yes"}
	call(t, s.getenv("OVATION_REDIS_URL", ""), erase...).want(t, exitUsage, "set OVATION_REDIS_URL")
	s.run(t, erase...).want(t, 0, `Erased user "`+erasable+`"`, "the database and Redis")
	wantNoTrace(t, "Postgres", postgrestest.Dump(t, s.variables["OVATION_POSTGRES_URL"]))
	wantNoTrace(t, "Redis", redistest.Dump(t, s.variables["OVATION_REDIS_URL"], s.variables["OVATION_PREFIX"]))
	for _, n := range nodes {
		await.That(t, "the nodes show it", func() bool { return n.showsErased(t) })
	}
	s.agrees(t)
	s.run(t, erase...).want(t, 0, "0 rows and 0 videos")
	s.run(t, "erase", "--user=unknown-here", "--yes").want(t, exitFailed, "nothing is stored of or about")
}

// agrees checks that all counts are right, in the database and in Redis. It repeats a
// comparison that a busy server has cut short.
func (s *site) agrees(t *testing.T) {
	t.Helper()
	var got programResult
	await.That(t, "verify ends", func() bool {
		got = s.run(t, "verify")
		return !strings.Contains(got.stderr, storage.ErrUnavailable.Error())
	})
	got.want(t, 0, "0 differences; ", "0 differences in Redis; ")
}

func TestEraseIsConfirmedByTheID(t *testing.T) {
	t.Parallel()
	user := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	for reply, good := range map[string]bool{"alice\n": true, "alice \r\n": true, "alice": true, "": false, "y\n": false, "Alice\n": false} {
		var asked bytes.Buffer
		err := confirmID(strings.NewReader(reply), &asked, user)
		if (err == nil) != good || !strings.Contains(asked.String(), `user "alice" of tenant default`) {
			t.Errorf("reply %q to %q: got %v, want it accepted: %t", reply, asked.String(), err, good)
		}
	}
}
