package demo

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"image"
	_ "image/jpeg" // of avatars
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/media"
	"ovation/storage"
)

// service returns a media service over a new folder.
func service(t *testing.T, store storage.Store) *media.Service {
	t.Helper()
	at, err := media.FolderURL(t.TempDir())
	must.Succeed(t, err)
	blobs, err := media.OpenBlobs(t.Context(), at, store)
	must.Succeed(t, err)
	s := media.New(media.Config{Store: store, Blobs: blobs, Accounts: store})
	t.Cleanup(func() {
		s.Close()
		blobs.Close()
	})
	return s
}

func TestPeopleHaveProfiles(t *testing.T) {
	t.Setenv("PATH", "") // stills are made faster than clips
	store, now := sqlitetest.Open(t), time.Now()
	must.Succeed(t, Add(t.Context(), store, now))
	site := service(t, store)
	if err := AddClips(t.Context(), interrupted{store, avatarsID}, site, now); !errors.Is(err, errKilled) {
		t.Fatalf("AddClips that is killed at %q = %v, want %v", avatarsID, err, errKilled)
	}
	var all []storage.User
	for _, p := range people {
		all = append(all, named(p.id))
	}
	profiles, err := store.Profiles(t.Context(), all)
	must.Succeed(t, err)
	if len(people) != 30 || people[0].id != "alice" || people[1].id != "bob" || people[2].id != "carol" {
		t.Errorf("there are %d people, want 30, the first of them alice, bob and carol", len(people))
	}
	files, drawn := media.Files(site.Blobs, slog.Default()), map[[sha256.Size]byte]string{}
	for i, p := range profiles {
		if p == nil || p.Name != people[i].name || p.Signature != people[i].bio || p.Signature == "" || !strings.HasPrefix(p.Avatar, "/media/avatars/") {
			t.Errorf("the profile of %s is %+v, want the name %q, a biography and an avatar", people[i].id, p, people[i].name)
			continue
		}
		served := httptest.NewRecorder()
		files.ServeHTTP(served, httptest.NewRequest(http.MethodGet, p.Avatar, http.NoBody))
		content := served.Body.Bytes()
		if _, _, err := image.Decode(bytes.NewReader(content)); err != nil {
			t.Errorf("the avatar of %s cannot be decoded: %v", people[i].id, err)
		}
		if other, is := drawn[sha256.Sum256(content)]; is {
			t.Errorf("%s and %s have the same avatar", people[i].id, other)
		}
		drawn[sha256.Sum256(content)] = people[i].id
	}
	must.Succeed(t, AddClips(t.Context(), store, site, now))
	again, err := store.Profiles(t.Context(), all)
	must.Succeed(t, err)
	for i := range again {
		if again[i].Avatar != profiles[i].Avatar {
			t.Errorf("a second call replaced the avatar of %s", people[i].id)
		}
	}
}

// TestDemoClipsArePublishedOnce interrupts AddClips at each clip, after the clip has been
// published, and checks that the next call completes the demo data and that later calls
// add nothing.
func TestDemoClipsArePublishedOnce(t *testing.T) {
	t.Setenv("PATH", "") // stills are made faster than clips
	store, now := sqlitetest.Open(t), time.Now()
	site := service(t, store)
	must.Succeed(t, AddClips(t.Context(), store, site, now))
	if got := feed(t, store); len(got) != 0 {
		t.Errorf("a store without demo data has the clips %q, want none", got)
	}
	must.Succeed(t, Add(t.Context(), store, now))
	clips := readClips()
	var want []string
	for _, c := range clips {
		if err := AddClips(t.Context(), interrupted{store, "demo-clip-" + c.scene}, site, now); !errors.Is(err, errKilled) {
			t.Fatalf("AddClips that is killed at %q = %v, want %v", c.scene, err, errKilled)
		}
		want = append([]string{c.title}, want...)
	}
	must.Succeed(t, AddClips(t.Context(), store, site, now.Add(time.Minute)))
	if got := feed(t, store); !slices.Equal(got, want) {
		t.Errorf("the feed is %q, want %q", got, want)
	}
	before := archived(t, store)
	must.Succeed(t, AddClips(t.Context(), store, site, now.Add(time.Hour)))
	if after := archived(t, store); after != before {
		t.Errorf("a further call made %d elements of %d, want no change", after, before)
	}
	checkChats(t, store)
	if _, err := store.Verify(t.Context(), false, func(d storage.Difference) error { t.Errorf("got the difference %+v, want none", d); return nil }); err != nil {
		t.Error(err)
	}
}

func feed(t *testing.T, store storage.Store) (titles []string) {
	t.Helper()
	lists, err := store.Feed(t.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: storage.Page{First: 100}}})
	must.Succeed(t, err)
	for _, v := range lists[0].Entries {
		titles = append(titles, v.Title)
	}
	return titles
}

// checkChats checks that alice has three unread messages: two from carol, and one from bob
// about the last clip.
func checkChats(t *testing.T, store storage.Store) {
	t.Helper()
	lists, err := store.ListConversations(t.Context(), []storage.ConversationsQuery{{Owner: named("alice"), Page: storage.Page{First: 100}}})
	must.Succeed(t, err)
	unread := map[string]int64{}
	for _, c := range lists[0].Entries {
		if c.Unread > 0 {
			unread[c.With.UserID] = c.Unread
		}
	}
	if len(lists[0].Entries) < 5 || len(unread) != 2 || unread["carol"] != 2 || unread["bob"] != 1 {
		t.Errorf("alice has %d conversations, with unread messages in %v, want at least 5, 1 unread of bob, 2 of carol", len(lists[0].Entries), unread)
	}
	if latest := lists[0].Entries[0].Latest.Text; !strings.HasPrefix(latest, "/demo#/clips/") {
		t.Errorf("the latest message is %q, want a link to /demo#/clips/", latest)
	}
}

// TestStillsDiffer checks that every clip has a style, an author among people, and a still
// of its own that is recognised as a video.
func TestStillsDiffer(t *testing.T) {
	seen := map[[sha256.Size]byte]bool{}
	site := service(t, sqlitetest.Open(t))
	for _, c := range readClips() {
		if styles[c.scene].grade == "" || !slices.ContainsFunc(people, func(p person) bool { return p.id == c.author.UserID }) {
			t.Errorf("the clip %+v has no style or no author", c)
		}
		content := Still(c.scene)
		if _, err := site.StoreFile(t.Context(), bytes.NewReader(content)); err != nil {
			t.Error(err)
		}
		seen[sha256.Sum256(content)] = true
	}
	if len(seen) != len(styles) {
		t.Errorf("there are %d different stills, want %d", len(seen), len(styles))
	}
}

// TestFFmpegRendersAndPlaysDemoClips checks that ffmpeg can render every clip of the demo,
// and that it can play a still.
func TestFFmpegRendersAndPlaysDemoClips(t *testing.T) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	play := func(content []byte) []byte {
		command := exec.CommandContext(t.Context(), program, "-hide_banner", "-xerror", "-loglevel", "info", "-f", "mov", "-i", "pipe:0", "-f", "null", "-")
		command.Stdin = bytes.NewReader(content)
		said, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("ffmpeg cannot play a clip: %v\n%s", err, said)
		}
		return said
	}
	for _, c := range readClips() {
		content, err := c.render(t.Context(), 10)
		if err != nil {
			t.Errorf("%s: %v", c.scene, err)
			continue
		}
		if said := play(content); !bytes.Contains(said, []byte("360x640")) || !bytes.Contains(said, []byte("frame=   10")) || !bytes.Contains(said, []byte("Audio: aac")) {
			t.Errorf("ffmpeg plays %s, want 10 frames of 360x640 with sound:\n%s", c.scene, said)
		}
	}
	if said := play(Still("sea")); !bytes.Contains(said, []byte("144x256")) || !bytes.Contains(said, []byte("Duration: 00:00:05.00")) || !bytes.Contains(said, []byte("frame=   25")) {
		t.Errorf("ffmpeg plays a still, want 25 frames of 144x256 in 5 s:\n%s", said)
	}
}
