package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/cmd/ovation/internal/demo/picture"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestStoppingWhileTheDemoIsAdded stops a server while it renders the clips of the demo.
// The server must exit without an error, and the next start must complete the demo data.
func TestStoppingWhileTheDemoIsAdded(t *testing.T) {
	tools, data := t.TempDir(), t.TempDir()
	drawing := filepath.Join(tools, "drawing")
	script := "#!/bin/sh\n: > " + drawing + "\nexec /bin/sleep 60\n"
	must.Succeed(t, os.WriteFile(filepath.Join(tools, "ffmpeg"), []byte(script), 0o700))
	t.Setenv("PATH", tools)

	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stdout, stderr := newBannerWriter(), newBannerWriter()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"dev", "--demo", "--addr=127.0.0.1:0", "--data=" + data}, environment(), strings.NewReader(""), stdout, stderr)
	}()
	await.That(t, "ffmpeg has been started", func() bool {
		_, err := os.Stat(drawing)
		return err == nil
	})
	stop()
	if got := <-code; got != 0 || strings.Contains(stderr.String(), "ovation:") {
		t.Errorf("dev stopped with exit code %d, want 0, and no error:\n%s", got, stderr)
	}

	t.Setenv("PATH", "") // stills are made faster than clips drawn by ffmpeg
	s := serve(t, data, "--demo")
	s.awaitClips(t)
}

// awaitClips waits until the demo has all clips, and what users have done with them. With
// ffmpeg, that takes as long as rendering does.
func (s *server) awaitClips(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !s.hasAllClips(t) {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the demo still lacks clips at the end of the test")
		}
	}
}

func (s *server) hasAllClips(t *testing.T) bool {
	t.Helper()
	clips := s.feed(t)
	if len(clips) < len(picture.Scenes()) {
		return false
	}
	var out struct{ Interactive struct{ ReadCount int } }
	must.Succeed(t, s.graphQL("bob", `{ interactive(biz: "video", bizId: "`+clips[0].VideoID+`") { readCount } }`, &out))
	return out.Interactive.ReadCount > 0
}
