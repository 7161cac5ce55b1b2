package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ovation/media"
	"ovation/storage"
)

// clip is a clip of the demo, and what is said about it.
type clip struct {
	scene, title string
	author       storage.User
	threads      []thread
}

// readClips returns the clips, oldest first. The heading of a clip has the scene, the
// author and the title.
func readClips() (all []clip) {
	for _, p := range readTalk("clips") {
		field := strings.SplitN(p.heading, " ", 3)
		all = append(all, clip{field[0], field[2], named(field[1]), p.threads})
	}
	return all
}

// clipsStep is the step number of the first clip; see demo.begin.
const clipsStep = 100

// AddClips draws the people's avatars and renders the clips, publishes both, and adds
// comments and actions on the clips. It leaves a store without demo data unchanged, and
// does nothing if service is nil. It does not wait for the covers of the clips. It may be called
// repeatedly: a call completes what an interrupted one has begun. It takes seconds for
// each clip, and stops between the frames if ctx ends. Errors: those of the store and of
// the service; the error of ctx.
func AddClips(ctx context.Context, store storage.Store, service *media.Service, now time.Time) error {
	if service == nil {
		return nil
	}
	seen, err := store.Seen(ctx, []string{steps[0].id})
	if err != nil {
		return fmt.Errorf("check for demo data: %w", err)
	}
	if !seen[0] {
		return nil
	}
	if err := addAvatars(ctx, store, service); err != nil {
		return fmt.Errorf("add demo avatars: %w", err)
	}
	d, all := newDemo(now), readClips()
	for n := range all {
		d.begin(clipsStep + uint64(n))
		if err := d.add(ctx, store, service, &all[n], n == len(all)-1); err != nil {
			return fmt.Errorf("add demo clips: %w", err)
		}
	}
	return nil
}

// add publishes a clip, unless an earlier call has done so. If the clip is the last one,
// bob sends alice a message about it.
func (d *demo) add(ctx context.Context, store storage.Store, service *media.Service, c *clip, last bool) error {
	id := "demo-clip-" + c.scene
	if seen, err := store.Seen(ctx, []string{id}); err != nil || seen[0] {
		return err
	}
	content, err := c.render(ctx, filmFrames)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		content = Still(c.scene)
	}
	file, err := service.StoreFile(ctx, bytes.NewReader(content))
	if err != nil {
		return err
	}
	video, err := service.Publish(ctx, c.author, c.title, id, file)
	if invalid, is := errors.AsType[*storage.InvalidError](err); is && invalid.Field == "requestId" {
		// An interrupted call has published another file, with another ffmpeg. It is kept.
		return persist(ctx, store, id, storage.Message{})
	}
	if err != nil {
		return err
	}
	var m storage.Message
	on := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: video.VideoID()}
	for range 30 + d.random.IntN(60) {
		m.Actions = append(m.Actions, d.watch(on)...)
	}
	talk := d.meet(on, c.author, c.threads)
	for i := range talk {
		talk[i].id = id + strings.TrimPrefix(talk[i].id, "demo-video-"+on.BizID)
	}
	said, err := discuss(ctx, store, talk)
	if err != nil {
		return err
	}
	m.Actions = append(m.Actions, d.likes(said, time.Minute)...)
	if last {
		text := "/demo#/clips/" + video.VideoID() + " Look at the boat. That is Rui again, isn't it?"
		link := storage.NewDirectMessage{From: d.user(1), To: d.user(0), Text: text, RequestID: "demo-clip-message"}
		if _, err := addMessages(ctx, store, []storage.NewDirectMessage{link}); err != nil {
			return err
		}
	}
	return persist(ctx, store, id, m)
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
