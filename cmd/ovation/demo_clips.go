package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"ovation/media"
	"ovation/storage"
)

// demoClipsID is the id of the message with the users' actions on the demo clips. The
// message is persisted after all clips have been published.
const demoClipsID = "demo-clips-1"

// demoClips lists the demo clips, oldest first. ffmpeg draws each clip: source is the
// generator, and filter is applied to its frames.
var demoClips = []struct {
	title          string
	author         int // the author's number; see demo.user
	source, filter string
}{
	{
		"The longest evening of the year", 5,
		"gradients=s=240x135:r=15:n=3:c0=0x013a63:c1=0x2a9d8f:c2=0xe9f5db:seed=3:speed=0.03", "scale=480:270",
	},
	{
		"Pixels that live, pixels that do not", 2,
		"life=s=45x80:r=12:mold=12:ratio=0.35:random_seed=4:life_color=0xffd166:death_color=0x06364f:mold_color=0x118ab2", "scale=270:480:flags=neighbor",
	},
	{
		"Triangles all the way down #maths", 9,
		"sierpinski=s=135x240:r=15:type=triangle:seed=5:jump=60", "scale=270:480:flags=neighbor,format=gbrp,lutrgb=r='20+val*0.2':g='60+val*0.65':b='70+val*0.5'",
	},
	{
		"One rule, and where it leads", 1,
		"cellauto=s=90x160:r=15:rule=110:ratio=0.5:random_seed=9:full=1", "scale=270:480:flags=neighbor,format=gbrp,lutrgb=r='val*0.9+20':g='val*0.4+40':b='val*0.35+60'",
	},
	{
		"Lava lamp, but make it calm", 2,
		"gradients=s=135x240:r=15:n=4:c0=0x2d0036:c1=0xff5d8f:c2=0xffb347:c3=0x3a0ca3:seed=11:speed=0.04:type=spiral", "scale=270:480",
	},
	{
		"Dusk from the kitchen window", 1,
		"gradients=s=135x240:r=15:n=4:c0=0x1b2a6b:c1=0xe4572e:c2=0xffc857:c3=0x5b1e6f:seed=7:speed=0.02", "scale=270:480",
	},
}

// addDemoClips publishes the demo clips, and adds users' comments and actions on the
// clips. It leaves a store without demo data unchanged, and does nothing if clips is nil.
// It does not wait for the covers, and may be called repeatedly.
func addDemoClips(ctx context.Context, store storage.Store, clips *media.Service, now time.Time) error {
	if clips == nil {
		return nil
	}
	seen, err := store.Seen(ctx, []string{demoActionsID, demoClipsID})
	if err != nil {
		return fmt.Errorf("check for demo clips: %w", err)
	}
	if !seen[0] || seen[1] {
		return nil
	}
	d := newDemo(now)
	d.begin(demoClipsStep)
	message, err := d.clips(ctx, store, clips)
	if invalid, is := errors.AsType[*storage.InvalidError](err); is && invalid.Field == "requestId" {
		return nil // an interrupted start drew different clips, with another ffmpeg; they are kept
	}
	if err != nil {
		return fmt.Errorf("add demo clips: %w", err)
	}
	if _, err := store.Persist(ctx, []storage.Message{message}, nil); err != nil {
		return fmt.Errorf("add demo clips: %w", err)
	}
	return nil
}

// demoClipsStep is the step number of the clips; see demo.begin.
const demoClipsStep = 100

// clips publishes the clips, adds comments on them, and sends alice a message about the
// last clip. It returns a message with the users' actions on the clips; the caller must
// persist this message.
func (d *demo) clips(ctx context.Context, store storage.Store, clips *media.Service) (storage.Message, error) {
	m := storage.Message{ID: demoClipsID, Forever: true}
	var texts []storage.NewComment
	for n := range demoClips {
		video, err := d.publish(ctx, clips, n)
		if err != nil {
			return m, err
		}
		subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: video.VideoID()}
		for range 30 + d.random.IntN(60) {
			m.Actions = append(m.Actions, d.watch(subject)...)
		}
		for range 2 + d.random.IntN(5) {
			texts = append(texts, storage.NewComment{
				Subject: subject, User: d.somebody(), Text: demoTexts[d.random.IntN(len(demoTexts))],
				RequestID: "demo-clip-comment-" + strconv.Itoa(len(texts)),
			})
		}
		if n == len(demoClips)-1 {
			said := storage.NewDirectMessage{
				From: d.user(1), To: d.user(0), Text: "/demo#/clips/" + video.VideoID() + " I left the camera running. Worth it?", RequestID: "demo-clip-message",
			}
			if _, err := addDemoMessages(ctx, store, []storage.NewDirectMessage{said}); err != nil {
				return m, err
			}
		}
	}
	_, err := addDemoComments(ctx, store, texts)
	return m, err
}

// watch returns a random user's actions on the clip: a read, and often a like or a
// collection.
func (d *demo) watch(clip storage.Subject) []storage.Action {
	at := storage.Micros(d.now.Add(-time.Duration(d.random.IntN(600)) * time.Second))
	user := d.somebody()
	actions := []storage.Action{{User: user, Subject: clip, Kind: storage.KindRead, Times: 1, First: at, Version: at}}
	switch chance := d.random.Float64(); {
	case chance < 0.55:
		actions = append(actions, storage.Action{User: user, Subject: clip, Kind: storage.KindReaction, Reaction: storage.Like, Version: at})
	case chance < 0.7:
		actions = append(actions, storage.Action{User: user, Subject: clip, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID, Version: at})
	}
	return actions
}

// publish publishes the clip demoClips[n]. If an interrupted start of the program has
// already published the clip, publish returns the existing video.
func (d *demo) publish(ctx context.Context, clips *media.Service, n int) (*storage.Video, error) {
	clip := demoClips[n]
	requestID := "demo-clip-" + strconv.Itoa(n)
	content, err := drawClip(ctx, clip.source, clip.filter)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		content, requestID = still(float64(n)/float64(len(demoClips))), requestID+"-still"
	}
	file, err := clips.StoreFile(ctx, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return clips.Publish(ctx, d.user(clip.author), clip.title, requestID, file)
}

// drawClip has ffmpeg draw a clip of five seconds, and returns it as an MP4 file. It
// returns an error if ffmpeg is missing, or lacks the generator or the encoder.
func drawClip(ctx context.Context, source, filter string) (_ []byte, err error) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return nil, fmt.Errorf("draw a clip: %w", err)
	}
	folder, err := os.MkdirTemp("", "ovation-demo-")
	if err != nil {
		return nil, fmt.Errorf("draw a clip: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	path := filepath.Join(folder, "clip.mp4")
	command := exec.CommandContext(ctx, program, "-hide_banner", "-nostdin", "-loglevel", "error", //nolint:gosec // fixed arguments
		"-f", "lavfi", "-i", source, "-t", "5", "-vf", filter, "-an",
		"-c:v", "libx264", "-preset", "ultrafast", "-crf", "26", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-bitexact", path)
	command.Env = []string{}
	if said, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("draw a clip: %w: %s", err, bytes.TrimSpace(said))
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("draw a clip: %w", err)
	}
	return content, nil
}
