package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// film is a video of the site, as clients see it.
type film struct {
	VideoID, Title, PlayURL, CoverURL string
	Author                            struct{ UserID string }
}

// clip returns a file that has about size bytes and begins like an MP4 file.
func clip(size int) []byte {
	head := "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"
	return append([]byte(head), bytes.Repeat([]byte("film"), size/4)...)
}

// uploads publishes a video as alice.
func (s *server) uploads(title string, file []byte) (film, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("title", title)
	part, _ := w.CreateFormFile("file", "clip.mp4")
	_, _ = part.Write(file)
	_ = w.Close()
	request, err := http.NewRequest(http.MethodPost, s.url+"/media/videos", &form)
	if err != nil {
		return film{}, err
	}
	for name, value := range s.headers("alice") {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", w.FormDataContentType())
	response, err := client.Do(request)
	if err != nil {
		return film{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusCreated {
		return film{}, fmt.Errorf("%d %s: %w", response.StatusCode, text, err)
	}
	var out struct{ Video film }
	return out.Video, json.Unmarshal(text, &out)
}

// headers returns the headers that identify the user.
func (s *server) headers(user string) map[string]string {
	if s.as != nil {
		return s.as(user)
	}
	return map[string]string{"X-Ovation-User": user}
}

// feed returns the feed as bob sees it.
func (s *server) feed(tb testing.TB) (films []film) {
	tb.Helper()
	var out struct {
		Feed struct{ Edges []struct{ Node film } }
	}
	must.Succeed(tb, s.graphQL("bob", `{ feed { edges { node { videoId title playUrl coverUrl author { userId } } } } }`, &out))
	for _, e := range out.Feed.Edges {
		films = append(films, e.Node)
	}
	return films
}

func (s *server) download(tb testing.TB, path string) (int, []byte) {
	tb.Helper()
	status, _, text := get(tb, s.url+path)
	return status, text
}

// fakeFFmpeg returns a folder with a program called ffmpeg, which makes the same picture
// for every video.
func fakeFFmpeg(tb testing.TB) (folder string) {
	tb.Helper()
	folder = tb.TempDir()
	must.Succeed(tb, os.Chmod(folder, 0o755))
	picture, err := os.OpenFile(filepath.Join(folder, "picture.jpg"), os.O_CREATE|os.O_WRONLY, 0o644)
	must.Succeed(tb, err)
	must.Succeed(tb, jpeg.Encode(picture, image.NewGray(image.Rect(0, 0, 16, 16)), nil))
	must.Succeed(tb, picture.Close())
	must.Succeed(tb, os.WriteFile(filepath.Join(folder, "ffmpeg"), []byte("#!/bin/sh\nexec /bin/cat "+picture.Name()+"\n"), 0o755))
	return folder
}

func TestVideoFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{"OVATION_BLOB_URL": "ftp://x", "OVATION_MAX_UPLOAD": "0"} {
		call(t, environment(name, bad), "dev", "--addr=127.0.0.1:0", "--data="+t.TempDir()).want(t, exitUsage, name)
	}
	dir := t.TempDir()
	serve(t, dir).stop()
	other := t.TempDir()
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+other, "--blob-url=file://"+filepath.Join(dir, "media")).want(t, exitFailed, "another database")
	call(t, environment("OVATION_POSTGRES_URL", "postgres://x", "OVATION_REDIS_URL", "redis://x", "OVATION_RABBITMQ_URL", "amqp://x",
		"OVATION_JWT_SECRET", strings.Repeat("x", 32), "OVATION_VIDEOS", "true"), "serve").want(t, exitUsage, "OVATION_BLOB_URL")
}

// videosOnEveryNode uploads a video to one node. The video and its file must appear in
// the feed of another node, and a worker must make the cover.
func videosOnEveryNode(t *testing.T, nodes []*server) {
	t.Helper()
	a, b := nodes[0], nodes[1]
	file := clip(50_000)
	begun := time.Now()
	uploaded, err := a.uploads("A film", file)
	must.Succeed(t, err)
	got := b.feed(t)
	if len(got) != 1 || got[0].VideoID != uploaded.VideoID || got[0].Author.UserID != "alice" {
		t.Fatalf("the feed of the other node is %+v, want video %s of alice", got, uploaded.VideoID)
	}
	if status, text := b.download(t, got[0].PlayURL); status != http.StatusOK || !bytes.Equal(text, file) {
		t.Errorf("GET %s on the other node = %d, %d bytes, want 200, the %d bytes uploaded", got[0].PlayURL, status, len(text), len(file))
	}
	must.Succeed(t, b.graphQL("bob", `mutation { like(input: {biz: "video", bizId: "`+uploaded.VideoID+`"}) { changed } }`, nil))
	await.That(t, "the feed shows the cover", func() bool { return strings.HasPrefix(b.feed(t)[0].CoverURL, "/media/covers/") })
	t.Logf("the cover was there after %v", time.Since(begun))
	if status, _ := a.download(t, b.feed(t)[0].CoverURL); status != http.StatusOK {
		t.Errorf("GET %s = %d, want 200", b.feed(t)[0].CoverURL, status)
	}
	must.Succeed(t, b.graphQL("alice", `mutation { deleteVideo(input: {videoId: "`+uploaded.VideoID+`"}) { interactive { author { userId } } } }`, nil))
	if status, _ := a.download(t, got[0].PlayURL); status != http.StatusNotFound || len(a.feed(t)) != 0 {
		t.Errorf("after the deletion: GET %s = %d, the feed is %+v, want 404, no video", got[0].PlayURL, status, a.feed(t))
	}
	await.That(t, "a worker has swept the likes of the deleted video", func() bool {
		var out struct {
			Viewer struct {
				Totals struct{ Likes int }
				Likes  struct{ Edges []struct{ Cursor string } }
			}
			Interactive struct {
				Deleted   bool
				LikeCount int
				Liked     *struct{ At string }
			}
		}
		must.Succeed(t, a.graphQL("bob", `{ viewer { totals { likes } likes { edges { cursor } } } interactive(biz: "video", bizId: "`+uploaded.VideoID+`") { deleted likeCount liked { at } } }`, &out))
		if !out.Interactive.Deleted || out.Viewer.Totals.Likes != len(out.Viewer.Likes.Edges) {
			t.Errorf("got %+v, want a deleted subject, and a total that equals its list", out)
		}
		return out.Viewer.Totals.Likes == 0 && out.Interactive.LikeCount == 0 && out.Interactive.Liked == nil
	})
	if err := a.graphQL("bob", `mutation { like(input: {biz: "video", bizId: "`+uploaded.VideoID+`"}) { interactive { likeCount } } }`, nil); err == nil || !strings.Contains(err.Error(), "NOT_FOUND") {
		t.Errorf("a like of a deleted video: got %v, want NOT_FOUND", err)
	}
}

// hangingFFmpeg returns a folder with a program called ffmpeg that never ends, and a
// function that reports whether the program is running.
func hangingFFmpeg(tb testing.TB) (folder string, runs func() bool) {
	tb.Helper()
	folder = tb.TempDir()
	must.Succeed(tb, os.Chmod(folder, 0o755))
	seconds := strconv.Itoa(1_000_000 + rand.IntN(1_000_000_000)) // the time is random, so that no other process matches
	must.Succeed(tb, os.WriteFile(filepath.Join(folder, "ffmpeg"), []byte("#!/bin/sh\nexec /bin/sleep "+seconds+"\n"), 0o755))
	return folder, func() bool {
		found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return slices.ContainsFunc(found, func(path string) bool {
			line, _ := os.ReadFile(path) // empty if the process has ended
			return bytes.Contains(line, []byte("sleep\x00"+seconds))
		})
	}
}

// If a worker is killed while ffmpeg runs, ffmpeg is killed as well, and another worker
// makes the cover.
func TestCoverIsMadeAfterAKilledWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder := t.TempDir()
	must.Succeed(t, os.Chmod(folder, 0o777))
	s.variables["OVATION_BLOB_URL"], s.variables["OVATION_VIDEOS"] = "file://"+folder, "true"
	slow, runs := hangingFFmpeg(t)
	s.variables["PATH"] = slow
	w := s.start(t, "work")
	a := s.start(t, "serve")
	_, err := a.uploads("A film", clip(1000))
	must.Succeed(t, err)
	await.That(t, "ffmpeg runs", runs)
	w.kill()
	await.That(t, "ffmpeg is killed as well", func() bool { return !runs() })
	s.variables["PATH"] = fakeFFmpeg(t)
	s.start(t, "work")
	await.That(t, "the feed shows the cover", func() bool { return strings.HasPrefix(a.feed(t)[0].CoverURL, "/media/covers/") })
}

// partialUpload is an upload by alice that has not ended.
type partialUpload struct {
	pipe   *io.PipeWriter
	failed chan error
}

// beginUpload begins to upload a video and sends about size bytes of the file.
func (s *server) beginUpload(t *testing.T, size int) *partialUpload {
	t.Helper()
	body, pipe := io.Pipe()
	form := multipart.NewWriter(pipe)
	request, err := http.NewRequest(http.MethodPost, s.url+"/media/videos", body)
	must.Succeed(t, err)
	for name, value := range s.headers("alice") {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	failed := make(chan error, 1)
	go func() {
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		failed <- err
	}()
	must.Succeed(t, form.WriteField("title", "A film"))
	part, err := form.CreateFormFile("file", "clip.mp4")
	must.Succeed(t, err)
	_, err = part.Write(clip(size))
	must.Succeed(t, err)
	return &partialUpload{pipe, failed}
}

// cutOff ends an upload to a node that was killed, and checks that the upload fails.
func (u *partialUpload) cutOff(t *testing.T) {
	t.Helper()
	must.Succeed(t, u.pipe.CloseWithError(io.ErrUnexpectedEOF))
	if err := <-u.failed; err == nil {
		t.Error("an upload to a killed node was answered, want an error")
	}
}

// If a node is killed during an upload, no video exists, and the part that the node
// received keeps its temporary name.
func TestUploadOfAKilledNodeLeavesNoVideo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serveBinary(t, dir)
	upload := s.beginUpload(t, 1<<20)
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "media", "videos", "*"))
		must.Succeed(t, err)
		return found
	}
	await.That(t, "a part is received", func() bool { return len(files()) == 1 })
	s.kill()
	upload.cutOff(t)
	if found := files(); len(found) != 1 || !strings.HasSuffix(found[0], ".tmp") {
		t.Errorf("after the kill there are the files %v, want one that ends in .tmp", found)
	}
	s = serveBinary(t, dir)
	if films := s.feed(t); len(films) > 0 {
		t.Errorf("the feed is %+v, want no video", films)
	}
	_, err := s.uploads("Another", clip(1000))
	must.Succeed(t, err)
}
