package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/storagetest"
	"ovation/worker/events"
)

// printedEvents parses the lines that ovation events prints.
func printedEvents(t *testing.T, lines string) (out []storagetest.PrintedEvent) {
	t.Helper()
	for line := range strings.Lines(lines) {
		e, err := storagetest.ParseEvent([]byte(line))
		must.Succeed(t, err)
		out = append(out, e)
	}
	return out
}

// foldsToEvents checks that the events in lines, which ovation events has printed, give
// the content of the store.
func foldsToEvents(t *testing.T, lines string, store storage.Store) {
	t.Helper()
	fold := storagetest.NewFold()
	for _, e := range printedEvents(t, lines) {
		event, err := e.Event()
		must.Succeed(t, err)
		must.Succeed(t, fold.Apply(event))
	}
	differences, err := fold.Compare(t.Context(), store)
	must.Succeed(t, err)
	for _, d := range differences {
		t.Error(d)
	}
	t.Logf("%d events", fold.Last)
	if fold.Last == 0 {
		t.Error("there are no events")
	}
}

// logged checks that the events of the data folder give the content of its database.
func logged(t *testing.T, data string) {
	t.Helper()
	got := call(t, environment(), "events", "--data="+data)
	got.want(t, 0)
	store, err := dataFlag{data}.open(t.Context(), false, storage.EventOptions{})
	must.Succeed(t, err)
	defer store.Close()
	foldsToEvents(t, got.stdout, store)
}

// logged checks that the events of the site give the content of its database.
func (s *site) logged(t *testing.T) {
	t.Helper()
	got := s.run(t, "events")
	got.want(t, 0)
	store, err := postgres.Open(t.Context(), postgres.Options{URL: s.variables["OVATION_POSTGRES_URL"]})
	must.Succeed(t, err)
	defer store.Close()
	foldsToEvents(t, got.stdout, store)
}

func TestEventsArePrintedAndResumed(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data, "--events", "--log-level=error")
	call(t, environment(), "events", "--data="+data).want(t, 0, "no events yet", "--events")
	ask := func(flags ...string) (types, cursors []string) {
		t.Helper()
		got := call(t, environment(), append([]string{"events", "--data=" + data}, flags...)...)
		got.want(t, 0, "continue with: --from ")
		for _, e := range printedEvents(t, got.stdout) {
			types, cursors = append(types, e.Type+" "+e.Subject), append(cursors, e.ID)
		}
		_, next, _ := strings.Cut(strings.TrimSpace(got.stderr), "--from ")
		return types, append(cursors, next)
	}
	want := func(got []string, want ...string) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got the events %v, want %v", got, want)
		}
	}
	act := func(mutation, biz string) {
		t.Helper()
		must.Succeed(t, s.graphQL("alice", fmt.Sprintf(`mutation { %s(input: {biz: "%s", bizId: "1"}) { changed } }`, mutation, biz), nil))
	}
	act("like", "video")
	act("like", "video") // changes nothing
	act("like", "article")
	act("unlike", "video")
	types, cursors := ask()
	want(types, "ovation.liked video/1", "ovation.liked article/1", "ovation.unliked video/1")
	if cursors[2] != cursors[3] {
		t.Errorf("the end is at %s, want that of the last event, %s", cursors[3], cursors[2])
	}
	types, _ = ask("--from", cursors[0])
	want(types, "ovation.liked article/1", "ovation.unliked video/1")
	types, last := ask("--biz=article", "--tenant=default")
	want(types, "ovation.liked article/1")
	if last[1] != cursors[3] {
		t.Errorf("with a filter, the end is at %s, want %s", last[1], cursors[3])
	}
	types, _ = ask("--tenant=other")
	want(types)
	types, _ = ask("--from=end")
	want(types)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout, stderr := newBannerWriter(), newBannerWriter()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"events", "--data=" + data, "--follow", "--from", cursors[3]}, environment(), strings.NewReader(""), stdout, stderr)
	}()
	act("dislike", "video")
	await.That(t, "the next event is printed", func() bool { return strings.HasSuffix(stdout.String(), "\n") })
	stop()
	if got := <-code; got != 0 {
		t.Errorf("got exit code %d when it was stopped, want 0: %s", got, stderr.String())
	}
	if got := printedEvents(t, stdout.String()); len(got) != 1 || got[0].Type != "ovation.disliked" || got[0].Data.After != "DISLIKE" {
		t.Errorf("got %+v while following, want one dislike", got)
	}
	logged(t, data)
}

func TestInvalidCursorsAreRefused(t *testing.T) {
	data := t.TempDir()
	store, err := dataFlag{data}.openSQLite(t.Context(), true, storage.EventOptions{Log: func(string, string) bool { return true }})
	must.Succeed(t, err)
	for i := range 3 {
		_, err = store.CreateFolder(t.Context(), storage.Folder{Owner: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, Name: strconv.Itoa(i), Created: 1})
		must.Succeed(t, err)
	}
	_, err = store.PruneEvents(t.Context(), -1<<40)
	must.Succeed(t, err)
	stream, err := store.EventStream(t.Context())
	must.Succeed(t, err)
	must.Succeed(t, store.Close())
	cursor := func(stream string, position int64) string {
		return events.Cursor{Stream: stream, Position: position}.String()
	}
	for name, c := range map[string]struct{ from, want string }{
		"no cursor":        {"12", `"12" is no cursor`},
		"changed":          {cursor(stream.ID, 3)[1:], "is no cursor"},
		"another database": {cursor(strings.Repeat("0", 32), 3), "another database"},
		"pruned":           {cursor(stream.ID, 1), "events were pruned"},
		"ahead":            {cursor(stream.ID, 4), "restored from a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			call(t, environment(), "events", "--data="+data, "--from", c.from).want(t, exitUsage, "OVATION_EVENTS_FROM", c.want)
		})
	}
	call(t, environment(), "events", "--data="+data, "--from", cursor(stream.ID, 3)).want(t, 0, "0 events")
	call(t, environment(), "events", "--data="+t.TempDir()).want(t, exitFailed, "no database")
	call(t, environment("OVATION_REDIS_URL", "redis://localhost"), "events").want(t, exitUsage, "OVATION_REDIS_URL")
}

// TestConfigSelectsEvents switches the events of one kind of content off, and gives likes of
// another a weight.
func TestConfigSelectsEvents(t *testing.T) {
	t.Parallel()
	data, config := t.TempDir(), filepath.Join(t.TempDir(), "ovation.yaml")
	must.Succeed(t, os.WriteFile(config, []byte("biz: {article: {events: false}, video: {trending: {weights: {like: 7}}}}"), 0o600))
	s := serve(t, data, "--events", "--trending", "--config="+config, "--log-level=error")
	for _, biz := range []string{"video", "article", "photo"} {
		must.Succeed(t, s.graphQL("alice", fmt.Sprintf(`mutation { like(input: {biz: "%s", bizId: "1"}) { changed } }`, biz), nil))
	}
	got := call(t, environment(), "events", "--data="+data)
	got.want(t, 0)
	var subjects []string
	for _, e := range printedEvents(t, got.stdout) {
		subjects = append(subjects, e.Subject)
	}
	if fmt.Sprint(subjects) != "[video/1 photo/1]" {
		t.Errorf("got events of %v, want those of the video and the photo", subjects)
	}
	for biz, want := range map[string]string{"video": "[{7}]", "article": "[]", "photo": "[{5}]"} {
		await.That(t, "likes of the kind "+biz+" have their weight", func() bool {
			var got struct {
				Trending struct{ Edges []struct{ Score int } }
			}
			must.Succeed(t, s.graphQL("alice", `{ trending(biz: "`+biz+`", window: HOUR, first: 10) { edges { score } } }`, &got))
			return fmt.Sprint(got.Trending.Edges) == want
		})
	}
}
