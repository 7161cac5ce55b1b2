package media

import (
	"bytes"
	"errors"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// installed returns the path of ffmpeg. If ffmpeg is not installed, the test is skipped,
// or fails in CI.
func installed(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("ffmpeg is not installed")
		}
		t.Skip("ffmpeg is not installed")
	}
	return path
}

// clip returns a short video encoded by ffmpeg. The parameter ending is the file
// extension, which selects the format.
func clip(t *testing.T, ending string, arguments ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip."+ending)
	all := append([]string{"-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=10:duration=1"}, append(arguments, path)...)
	if out, err := exec.CommandContext(t.Context(), installed(t), all...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	file, err := os.ReadFile(path)
	must.Succeed(t, err)
	return file
}

func TestCoversOfRealVideos(t *testing.T) {
	mp4Clip := clip(t, "mp4", "-pix_fmt", "yuv420p")
	for name, c := range map[string]struct {
		file   []byte
		format storage.VideoFormat
	}{
		"MP4": {mp4Clip, storage.MP4}, "QuickTime": {clip(t, "mov", "-pix_fmt", "yuv420p"), storage.QuickTime},
		"WebM": {clip(t, "webm", "-c:v", "libvpx", "-b:v", "200k"), storage.WebM},
	} {
		if got := detectFormat(c.file[:min(len(c.file), headBytes)]); got != c.format {
			t.Errorf("detectFormat(%s) = %d, want %d", name, got, c.format)
		}
		path := filepath.Join(t.TempDir(), "x")
		must.Succeed(t, os.WriteFile(path, c.file, 0o600))
		picture, err := FFmpeg{}.cover(t.Context(), path, c.format)
		must.Succeed(t, err)
		is, err := jpeg.DecodeConfig(bytes.NewReader(picture))
		if err != nil || is.Width != 320 || is.Height != 240 {
			t.Errorf("%s: got a picture of %d by %d, %v, want 320 by 240", name, is.Width, is.Height, err)
		}
	}

	// ffmpeg makes no picture from a file that is not a whole video or that refers to
	// another file.
	secret := filepath.Join(t.TempDir(), "secret.mp4")
	must.Succeed(t, os.WriteFile(secret, mp4Clip, 0o600))
	for name, file := range map[string][]byte{
		"0 bytes":   {},
		"truncated": mp4Clip[:len(mp4Clip)/3],
		"noise":     mp4(100_000),
		"playlist":  []byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:" + secret + "\n#EXT-X-ENDLIST\n"),
		"concat":    []byte("ffconcat version 1.0\nfile " + secret + "\n"),
	} {
		path := filepath.Join(t.TempDir(), "x")
		must.Succeed(t, os.WriteFile(path, file, 0o600))
		var fault *toolError
		if _, err := (FFmpeg{}).cover(t.Context(), path, storage.MP4); !errors.As(err, &fault) || strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error of the tool without the path", name, err)
		}
	}
}

// TestArgumentsAreFixed checks that the arguments contain the fixed options, the path of
// the video and the demuxer of its format.
func TestArgumentsAreFixed(t *testing.T) {
	got := arguments("/data/x", storage.WebM)
	i := slices.Index(got, "-protocol_whitelist")
	j := slices.Index(got, "-i")
	if i < 0 || j < i || got[i+1] != "file,pipe" || got[j-1] != "matroska" || got[j+1] != "file:/data/x" || !slices.Contains(got, "-nostdin") {
		t.Errorf("got %q, want the whitelist file,pipe, then matroska -i file:/data/x, and -nostdin", got)
	}
}
