package media

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
)

func newJanitor(s *site, age time.Duration) *Janitor {
	return NewJanitor(JanitorOptions{Store: s.store, Blobs: s.blobs, Age: age, Logger: quietly})
}

// TestSweepRemovesUnreferencedFiles checks that Sweep removes old files of deleted
// videos, of unfinished uploads, and of uploads whose row was never written.
func TestSweepRemovesUnreferencedFiles(t *testing.T) {
	s := newSite(t, nil)
	for i := range sweepBatch + 20 {
		must.Succeed(t, s.blobs.write(t.Context(), fmt.Sprintf("videos/%026d.mp4", i), "video/mp4", strings.NewReader("x")))
	}
	for _, key := range []string{"covers/aaaaaaaaaaaaaaaaaaaaaaaaaa.jpg", "videos/aaaaaaaaaaaaaaaaaaaaaaaaaa.mp4.18af.tmp", "videos/x.html"} {
		must.Succeed(t, s.blobs.write(t.Context(), key, "video/mp4", strings.NewReader("x")))
	}
	must.Succeed(t, s.blobs.write(t.Context(), "of-another-program", "text/plain", strings.NewReader("x")))
	n, err := newJanitor(s, time.Hour).Sweep(t.Context())
	if err != nil || n != 0 {
		t.Errorf("Sweep of young files = %d, %v, want 0, nil", n, err)
	}
	n, err = newJanitor(s, time.Nanosecond).Sweep(t.Context())
	if err != nil || n != sweepBatch+23 {
		t.Errorf("Sweep = %d, %v, want %d, nil", n, err, sweepBatch+23)
	}
	if left := list(t, s.blobs); !slices.Equal(left, []string{"of-another-program", markerKey}) {
		t.Errorf("got the files %v, want of-another-program and %s", left, markerKey)
	}
}

// TestSweepFollowsAFolderOnAnotherDisk checks that a folder may be a symbolic link: its
// files are swept, and the link is not.
func TestSweepFollowsAFolderOnAnotherDisk(t *testing.T) {
	s, disk := newSite(t, nil), t.TempDir()
	must.Succeed(t, os.Symlink(disk, filepath.Join(s.folder, "videos")))
	v := s.publish(t, "film", mp4(100))
	must.Succeed(t, s.blobs.write(t.Context(), "videos/aaaaaaaaaaaaaaaaaaaaaaaaaa.mp4", "video/mp4", strings.NewReader("x")))
	n, err := newJanitor(s, time.Nanosecond).Sweep(t.Context())
	must.Succeed(t, err)
	left, err := os.ReadDir(disk)
	must.Succeed(t, err)
	if n != 1 || len(left) != 1 || left[0].Name() != filepath.Base(v.FileKey()) {
		t.Errorf("Sweep = %d and left %v, want 1 and the file of the video", n, left)
	}
}

func TestSweepKeepsReferencedFiles(t *testing.T) {
	s := newSite(t, nil)
	v, gone := s.publish(t, "film", mp4(100)), s.publish(t, "gone", mp4(100))
	must.Succeed(t, s.blobs.write(t.Context(), v.CoverKey(), "image/jpeg", strings.NewReader("x")))
	before := list(t, s.blobs)
	if _, _, err := s.store.DeleteVideo(t.Context(), deletionOf(gone), nil); err != nil {
		t.Fatal(err)
	}
	n, err := newJanitor(s, time.Nanosecond).Sweep(t.Context())
	must.Succeed(t, err)
	before = slices.DeleteFunc(before, func(key string) bool { return key == gone.FileKey() })
	if left := list(t, s.blobs); n != 1 || !slices.Equal(left, before) {
		t.Errorf("Sweep = %d and left %v, want 1 and %v", n, left, before)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newJanitor(s, time.Nanosecond).Sweep(ended); err == nil {
		t.Error("Sweep with a cancelled context returned no error")
	}
}

// folderOfUpload is the environment variable that names a folder. If it is set, the test
// binary stores an endless file in that folder until it is killed.
const folderOfUpload = "OVATION_TEST_UPLOAD"

// uploadUntilKilled stores an endless file in a folder.
func uploadUntilKilled(folder string) {
	at, err := FolderURL(folder)
	if err != nil {
		panic(err)
	}
	blobs, err := OpenBlobs(context.Background(), at, fixedSecret{})
	if err != nil {
		panic(err)
	}
	service, sent := New(Config{Blobs: blobs, Logger: quietly}), 0
	_, err = service.StoreFile(context.Background(), readerFunc(func(p []byte) (int, error) {
		if sent == 0 {
			sent = copy(p, mp4(len(p)))
			return sent, nil
		}
		if sent > 1<<20 {
			fmt.Println("under way")
			select {}
		}
		sent += len(p)
		return len(p), nil
	}))
	panic(err)
}

// fixedSecret returns the same secret for every name.
type fixedSecret struct{}

func (fixedSecret) Secret(context.Context, string) ([]byte, error) { return []byte("secret"), nil }

func TestKilledUploadLeavesNothing(t *testing.T) {
	s := &site{store: sqlitetest.Open(t), folder: filepath.Join(t.TempDir(), "media")}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), folderOfUpload+"="+s.folder)
	out, err := child.StdoutPipe()
	must.Succeed(t, err)
	child.Stderr = os.Stderr
	must.Succeed(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "under way") {
		t.Errorf("the upload printed %q, %v, want that it is under way", line, err)
	}
	must.Succeed(t, child.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	_ = child.Wait()

	at, err := FolderURL(s.folder)
	must.Succeed(t, err)
	s.blobs, err = OpenBlobs(t.Context(), at, fixedSecret{})
	must.Succeed(t, err)
	defer s.blobs.Close()
	left := s.files(t)
	if len(left) != 1 || !strings.HasSuffix(left[0], ".tmp") {
		t.Errorf("the killed upload left the files %v, want one that ends in .tmp", left)
	}
	n, err := newJanitor(s, time.Nanosecond).Sweep(t.Context())
	if err != nil || n != 1 {
		t.Errorf("Sweep = %d, %v, want 1, nil", n, err)
	}
	s.wantNoLeftovers(t, "the sweep")
}
