package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"ovation/cmd/ovation/internal/demo/picture"
)

// The frames of a clip are drawn smaller than the clip is, because drawing costs more than
// scaling.
const (
	drawnWidth, drawnHeight = 216, 384
	filmRate                = 20 // frames per second
	filmFrames              = 6 * filmRate
	filmTimeout             = time.Minute
)

// look is what all clips have in common: the frame shakes a little, as if it were held by
// hand; the corners are darker, and there is grain.
const look = "scale=384:682:flags=bicubic,crop=360:640:'12+5*sin(2*PI*t/3)+3*sin(2*PI*t/1.2)':'21+6*sin(2*PI*t/2)+3*sin(2*PI*t/1.5)'," +
	"%s,vignette=angle=0.5,noise=alls=7:allf=t,format=yuv420p"

// Grades are ffmpeg's filters for the colours of a clip.
const (
	warm  = "eq=saturation=1.05:contrast=1.04,colorbalance=rs=.03:bs=-.03"
	cool  = "eq=saturation=0.95:contrast=1.05,colorbalance=rs=-.02:bs=.03"
	faded = "eq=saturation=0.9:contrast=0.96:brightness=0.015"
)

// Sounds are made of noise by ffmpeg's filters.
const (
	waves   = "anoisesrc=color=brown:sample_rate=32000:amplitude=0.7:seed=1,lowpass=f=900,tremolo=f=0.17:d=0.8,volume=0.7"
	drops   = "anoisesrc=color=pink:sample_rate=32000:amplitude=0.35:seed=2,highpass=f=700,lowpass=f=6000,volume=0.35"
	rails   = "anoisesrc=color=brown:sample_rate=32000:amplitude=0.8:seed=3,lowpass=f=320,tremolo=f=3:d=0.35,volume=0.8"
	crackle = "anoisesrc=color=pink:sample_rate=32000:amplitude=0.5:seed=4,bandpass=f=1400:w=1800,tremolo=f=7:d=0.6,volume=0.25"
	wind    = "anoisesrc=color=pink:sample_rate=32000:amplitude=0.5:seed=5,lowpass=f=420,tremolo=f=0.33:d=0.5,volume=0.5"
	room    = "anoisesrc=color=brown:sample_rate=32000:amplitude=0.3:seed=6,lowpass=f=240,volume=0.5"
	engine  = "anoisesrc=color=brown:sample_rate=32000:amplitude=0.9:seed=7,lowpass=f=700,highpass=f=60,volume=0.7"
	street  = "anoisesrc=color=brown:sample_rate=32000:amplitude=0.8:seed=8,lowpass=f=600,tremolo=f=0.5:d=0.5,volume=0.6"
)

// styles holds the grade and the sound of each scene.
var styles = map[string]struct{ grade, sound string }{
	"aurora": {cool, wind}, "cat": {faded, room}, "cup": {warm, room}, "fire": {warm, crackle}, "forest": {warm, wind}, "plane": {faded, engine},
	"rain": {cool, drops}, "sea": {warm, waves}, "snow": {cool, wind}, "stars": {cool, wind}, "traffic": {cool, street}, "train": {faded, rails},
}

// render renders the scene in a number of frames with ffmpeg, and returns it as an MP4
// file. It returns an error if ffmpeg is missing, or lacks a filter or an encoder. At most
// one frame and the finished file are in memory.
func (c *clip) render(ctx context.Context, frames int) (_ []byte, err error) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return nil, fmt.Errorf("render a clip: %w", err)
	}
	folder, err := os.MkdirTemp("", "ovation-demo-")
	if err != nil {
		return nil, fmt.Errorf("render a clip: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx, cancel := context.WithTimeout(ctx, filmTimeout)
	defer cancel()
	path := filepath.Join(folder, "clip.mp4")
	command := exec.CommandContext(ctx, program, "-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1", "-filter_threads", "1", //nolint:gosec // fixed arguments
		"-f", "rawvideo", "-pix_fmt", "rgb24", "-video_size", fmt.Sprintf("%dx%d", drawnWidth, drawnHeight), "-framerate", strconv.Itoa(filmRate), "-i", "pipe:0",
		"-f", "lavfi", "-i", styles[c.scene].sound, "-t", strconv.FormatFloat(float64(frames)/filmRate, 'f', -1, 64), "-vf", fmt.Sprintf(look, styles[c.scene].grade),
		"-c:v", "libx264", "-preset", "superfast", "-crf", "27", "-threads", "1", "-c:a", "aac", "-b:a", "48k", "-movflags", "+faststart", "-bitexact", path)
	command.Env = []string{}
	command.WaitDelay = time.Second // for a program that ffmpeg has started
	var said bytes.Buffer
	command.Stderr = &said
	input, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("render a clip: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("render a clip: %w", err)
	}
	drawn := draw(ctx, input, c.scene, frames)
	if err := errors.Join(command.Wait(), drawn); err != nil {
		return nil, fmt.Errorf("render a clip: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("render a clip: %w", err)
	}
	return content, nil
}

// draw writes the frames of a scene until ctx ends. Writing fails once ffmpeg has ended.
func draw(ctx context.Context, to io.WriteCloser, scene string, frames int) error {
	clip := picture.NewClip(scene, drawnWidth, drawnHeight)
	buffer := make([]byte, clip.Bytes())
	for n := range frames {
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), to.Close())
		}
		clip.Draw(float32(n)/float32(frames), buffer)
		if _, err := to.Write(buffer); err != nil {
			return errors.Join(err, to.Close())
		}
	}
	return to.Close()
}
