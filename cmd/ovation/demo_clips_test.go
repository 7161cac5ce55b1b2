package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/sqlitetest"
	"ovation/media"
	"ovation/storage"
)

// TestDemoClipsArePublishedOnce interrupts addDemoClips after the clips have been
// published, and checks that the next call completes the demo data and that later calls
// add nothing.
func TestDemoClipsArePublishedOnce(t *testing.T) {
	t.Setenv("PATH", "") // stills are made faster than clips drawn by ffmpeg
	store, now := sqlitetest.Open(t), time.Now()
	at, err := media.FolderURL(t.TempDir())
	must(t, err)
	blobs, err := media.OpenBlobs(t.Context(), at, store)
	must(t, err)
	defer blobs.Close()
	clips := media.New(media.Config{Store: store, Blobs: blobs})
	defer clips.Close()

	must(t, addDemoClips(t.Context(), store, clips, now))
	if got := demoFeed(t, store); len(got) != 0 {
		t.Errorf("a store without demo data has the clips %q, want none", got)
	}
	must(t, addDemo(t.Context(), store, now))
	if err := addDemoClips(t.Context(), interrupted{store, demoClipsID}, clips, now); !errors.Is(err, errKilled) {
		t.Fatalf("addDemoClips that is killed at %q = %v, want %v", demoClipsID, err, errKilled)
	}
	for range 2 {
		must(t, addDemoClips(t.Context(), store, clips, now.Add(time.Minute)))
	}
	var want []string
	for _, clip := range demoClips {
		want = append([]string{clip.title}, want...)
	}
	if got := demoFeed(t, store); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the feed is %q, want %q", got, want)
	}
	checkDemoTalk(t, store)
	if _, err := store.Verify(t.Context(), false, func(d storage.Difference) error { t.Errorf("got the difference %+v, want none", d); return nil }); err != nil {
		t.Error(err)
	}
}

func demoFeed(t *testing.T, store storage.Store) (titles []string) {
	t.Helper()
	lists, err := store.Feed(t.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: storage.Page{First: 100}}})
	must(t, err)
	for _, v := range lists[0].Entries {
		titles = append(titles, v.Title)
	}
	return titles
}

// checkDemoTalk checks that alice has three unread messages: two from carol, and one from
// bob about the last clip.
func checkDemoTalk(t *testing.T, store storage.Store) {
	t.Helper()
	d := newDemo(time.Now())
	lists, err := store.ListConversations(t.Context(), []storage.ConversationsQuery{{Owner: d.user(0), Page: storage.Page{First: 100}}})
	must(t, err)
	unread := map[string]int64{}
	for _, c := range lists[0].Entries {
		if c.Unread > 0 {
			unread[c.With.UserID] = c.Unread
		}
	}
	if len(lists[0].Entries) < 4 || len(unread) != 2 || unread["carol"] != 2 || unread["bob"] != 1 {
		t.Errorf("alice has %d conversations, with unread messages in %v, want at least 4, 1 unread of bob, 2 of carol", len(lists[0].Entries), unread)
	}
	if latest := lists[0].Entries[0].Latest.Text; !strings.HasPrefix(latest, "/demo#/clips/") {
		t.Errorf("the latest message is %q, want a link to /demo#/clips/", latest)
	}
}

// TestFFmpegDrawsAndPlaysDemoClips checks that ffmpeg can draw every clip of the demo,
// and that it can play a still.
func TestFFmpegDrawsAndPlaysDemoClips(t *testing.T) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, clip := range demoClips {
		t.Run(clip.title, func(t *testing.T) {
			t.Parallel()
			if _, err := drawClip(t.Context(), clip.source, clip.filter); err != nil {
				t.Error(err)
			}
		})
	}
	for _, hue := range []float64{0, 0.3, 0.9} {
		command := exec.CommandContext(t.Context(), program, "-hide_banner", "-xerror", "-loglevel", "info", "-f", "mov", "-i", "pipe:0", "-f", "null", "-")
		command.Stdin = bytes.NewReader(still(hue))
		said, err := command.CombinedOutput()
		if err != nil || !bytes.Contains(said, []byte("144x256")) || !bytes.Contains(said, []byte("Duration: 00:00:05.00")) || !bytes.Contains(said, []byte("frame=   25")) {
			t.Errorf("ffmpeg plays a still: got %v, want 25 frames of 144x256 in 5 s:\n%s", err, said)
		}
	}
}
