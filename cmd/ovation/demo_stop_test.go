package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/cmd/ovation/internal/demo/picture"
)

// TestStoppingWhileTheDemoIsAdded stops a server while it renders the clips of the demo.
// The server must exit without an error, and the next start must complete the demo data.
func TestStoppingWhileTheDemoIsAdded(t *testing.T) {
	tools, data := t.TempDir(), t.TempDir()
	drawing := filepath.Join(tools, "drawing")
	script := "#!/bin/sh\n: > " + drawing + "\nexec /bin/sleep 60\n"
	must(t, os.WriteFile(filepath.Join(tools, "ffmpeg"), []byte(script), 0o700))
	t.Setenv("PATH", tools)

	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stdout, stderr := newBannerWriter(), newBannerWriter()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"dev", "--demo", "--addr=127.0.0.1:0", "--data=" + data}, environment(), strings.NewReader(""), stdout, stderr)
	}()
	eventually(t, "ffmpeg has been started", func() bool {
		_, err := os.Stat(drawing)
		return err == nil
	})
	stop()
	if got := <-code; got != 0 || strings.Contains(stderr.String(), "ovation:") {
		t.Errorf("dev stopped with exit code %d, want 0, and no error:\n%s", got, stderr)
	}

	t.Setenv("PATH", "") // stills are made faster than clips drawn by ffmpeg
	s := serve(t, data, "--demo")
	want := len(picture.Scenes())
	eventually(t, "all clips have been added", func() bool { return len(s.feed(t)) == want })
}
