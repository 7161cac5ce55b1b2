package main

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestWritesSurviveARestart checks that data still exists after a restart: comments,
// messages, videos with their files and covers, accounts, and sessions.
func TestWritesSurviveARestart(t *testing.T) {
	t.Setenv("PATH", fakeFFmpeg(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	dir := t.TempDir()
	s := serve(t, dir)
	comment, err := s.addComment("alice", "first")
	must.Succeed(t, err)
	message, err := s.sendMessage("alice", "bob", "hello")
	must.Succeed(t, err)
	video, err := s.uploads("A film", clip(100_000))
	must.Succeed(t, err)
	await.That(t, "the feed shows the cover", func() bool { return strings.HasPrefix(s.feed(t)[0].CoverURL, "/media/covers/") })
	account, err := s.session("register", "Alice")
	must.Succeed(t, err)
	revoked, err := s.session("register", "Bob")
	must.Succeed(t, err)
	must.Succeed(t, s.post([]byte(`{"query":"mutation { logOutEverywhere { user { userId } } }"}`), bearer(revoked.Token), nil))
	s.stop().want(t, 0)

	s = serve(t, dir, "--max-upload=1")
	s.keepsComment(t, comment)
	s.keepsMessage(t, message)
	s.keepsVideo(t, video)
	s.keepsAccount(t, account, revoked)
	s.stop().want(t, 0)
	verified(t, dir)

	s = serve(t, dir, "--no-videos", "--no-accounts")
	if _, err := s.uploads("off", clip(1000)); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("upload with --no-videos: got %v, want status 404", err)
	}
	if _, err := s.session("logIn", "Alice"); err == nil || !strings.Contains(err.Error(), "--accounts") {
		t.Errorf("logIn with --no-accounts: got %v, want an error that names --accounts", err)
	}
	if s.accepts(account.Token) {
		t.Error("with --no-accounts a token of an account is accepted")
	}
}

// keepsComment checks that alice's comment on the movie exists, and that bob can add a
// comment. If alice's comment is sent again, no second comment must be added.
func (s *server) keepsComment(t *testing.T, first comment) {
	t.Helper()
	again, err := s.addComment("alice", "first")
	must.Succeed(t, err)
	second, err := s.addComment("bob", "second")
	must.Succeed(t, err)
	seen := s.comments(t, "NEWEST").Interactive
	if again != first || seen.CommentCount != 2 || seen.Comments.Edges[0].Node.ID != second.ID || seen.Comments.Edges[1].Node.Text != "first" {
		t.Errorf("added %+v, repeated after the restart %+v, then %+v; shown are %+v, want each comment once", first, again, second, seen)
	}
}

// keepsMessage checks that alice's message to bob exists and is unread. If the message is
// sent again, no second message must be added.
func (s *server) keepsMessage(t *testing.T, first string) {
	t.Helper()
	again, err := s.sendMessage("alice", "bob", "hello")
	must.Succeed(t, err)
	var seen conversationsReply
	must.Succeed(t, s.graphQL("bob", conversationsQuery, &seen))
	if again != first || len(seen.Conversations.Edges) != 1 || seen.Conversations.Edges[0].Node.Latest.ID != first || seen.Conversations.Edges[0].Node.Unread != 1 {
		t.Errorf("sent %s, repeated after the restart %s; bob is shown %+v, want the message once, unread", first, again, seen)
	}
}

// keepsVideo checks that alice's video exists with its file and its cover. A file above
// the limit must be rejected, and it must be possible to delete the video.
func (s *server) keepsVideo(t *testing.T, first film) {
	t.Helper()
	got := s.feed(t)
	if len(got) != 1 || got[0].VideoID != first.VideoID || got[0].Author.UserID != "alice" {
		t.Fatalf("the feed after the restart is %+v, want video %s of alice", got, first.VideoID)
	}
	if status, text := s.download(t, got[0].PlayURL); status != http.StatusOK || !bytes.Equal(text, clip(100_000)) {
		t.Errorf("GET %s = %d, %d bytes, want 200, the 100,000 bytes uploaded", got[0].PlayURL, status, len(text))
	}
	if status, _ := s.download(t, got[0].CoverURL); status != http.StatusOK {
		t.Errorf("GET %s = %d, want 200", got[0].CoverURL, status)
	}
	if _, err := s.uploads("too large", clip(2<<20)); err == nil || !strings.Contains(err.Error(), "413") {
		t.Errorf("upload of 2 MiB where 1 is allowed: got %v, want status 413", err)
	}
	must.Succeed(t, s.graphQL("alice", `mutation { deleteVideo(input: {videoId: "`+first.VideoID+`"}) { deletedId } }`, nil))
	if status, _ := s.download(t, got[0].PlayURL); status != http.StatusNotFound || len(s.feed(t)) != 0 {
		t.Errorf("after the deletion: GET %s = %d, the feed is %+v, want 404, no video", got[0].PlayURL, status, s.feed(t))
	}
}

// keepsAccount checks that Alice's account exists and that its token is accepted. The
// revoked token must be refused.
func (s *server) keepsAccount(t *testing.T, account, revoked loggedIn) {
	t.Helper()
	if got := s.viewer(t, account.Token); got != account.User.UserID {
		t.Errorf("the token is of %q, want %q", got, account.User.UserID)
	}
	if s.accepts(revoked.Token) {
		t.Error("a revoked token is accepted after the restart")
	}
	again, err := s.session("logIn", "ALICE")
	must.Succeed(t, err)
	if again.User != account.User {
		t.Errorf("logged in as %v, want %v as registered", again.User, account.User)
	}
}
