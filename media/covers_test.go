package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ovation/api/rate"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker/local"
)

func deletionOf(v *storage.Video) storage.VideoDeletion {
	return storage.VideoDeletion{Key: v.Key(), By: v.Author}
}

// script returns an FFmpeg that runs a shell script instead of ffmpeg.
func script(t *testing.T, text string) FFmpeg {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	must.Succeed(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return FFmpeg{Program: path, Timeout: 2 * time.Minute}
}

// fixedCoverProgram returns a program that makes the same cover for every file. picture
// is that cover.
func fixedCoverProgram(t *testing.T) (tool FFmpeg, picture []byte) {
	t.Helper()
	var out bytes.Buffer
	must.Succeed(t, jpeg.Encode(&out, image.NewGray(image.Rect(0, 0, 20, 10)), nil))
	path := filepath.Join(t.TempDir(), "picture.jpg")
	must.Succeed(t, os.WriteFile(path, out.Bytes(), 0o600))
	return script(t, "exec /bin/cat "+path), out.Bytes()
}

// newCoverSite returns a site with a queue and a CoverMaker.
func newCoverSite(t *testing.T, tool FFmpeg) *site {
	t.Helper()
	queue := local.NewQueue(local.Options{})
	s := newSite(t, queue)
	s.work(t, queue, s.store, tool)
	return s
}

// work runs a CoverMaker until the test ends or stop is called.
func (s *site) work(t *testing.T, queue *local.Queue, store storage.Videos, tool FFmpeg) (stop func()) {
	t.Helper()
	m := NewCoverMaker(CoverOptions{Store: store, Blobs: s.blobs, Tool: tool, Logger: quietly})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx, queue) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(func() {
		stop()
		must.Succeed(t, queue.Close())
	})
	return stop
}

// wait waits until a video satisfies a condition, for example that its cover is made or
// dead-lettered. It returns the video and the reason for the last failure.
func (s *site) wait(t *testing.T, v *storage.Video, until func(now *storage.Video, reason string, deadLettered bool) bool) (*storage.Video, string) {
	t.Helper()
	for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); pause(t.Context(), 5*time.Millisecond) {
		reason, deadLettered, err := s.store.CoverReason(t.Context(), v.Key())
		must.Succeed(t, err)
		got, err := s.store.VideosOf(t.Context(), []storage.VideoKey{v.Key()})
		must.Succeed(t, err)
		if until(got[0], reason, deadLettered) {
			return got[0], reason
		}
	}
	t.Fatalf("after two minutes the cover of %+v is not as awaited", v)
	return nil, ""
}

func isCovered(now *storage.Video, _ string, _ bool) bool               { return now.Covered }
func isDeadLettered(_ *storage.Video, _ string, deadLettered bool) bool { return deadLettered }

func TestPublishedVideoGetsItsCover(t *testing.T) {
	tool, picture := fixedCoverProgram(t)
	s := newCoverSite(t, tool)
	v, _ := s.wait(t, s.publish(t, "film", mp4(1000)), isCovered)
	got := get(t, Files(s.blobs, quietly), "GET", v.CoverURL())
	if !bytes.Equal(body(t, got), picture) || got.Header.Get("Content-Type") != "image/jpeg" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("GET %s = %v, want the picture, image/jpeg and nosniff", v.CoverURL(), got.Header)
	}
}

func TestFailingCoverIsDeadLettered(t *testing.T) {
	// The limits of a program are set once it runs, so the script waits for them.
	crash := `n=0; while [ "$(ulimit -f)" != 0 ] && [ $n -lt 300 ]; do n=$((n+1)); /bin/sleep 0.01; done
echo tried >>"$0".tries; kill -SEGV $$`
	for name, c := range map[string]struct{ text, reason string }{
		"crash":           {"kill -SEGV $$", "ffmpeg failed: signal: segmentation fault"},
		"refusal":         {"echo Invalid data found >&2; exit 1", "ffmpeg failed: exit status 1: Invalid data found"},
		"no picture":      {"exit 0", "ffmpeg made no picture"},
		"another picture": {"echo GIF89a", "ffmpeg made no picture"},
		"flood":           {"exec /bin/cat /dev/zero", "ffmpeg"},
		"file":            {crash, "ffmpeg failed"}, // ffmpeg may not write files
	} {
		t.Run(name, func(t *testing.T) {
			tool := script(t, c.text)
			s := newCoverSite(t, tool)
			v, reason := s.wait(t, s.publish(t, "film", mp4(1000)), isDeadLettered)
			if !strings.HasPrefix(reason, c.reason) {
				t.Errorf("the reason is %q, want it to begin with %q", reason, c.reason)
			}
			if v.Covered || !strings.HasPrefix(v.CoverURL(), "/media/placeholders/") || len(s.files(t)) != 1 {
				t.Errorf("the cover is at %s, with the files %v, want a placeholder and one file", v.CoverURL(), s.files(t))
			}
			if _, err := os.Stat(tool.Program + ".tries"); err == nil {
				if text, _ := os.ReadFile(tool.Program + ".tries"); len(text) > 0 {
					t.Errorf("the program has written %q, want nothing", text)
				}
			}
			due, err := s.store.DueCovers(t.Context(), 10)
			if err != nil || len(due) > 0 {
				t.Errorf("due are %v, %v, want no covers", due, err)
			}
		})
	}
}

// TestFFmpegThatHangsIsKilled checks that, if ffmpeg hangs, it is killed with all
// processes that it has started, and that the cover is then dead-lettered. To save time,
// only the last try is made.
func TestFFmpegThatHangsIsKilled(t *testing.T) {
	for timeout := 2 * time.Second; !isKilledWithItsChild(t, timeout); timeout *= 2 {
		// On a busy machine, it may take longer until the child is started.
		if timeout > time.Minute {
			t.Fatalf("ffmpeg has started no child within %v", timeout)
		}
	}
}

// isKilledWithItsChild runs a program that hangs until it is killed. It reports whether
// the program had started a child by then, which must be killed as well.
func isKilledWithItsChild(t *testing.T, timeout time.Duration) bool {
	t.Helper()
	tool := script(t, "/bin/sleep 1000 & echo child $! >&2; wait")
	tool.Timeout = timeout
	queue := local.NewQueue(local.Options{})
	s := newSite(t, queue)
	v := s.publish(t, "film", mp4(1000))
	for range storage.MaxCoverTries - 1 {
		_, err := s.store.FailCover(t.Context(), v.Key(), storage.CoverFailure{Reason: "an earlier try", Counts: true, Due: 1})
		must.Succeed(t, err)
	}
	s.work(t, queue, s.store, tool)
	_, reason := s.wait(t, v, isDeadLettered)
	found := regexp.MustCompile(`^ffmpeg was killed: it took longer than ` + timeout.String() + `(?:: child (\d+))?$`).FindStringSubmatch(reason)
	if found == nil {
		t.Fatalf("the reason is %q, want that ffmpeg was killed after %v, with the number of its child", reason, timeout)
	}
	if found[1] == "" {
		return false
	}
	pid, err := strconv.Atoi(found[1])
	must.Succeed(t, err)
	for late := time.Now().Add(2 * time.Minute); syscall.Kill(pid, 0) == nil; pause(t.Context(), 10*time.Millisecond) {
		if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(status), ") Z ") {
			break // an orphan that its new parent has not reaped
		}
		if time.Now().After(late) {
			t.Fatalf("process %d, the child of ffmpeg, still runs after two minutes", pid)
		}
	}
	return true
}

func TestWithoutFFmpegVideosHaveGeneratedCovers(t *testing.T) {
	s := newCoverSite(t, FFmpeg{Program: filepath.Join(t.TempDir(), "missing")})
	v, reason := s.wait(t, s.publish(t, "film", mp4(1000)), func(_ *storage.Video, reason string, _ bool) bool { return reason != "" })
	if _, deadLettered, err := s.store.CoverReason(t.Context(), v.Key()); deadLettered || err != nil {
		t.Errorf("the cover is dead-lettered: %t, %v, want it retried, as ffmpeg may be installed later", deadLettered, err)
	}
	if !strings.HasPrefix(reason, "ffmpeg is not installed") || v.Covered {
		t.Errorf("the reason is %q, covered: %t, want that ffmpeg is not installed, false", reason, v.Covered)
	}
}

// TestFFmpegThatCannotStartIsNotATry checks that a cover is not dead-lettered because the
// system refuses to run ffmpeg.
func TestFFmpegThatCannotStartIsNotATry(t *testing.T) {
	tool := script(t, "")
	must.Succeed(t, os.WriteFile(tool.Program, []byte("#!/missing/interpreter\n"), 0o700))
	s := newCoverSite(t, tool)
	v, reason := s.wait(t, s.publish(t, "film", mp4(1000)), func(_ *storage.Video, reason string, _ bool) bool { return reason != "" })
	if want := errNotStarted.Error(); !strings.HasPrefix(reason, want) {
		t.Errorf("the reason is %q, want it to begin with %q", reason, want)
	}
	tries, err := s.store.FailCover(t.Context(), v.Key(), storage.CoverFailure{Reason: "another try", Counts: true, Due: 1})
	if err != nil || tries != 1 {
		t.Errorf("the next failure is try %d, %v, want the first", tries, err)
	}
}

// TestDueCoversAreAskedForAgain checks that a due cover is requested again. Its job may
// have been lost because no worker consumed it, or because the worker was killed.
func TestDueCoversAreAskedForAgain(t *testing.T) {
	s := newSite(t, nil)
	v := s.publish(t, "film", mp4(1000))
	queue := local.NewQueue(local.Options{})
	tool, _ := fixedCoverProgram(t)
	s.work(t, queue, s.store, tool)
	j := NewJanitor(JanitorOptions{Store: dueStore{s.store, v.Key()}, Blobs: s.blobs, Covers: queue, Logger: quietly})
	must.Succeed(t, j.RequestDueCovers(t.Context()))
	s.wait(t, v, isCovered)

	// The job of a deleted video is acknowledged.
	gone := s.publish(t, "gone", mp4(1000))
	_, err := s.service.Delete(t.Context(), deletionOf(gone))
	must.Succeed(t, err)
	j.Store = dueStore{s.store, gone.Key()}
	must.Succeed(t, j.RequestDueCovers(t.Context()))
	if files := s.files(t); len(files) != 2 {
		t.Errorf("there are the files %v, want 2", files)
	}
}

// dueStore is a store in which the cover of one video is due.
type dueStore struct {
	JanitorStore

	key storage.VideoKey
}

func (d dueStore) DueCovers(context.Context, int) ([]storage.VideoKey, error) {
	return []storage.VideoKey{d.key}, nil
}

// gatedStore is a store whose VideosOf waits until the channel open is closed. A
// CoverMaker calls VideosOf first.
type gatedStore struct {
	storage.Videos

	begun chan struct{}
	open  chan struct{}
}

func (g *gatedStore) VideosOf(ctx context.Context, keys []storage.VideoKey) ([]*storage.Video, error) {
	g.begun <- struct{}{}
	<-g.open
	return g.Videos.VideosOf(ctx, keys)
}

func TestTwoCoversAtOnce(t *testing.T) {
	queue := local.NewQueue(local.Options{})
	s := newSite(t, queue)
	g := &gatedStore{s.store, make(chan struct{}, 10), make(chan struct{})}
	tool, _ := fixedCoverProgram(t)
	s.work(t, queue, g, tool)
	var videos []*storage.Video
	for i := range 6 {
		videos = append(videos, s.publish(t, fmt.Sprint("film ", i), mp4(1000)))
	}
	for range maxConcurrentCovers {
		<-g.begun
	}
	pause(t.Context(), 50*time.Millisecond) // time for one more cover to begin: nothing signals that none begins
	if n := len(g.begun); n > 0 {
		t.Errorf("%d covers are made at the same time, want %d", maxConcurrentCovers+n, maxConcurrentCovers)
	}
	close(g.open)
	for _, v := range videos {
		s.wait(t, v, isCovered)
	}
}

// TestInterruptedCoverIsMadeByTheNextWorker checks that, when a worker stops, its
// unfinished job returns to the queue, so that the next worker makes the cover.
func TestInterruptedCoverIsMadeByTheNextWorker(t *testing.T) {
	queue := local.NewQueue(local.Options{})
	s := newSite(t, queue)
	g := &gatedStore{s.store, make(chan struct{}, 10), make(chan struct{})}
	stop := s.work(t, queue, g, script(t, "exec /bin/sleep 1000"))
	v := s.publish(t, "film", mp4(1000))
	<-g.begun
	close(g.open)
	stop()
	tool, _ := fixedCoverProgram(t)
	s.work(t, queue, s.store, tool)
	s.wait(t, v, isCovered)
}

// TestCoversOfOneAuthorDoNotHoldTheQueue checks that the time of an author's covers is
// bounded: further ones are made later, do not count as tries, and those of others go on.
func TestCoversOfOneAuthorDoNotHoldTheQueue(t *testing.T) {
	s := newSite(t, nil)
	tool, _ := fixedCoverProgram(t)
	slow := script(t, "/bin/sleep 0.3; exit 1")
	m := NewCoverMaker(CoverOptions{Store: s.store, Blobs: s.blobs, Tool: slow, Logger: quietly})
	m.authors = rate.NewAttempts(3, time.Hour) // 0.3 s
	first, second := s.publish(t, "first", mp4(1000)), s.publish(t, "second", mp4(1000))
	file, err := s.service.StoreFile(t.Context(), bytes.NewReader(mp4(1000)))
	must.Succeed(t, err)
	others, err := s.service.Publish(t.Context(), storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}, "another", "", file)
	must.Succeed(t, err)

	job := func(v *storage.Video) *jobDelivery {
		d := &jobDelivery{message: storage.Message{Cover: v.Key()}}
		m.settle(t.Context(), d)
		return d
	}
	if d := job(first); d.settled != "requeued" {
		t.Errorf("the first cover is %s, want it requeued after a failure", d.settled)
	}
	m.Tool = tool // does not take long
	for range 5 {
		if d := job(second); d.settled != "acked" {
			t.Errorf("the second cover is %s, want it acked, as it is due later", d.settled)
		}
	}
	s.wait(t, second, func(now *storage.Video, reason string, dead bool) bool {
		return !now.Covered && !dead && strings.Contains(reason, "covers of this author")
	})
	if tries, err := s.store.FailCover(t.Context(), second.Key(), storage.CoverFailure{}); tries != 0 || err != nil {
		t.Errorf("the second cover has been tried %d times, %v, want none", tries, err)
	}
	if d := job(others); d.settled != "acked" {
		t.Errorf("the other author's cover is %s, want acked", d.settled)
	}
	s.wait(t, others, isCovered)
}

// TestDeadLetteredCoverIsNotTriedAgain checks that a job for a cover that is dead-lettered
// does not run ffmpeg, unless an operator has replayed it. A job that is redelivered
// becomes a dead letter, because its worker may have been killed before it could do that.
func TestDeadLetteredCoverIsNotTriedAgain(t *testing.T) {
	s := newSite(t, nil)
	v := s.publish(t, "film", mp4(1000))
	for range storage.MaxCoverTries {
		_, err := s.store.FailCover(t.Context(), v.Key(), storage.CoverFailure{Reason: "bad", Counts: true, Due: 1})
		must.Succeed(t, err)
	}
	m := NewCoverMaker(CoverOptions{Store: s.store, Blobs: s.blobs, Tool: script(t, "exit 1"), Logger: quietly})
	tool, _ := fixedCoverProgram(t)
	for _, c := range []struct {
		redelivered, forced bool
		tool                FFmpeg
		settled             string
		tries               int
	}{
		{false, false, m.Tool, "acked", 3},
		{true, false, m.Tool, "rejected: bad", 3},
		{false, true, m.Tool, "rejected: ffmpeg failed: exit status 1", 4},
		{false, true, tool, "acked", 0},
	} {
		m.Tool = c.tool
		d := &jobDelivery{message: storage.Message{Cover: v.Key(), Forced: c.forced}, redelivered: c.redelivered}
		if m.settle(t.Context(), d); d.settled != c.settled {
			t.Errorf("redelivered: %t, forced: %t: the job is %q, want %q", c.redelivered, c.forced, d.settled, c.settled)
		}
		if tries, _ := s.store.FailCover(t.Context(), v.Key(), storage.CoverFailure{Reason: "bad"}); tries != c.tries {
			t.Errorf("redelivered: %t, forced: %t: %d tries, want %d", c.redelivered, c.forced, tries, c.tries)
		}
	}
	s.wait(t, v, isCovered)
}

// jobDelivery is a delivery that records how it was settled.
type jobDelivery struct {
	message     storage.Message
	redelivered bool
	settled     string
}

func (d *jobDelivery) Message() storage.Message { return d.message }
func (d *jobDelivery) Partition() int           { return 0 }
func (d *jobDelivery) Redelivered() bool        { return d.redelivered }
func (d *jobDelivery) Ack() error               { d.settled = "acked"; return nil }
func (d *jobDelivery) Requeue() error           { d.settled = "requeued"; return nil }
func (d *jobDelivery) Reject(reason error) error {
	d.settled = "rejected: " + reason.Error()
	return nil
}
