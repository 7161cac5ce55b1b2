package media

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"ovation/storage"
)

// FFmpeg runs ffmpeg to make covers. The zero value runs the ffmpeg in PATH.
type FFmpeg struct {
	// Program is the name or path of the program. The default is "ffmpeg".
	Program string
	// Timeout is how long the program may run. The default is 30 s.
	Timeout time.Duration
	// Memory limits the address space in bytes, on systems that support it. The default
	// is 2 GiB.
	Memory uint64
}

// ErrNoFFmpeg is returned if ffmpeg is not installed.
var ErrNoFFmpeg = errors.New("ffmpeg is not installed")

// errNotStarted is returned if ffmpeg is installed and cannot be started within its limits,
// for example because the container denies a system call. It is not the file's fault.
var errNotStarted = errors.New("ffmpeg cannot be started within its limits")

// toolError is the reason why ffmpeg made no cover for a file.
type toolError struct{ reason string }

func (e *toolError) Error() string { return e.reason }

const (
	maxPictureBytes = 4 << 20
	maxReportBytes  = 4 << 10 // of the program's stderr
)

func (f FFmpeg) name() string { return cmp.Or(f.Program, "ffmpeg") }

// check returns ErrNoFFmpeg if ffmpeg cannot be run.
func (f FFmpeg) check() error {
	_, err := f.path()
	return err
}

func (f FFmpeg) path() (string, error) {
	path, err := exec.LookPath(f.name())
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoFFmpeg, err)
	}
	return path, nil
}

// arguments returns the arguments for ffmpeg. Only the path and the demuxer depend on the
// upload. The demuxer is set by the format, so that ffmpeg never reads a file as a
// playlist of other files.
func arguments(path string, format storage.VideoFormat) []string {
	demuxer := "mov" // also for MP4
	if format == storage.WebM {
		demuxer = "matroska"
	}
	return []string{
		"-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1",
		"-protocol_whitelist", "file,pipe", "-f", demuxer, "-i", "file:" + path,
		"-map", "0:v:0", "-frames:v", "1", "-an", "-sn", "-dn",
		"-vf", "scale=w='min(720,iw)':h='min(720,ih)':force_original_aspect_ratio=decrease:force_divisible_by=2,thumbnail=24",
		"-threads", "1", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "4", "-f", "image2pipe", "pipe:1",
	}
}

// cover returns a frame of a video as JPEG. Errors: ErrNoFFmpeg,
// errNotStarted, a *toolError.
func (f FFmpeg) cover(ctx context.Context, path string, format storage.VideoFormat) ([]byte, error) {
	program, err := f.path()
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(f.Timeout, 30*time.Second)
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	command := exec.CommandContext(within, program, arguments(path, format)...) //nolint:gosec // no shell, and fixed arguments
	command.Env = []string{}                                                    // no variable of this process's environment
	command.Dir = "/"
	picture, report := &boundedBuffer{maxBytes: maxPictureBytes}, &boundedBuffer{maxBytes: maxReportBytes, truncate: true}
	command.Stdout, command.Stderr = picture, report
	command.WaitDelay = time.Second // for child processes that ffmpeg leaves behind
	err = run(command, cmp.Or(f.Memory, 2<<30), timeout)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errNotStarted):
		return nil, err
	case within.Err() != nil:
		return nil, &toolError{fmt.Sprintf("ffmpeg was killed: it took longer than %v", timeout) + stderrSuffix(report, path)}
	case errors.Is(err, errOutputTooLarge):
		return nil, &toolError{"ffmpeg wrote too large a picture"}
	case err != nil:
		return nil, &toolError{"ffmpeg failed: " + err.Error() + stderrSuffix(report, path)}
	}
	if _, err := jpeg.DecodeConfig(bytes.NewReader(picture.text)); err != nil {
		return nil, &toolError{"ffmpeg made no picture" + stderrSuffix(report, path)}
	}
	return picture.text, nil
}

// run starts the command within its limits and waits until it exits. The command is
// started by a thread of its own, which has no privileges to pass on and then ends: the
// kernel kills the command if the thread ends first.
func run(command *exec.Cmd, memory uint64, timeout time.Duration) error {
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: no other goroutine may use this thread
		ended <- runWithin(command, memory, timeout)
	}()
	return <-ended
}

// runWithin runs the command. Errors: errNotStarted, and those of exec.Cmd.Wait.
func runWithin(command *exec.Cmd, memory uint64, timeout time.Duration) error {
	if err := dropPrivileges(); err != nil {
		return fmt.Errorf("%w: %w", errNotStarted, err)
	}
	isolate(command)
	if err := command.Start(); err != nil {
		return fmt.Errorf("%w: %w", errNotStarted, err)
	}
	if err := setLimits(command.Process.Pid, memory, timeout); err != nil {
		_ = command.Cancel()
		_ = command.Wait()
		return fmt.Errorf("%w: %w", errNotStarted, err)
	}
	return command.Wait()
}

// stderrSuffix returns a suffix for an error message: the captured stderr of the program,
// on one line and without the path of the file. It returns "" if nothing was captured.
func stderrSuffix(report *boundedBuffer, path string) string {
	text := strings.TrimSpace(strings.ReplaceAll(string(report.text), path, "the file"))
	if text == "" {
		return ""
	}
	return ": " + strings.Join(strings.Fields(text), " ")
}

var errOutputTooLarge = errors.New("the output is too large")

// boundedBuffer is a buffer of at most maxBytes bytes. If truncate is true, it discards
// further bytes. Otherwise, a write that exceeds the limit fails.
type boundedBuffer struct {
	text     []byte
	maxBytes int
	truncate bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	room := b.maxBytes - len(b.text)
	if len(p) > room && !b.truncate {
		return 0, errOutputTooLarge
	}
	b.text = append(b.text, p[:min(len(p), room)]...)
	return len(p), nil
}
